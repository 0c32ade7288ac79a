import { hash } from "node:crypto";
import type { RuntimeEvent } from "@autonous/runtime";
import type { AuditRecord } from "@autonous/runtime/internal";

/** A span, independent of any wire format. Times are milliseconds since the epoch. */
export interface EventSpan {
  readonly name: string;
  readonly kind: "internal" | "client";
  readonly trace_id: string;
  readonly span_id: string;
  readonly parent_span_id?: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, string | number | readonly string[]>>;
  /** The error code, if the span ended in an error. */
  readonly error_type?: string;
}

type StartEvent = Pick<RuntimeEvent, "event_id" | "type" | "ts" | "parent_id"> & {
  /** `agent.started` only: the provider in use. */
  readonly provider?: string;
};

export interface SpanMakerOptions {
  /** Looks up an event that this process has not seen, of a task that began before it. */
  readonly findEvent: (run_id: string, event_id: string) => Promise<RuntimeEvent | undefined>;
}

/** Start events kept in memory; the oldest are evicted and looked up again when needed. */
const MAX_STARTS = 20_000;

const STARTS = new Set(["agent.started", "turn.started", "tool_call.started"]);

/**
 * Turns events into spans by the OpenTelemetry conventions for generative AI: `invoke_agent` contains
 * `chat` and `execute_tool`. Span ids derive from event ids, so a task that resumed after a crash stays one trace,
 * whichever process reports it. Spans contain no prompts, no replies, no arguments and no results.
 */
export class SpanMaker {
  readonly #findEvent: SpanMakerOptions["findEvent"];
  readonly #starts = new Map<string, StartEvent>();

  constructor({ findEvent }: SpanMakerOptions) {
    this.#findEvent = findEvent;
  }

  /** The span that the event ends, if it ends one. Throws if the lookup of an event fails. */
  async take(event: RuntimeEvent): Promise<EventSpan | undefined> {
    if (STARTS.has(event.type)) this.#remember(startOf(event));
    if (event.type === "turn.completed") this.#forget(event.parent_id);
    const [what, happened] = event.type.split(".");
    if (happened !== "completed" && happened !== "failed") return undefined;
    if (what === "agent") return await this.#agentSpan(event);
    if (what === "model") return await this.#modelSpan(event);
    return what === "tool_call" ? await this.#callSpan(event) : undefined;
  }

  async #agentSpan(event: RuntimeEvent): Promise<EventSpan | undefined> {
    const agent = await this.#agentAbove(event);
    if (agent === undefined) return undefined;
    this.#forget(agent.event_id);
    return {
      ...about(event, { name: "invoke_agent autonous", id_of: agent.event_id, startMs: Date.parse(agent.ts) }),
      kind: "internal",
      attributes: {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "autonous",
        "gen_ai.conversation.id": event.run_id,
        ...taskOf(event),
        ...modelOf(agent.provider),
        ...usageOf(event),
      },
      ...errorOf(event.type === "agent.failed" ? (event.payload["code"] ?? "agent_failed") : undefined),
    };
  }

  async #modelSpan(event: RuntimeEvent): Promise<EventSpan> {
    const agent = await this.#agentAbove(event);
    const { payload } = event;
    const model = modelOf(textOf(payload["provider"]) ?? agent?.provider);
    const endMs = Date.parse(event.ts);
    const latencyMs = typeof payload["latency_ms"] === "number" ? payload["latency_ms"] : 0;
    const finish = payload["finish"];
    return {
      ...about(event, {
        name: `chat ${model["gen_ai.request.model"] ?? "unknown"}`,
        id_of: event.event_id,
        startMs: endMs - latencyMs,
        parent: agent,
      }),
      kind: "client",
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": event.run_id,
        ...taskOf(event),
        ...model,
        ...usageOf(event),
        ...(typeof finish === "string" ? { "gen_ai.response.finish_reasons": [finish] } : {}),
      },
      ...errorOf(event.type === "model.failed" ? (payload["reason"] ?? payload["code"] ?? "model_failed") : undefined),
    };
  }

  async #callSpan(event: RuntimeEvent): Promise<EventSpan> {
    const { payload } = event;
    const audit = Object(payload["audit"]) as Partial<AuditRecord>;
    const started = await this.#startAbove(event, "tool_call.started");
    const agent = await this.#agentAbove(event);
    if (started !== undefined) this.#forget(started.event_id);
    // Without a version the tool does not exist, and its name is free text from the model.
    const tool = typeof audit.version === "string" ? (textOf(payload["tool_name"]) ?? "other") : "other";
    const startedAt = started?.ts ?? audit.ts_start ?? event.ts;
    const { decision, rule } = audit.policy ?? {};
    return {
      ...about(event, {
        name: `execute_tool ${tool}`,
        id_of: started?.event_id ?? event.event_id,
        startMs: Date.parse(startedAt),
        parent: agent,
      }),
      kind: "internal",
      attributes: {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": textOf(payload["tool_call_id"]) ?? "",
        ...taskOf(event),
        ...(typeof decision === "string" ? { "autonous.policy.decision": decision } : {}),
        ...(typeof rule === "string" ? { "autonous.policy.rule": rule } : {}),
      },
      ...errorOf(event.type === "tool_call.failed" ? (audit.result?.error_code ?? "tool_failed") : undefined),
    };
  }

  async #agentAbove(event: RuntimeEvent): Promise<StartEvent | undefined> {
    return await this.#startAbove(event, "agent.started");
  }

  /** Follows `parent_id` up to the nearest event of that type. */
  async #startAbove({ run_id, parent_id }: RuntimeEvent, type: string): Promise<StartEvent | undefined> {
    let above = parent_id;
    for (let steps = 0; above !== null && steps < MAX_STEPS; steps++) {
      const started: StartEvent | undefined = this.#starts.get(above) ?? (await this.#lookUp(run_id, above));
      if (started === undefined || started.type === type) return started;
      if (type === "tool_call.started") return undefined; // the end of a call is a direct child of its start
      above = started.parent_id;
    }
    return undefined;
  }

  async #lookUp(run_id: string, event_id: string): Promise<StartEvent | undefined> {
    const event = await this.#findEvent(run_id, event_id);
    if (event === undefined) return undefined;
    const started = startOf(event);
    this.#remember(started);
    return started;
  }

  #remember(started: StartEvent): void {
    this.#starts.set(started.event_id, started);
    const [oldest] = this.#starts.keys();
    if (this.#starts.size > MAX_STARTS && oldest !== undefined) this.#starts.delete(oldest);
  }

  #forget(event_id: string | null): void {
    if (event_id !== null) this.#starts.delete(event_id);
  }
}

