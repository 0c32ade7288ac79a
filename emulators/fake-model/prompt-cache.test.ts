import { expect, test } from "vitest";
import { anthropicBlocks, chatBlocks, createMarkedCache, createPrefixCache, promptText } from "./prompt-cache.ts";
import type { CachedInput, PromptBlock } from "./prompt-cache.ts";

/** A block of 1000 tokens. A star after its letter is a cache mark. */
function blocksOf(line: string): readonly PromptBlock[] {
  return line.split(" ").map((word) => ({
    text: (word[0] ?? "").repeat(4000),
    ...(word.endsWith("*") ? { ttl_s: 300 } : {}),
  }));
}

const MANY = "b c d e f g h i j k l m n o p q r s t u v w x y z".split(" ");
const upTo = (count: number): string => MANY.slice(0, count).join(" ");

// oxfmt-ignore
const USES: readonly { title: string; before: readonly string[]; line: string; read: number; write: number }[] = [
  { title: "nothing is cached without a mark",                      before: ["a b c"],      line: "a b c",        read: 0,    write: 0 },
  { title: "a mark writes its prefix",                              before: [],             line: "a b* c",       read: 0,    write: 2000 },
  { title: "the same prefix is read",                               before: ["a b* c"],     line: "a b* d",       read: 2000, write: 0 },
  { title: "a later mark reads the earlier one and writes the rest", before: ["a b* c"],    line: "a b c d*",     read: 2000, write: 2000 },
  { title: "a changed block before the mark reads nothing",         before: ["a b* c"],     line: "x b* c",       read: 0,    write: 2000 },
  { title: "two marks: the first is read where the second changed", before: ["a b* c d*"],  line: "a b* x y*",    read: 2000, write: 2000 },
  { title: "a prefix below the minimum is neither written nor read", before: ["a* b"],      line: "a* b",         read: 0,    write: 0 },
  { title: "a prefix that no mark wrote is not read",               before: ["a b c d*"],   line: "a b c* x",     read: 0,    write: 3000 },
  { title: "20 blocks are looked back, the marked one included",    before: ["a b*"],       line: `a ${upTo(20)}*`, read: 2000, write: 19_000 },
  { title: "not 21",                                                before: ["a b*"],       line: `a ${upTo(21)}*`, read: 0, write: 22_000 },
  { title: "an earlier mark reaches what the last one cannot",      before: ["a b*"],       line: `a b c* ${MANY.slice(2).join(" ")}*`, read: 2000, write: 24_000 },
];

for (const { title, before, line, read, write } of USES) {
  test(`marked cache: ${title}`, () => {
    const cache = createMarkedCache({ minimum_tokens: 1024 });
    for (const each of before) cache.use(blocksOf(each));
    const blocks = blocksOf(line);
    expect(cache.use(blocks)).toEqual({ input_tokens: blocks.length * 1000, read_tokens: read, write_tokens: write });
  });
}

test("marked cache: an entry lives for its time from the last read, and for its model only", () => {
  let now = 0;
  const cache = createMarkedCache({ now: () => now });
  const read = (scope: string): number => cache.use(blocksOf("a b* c"), scope).read_tokens;
  expect(read("m")).toBe(0);
  expect(read("another")).toBe(0);
  now = 299_000;
  expect(read("m")).toBe(2000);
  now = 598_000;
  expect(read("m")).toBe(2000);
  expect(read("another")).toBe(0);
  now = 898_000;
  expect(read("m")).toBe(0);
});

const TEXT = "words of some length, ".repeat(300);
const MARK = { cache_control: { type: "ephemeral" } };
const said = (role: string, text: string, mark = {}): object => ({ role, content: [{ type: "text", text, ...mark }] });
const anthropicBody = (fields: object): Record<string, unknown> => ({
  tools: [{ name: "read", input_schema: { type: "object" } }],
  system: [{ type: "text", text: TEXT, ...MARK }],
  messages: [said("user", TEXT, MARK)],
  ...fields,
});
const LONGER = [said("user", TEXT), said("assistant", "ok"), said("user", TEXT, MARK)];

