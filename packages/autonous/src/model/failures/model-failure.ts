import { ToolError } from "@autonous/runtime";

/** Why a request failed. `context_length`: the request is too long, so a shorter one might succeed. */
export type FailureReason =
  | "context_length"
  | "bad_request"
  | "key_refused"
  | "not_found"
  | "quota"
  | "rate_limited"
  | "server_error"
  | "connection"
  | "proxy"
  | "timeout"
  | "cut_off"
  | "content_filter"
  | "refused"
  | "redirected"
  | "breaker_open";

/** A failed attempt. */
export interface Failure {
  readonly reason: FailureReason;
  /** A clause: the server's message, or what happened. Not redacted yet. */
  readonly message: string;
  readonly status?: number;
  /** At most this many attempts, whatever the reason allows, because a retry is unlikely to help. */
  readonly max_attempts?: number;
  /** The answer ended without an error, but without a finish reason. */
  readonly unfinished?: true;
  /** Wait requested by the server. */
  readonly wait_ms?: number;
  /**
   * For a request that is too large, as counted by the server: the limit, the size sent, and the part reserved for the
   * reply.
   */
  readonly limit_tokens?: number;
  readonly sent_tokens?: number;
  readonly reply_tokens?: number;
}

interface ReasonRow {
  /** The same request may succeed later. */
  readonly retry: boolean;
  /** The server is at fault: counts for the circuit breaker. */
  readonly blame: boolean;
  /**
   * Ask the next model of a list: this one is down, out of credit, or unusable. For other reasons the next one would
   * fail too.
   */
  readonly fall_back: boolean;
  readonly hint: string;
}

// oxfmt-ignore
export const REASONS: Readonly<Record<FailureReason, ReasonRow>> = {
  context_length: { retry: false, blame: false, fall_back: false, hint: "The conversation exceeds the model's context window; send less or use a larger model." },
  bad_request:    { retry: false, blame: false, fall_back: false, hint: "The server rejected the request; fix what it names, or check the model and its settings." },
  key_refused:    { retry: false, blame: false, fall_back: true,  hint: "Check the API key: it is wrong, expired, or has no access to this model." },
  not_found:      { retry: false, blame: false, fall_back: true,  hint: "Check the model's name and the server's address." },
  quota:          { retry: false, blame: false, fall_back: true,  hint: "Out of credit; check billing." },
  rate_limited:   { retry: true,  blame: false, fall_back: true,  hint: "Rate limit reached; retry later or run fewer tasks in parallel." },
  server_error:   { retry: true,  blame: true,  fall_back: true,  hint: "The provider has a problem; retry later." },
  connection:     { retry: true,  blame: true,  fall_back: true,  hint: "Check that the server is running and reachable from here." },
  proxy:          { retry: true,  blame: true,  fall_back: true,  hint: "Check the proxy in HTTP_PROXY, HTTPS_PROXY or ALL_PROXY; NO_PROXY lists hosts to reach directly." },
  timeout:        { retry: true,  blame: true,  fall_back: true,  hint: "The server is slow or stuck; retry later, or raise AUTONOUS_MODEL_FIRST_BYTE_SECONDS or AUTONOUS_MODEL_IDLE_SECONDS." },
  cut_off:        { retry: true,  blame: true,  fall_back: true,  hint: "The reply was cut off in transit; retry later." },
  content_filter: { retry: false, blame: false, fall_back: false, hint: "The provider's content filter stopped the reply; rephrase the task." },
  refused:        { retry: false, blame: false, fall_back: false, hint: "The model refused the task; rephrase it or use another model." },
  redirected:     { retry: false, blame: false, fall_back: true,  hint: "Set the address that the server names, if you trust it." },
  breaker_open:   { retry: false, blame: false, fall_back: true,  hint: "The provider failed repeatedly; wait until the next attempt is allowed." },
};

/** Thrown inside `model/` for failures that the provider's library does not throw. */
export class AttemptFailed extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** Facts of the last failure, as `details` of the error that ends a round. */
export interface FailureDetails {
  readonly reason: FailureReason;
  readonly attempts: number;
  readonly status?: number;
  /** Earliest time of the next request to the provider, if known. */
  readonly retry_at?: number;
  /** The request was too long; a shorter one might succeed. */
  readonly context_length?: true;
  /** The token counts in the server's message. */
  readonly limit_tokens?: number;
  readonly sent_tokens?: number;
  readonly reply_tokens?: number;
  readonly hint: string;
}

/** The request alone exceeds the limit (also a limit per minute), so only a smaller one helps. */
export function isTooLarge({ limit_tokens, sent_tokens }: Pick<Failure, "limit_tokens" | "sent_tokens">): boolean {
  return limit_tokens !== undefined && sent_tokens !== undefined && sent_tokens > limit_tokens;
}

/** The error that ends a round. The message must be redacted. */
export function modelFailed(message: string, details: Omit<FailureDetails, "hint" | "context_length">): ToolError {
  const isTooLong = details.reason === "context_length" || isTooLarge(details);
  const tooLong = isTooLong ? { context_length: true as const } : {};
  const all: FailureDetails = { ...details, ...tooLong, hint: REASONS[details.reason].hint };
  return new ToolError("ModelFailed", message, { ...all });
}

/** The reason in an error thrown by `complete`; undefined if it has none. */
export function failureReason(error: unknown): FailureReason | undefined {
  if (!(error instanceof ToolError) || error.code !== "ModelFailed") return undefined;
  const reason = error.details?.["reason"];
  return typeof reason === "string" && Object.hasOwn(REASONS, reason) ? (reason as FailureReason) : undefined;
}