/** Call, turn, agent and their parents: a longer chain is not genuine. */
const MAX_STEPS = 10;

function startOf({ event_id, type, ts, parent_id, payload }: RuntimeEvent): StartEvent {
  const provider = type === "agent.started" ? textOf(payload["provider"]) : undefined;
  return { event_id, type, ts, parent_id, ...(provider === undefined ? {} : { provider }) };
}

interface SpanDetails {
  readonly name: string;
  /** The event that the span id derives from. */
  readonly id_of: string;
  readonly startMs: number;
  readonly parent?: StartEvent | undefined;
}

function about(event: RuntimeEvent, { name, id_of, startMs, parent }: SpanDetails) {
  const endMs = Date.parse(event.ts);
  return {
    name,
    trace_id: traceIdOf(event.trace_id),
    span_id: spanIdOf(id_of),
    ...(parent === undefined ? {} : { parent_span_id: spanIdOf(parent.event_id) }),
    startMs: Math.min(startMs, endMs), // the clock may have been set back
    endMs,
  };
}

const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/;

/** Callers may use any text as trace id; invalid ones are hashed into a valid id. */
function traceIdOf(trace_id: string): string {
  return TRACE_ID.test(trace_id) ? trace_id : hash("sha256", trace_id, "hex").slice(0, 32);
}

function spanIdOf(event_id: string): string {
  return hash("sha256", event_id, "hex").slice(0, 16);
}

/** Our provider names, mapped to those of the conventions. */
// oxfmt-ignore
const PROVIDERS: Readonly<Record<string, string>> = {
  anthropic:     "anthropic",
  openai:        "openai",
  "openai-chat": "openai",
  google:        "gcp.gemini",
};

/** `anthropic:claude-x` is the model `claude-x` of anthropic; of `compatible:m@http://…` the server is left out. */
function modelOf(setting: string | undefined): Readonly<Record<string, string>> {
  if (setting === undefined) return {};
  const [, provider = setting, model] = /^([a-z-]+):(.+)$/s.exec(setting) ?? [];
  const name = model?.replace(/@https?:\/\/.*$/is, "") ?? setting;
  return { "gen_ai.provider.name": PROVIDERS[provider] ?? provider, "gen_ai.request.model": name };
}

/** The attribute of each count. */
const USAGE = [
  ["gen_ai.usage.input_tokens", "input_tokens"],
  ["gen_ai.usage.output_tokens", "output_tokens"],
  ["gen_ai.usage.cache_read.input_tokens", "cached_input_tokens"],
] as const;

function usageOf({ payload }: RuntimeEvent): Readonly<Record<string, number>> {
  const usage = Object(payload["usage"]) as Readonly<Record<string, unknown>>;
  const known = USAGE.map(([attribute, field]) => [attribute, usage[field]] as const);
  return Object.fromEntries(known.filter((each): each is [(typeof each)[0], number] => typeof each[1] === "number"));
}

function taskOf({ run_id, task_id }: RuntimeEvent): Readonly<Record<string, string>> {
  return { "autonous.run.id": run_id, ...(task_id === null ? {} : { "autonous.task.id": task_id }) };
}

function errorOf(type: unknown): { readonly error_type?: string } {
  return type === undefined ? {} : { error_type: textOf(type) ?? "unknown" };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
