import type { RuntimeEvent } from "@autonous/runtime";
import type { EventType } from "@autonous/runtime/internal";
import { expect, test } from "vitest";
import { SpanMaker } from "./spans.ts";
import type { EventSpan } from "./spans.ts";

const TRACE = "0123456789abcdef0123456789abcdef";

interface Draft {
  readonly id: string;
  readonly type: EventType;
  readonly at: number;
  readonly parent?: string;
  readonly payload?: RuntimeEvent["payload"];
}

function event({ id, type, at, parent, payload = {} }: Draft, trace_id = TRACE): RuntimeEvent {
  const about = { trace_id, task_id: "task_1", run_id: "run_1", parent_id: parent ?? null };
  const ts = new Date(at).toISOString();
  return { event_id: id, seq: at + 1, ts, type, ...about, payload, prev_hash: "", hash: "" };
}

const AUDIT = {
  version: "1.0.0",
  ts_start: new Date(30).toISOString(),
  result: { error_code: null },
  policy: { decision: "ALLOW", rule: "r" },
};
const DENIED = { ...AUDIT, result: { error_code: "ToolNotAllowed" }, policy: { decision: "DENY", rule: "r2" } };

// oxfmt-ignore
const RUN: readonly Draft[] = [
  { id: "q",  type: "task.queued",         at: 0 },
  { id: "a",  type: "agent.started",       at: 10, parent: "q", payload: { provider: "anthropic:claude", task: "SECRET" } },
  { id: "t",  type: "turn.started",        at: 11, parent: "a" },
  { id: "m",  type: "model.completed",     at: 25, parent: "t", payload: { latency_ms: 12, finish: "stop", text: "SECRET", usage: { input_tokens: 5, output_tokens: 2, cached_input_tokens: 1 } } },
  { id: "c",  type: "tool_call.started",   at: 35, parent: "t", payload: { tool_name: "ls", arguments: { path: "SECRET" } } },
  { id: "ce", type: "tool_call.completed", at: 45, parent: "c", payload: { tool_name: "ls", tool_call_id: "call_1", audit: AUDIT } },
  { id: "d",  type: "tool_call.failed",    at: 46, parent: "t", payload: { tool_name: "bash", tool_call_id: "call_2", audit: DENIED } },
  { id: "te", type: "turn.completed",      at: 47, parent: "t" },
  { id: "ae", type: "agent.failed",        at: 50, parent: "a", payload: { code: "LimitReached", message: "SECRET", usage: { input_tokens: 5, output_tokens: 2 } } },
];

async function spansOf(events: readonly RuntimeEvent[], known: readonly RuntimeEvent[] = []): Promise<EventSpan[]> {
  const maker = new SpanMaker({
    findEvent: (_, event_id) => Promise.resolve(known.find((each) => each.event_id === event_id)),
  });
  const spans: EventSpan[] = [];
  for (const each of events) {
    const span = await maker.take(each);
    if (span !== undefined) spans.push(span);
  }
  return spans;
}

test("a run becomes invoke_agent with chat and execute_tool in it, with the times of the events", async () => {
  const [chat, ls, bash, agent] = await spansOf(RUN.map((draft) => event(draft)));
  expect([chat, ls, bash, agent].map((span) => [span?.name, span?.startMs, span?.endMs, span?.error_type])).toEqual([
    ["chat claude", 13, 25, undefined],
    ["execute_tool ls", 35, 45, undefined],
    ["execute_tool bash", 30, 46, "ToolNotAllowed"],
    ["invoke_agent autonous", 10, 50, "LimitReached"],
  ]);
  expect([chat, ls, bash].map((span) => span?.parent_span_id)).toEqual([
    agent?.span_id,
    agent?.span_id,
    agent?.span_id,
  ]);
  expect(agent?.parent_span_id).toBeUndefined();
  expect(new Set([chat, ls, bash, agent].map((span) => span?.trace_id))).toEqual(new Set([TRACE]));
  expect(chat?.attributes).toEqual({
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "anthropic",
    "gen_ai.request.model": "claude",
    "gen_ai.conversation.id": "run_1",
    "gen_ai.usage.input_tokens": 5,
    "gen_ai.usage.output_tokens": 2,
    "gen_ai.usage.cache_read.input_tokens": 1,
    "gen_ai.response.finish_reasons": ["stop"],
    "autonous.run.id": "run_1",
    "autonous.task.id": "task_1",
  });
  expect(ls?.attributes).toMatchObject({
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "ls",
    "gen_ai.tool.call.id": "call_1",
    "gen_ai.tool.type": "function",
    "autonous.policy.decision": "ALLOW",
  });
});

