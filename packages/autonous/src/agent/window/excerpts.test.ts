import fc from "fast-check";
import { expect, test } from "vitest";
import { makePrompt } from "../../model/prompt/ai-sdk-prompt.ts";
import type { Message } from "../../model/provider.ts";
import { showWindow } from "./context-window.ts";
import { excerptOf } from "./excerpts.ts";

type AssistantMessage = Extract<Message, { readonly role: "assistant" }>;

const MANY = Array.from({ length: 5_000 }, (_, at) => ({ path: `file-${at}`, line: at }));

function reply(text: string, args: object = {}): AssistantMessage {
  const call = { tool_call_id: "call_1", name: "write", arguments: { ...args } };
  return { role: "assistant", text, calls: [call] };
}

// oxfmt-ignore
const LONG: readonly { readonly title: string; readonly message: AssistantMessage; readonly kept: RegExp }[] = [
  { title: "an answer of a megabyte",         message: { role: "assistant", text: `begin ${"answer ".repeat(150_000)} end` },         kept: /begin[^]*characters omitted[^]*end/ },
  { title: "a file that was written",         message: reply("Writing", { path: "a.txt", content: `first ${"x".repeat(500_000)} last` }), kept: /"path":"a.txt"[^]*first[^]*characters omitted[^]*last/ },
  { title: "many texts in one call",          message: reply("", { edits: Array.from({ length: 200 }, (_, at) => ({ find: `${at} ${"y".repeat(900)}` })) }), kept: /omitted/ },
  { title: "very many short values",          message: reply("", { places: MANY }),                                                  kept: /arguments_in_short[^]*file-0[^]*omitted/ },
  { title: "a reply in the plain protocol",   message: { role: "assistant", text: JSON.stringify({ tool_calls: [{ name: "write", arguments: { path: "b.txt", content: "z".repeat(90_000) } }] }) }, kept: /"path":"b.txt"[^]*omitted/ },
  { title: "text that only begins as JSON",   message: { role: "assistant", text: `{ "a": ${"1".repeat(90_000)}` },                     kept: /^"?\{[^]*omitted/ },
  { title: "half of a wide character",        message: { role: "assistant", text: "😀".repeat(40_001) },                               kept: /omitted/ },
];

for (const { title, message, kept } of LONG)
  test(`old messages of the model are shown as excerpts: ${title}`, () => {
    const messages: Message[] = [{ role: "user", text: "Go" }, message, { role: "user", text: "On" }];
    const shown = showWindow({ task: 0, from: 0, whole_from: 2 }, messages)[1] as AssistantMessage;
    const all = `${shown.text}${JSON.stringify(shown.calls?.map(({ arguments: args }) => args) ?? "")}`;
    expect(all.length).toBeLessThan(8_000);
    expect(all.replaceAll('\\"', '"')).toMatch(kept);
    expect(shown.text.isWellFormed()).toBe(true);
    expect(shown.calls?.map(({ tool_call_id, name }) => [tool_call_id, name])).toEqual(
      message.calls?.map(({ tool_call_id, name }) => [tool_call_id, name]),
    );
    if (message.text.startsWith('{"'))
      expect(JSON.parse(shown.text)).toMatchObject({ tool_calls: [{ name: "write" }] });
    expect(showWindow({ task: 0, from: 0, whole_from: 1 }, messages)[1]).toBe(message);
  });

test("an excerpt is the same object each time, and short messages are unchanged", () => {
  const long: Message = { role: "user", text: "w".repeat(9_000) };
  expect(excerptOf(long, 3_000)).toBe(excerptOf(long, 3_000));
  expect(excerptOf(long, 9_000)).toBe(long);
  const short = reply("short", { path: "a" });
  expect(excerptOf(short, 200)).toBe(short);
});

test("an excerpt is never longer than the text", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 3_000, unit: "binary" }), fc.integer({ min: 1, max: 900 }), (text, limit) => {
      const shown = excerptOf({ role: "assistant", text }, limit);
      expect(shown.text.length).toBeLessThanOrEqual(text.length);
    }),
  );
});

test("a truncated reply drops the provider data of its text; its reasoning and its calls keep theirs", () => {
  const text = "Said. ".repeat(2_000);
  const provider_parts = {
    maker: "me",
    parts: [
      { type: "reasoning", text: "why", options: { p: { signature: "r" } } },
      { type: "text", chars: text.length, options: { p: { itemId: "msg_1" } } },
      { type: "call", options: { p: { signature: "c" } } },
    ],
  };
  const said: Message = { ...reply(text, { content: "x".repeat(9_000) }), provider_parts };
  const messages: Message[] = [{ role: "user", text: "Go" }, said];
  const tools = [{ name: "write", description: "", args_schema: {} }];
  const optionsOf = (whole_from: number): unknown => {
    const shown = showWindow({ task: 0, from: 0, whole_from }, messages);
    const { prompt } = makePrompt({ system: "", messages: shown, rounds: 1, tools }, { maker: "me" });
    const content = prompt[1]?.content;
    return Array.isArray(content) ? content.map(({ type, providerOptions }) => [type, providerOptions?.["p"]]) : [];
  };
  expect(optionsOf(1)).toEqual([
    ["reasoning", { signature: "r" }],
    ["text", { itemId: "msg_1" }],
    ["tool-call", { signature: "c" }],
  ]);
  expect(optionsOf(2)).toEqual([
    ["reasoning", { signature: "r" }],
    ["text", undefined],
    ["tool-call", { signature: "c" }],
  ]);
});
