import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeWorld, SECRET } from "../../../../../test/support/agent-world.ts";
import {
  call,
  liveNative,
  NATIVE_TASK,
  nativePayloads,
  startNative,
  steady,
} from "../../../../../test/support/native-world.ts";
import type { NativeReply } from "../../../../../test/support/native-world.ts";

const STAMP = '<tool_call>\n{"name": "stamp", "arguments": {"mark": "1"}}\n</tool_call>';

// oxfmt-ignore
const WRITTEN = [
  { form: "hermes",   text: `I stamp it.\n${STAMP}` },
  { form: "qwen",     text: "I stamp it.\n<tool_call>\n<function=stamp>\n<parameter=mark>\n1\n</parameter>\n</function>\n</tool_call>" },
  { form: "mistral",  text: 'I stamp it.\n[TOOL_CALLS]stamp{"mark": "1"}' },
  { form: "deepseek", text: 'I stamp it.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>stamp<｜tool▁sep｜>{"mark": "1"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>' },
  { form: "kimi",     text: 'I stamp it.<|tool_calls_section_begin|><|tool_call_begin|>functions.stamp:0<|tool_call_argument_begin|>{"mark": "1"}<|tool_call_end|><|tool_calls_section_end|>' },
  { form: "json",     text: 'I stamp it.\n```json\n{"name": "stamp", "arguments": {"mark": "1"}}\n```' },
] as const;

for (const { form, text } of WRITTEN) {
  test(`a call written as text (${form}) runs like any other, and its form is recorded`, async () => {
    const { world, outcome, requests } = await startNative([{ text }, { text: "Done" }]);
    expect(outcome).toMatchObject({ outcome: "completed", answer: "Done", turns: 2, calls: 1 });
    expect([...world.effects]).toEqual([["stamp 1", 1]]);
    const [first] = nativePayloads(world, "model.completed");
    expect(first).toMatchObject({ kind: "tool_calls", written_as: form, progress: "I stamp it.", text });
    expect(requests[1]?.messages.slice(1)).toMatchObject([
      { role: "assistant", text: "I stamp it.", calls: [{ name: "stamp", arguments: { mark: "1" } }] },
      { role: "tool", name: "stamp" },
    ]);
  });
}

test("a call written as text must pass the policy, and its secrets are not recorded", async () => {
  const text = `<tool_call>{"name": "read", "arguments": {"path": "../${SECRET}"}}</tool_call>`;
  const { world, requests } = await startNative([{ text }, { text: "Done" }]);
  expect(requests[1]?.messages[2]).toMatchObject({ result: { error: { code: "PathTraversalBlocked" } } });
  expect(JSON.stringify([world.events, requests])).not.toContain(SECRET);
});

test("a model that shows a file with a call in it does not run that call", async () => {
  const world = await makeWorld();
  await writeFile(join(world.folder, "workspace", "notes.md"), `First\n${STAMP}\n[TOOL_CALLS]stamp{"mark": "2"}\n`);
  const replies = [
    { calls: [call("a", "read", { path: "notes.md" })] },
    { text: `The file says:\n\nFirst\n${STAMP}\n[TOOL_CALLS]stamp{"mark": "2"}` },
  ];
  const { outcome } = await liveNative({ world, replies });
  expect(outcome).toMatchObject({ outcome: "completed", turns: 2, calls: 1 });
  expect(outcome?.answer).toContain("The file says");
  expect(world.effects.size).toBe(0);
});

test("the user's text is a quotation too", async () => {
  const options = { task: { ...NATIVE_TASK, text: `What does ${STAMP} do?` } };
  const { world, outcome } = await startNative([{ text: `It stamps:\n${STAMP}` }], options);
  expect(outcome).toMatchObject({ outcome: "completed", turns: 1 });
  expect(world.effects.size).toBe(0);
});

