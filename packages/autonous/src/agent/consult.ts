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
  /** It said the same over and over, and was stopped. */
  readonly isChant: boolean;
  /** A warning for the user about the server. */
  readonly notice?: string;
  /** What the event about it holds beside the reply. */
  readonly about: {
    readonly finish: ModelReply["finish"];
    /** The model that answered. */
    readonly provider: string;
    /** `estimated`: the provider did not say. */
    readonly usage: SpentUsage;
    readonly cost: number | null;
    readonly latency_ms: number;
  };
}

/** There is no reply, and why. */
export class NoReply extends Error {
  readonly code: Extract<ErrorCode, "Cancelled" | "Timeout" | "LimitReached" | "ModelFailed">;
  /** Of several models: what each of them failed of, in words. `cause` is of one of them. */
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

  /** For callers that ask for something other than a round. */
  asError(what: string, redact: (text: string) => string): ToolError {
    return new ToolError(this.code, `${what}: ${redact(this.message)}`, {}, this);
  }

  /** The request was more than the model takes. */
  get isTooLong(): boolean {
    return this.cause instanceof ToolError && this.cause.details?.["context_length"] === true;
  }
}

/** How a model is asked. */
export interface ConsultOptions {
  /** `event_id` of the turn that it is asked for. */
  readonly parent_id: string | null;
  /** How long to try: after that another model is asked. */
  readonly patience_ms?: number;
}

/**
 * Asks the model in use, for as long as the run may still work, and counts and charges what it used: attempts that
 * failed too, on record before the next one. Throws `NoReply` where the provider gives no reply, or a limit is reached.
 */
export async function consult(run: Run, request: ModelRequest, asking: ConsultOptions): Promise<Consultation> {
  const { provider } = run;
  const askedMs = run.now();
  const { reply, isChant, spent } = await complete(run, { request, provider, ...asking });
  const usage = reply.usage ?? spent ?? estimateUsage(request, reply, provider);
  const cost = await charge(run, { provider, usage });
  const about = { finish: reply.finish, provider: provider.name, usage, cost, latency_ms: run.now() - askedMs };
  return { reply, isChant, about };
}

interface CompleteRequest extends ConsultOptions {
  readonly request: ModelRequest;
  readonly provider: ModelProvider;
}

interface Completion extends Pick<Consultation, "reply" | "isChant"> {
  /** Of a reply that was stopped: what the provider says that it used. */
  readonly spent?: SpentUsage;
}

async function complete(run: Run, { request, provider, ...asking }: CompleteRequest): Promise<Completion> {
  const { purpose = "round" } = request;
  const { onDelta, onRetry } = run.options;
  const late = AbortSignal.timeout(Math.max(1, Math.min(run.meter.remainingMs, MAX_TIMER_MS)));
  const chanted = new AbortController();
  const books = keepBooks(run, { provider, purpose, parent_id: asking.parent_id, isOver: chanted.signal });
  let watch = new RepetitionDetector();
  let said = "";
  try {
    run.signal.throwIfAborted();
    const reply = await provider.complete(request, {
      signal: AbortSignal.any([run.signal, late, chanted.signal, books.signal]),
      ...(asking.patience_ms === undefined ? {} : { patience_ms: asking.patience_ms }),
      onSpent: books.onSpent,
      onRetry: (retry) => {
        books.beforeRetry();
        watch = new RepetitionDetector(); // the reply of the failed attempt is dropped
        said = "";
        onRetry?.(retry);
      },
      onDelta: (delta) => {
        if (purpose === "round") onDelta?.(delta);
        if (delta.kind !== "text") return;
        said += delta.text;
        if (watch.push(delta.text)) chanted.abort();
      },
    });
    return { reply, isChant: chanted.signal.aborted }; // the end of it may have come with the chant
  } catch (error) {
    if (run.signal.aborted) throw new NoReply("Cancelled", error);
    if (books.limit !== undefined) throw books.limit;
    if (late.aborted) throw new NoReply("Timeout", error);
    if (!chanted.signal.aborted) throw new NoReply("ModelFailed", error, { provider });
    const spent = books.spentAtLast === undefined ? {} : { spent: books.spentAtLast };
    return { reply: { kind: "plain", text: said, finish: "stop" }, isChant: true, ...spent };
  }
}

interface Books {
  readonly onSpent: NonNullable<CompleteOptions["onSpent"]>;
  /** Throws if the cost so far, plus the failed attempt once more, would exceed a limit. */
  beforeRetry(): void;
  /** Aborted when a limit is reached: the provider ends then, whatever it makes of what was thrown. */
  readonly signal: AbortSignal;
  readonly limit: NoReply | undefined;
  /** Of an attempt that was stopped on purpose: it is booked with what came of it. */
  readonly spentAtLast: SpentUsage | undefined;
}

interface BooksOptions extends Pick<CompleteRequest, "provider" | "parent_id"> {
  readonly purpose: NonNullable<ModelRequest["purpose"]>;
  /** Aborted: usage reported from now on belongs to the reply. */
  readonly isOver: AbortSignal;
}

/** Books attempts that failed, and ends the asking when a limit is reached. */
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

/** Limits and quotas have to hold where a provider says nothing: then what it must have been is counted. */
function estimateUsage(request: ModelRequest, reply: ModelReply, { protocol = "plain" }: ModelProvider): SpentUsage {
  const calls = reply.kind === "native" ? estimateTokens(JSON.stringify(reply.calls)) : 0;
  return {
    input_tokens: requestTokens(request, protocol),
    output_tokens: estimateTokens(reply.text) + calls,
    estimated: true,
  };
}
