import type { RuntimeEvent } from "@autonous/runtime";
import type { AuditRecord, EventType } from "@autonous/runtime/internal";
import type { Registry } from "./registry.ts";

/** Running tasks and runs kept in memory. The oldest are evicted; their durations are then not measured. */
const MAX_REMEMBERED = 50_000;

type Payload = RuntimeEvent["payload"];

interface TaskTimes {
  readonly queuedMs: number;
  startedMs?: number;
}

/** The final state of a task, by event. */
// oxfmt-ignore
const TASK_ENDS: Partial<Record<EventType, string>> = {
  "task.completed":     "done",
  "task.failed":        "failed",
  "task.cancelled":     "cancelled",
  "task.dead_lettered": "dead_letter",
};

// oxfmt-ignore
const ANSWERS: Partial<Record<EventType, string>> = {
  approval_required: "asked",
  approval_granted:  "granted",
  approval_denied:   "denied",
};

const EFFECTS = ["ALLOW", "DENY", "REQUIRE_CONFIRMATION"] as const;

/** Counts recorded events. Never throws: of a malformed event, the readable fields count. */
export class EventMetrics {
  readonly #registry: Registry;
  readonly #tasks = new Map<string, TaskTimes>();
  /** The model of each run. */
  readonly #models = new Map<string, string>();

  constructor(registry: Registry) {
    this.#registry = registry;
    // Start at 0 instead of missing: then the first occurrence shows in a rate.
    for (const outcome of Object.values(TASK_ENDS)) registry.add("autonous_tasks_ended_total", { outcome }, 0);
    for (const effect of EFFECTS) registry.add("autonous_decisions_total", { effect }, 0);
    for (const answer of Object.values(ANSWERS)) registry.add("autonous_approvals_total", { answer }, 0);
    for (const kind of ["first", "retry", "resumed"]) registry.add("autonous_task_attempts_total", { kind }, 0);
  }

  observe(event: RuntimeEvent): void {
    const [about] = event.type.split(".");
    const answer = ANSWERS[event.type];
    if (about === "task") this.#task(event);
    else if (about === "agent") this.#agent(event);
    else if (about === "model") this.#model(event);
    else if (event.type === "tool_call.completed" || event.type === "tool_call.failed") this.#call(event.payload);
    else if (answer !== undefined) this.#registry.add("autonous_approvals_total", { answer });
  }

  #task({ type, task_id, ts, payload }: RuntimeEvent): void {
    if (task_id === null) return;
    const registry = this.#registry;
    const ms = Date.parse(ts);
    const times = this.#tasks.get(task_id);
    if (type === "task.queued") {
      // A manual retry is not a new message; it counts as an attempt.
      if (payload["by"] === undefined)
        registry.add("autonous_tasks_queued_total", { channel: textOf(payload["source"]) });
      remember(this.#tasks, task_id, { queuedMs: ms });
    }
    if (type === "task.started" || type === "task.resumed") {
      registry.add("autonous_task_attempts_total", { kind: kindOf(type, payload) });
      if (times !== undefined && times.startedMs === undefined) {
        registry.observe("autonous_task_wait_seconds", {}, (ms - times.queuedMs) / 1000);
        times.startedMs = ms;
      }
    }
    const outcome = TASK_ENDS[type];
    // A dropped dead letter was already counted as ended.
    if (outcome === undefined || payload["dropped"] === true) return;
    registry.add("autonous_tasks_ended_total", { outcome });
    this.#tasks.delete(task_id);
    const { startedMs } = times ?? {};
    if (startedMs !== undefined)
      registry.observe("autonous_task_duration_seconds", { outcome }, (ms - startedMs) / 1000);
  }

  #agent({ type, run_id, payload }: RuntimeEvent): void {
    if (type === "agent.started") remember(this.#models, run_id, textOf(payload["provider"]));
    else this.#models.delete(run_id);
  }

  #model({ type, run_id, payload }: RuntimeEvent): void {
    const registry = this.#registry;
    // Without either, the run began before this process.
    const model = textOf(payload["provider"] ?? payload["from"] ?? this.#models.get(run_id));
    if (type === "model.switched") remember(this.#models, run_id, textOf(payload["to"]));
    const outcome = type === "model.completed" ? "ok" : textOf(payload["reason"] ?? payload["code"]);
    if (type !== "model.billed") registry.add("autonous_model_requests_total", { model, outcome });
    const { latency_ms, cost } = payload;
    if (typeof latency_ms === "number")
      registry.observe("autonous_model_request_duration_seconds", { model }, latency_ms / 1000);
    if (typeof cost === "number") registry.add("autonous_model_cost_total", { model }, cost);
    const usage = Object(payload["usage"]) as Readonly<Record<string, unknown>>;
    for (const [direction, field] of TOKENS) {
      const tokens = usage[field];
      if (typeof tokens === "number") registry.add("autonous_model_tokens_total", { model, direction }, tokens);
    }
  }

  #call(payload: Payload): void {
    const registry = this.#registry;
    const audit = Object(payload["audit"]) as Partial<AuditRecord>;
    // Without a version the tool does not exist, and its name is free text from the caller.
    const tool = typeof audit.version === "string" ? textOf(payload["tool_name"]) : "other";
    registry.add("autonous_tool_calls_total", { tool, outcome: audit.result?.error_code ?? "ok" });
    const decision = audit.policy?.decision;
    if (decision !== null && decision !== undefined) registry.add("autonous_decisions_total", { effect: decision });
    if (payload["latency_ms"] !== undefined || audit.result?.exit_code !== null)
      registry.observe("autonous_tool_call_duration_seconds", { tool }, (audit.duration_ms ?? Number.NaN) / 1000);
  }
}

const TOKENS = [
  ["in", "input_tokens"],
  ["out", "output_tokens"],
  ["cached", "cached_input_tokens"],
] as const;

function kindOf(type: EventType, { attempt, retries }: Payload): string {
  if (type === "task.resumed") return "resumed";
  const isAgain = (typeof attempt === "number" && attempt > 1) || (typeof retries === "number" && retries > 0);
  return isAgain ? "retry" : "first";
}

function textOf(value: unknown): string {
  return typeof value === "string" && value !== "" ? value : "unknown";
}

function remember<T>(all: Map<string, T>, key: string, value: T): void {
  all.set(key, value);
  const [oldest] = all.keys();
  if (all.size > MAX_REMEMBERED && oldest !== undefined) all.delete(oldest);
}