// oxfmt-ignore
const UNUSABLE: readonly { title: string; reply: Partial<NativeReply>; told: RegExp; advice: RegExp }[] = [
  { title: "a written call that is cut off",     reply: { text: '<tool_call>{"name": "stamp", "arguments": {"mark": "1"' }, told: /written as text[^]*cut off/, advice: /--enable-auto-tool-choice[^]*--jinja[^]*compatible-plain:/ },
  { title: "a written call of no offered tool",  reply: { text: '<tool_call>{"name": "fly", "arguments": {}}</tool_call>' }, told: /no tool "fly"/,             advice: /--tool-call-parser/ },
  { title: "an end with calls and without any",  reply: { text: "I will look.", wants_calls: true },                        told: /has none/,                     advice: /--tool-call-parser/ },
  { title: "an empty end with calls",            reply: { wants_calls: true },                                              told: /has none/,                     advice: /--tool-call-parser/ },
  { title: "thinking without an end",            reply: { text: "<think>I should look" },                                   told: /only unfinished thinking/,     advice: /another model/ },
  { title: "what its provider calls unusable",   reply: { text: "x", problem: "the call was malformed" },                   told: /the call was malformed/,       advice: /another model/ },
  { title: "a cut reply with calls",             reply: { calls: [call("a", "stamp", { mark: "1" })], finish: "length" },   told: /length limit/,                 advice: /AUTONOUS_MAX_OUTPUT_TOKENS/ },
  { title: "a cut reply with a written call",    reply: { text: STAMP, finish: "length" },                                  told: /length limit/,                 advice: /AUTONOUS_MAX_OUTPUT_TOKENS/ },
  { title: "thinking that was cut off",          reply: { text: "<think>I should look", finish: "length" },                 told: /still thinking/,               advice: /AUTONOUS_THINKING/ },
  { title: "hidden thinking that was cut off",   reply: { finish: "length" },                                               told: /still thinking/,               advice: /AUTONOUS_MAX_OUTPUT_TOKENS/ },
];

for (const { title, reply, told, advice } of UNUSABLE) {
  test(`${title} is never an answer: the model is corrected once, then the user gets advice`, async () => {
    const better = await startNative([reply, { text: "Done" }]);
    expect(better.outcome).toMatchObject({ outcome: "completed", answer: "Done", turns: 2 });
    const last = better.requests[1]?.messages.at(-1);
    expect(last).toMatchObject({ role: "user", text: told });
    expect(last?.text).not.toMatch(/JSON object/);
    const { world, outcome } = await startNative([reply, reply, { text: "not asked for" }]);
    expect(outcome).toMatchObject({ outcome: "failed", turns: 2, error: { code: "InvalidReply", message: advice } });
    expect(world.effects.size).toBe(0);
  });
}

test("a call at the end of unclosed thinking runs", async () => {
  const { world, outcome } = await startNative([{ text: `<think>I stamp it.\n${STAMP}` }, { text: "Done" }]);
  expect(outcome).toMatchObject({ outcome: "completed", answer: "Done" });
  expect([...world.effects]).toEqual([["stamp 1", 1]]);
});

test("gpt-oss thinking before a call is not shown with it", async () => {
  const text =
    '<|channel|>analysis<|message|>I stamp.<|end|><|start|>assistant<|channel|>commentary to=functions.stamp <|constrain|>json<|message|>{"mark": "1"}<|call|>';
  const { world, outcome, requests } = await startNative([{ text }, { text: "Done" }]);
  expect(outcome).toMatchObject({ outcome: "completed", answer: "Done" });
  expect([...world.effects]).toEqual([["stamp 1", 1]]);
  expect(requests[1]?.messages[1]).toMatchObject({ text: "", calls: [{ name: "stamp" }] });
});

test("the answer is extracted from a reply in the plain protocol", async () => {
  const { outcome } = await startNative([{ text: '{"tool_calls":[],"final_answer":"All is well"}' }]);
  expect(outcome).toMatchObject({ outcome: "completed", answer: "All is well" });
});

test("provider data that is nested too deeply is dropped", async () => {
  let deep: unknown = 1;
  for (let depth = 0; depth < 20_000; depth++) deep = { deep };
  const provider_parts = { maker: "x", parts: [], reasoning_details: [deep] };
  const { world, outcome } = await startNative([{ text: "Done", provider_parts }]);
  expect(outcome).toMatchObject({ outcome: "completed", answer: "Done" });
  expect(nativePayloads(world, "model.completed")[0]).toMatchObject({ parts_dropped: true });
});

test("too many written calls are refused", async () => {
  const { world, outcome } = await startNative([{ text: `${STAMP}\n`.repeat(300) }, { text: "Done" }]);
  expect(outcome).toMatchObject({ outcome: "completed", answer: "Done", turns: 2 });
  expect(world.effects.size).toBe(0);
});

// ---- Answers that are cut off

const cut = (text: string): Partial<NativeReply> => ({ text, finish: "length" });

