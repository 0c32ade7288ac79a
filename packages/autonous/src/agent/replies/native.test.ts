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
import type { Message } from "../../model/provider.ts";

type Native = NativeReply;

const TASK = NATIVE_TASK;
const live = liveNative;
const start = startNative;
const payloads = nativePayloads;

test("calls by function calling run, and text without calls is the answer", async () => {
  const replies = [
    { text: "I look.", calls: [call("a1", "look", { mark: "1" }), call("a2", "ls", "")] },
    { text: "All is there" },
  ];
  const { world, outcome, requests } = await start(replies);
  expect(outcome).toMatchObject({ outcome: "completed", answer: "All is there", turns: 2, calls: 2 });
  expect(requests[0]?.system).not.toMatch(/JSON/);
  const [, said, first, second] = requests[1]?.messages ?? [];
  expect(said).toMatchObject({
    role: "assistant",
    text: "I look.",
    calls: [
      { provider_call_id: "a1", name: "look", arguments: { mark: "1" } },
      { provider_call_id: "a2", name: "ls", arguments: {} },
    ],
  });
  const ids = said?.role === "assistant" ? said.calls?.map(({ tool_call_id }) => tool_call_id) : [];
  expect([first, second].map((each) => each?.role === "tool" && each.tool_call_id)).toEqual(ids);
  expect(payloads(world, "model.completed")[0]).toMatchObject({ transport: "native", progress: "I look." });
});

// oxfmt-ignore
const BROKEN = [
  { title: "JSON that is cut off",        input: '{"mark":"1"',             says: /cut off/ },
  { title: "JSON that is broken",         input: '{"mark":}',               says: /broken/ },
  { title: "a list",                      input: "[1]",                     says: /must be a JSON object/ },
  { title: "two objects",                 input: '{"mark":"1"}{"mark":"2"}', says: /more than one/ },
  { title: "a key that comes twice",      input: '{"mark":"1","mark":"2"}', says: /twice/ },
  { title: "prose",                       input: "mark 1",                  says: /must be a JSON object/ },
  { title: "a number without end",        input: '{"mark":1e999}',          says: /too large/ },
  { title: "nesting without end",         input: `{"mark":${"[".repeat(5000)}${"]".repeat(5000)}}`, says: /nested/ },
] as const;

for (const { title, input, says } of BROKEN) {
  test(`${title} as arguments returns an error for that call, which is recorded, and the others run`, async () => {
    const replies = [{ calls: [call("a", "stamp", input), call("b", "stamp", { mark: "2" })] }, { text: "ok" }];
    const { world, outcome, requests } = await start(replies);
    expect([...world.effects]).toEqual([["stamp 2", 1]]);
    expect(outcome).toMatchObject({ outcome: "completed", calls: 2 });
    const result = requests[1]?.messages[2];
    expect(result).toMatchObject({ role: "tool", result: { error: { code: "InvalidArguments" } } });
    expect(result?.text).toMatch(says);
    const audits = [...payloads(world, "tool_call.failed"), ...payloads(world, "tool_call.completed")];
    expect(audits.map(({ audit }) => (audit as { tool: string }).tool)).toEqual(["stamp", "stamp"]);
  });
}

test("thinking before an answer is not part of the answer", async () => {
  const { outcome } = await start([{ text: "<think>Is it?\nIt is.</think>\n\nIt is <think>." }]);
  expect(outcome).toMatchObject({ outcome: "completed", answer: "It is <think>." });
  const { outcome: empty } = await start([{ text: "<think>Hm.</think>" }, { text: "<think>Hm.</think>" }]);
  expect(empty).toMatchObject({ outcome: "failed", error: { code: "InvalidReply" } });
});

test("an unknown tool, invalid arguments and an invalid tool name return errors", async () => {
  const replies = [
    { calls: [call("a", "nonsense", {}), call("b", "look", { wrong: 1 }), call("c", "", {})] },
    { text: "ok" },
  ];
  const { requests } = await start(replies);
  const codes = requests[1]?.messages.flatMap((each) => (each.role === "tool" ? [each.result.error?.code] : []));
  expect(codes).toEqual(["UnknownTool", "InvalidArguments", "InvalidArguments"]);
});

test("the calls of a truncated native reply never run, and none is sent back without a result", async () => {
  const cut = { text: "Now", calls: [call("a", "stamp", { mark: "1" })], finish: "length" } as const;
  const { world, outcome, requests } = await start([cut, { text: "short" }]);
  expect(world.effects.size).toBe(0);
  expect(outcome).toMatchObject({ outcome: "completed", answer: "short", turns: 2 });
  expect(requests[1]?.messages.slice(1)).toMatchObject([
    { role: "assistant", text: "Now" },
    { role: "user", text: /length limit[^]*Reply again\.$/ },
  ]);
  expect(requests[1]?.messages[1]).not.toHaveProperty("calls");
});

test("an empty reply is corrected once, without an empty message, and fails the run the second time", async () => {
  const { outcome, requests } = await start([{}, { text: " \n" }]);
  expect(outcome).toMatchObject({ outcome: "failed", error: { code: "InvalidReply" }, turns: 2 });
  expect(requests[1]?.messages.map(({ role }) => role)).toEqual(["user", "user"]);
});

const PARTS = [{ type: "reasoning", text: "I should look", providerOptions: { p: { signature: "c2lnbmF0dXJl" } } }];

