import { AttemptFailed } from "./failure.ts";
import type { Failure, FailureReason } from "./failure.ts";
import { readOverflow, readThrottling } from "./overflow-words.ts";
import { readWait } from "./read-wait.ts";

/** What the errors of the provider's library have, as far as it is used here. Anything may be missing. */
interface LooseError {
  readonly message?: unknown;
  readonly name?: unknown;
  readonly type?: unknown;
  readonly code?: unknown;
  readonly status?: unknown;
  readonly statusCode?: unknown;
  readonly url?: unknown;
  readonly responseHeaders?: Readonly<Record<string, string>>;
  readonly responseBody?: unknown;
  readonly cause?: unknown;
  readonly error?: unknown;
}

/** What no wait mends. Google says "quota" of every limit, so that word alone means nothing. */
const NO_QUOTA = /insufficient_quota|billing_hard_limit|credit balance is too low/i;
/** Google refuses a wrong key with 400. */
const WRONG_KEY = /API_KEY_INVALID|API key not valid|API key expired/i;

// oxfmt-ignore
const WORDED: readonly { readonly words: RegExp; readonly reason: FailureReason }[] = [
  { words: NO_QUOTA,  reason: "quota" },
  { words: WRONG_KEY, reason: "key_refused" },
];

interface StatusRow {
  readonly from: number;
  readonly to: number;
  readonly reason: FailureReason;
}

/** The first row that fits counts. What is no row is no answer of a model's server. */
// oxfmt-ignore
const STATUSES: readonly StatusRow[] = [
  { from: 401, to: 401, reason: "key_refused" },
  { from: 402, to: 402, reason: "quota" },
  { from: 403, to: 403, reason: "key_refused" },
  { from: 404, to: 404, reason: "not_found" },
  { from: 408, to: 408, reason: "timeout" },
  { from: 409, to: 409, reason: "server_error" }, // two requests at once for one thing: the next one does better
  { from: 413, to: 413, reason: "context_length" },
  { from: 425, to: 425, reason: "server_error" },
  { from: 429, to: 429, reason: "rate_limited" },
  { from: 501, to: 501, reason: "bad_request" },
  { from: 500, to: 599, reason: "server_error" },
  { from: 400, to: 499, reason: "bad_request" },
];

/** Errors that come inside of a stream have a name instead of a status. */
// oxfmt-ignore
const NAMED: readonly { readonly name: RegExp; readonly reason: FailureReason }[] = [
  { name: /rate_limit|RESOURCE_EXHAUSTED|too_many_requests/i,                        reason: "rate_limited" },
  { name: /overloaded|api_error|server_error|internal|unavailable|timeout/i,         reason: "server_error" },
  { name: /authentication|permission|invalid_api_key|UNAUTHENTICATED/i,              reason: "key_refused" },
  { name: /not_found/i,                                                              reason: "not_found" },
  { name: /invalid_request|INVALID_ARGUMENT|invalid_prompt|bad_request/i,            reason: "bad_request" },
];

/** Of connections: those that asking again does not mend. */
const LASTING =
  /^(?:ENOTFOUND|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_TLS|ERR_SSL|HOSTNAME_MISMATCH|ERR_INVALID_URL)/;
const LONGEST_MESSAGE = 500;
const DEEPEST_CAUSE = 5;

/** What an attempt failed of, whatever was thrown or came through the stream in place of a part. */
export function readFailure(error: unknown, nowMs: number): Failure {
  if (error instanceof AttemptFailed) return error.failure;
  const inner = causes(error);
  for (const each of inner) if (each instanceof AttemptFailed) return each.failure;
  const [first = {}] = inner;
  const status = statusOf(first);
  const message = messageOf(first);
  const body = typeof first.responseBody === "string" ? first.responseBody.slice(0, 20_000) : "";
  const words = `${wordsOf(first)} ${message} ${body}`;
  const refusal = { status, words: wordsOf(first), message, body };
  const overflow = readOverflow(refusal);
  if (overflow !== undefined) {
    return { reason: "context_length", message, ...(status === undefined ? {} : { status }), ...overflow };
  }
  const throttling = readThrottling(refusal);
  if (status !== undefined) {
    const wait_ms = readWait(first.responseHeaders ?? {}, body, nowMs);
    const worded = WORDED.find(({ words: said }) => said.test(words))?.reason;
    const reason = worded ?? (throttling === undefined ? reasonOf(status) : "rate_limited");
    const about = { ...(wait_ms === undefined ? {} : { wait_ms }), ...(reason === "rate_limited" ? throttling : {}) };
    return { reason, message: `${status} ${message}`.trim(), status, ...about };
  }
  const code = inner
    .map(({ code: each }) => each)
    .find((each) => typeof each === "string" && /^[A-Z_]{4,}$/.test(each));
  if (typeof code === "string") {
    return {
      reason: LASTING.test(code) ? "not_found" : "connection",
      message: `the connection${hostOf(first)} failed (${code})`,
    };
  }
  if (throttling !== undefined) return { reason: "rate_limited", message, ...throttling };
  return { reason: namedReason(wordsOf(first)), message };
}

function namedReason(words: string): FailureReason {
  if (NO_QUOTA.test(words)) return "quota";
  // What has no name at all: the stream broke, or held what cannot be read. Another one may be whole.
  return NAMED.find(({ name }) => name.test(words))?.reason ?? "cut_off";
}

function reasonOf(status: number): FailureReason {
  return STATUSES.find(({ from, to }) => status >= from && status <= to)?.reason ?? "bad_request";
}

function statusOf({ statusCode, status, code }: LooseError): number | undefined {
  return [statusCode, status, code].find(
    (each): each is number => typeof each === "number" && each >= 300 && each <= 599,
  );
}

function hostOf({ url }: LooseError): string {
  return typeof url === "string" && URL.canParse(url) ? ` to ${new URL(url).host}` : "";
}

/** `type` and `code`, of the error itself or of the one inside of it. */
function wordsOf({ type, code, name, error, status }: LooseError): string {
  const inner = typeof error === "object" && error !== null ? (error as LooseError) : {};
  const words = [type, code, status, inner.type, inner.code, inner.status, name];
  return words.filter((each) => typeof each === "string").join(" ");
}

function messageOf({ message, error, name }: LooseError): string {
  const inner = typeof error === "object" && error !== null ? (error as LooseError).message : error;
  const said = [message, inner, name].find((each) => typeof each === "string" && each.trim() !== "");
  const text = typeof said === "string" ? said : "the server gave an error that says nothing";
  // Errors about what cannot be parsed quote all of it.
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > LONGEST_MESSAGE ? `${line.slice(0, LONGEST_MESSAGE)}…` : line;
}

function causes(error: unknown): readonly LooseError[] {
  if (typeof error === "string") return [{ message: error }];
  const found: LooseError[] = [];
  let current: unknown = error;
  while (typeof current === "object" && current !== null && found.length < DEEPEST_CAUSE) {
    found.push(current);
    current = (current as LooseError).cause;
  }
  return found;
}
