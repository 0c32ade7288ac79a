import type { RuntimeEvent } from "@autonous/runtime";
import type { EventType } from "@autonous/runtime/internal";
import { expect, test } from "vitest";
import { EventMetrics } from "./metrics.ts";
import { Registry } from "./registry.ts";

let seq = 0;

function event(type: EventType, atMs: number, payload: RuntimeEvent["payload"] = {}): RuntimeEvent {
  seq += 1;
  const about = { trace_id: "0".repeat(31).concat("1"), task_id: "task_1", run_id: "run_1", parent_id: null };
  const chained = { prev_hash: "", hash: "" };
  return { event_id: `evt_${seq}`, seq, ts: new Date(atMs).toISOString(), type, ...about, payload, ...chained };
}

function told(...events: readonly RuntimeEvent[]): (line: string) => boolean {
  const registry = new Registry();
  const metrics = new EventMetrics(registry);
  for (const each of events) metrics.observe(each);
  const lines = new Set(registry.text().split("\n"));
  return (line) => lines.has(line);
}

function audit(fields: object = {}): object {
  const result = { ok: true, exit_code: 0, error_code: null, stdout_ref: null };
  return { version: "1.0.0", duration_ms: 20, result, policy: { decision: "ALLOW" }, ...fields };
}

test("the wait, attempts and end of a task are counted and timed", () => {
  const has = told(
    event("task.queued", 1000, { source: "http" }),
    event("task.started", 1400, { attempt: 1 }),
    event("task.retry_scheduled", 2000),
    event("task.started", 3000, { attempt: 2 }),
    event("task.resumed", 4000, { attempt: 2 }),
    event("task.completed", 5400),
  );
  for (const line of [
    'autonous_tasks_queued_total{channel="http"} 1',
    'autonous_task_attempts_total{kind="first"} 1',
    'autonous_task_attempts_total{kind="retry"} 1',
    'autonous_task_attempts_total{kind="resumed"} 1',
    'autonous_tasks_ended_total{outcome="done"} 1',
    'autonous_tasks_ended_total{outcome="failed"} 0',
    "autonous_task_wait_seconds_sum 0.4",
    'autonous_task_duration_seconds_sum{outcome="done"} 4',
  ])
    expect({ line, told: has(line) }).toEqual({ line, told: true });
});

test("a manual retry counts as a retry and not as a new message, also in a process that saw no earlier events", () => {
  const retried = [
    event("task.queued", 9000, { source: "http", by: "ada" }),
    event("task.started", 9500, { attempt: 1, retries: 1 }),
    event("task.completed", 9900),
  ];
  const before = [
    event("task.queued", 0, { source: "http" }),
    event("task.started", 1, { attempt: 1 }),
    event("task.failed", 2),
  ];
  const afterRestart = told(...retried);
  const inOne = told(...before, ...retried);
  expect(afterRestart('autonous_tasks_queued_total{channel="http"} 1')).toBe(false);
  expect(inOne('autonous_tasks_queued_total{channel="http"} 1')).toBe(true);
  expect(afterRestart('autonous_task_attempts_total{kind="first"} 0')).toBe(true);
  expect(inOne('autonous_task_attempts_total{kind="first"} 1')).toBe(true);
  for (const has of [afterRestart, inOne]) expect(has('autonous_task_attempts_total{kind="retry"} 1')).toBe(true);
  expect(afterRestart("autonous_task_wait_seconds_sum 0.5")).toBe(true);
});

test("a dropped dead letter counts as ended once", () => {
  const has = told(
    event("task.queued", 0),
    event("task.dead_lettered", 1),
    event("task.cancelled", 2, { dropped: true }),
  );
  expect(has('autonous_tasks_ended_total{outcome="dead_letter"} 1')).toBe(true);
  expect(has('autonous_tasks_ended_total{outcome="cancelled"} 0')).toBe(true);
});