test("provider data is sent back unchanged", async () => {
  const replies = [{ calls: [call("a", "look", { mark: "1" })], provider_parts: PARTS }, { text: "ok" }];
  const { world, requests } = await start(replies);
  expect(requests[1]?.messages[1]).toMatchObject({ provider_parts: PARTS });
  expect(payloads(world, "model.completed")[0]).toMatchObject({ provider_parts: PARTS });
});

// oxfmt-ignore
const UNFIT = [
  { title: "a secret",          parts: [{ type: "reasoning", text: `The key is ${SECRET}`, signature: "x" }] },
  { title: "half a character",  parts: [{ type: "reasoning", text: "\ud800", signature: "x" }] },
] as const;

for (const { title, parts } of UNFIT) {
  test(`provider data that contains ${title} is dropped, not changed`, async () => {
    const replies = [{ calls: [call("a", "look", { mark: "1" })], provider_parts: parts }, { text: "ok" }];
    const { world, requests, outcome } = await start(replies);
    expect(outcome).toMatchObject({ outcome: "completed" });
    expect(requests[1]?.messages[1]).not.toHaveProperty("provider_parts");
    expect(payloads(world, "model.completed")[0]).toMatchObject({ parts_dropped: true });
    expect(JSON.stringify(world.events)).not.toContain(SECRET);
  });
}

// ---- Killed and taken up again

const EVENTFUL: readonly Partial<Native>[] = [
  { text: "First", calls: [call("a", "look", { mark: "1" }), call("b", "stamp", '{"mark":')], provider_parts: PARTS },
  {},
  {
    calls: [call("c", "tool_search", { query: "undo" }), call("d", "ls", '{"recursive":true,"path":"."}')],
    finish: "stop",
  },
  { text: "cut", calls: [call("e", "stamp", { mark: "3" })], finish: "length" },
  { calls: [call("f", "look", { mark: "4" }), call("g", "nonsense", {})] },
  { text: "All of it is done", usage: { input_tokens: 100, output_tokens: 10 } },
];

test("killed between any two events, a native run sends exactly the same next request", async () => {
  const unharmed = await makeWorld();
  const whole = await live({ world: unharmed, replies: EVENTFUL });
  expect(whole.outcome).toMatchObject({ outcome: "completed", answer: "All of it is done", turns: 6, calls: 6 });
  const expected = steady(whole.requests);
  const total = unharmed.events.length;
  expect(total).toBeGreaterThan(25);
  for (let event = 1; event < total; event++) {
    const world = await makeWorld();
    const first = await live({ world, replies: EVENTFUL, death: { event, when: "after" } });
    expect(first.outcome).toBeUndefined();
    const asked = payloads(world, "model.completed").length;
    const second = await live({ world, replies: EVENTFUL });
    expect(second.outcome).toMatchObject({ ...whole.outcome, messages: expect.anything() as unknown });
    // What was running and may be run again is run again; every request after that is the same.
    expect(steady(second.requests)).toEqual(expected.slice(asked));
  }
}, 60_000);

const said = (count: number): Message[] =>
  Array.from({ length: count }, (_, index) =>
    index % 2 === 0 ? { role: "user", text: `question ${index}` } : { role: "assistant", text: `answer ${index}` },
  );

// oxfmt-ignore
const HISTORIES = [
  { title: "is longer",              later: [...said(2), ...said(4)], shown: said(4).map(({ text }) => text) },
  { title: "has lost its beginning", later: said(4).slice(2),         shown: ["(No longer stored.)", "(No longer stored.)", "question 2", "answer 3"] },
] as const;

for (const { title, later, shown } of HISTORIES) {
  test(`a run that resumes with a history that ${title} continues with the recorded length`, async () => {
    const world = await makeWorld();
    const replies = [{ calls: [call("a1", "look", { mark: "1" })] }, { text: "All is there" }];
    const began = { task: { ...TASK, history: said(4) } };
    await live({ world, replies, death: { event: 4, when: "after" }, options: began });
    const second = await live({ world, replies, options: { task: { ...TASK, history: later } } });
    expect(second.outcome).toMatchObject({ outcome: "completed" });
    expect(
      second.requests
        .at(-1)
        ?.messages.slice(0, 5)
        .map(({ text }) => text),
    ).toEqual([...shown, TASK.text]);
  });
}

// oxfmt-ignore
const EXCESSIVE: readonly { title: string; reply: Partial<Native> }[] = [
  { title: "100,000 calls",         reply: { calls: Array.from({ length: 100_000 }, (_, i) => call(`c${i}`, "ls", {})) } },
  { title: "3 MB of text",          reply: { text: "words and more words ".repeat(150_000) } },
  { title: "3 MB of arguments",     reply: { calls: [call("c1", "write", { path: "a.txt", content: "abc ".repeat(750_000) })] } },
  { title: "a tool name of 3 MB",   reply: { calls: [call("c1", "n".repeat(3_000_000), {})] } },
  { title: "an id of 3 MB",         reply: { calls: [call("i".repeat(3_000_000), "ls", {})] } },
  { title: "3 MB of reasoning",     reply: { calls: [call("c1", "ls", {})], provider_parts: [{ type: "reasoning", text: "abc ".repeat(750_000) }] } },
];

for (const { title, reply } of EXCESSIVE) {
  test(`a reply with ${title} is recorded in short form, and the run continues`, async () => {
    const { world, outcome } = await start([reply, { text: "Done" }]);
    expect(outcome).toMatchObject({ outcome: "completed" });
    for (const event of world.events) expect(JSON.stringify(event).length).toBeLessThan(65_536);
  });
}
