import { ToolError } from "@autonous/runtime";
import type { ErrorCode } from "@autonous/runtime";
import type { ModelReply, ModelRequest, ModelUsage } from "../model/provider.ts";
import { ChantWatch } from "./chanting.ts";
import { LONGEST_MS } from "./meter.ts";
import type { Run } from "./run.ts";
import { estimateTokens, requestTokens } from "./tokens.ts";

export interface Consulted {
  readonly reply: ModelReply;
  /** It said the same over and over, and was stopped. */
  readonly isChant: boolean;
  /** What the event about it holds beside the reply. */
  readonly about: {
    readonly finish: ModelReply["finish"];
    /** `estimated`: the provider did not say. */
    readonly usage: ModelUsage & { readonly estimated?: true };
    readonly cost: number | null;
    readonly latency_ms: number;
  };
}

/** There is no reply, and why. */
export class NoReply extends Error {
  readonly code: Extract<ErrorCode, "Cancelled" | "Timeout" | "ModelFailed">;

  constructor(code: NoReply["code"], cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.code = code;
  }

  /** The request was more than the model takes. */
  get isTooLong(): boolean {
    return this.cause instanceof ToolError && this.cause.details?.["context_length"] === true;
  }
}

/**
 * Asks the model, for as long as the run may still work, and counts and charges what it used. Throws `NoReply` where the
 * provider gives none.
 */
export async function consult(run: Run, request: ModelRequest): Promise<Consulted> {
  const askedMs = run.now();
  const { reply, isChant } = await complete(run, request);
  return { reply, isChant, about: await account(run, { request, reply, askedMs }) };
}

async function complete(run: Run, request: ModelRequest): Promise<Pick<Consulted, "reply" | "isChant">> {
  const { provider } = run;
  const { onDelta, onRetry } = run.options;
  const late = AbortSignal.timeout(Math.max(1, Math.min(run.meter.remainingMs, LONGEST_MS)));
  const chanted = new AbortController();
  let watch = new ChantWatch();
  let said = "";
  try {
    run.signal.throwIfAborted();
    const reply = await provider.complete(request, {
      signal: AbortSignal.any([run.signal, late, chanted.signal]),
      onRetry: (retry) => {
        watch = new ChantWatch(); // what came of the attempt that failed is not gone on with
        said = "";
        onRetry?.(retry);
      },
      onDelta: (delta) => {
        if (request.purpose !== "summary") onDelta?.(delta);
        if (delta.kind !== "text") return;
        said += delta.text;
        if (watch.push(delta.text)) chanted.abort();
      },
    });
    return { reply, isChant: chanted.signal.aborted }; // the end of it may have come with the chant
  } catch (error) {
    if (run.signal.aborted) throw new NoReply("Cancelled", error);
    if (late.aborted) throw new NoReply("Timeout", error);
    if (!chanted.signal.aborted) throw new NoReply("ModelFailed", error);
    return { reply: { kind: "plain", text: said, finish: "stop" }, isChant: true };
  }
}

interface Asked {
  readonly request: ModelRequest;
  readonly reply: ModelReply;
  readonly askedMs: number;
}

/** Limits and quotas have to hold where a provider says nothing: then what it must have been is counted. */
async function account(run: Run, { request, reply, askedMs }: Asked): Promise<Consulted["about"]> {
  const usage = reply.usage ?? {
    input_tokens: requestTokens(request, run.provider.protocol ?? "plain"),
    output_tokens:
      estimateTokens(reply.text) + (reply.kind === "native" ? estimateTokens(JSON.stringify(reply.calls)) : 0),
    estimated: true as const,
  };
  const cost = run.meter.costOf(usage, run.provider);
  run.meter.count(usage, cost);
  const { chat, user } = run.options.task;
  const who = { ...(chat === undefined ? {} : { chat }), ...(user === undefined ? {} : { user }) };
  const tokens = usage.input_tokens + usage.output_tokens;
  if (tokens > 0) await run.options.runtime.charge({ tokens }, who);
  run.options.onUsage?.(run.meter.totals);
  return { finish: reply.finish, usage, cost, latency_ms: run.now() - askedMs };
}