test("a truncated answer is continued where it stopped", async () => {
  const { world, outcome, requests } = await startNative([cut("One, two, "), cut("three,"), { text: " four.\n" }]);
  expect(outcome).toMatchObject({ outcome: "completed", answer: "One, two, three, four.", turns: 3 });
  expect(outcome).not.toHaveProperty("cut");
  expect(requests[1]?.messages.slice(1)).toMatchObject([
    { role: "assistant", text: "One, two, " },
    { role: "user", text: /Continue it exactly where it stopped/ },
  ]);
  expect(nativePayloads(world, "model.completed").map(({ kind }) => kind)).toEqual(["cut", "cut", "final"]);
});

test("text that a part repeats is not duplicated", async () => {
  const { outcome } = await startNative([
    cut("The list of files:\n- src/a.ts has the server and"),
    { text: "- src/a.ts has the server and its port.\n- src/b.ts" },
  ]);
  expect(outcome?.answer).toBe("The list of files:\n- src/a.ts has the server and its port.\n- src/b.ts");
});

test("an answer that is still truncated after three continuations is marked as truncated, with the setting", async () => {
  const { world, outcome } = await startNative(["a ", "b ", "c ", "d "].map(cut));
  expect(outcome).toMatchObject({ outcome: "completed", cut: true, turns: 4 });
  expect(outcome?.answer).toMatch(/^a b c d\n\n\[The answer was cut off[^]*AUTONOUS_MAX_OUTPUT_TOKENS[^\n]*\]$/);
  expect(nativePayloads(world, "agent.completed")[0]).toMatchObject({ cut: true });
  const again = await liveNative({ world, replies: [] });
  expect(again.outcome).toMatchObject({ outcome: "completed", cut: true });
  expect(again.requests).toEqual([]);
});

test("a limit that is reached during a continued answer does not lose its text", async () => {
  const { outcome } = await startNative([cut("One, "), cut("two, "), { text: "three" }], { limits: { max_turns: 2 } });
  expect(outcome).toMatchObject({ outcome: "completed", cut: true, answer: /^One, two,\n\n\[/ });
});

test("an empty reply to a continuation request ends the answer", async () => {
  const { outcome } = await startNative([cut("All of it."), { text: "" }]);
  expect(outcome).toMatchObject({ outcome: "completed", answer: "All of it.", turns: 2 });
});

test("a model may call a tool after a truncated answer", async () => {
  const replies = [cut("First I "), { calls: [call("a", "stamp", { mark: "1" })] }, { text: "Done" }];
  const { world, outcome } = await startNative(replies);
  expect(outcome).toMatchObject({ outcome: "completed", answer: "Done" });
  expect([...world.effects]).toEqual([["stamp 1", 1]]);
});

test("a code fence that a part opened is still open in the next one", async () => {
  const { world, outcome } = await startNative([cut("Write this:\n```\n"), { text: `${STAMP}\n\`\`\`\nThat is all.` }]);
  expect(outcome).toMatchObject({ outcome: "completed", turns: 2, answer: /That is all\.$/ });
  expect(world.effects.size).toBe(0);
});

// ---- Killed and resumed

const EVENTFUL: readonly Partial<NativeReply>[] = [
  { text: `First\n${STAMP}` },
  { text: "<think>Hm" },
  { text: '```json\n{"name": "look", "arguments": {"mark": "2",}}\n```' },
  cut("The answer "),
  cut("is long "),
  { text: "and ends." },
];

test("killed between any two events, such a run sends exactly the same next request, and does nothing twice", async () => {
  const unharmed = await makeWorld();
  const whole = await liveNative({ world: unharmed, replies: EVENTFUL });
  expect(whole.outcome).toMatchObject({ outcome: "completed", answer: "The answer is long and ends.", turns: 6 });
  const expected = steady(whole.requests);
  for (let event = 1; event < unharmed.events.length; event++) {
    const world = await makeWorld();
    await liveNative({ world, replies: EVENTFUL, death: { event, when: "after" } });
    const asked = nativePayloads(world, "model.completed").length;
    const second = await liveNative({ world, replies: EVENTFUL });
    expect(second.outcome).toMatchObject({ outcome: "completed", answer: "The answer is long and ends." });
    const later = steady(second.requests);
    // A call that was running and may not be run again is told as interrupted.
    expect(later).toHaveLength(expected.length - asked);
    if (!JSON.stringify(world.events).includes('"Interrupted"')) expect(later).toEqual(expected.slice(asked));
    expect(world.effects.get("stamp 1") ?? 0).toBeLessThanOrEqual(1);
  }
}, 60_000);