test("spans contain no prompts, replies, arguments or messages", async () => {
  expect(JSON.stringify(await spansOf(RUN.map((draft) => event(draft))))).not.toContain("SECRET");
});

test("if another process takes over, the spans are the same and form one trace", async () => {
  const events = RUN.map((draft) => event(draft));
  const whole = await spansOf(events);
  for (let cut = 0; cut <= events.length; cut++) {
    const before = await spansOf(events.slice(0, cut));
    const after = await spansOf(events.slice(cut), events);
    expect([...before, ...after]).toEqual(whole);
  }
});

// oxfmt-ignore
const NAMES = [
  { provider: "openai:gpt",                          name: "openai",     model: "gpt" },
  { provider: "openai-chat:gpt",                     name: "openai",     model: "gpt" },
  { provider: "google:gemini",                       name: "gcp.gemini", model: "gemini" },
  { provider: "compatible:a/b@v1@http://u:p@h:1/v1", name: "compatible", model: "a/b@v1" },
  { provider: "direct",                              name: "direct",     model: "direct" },
];

for (const { provider, name, model } of NAMES) {
  test(`the model "${provider}" is reported as ${model} of ${name}`, async () => {
    const [agent] = await spansOf([
      event({ id: "a", type: "agent.started", at: 0, payload: { provider } }),
      event({ id: "b", type: "agent.completed", at: 1, parent: "a" }),
    ]);
    expect(agent?.attributes).toMatchObject({ "gen_ai.provider.name": name, "gen_ai.request.model": model });
  });
}

test("an invalid trace id becomes a valid one, always the same", async () => {
  for (const trace_id of ["", "mine", "0".repeat(32), "A".repeat(32)]) {
    const made = await Promise.all(
      [1, 2].map(() => spansOf([event({ id: "m", type: "model.completed", at: 1 }, trace_id)])),
    );
    const [one, other] = made.map(([span]) => span?.trace_id);
    expect(one).toMatch(/^[0-9a-f]{32}$/);
    expect(one).not.toBe(trace_id);
    expect(one).toBe(other);
  }
});

test("a tool name that the model invented is not reported", async () => {
  const audit = { ...DENIED, version: null };
  const [call] = await spansOf([
    event({ id: "x", type: "tool_call.failed", at: 5, payload: { tool_name: "tell bob: SECRET", audit } }),
  ]);
  expect(call).toMatchObject({ name: "execute_tool other", attributes: { "gen_ai.tool.name": "other" } });
  expect(JSON.stringify(call)).not.toContain("SECRET");
});

test("an end event without its start, and a clock that was set back, still give a span", async () => {
  const [call, model] = await spansOf([
    event({ id: "x", type: "tool_call.failed", at: 5, parent: "gone" }),
    event({ id: "y", type: "model.failed", at: 5, parent: "gone", payload: { latency_ms: -10, code: "Timeout" } }),
    event({ id: "z", type: "agent.failed", at: 5, parent: "gone" }),
  ]);
  expect(call).toMatchObject({ name: "execute_tool other", startMs: 5, endMs: 5, error_type: "tool_failed" });
  expect(model).toMatchObject({ name: "chat unknown", startMs: 5, endMs: 5, error_type: "Timeout" });
});