// oxfmt-ignore
const CHANGES: readonly { title: string; fields: object; reads: "all" | "system" | "nothing" }[] = [
  { title: "the same request",             fields: {},                                         reads: "all" },
  { title: "a conversation that goes on",  fields: { messages: LONGER },                       reads: "all" },
  { title: "another choice of tools",      fields: { tool_choice: { type: "any" } },           reads: "system" },
  { title: "thinking turned on",           fields: { thinking: { type: "enabled", budget_tokens: 2000 } }, reads: "system" },
  { title: "another first message",        fields: { messages: [said("user", `x${TEXT}`, MARK)] }, reads: "system" },
  { title: "another role",                 fields: { messages: [said("assistant", TEXT, MARK)] }, reads: "system" },
  { title: "another system text",          fields: { system: [{ type: "text", text: `x${TEXT}`, ...MARK }] }, reads: "nothing" },
  { title: "another tool",                 fields: { tools: [{ name: "write", input_schema: { type: "object" } }] }, reads: "nothing" },
];

for (const { title, fields, reads } of CHANGES) {
  test(`Anthropic's prompt: ${title} reads ${reads}`, () => {
    const cache = createMarkedCache();
    const first: CachedInput = cache.use(anthropicBlocks(anthropicBody({})));
    expect(first.read_tokens).toBe(0);
    const all = first.write_tokens;
    const { read_tokens } = cache.use(anthropicBlocks(anthropicBody(fields)));
    if (reads === "nothing") expect(read_tokens).toBe(0);
    else if (reads === "all") expect(read_tokens).toBe(all);
    else {
      expect(read_tokens).toBeGreaterThan(1024);
      expect(read_tokens).toBeLessThan(all);
    }
  });
}

test("Anthropic's prompt: a mark on the request itself stands on its last block, and strings are blocks", () => {
  const cache = createMarkedCache();
  const body = {
    system: TEXT,
    messages: [{ role: "user", content: TEXT }],
    cache_control: { type: "ephemeral", ttl: "1h" },
  };
  const blocks = anthropicBlocks(body);
  expect(blocks.map(({ ttl_s }) => ttl_s)).toEqual([undefined, 3600]);
  expect(cache.use(blocks).write_tokens).toBe(cache.use(blocks).read_tokens);
});

test("a Claude behind chat completions is cached by the marks on its parts", () => {
  const cache = createMarkedCache();
  const body = (messages: readonly object[]): readonly PromptBlock[] =>
    chatBlocks({ tools: [{ type: "function", function: { name: "read" } }], messages });
  const begun = [said("system", TEXT, MARK), said("user", TEXT, MARK)];
  const { write_tokens } = cache.use(body(begun));
  expect(write_tokens).toBeGreaterThan(3000);
  const asked = { role: "assistant", content: null, tool_calls: [{ id: "c1" }] };
  const later = cache.use(body([...begun, asked, said("tool", "x", MARK)]));
  expect(later.read_tokens).toBe(write_tokens);
});

// oxfmt-ignore
const PREFIXES = [
  { title: "steps of 128 from 1024 on", options: { step_tokens: 128, minimum_tokens: 1024 }, shared: 1200, read: 1152 },
  { title: "nothing below 1024",        options: { step_tokens: 128, minimum_tokens: 1024 }, shared: 1000, read: 0 },
  { title: "steps of 64",               options: { step_tokens: 64, minimum_tokens: 64 },    shared: 100,  read: 64 },
] as const;

for (const { title, options, shared, read } of PREFIXES) {
  test(`prefix cache: ${title}`, () => {
    const cache = createPrefixCache(options);
    const same = "a".repeat(shared * 4);
    expect(cache.use(`${same}${"b".repeat(8000)}`).read_tokens).toBe(0);
    expect(cache.use(`${same}${"c".repeat(8000)}`)).toEqual({
      input_tokens: shared + 2000,
      read_tokens: read,
      write_tokens: 0,
    });
  });
}

test("the prompt of every format grows at its end", () => {
  for (const key of ["messages", "input", "contents"]) {
    const begun = promptText({ model: "m", tools: [{ a: 1 }], [key]: [{ role: "user" }] });
    const later = promptText({ model: "m", tools: [{ a: 1 }], [key]: [{ role: "user" }, { role: "assistant" }] });
    expect(later.startsWith(begun)).toBe(true);
  }
});