test("calls are counted by tool and outcome; unknown tool names count as other", () => {
  const refused = { ok: false, exit_code: null, error_code: "ToolNotAllowed", stdout_ref: null };
  const unknown = { ok: false, exit_code: null, error_code: "UnknownTool", stdout_ref: null };
  const has = told(
    event("tool_call.completed", 0, { tool_name: "ls", latency_ms: 20, audit: audit() }),
    event("tool_call.failed", 0, {
      tool_name: "bash",
      audit: audit({ result: refused, policy: { decision: "DENY" } }),
    }),
    event("tool_call.failed", 0, {
      tool_name: 'evil"\n',
      audit: audit({ version: null, result: unknown, policy: { decision: null } }),
    }),
  );
  for (const line of [
    'autonous_tool_calls_total{tool="ls",outcome="ok"} 1',
    'autonous_tool_calls_total{tool="bash",outcome="ToolNotAllowed"} 1',
    'autonous_tool_calls_total{tool="other",outcome="UnknownTool"} 1',
    'autonous_tool_call_duration_seconds_count{tool="ls"} 1',
    'autonous_decisions_total{effect="ALLOW"} 1',
    'autonous_decisions_total{effect="DENY"} 1',
    'autonous_decisions_total{effect="REQUIRE_CONFIRMATION"} 0',
  ])
    expect({ line, told: has(line) }).toEqual({ line, told: true });
  expect(has('autonous_tool_call_duration_seconds_count{tool="bash"} 1')).toBe(false);
});

test("the model's tokens, cost and failures are counted under its name", () => {
  const usage = { input_tokens: 100, output_tokens: 7, cached_input_tokens: 60 };
  const has = told(
    event("agent.started", 0, { provider: "anthropic:some" }),
    event("model.completed", 0, { usage, cost: 0.5, latency_ms: 1500 }),
    event("model.failed", 0, { code: "ModelFailed", reason: "overloaded", latency_ms: 10 }),
    event("model.failed", 0, { code: "Cancelled", latency_ms: 10 }),
    event("model.billed", 0, { provider: "anthropic:some", usage: { input_tokens: 50, output_tokens: 0 }, cost: 0.25 }),
    event("model.switched", 0, { from: "anthropic:some", to: "openai:other", reason: "quota", message: "m" }),
    event("model.completed", 0, { provider: "openai:other", usage, cost: 0.125 }),
    event("model.failed", 0, { code: "Timeout", latency_ms: 10 }),
    event("agent.failed", 0),
    event("model.completed", 0, { usage: null, cost: null }),
  );
  for (const line of [
    'autonous_model_requests_total{model="anthropic:some",outcome="ok"} 1',
    'autonous_model_requests_total{model="anthropic:some",outcome="overloaded"} 1',
    'autonous_model_requests_total{model="anthropic:some",outcome="Cancelled"} 1',
    'autonous_model_requests_total{model="unknown",outcome="ok"} 1',
    'autonous_model_tokens_total{model="anthropic:some",direction="in"} 150',
    'autonous_model_tokens_total{model="anthropic:some",direction="out"} 7',
    'autonous_model_tokens_total{model="anthropic:some",direction="cached"} 60',
    'autonous_model_cost_total{model="anthropic:some"} 0.75',
    'autonous_model_requests_total{model="anthropic:some",outcome="quota"} 1',
    'autonous_model_requests_total{model="openai:other",outcome="ok"} 1',
    'autonous_model_requests_total{model="openai:other",outcome="Timeout"} 1',
    'autonous_model_tokens_total{model="openai:other",direction="in"} 100',
    'autonous_model_cost_total{model="openai:other"} 0.125',
  ])
    expect({ line, told: has(line) }).toEqual({ line, told: true });
});

test("malformed events are tolerated", () => {
  const odd = [null, 7, "x", [], { audit: 3 }, { usage: "x" }];
  const types = [
    "tool_call.failed",
    "tool_call.completed",
    "model.completed",
    "model.failed",
    "agent.started",
  ] as const;
  const events = types.flatMap((type) =>
    odd.map((value) => event(type, 0, { audit: value, usage: value, cost: value })),
  );
  expect(told(...events)('autonous_tool_calls_total{tool="other",outcome="ok"} 12')).toBe(true);
});
