import { ToolError } from "@autonous/runtime";
import { faultReason } from "@autonous/runtime/internal";
import type { ErrorCode } from "@autonous/runtime";
import type { CompleteOptions, ModelProvider, ModelReply, ModelRequest, SpentUsage } from "../model/provider.ts";
import { bookFailed, charge } from "./usage/bookings.ts";
import { RepetitionDetector } from "./replies/repetition-detector.ts";
import { MAX_TIMER_MS } from "./usage/meter.ts";
import type { Run } from "./agent-run.ts";
import { estimateTokens, requestTokens } from "./window/tokens.ts";

export interface Consultation {
  readonly reply: ModelReply;
  /** It repeated itself and was stopped. */
  readonly isRepetitive: boolean;
  /** A warning for the user about the server. */
  readonly notice?: string;
  /** Fields of the round's event apart from the reply. */
  readonly about: {
    readonly finish: ModelReply["finish"];
    /** The model that replied. */
    readonly provider: string;
    /** `estimated`: the provider did not report it. */
    readonly usage: SpentUsage;
    readonly cost: number | null;
    readonly latency_ms: number;
  };
}

/** The model gave no reply. */
export class NoReply extends Error {
  readonly code: Extract<ErrorCode, "Cancelled" | "Timeout" | "LimitReached" | "ModelFailed">;
  /** With several models: how each of them failed, as text. `cause` is the failure of one of them. */
  readonly all: string | undefined;
  /** The model that was asked. */
  readonly provider: ModelProvider | undefined;

  constructor(
    code: NoReply["code"],
    cause: unknown,
    { all, provider }: { readonly all?: string; readonly provider?: ModelProvider } = {},
  ) {
    super(all ?? (cause instanceof ToolError ? cause.message : faultReason(cause)), { cause });
    this.code = code;
    this.all = all;
    this.provider = provider;
  }

  /** For requests other than rounds. */
  asError(what: string, redact: (text: string) => string): ToolError {
    return new ToolError(this.code, `${what}: ${redact(this.message)}`, {}, this);
  }

  /** The request exceeded the model's context window. */
  get isTooLong(): boolean {
    return this.cause instanceof ToolError && this.cause.details?.["context_length"] === true;
  }
}

/** How a model is asked. */
export interface ConsultOptions {
  /** `event_id` of the turn. */
  readonly parent_id: string | null;
  /** How long to retry before the next model is asked. */
  readonly patience_ms?: number;
}

/**
 * Asks the model in use, within the remaining time of the run, and counts and charges its usage. Failed attempts are
 * charged too, and recorded before the next attempt. Throws `NoReply` if the provider fails or a limit is reached.
 */
export async function consult(run: Run, request: ModelRequest, attempt: ConsultOptions): Promise<Consultation> {
  const { provider } = run;
  const startedMs = run.now();
  const { reply, isRepetitive, spent } = await complete(run, { request, provider, ...attempt });
  const usage = reply.usage ?? spent ?? estimateUsage(request, reply, provider);
  const cost = await charge(run, { provider, usage });
  const about = { finish: reply.finish, provider: provider.name, usage, cost, latency_ms: run.now() - startedMs };
  return { reply, isRepetitive, about };
}

interface CompleteRequest extends ConsultOptions {
  readonly request: ModelRequest;
  readonly provider: ModelProvider;
}

interface Completion extends Pick<Consultation, "reply" | "isRepetitive"> {
  /** Usage of a stopped reply, as reported by the provider. */
  readonly spent?: SpentUsage;
}

async function complete(run: Run, { request, provider, ...attempt }: CompleteRequest): Promise<Completion> {
  const { purpose = "round" } = request;
  const { onDelta, onRetry } = run.options;
  const late = AbortSignal.timeout(Math.max(1, Math.min(run.meter.remainingMs, MAX_TIMER_MS)));
  const repeated = new AbortController();
  const books = keepBooks(run, { provider, purpose, parent_id: attempt.parent_id, isOver: repeated.signal });
  let watch = new RepetitionDetector();
  let said = "";
  try {
    run.signal.throwIfAborted();
    const reply = await provider.complete(request, {
      signal: AbortSignal.any([run.signal, late, repeated.signal, books.signal]),
      ...(attempt.patience_ms === undefined ? {} : { patience_ms: attempt.patience_ms }),
      onSpent: books.onSpent,
      onRetry: (retry) => {
        books.beforeRetry();
        watch = new RepetitionDetector(); // the reply of the failed attempt is discarded
        said = "";
        onRetry?.(retry);
      },
      onDelta: (delta) => {
        if (purpose === "round") onDelta?.(delta);
        if (delta.kind !== "text") return;
        said += delta.text;
        if (watch.push(delta.text)) repeated.abort();
      },
    });
    return { reply, isRepetitive: repeated.signal.aborted }; // the reply may end in the repetition
  } catch (error) {
    if (run.signal.aborted) throw new NoReply("Cancelled", error);
    if (books.limit !== undefined) throw books.limit;
    if (late.aborted) throw new NoReply("Timeout", error);
    if (!repeated.signal.aborted) throw new NoReply("ModelFailed", error, { provider });
    const spent = books.spentAtLast === undefined ? {} : { spent: books.spentAtLast };
    return { reply: { kind: "plain", text: said, finish: "stop" }, isRepetitive: true, ...spent };
  }
}

interface Books {
  readonly onSpent: NonNullable<CompleteOptions["onSpent"]>;
  /** Throws if the cost so far plus another such attempt would exceed a limit. */
  beforeRetry(): void;
  /** Aborted when a limit is reached, so that the provider stops even if it swallows the error. */
  readonly signal: AbortSignal;
  readonly limit: NoReply | undefined;
  /** Usage of an attempt that was stopped on purpose: it is booked with its reply. */
  readonly spentAtLast: SpentUsage | undefined;
}

interface BooksOptions extends Pick<CompleteRequest, "provider" | "parent_id"> {
  readonly purpose: NonNullable<ModelRequest["purpose"]>;
  /** Once aborted, reported usage belongs to the reply. */
  readonly isOver: AbortSignal;
}

/** Books failed attempts, and stops the request when a limit is reached. */
function keepBooks(run: Run, { provider, parent_id, purpose, isOver }: BooksOptions): Books {
  const over = new AbortController();
  let limit: NoReply | undefined;
  let last: SpentUsage | undefined;
  const end = (message: string): never => {
    limit = new NoReply("LimitReached", message);
    over.abort(limit);
    throw limit;
  };
  return {
    signal: over.signal,
    get limit() {
      return limit;
    },
    get spentAtLast() {
      return isOver.aborted ? last : undefined;
    },
    async onSpent(usage) {
      last = usage;
      if (isOver.aborted) return;
      await bookFailed(run, { provider, usage, parent_id, purpose });
      const reached = run.meter.reached(0, provider);
      if (reached?.code === "LimitReached") end(reached.message);
    },
    beforeRetry() {
      const exceeded = last && run.meter.exceededBy(last, provider);
      last = undefined;
      if (exceeded?.code === "LimitReached") end(exceeded.message);
    },
  };
}

/** Limits and quotas must hold even if a provider reports no usage, so it is estimated. */
function estimateUsage(request: ModelRequest, reply: ModelReply, { protocol = "plain" }: ModelProvider): SpentUsage {
  const calls = reply.kind === "native" ? estimateTokens(JSON.stringify(reply.calls)) : 0;
  return {
    input_tokens: requestTokens(request, protocol),
    output_tokens: estimateTokens(reply.text) + calls,
    estimated: true,
  };
}
