import { AttemptFailed } from "./model-failure.ts";
import type { Failure } from "./model-failure.ts";
import { readOverflow, readThrottling } from "./overflow-words.ts";
import { readWait } from "./read-wait.ts";
import { reasonInWords, reasonOfCode, reasonOfName, reasonOfStatus } from "./refusal-words.ts";
import { messageIn, messageTexts } from "./server-words.ts";

/** Fields of the library's errors that are used here. Any may be missing. */
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

/** Connection errors that a retry does not fix. */
const LASTING =
  /^(?:ENOTFOUND|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_TLS|ERR_SSL|HOSTNAME_MISMATCH|ERR_INVALID_URL)/;
const MAX_MESSAGE = 500;
const DEEPEST_CAUSE = 5;
const MAX_BODY = 20_000;
/** Limit for a server's message before redaction; it is shortened further afterwards. */
const MAX_WORDS = 4000;

/** Turns anything that was thrown, or sent in the stream instead of a part, into a failure. */
export function readFailure(error: unknown, nowMs: number): Failure {
  if (error instanceof AttemptFailed) return error.failure;
  const inner = causes(error);
  for (const each of inner) if (each instanceof AttemptFailed) return each.failure;
  const [first = {}] = inner;
  const status = statusOf(first);
  const code = inner
    .map(({ code: each }) => each)
    .find((each) => typeof each === "string" && /^[A-Z_]{4,}$/.test(each));
  if (status === undefined && typeof code === "string" && first instanceof Error) {
    return {
      reason: LASTING.test(code) ? "not_found" : "connection",
      message: `the connection${hostOf(first)} failed (${code})`,
    };
  }
  const body = typeof first.responseBody === "string" ? first.responseBody.slice(0, MAX_BODY) : "";
  const message = messageOf(first);
  // Unknown error: the stream broke or was unreadable. A retry may succeed.
  const otherwise: Failure = { reason: "cut_off", message };
  return (
    readError({ status, words: wordsOf(first), message, body, headers: first.responseHeaders ?? {} }, nowMs) ??
    otherwise
  );
}

export interface ServerError {
  readonly status: number | undefined;
  /** `type` and `code` of the error. */
  readonly words: string;
  /** Message of the library's error; the body is more specific. */
  readonly message: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Meaning of an error sent by a server; undefined if unknown. */
export function readError({ headers, ...refusal }: ServerError, nowMs: number): Failure | undefined {
  const { status, body, words } = refusal;
  const message = messageIn(body).slice(0, MAX_WORDS) || oneLine(refusal.message);
  const about = status === undefined ? {} : { status };
  const shown = status === undefined ? message : `${status} ${message}`.trim();
  const overflow = readOverflow(refusal);
  if (overflow !== undefined) return { reason: "context_length", message: shown, ...about, ...overflow };
  const said = messageTexts(refusal);
  const throttling = readThrottling(refusal);
  const reason =
    reasonInWords(said, status) ??
    (throttling !== undefined && status !== 429 ? "rate_limited" : reasonOfCode(said, status)) ??
    (status === undefined ? reasonOfName(words) : reasonOfStatus(status));
  if (reason === undefined) return undefined;
  const wait_ms = readWait(headers, body, nowMs);
  return {
    reason,
    message: shown,
    ...about,
    ...(wait_ms === undefined ? {} : { wait_ms }),
    ...(reason === "rate_limited" ? throttling : {}),
  };
}

function statusOf({ statusCode, status, code }: LooseError): number | undefined {
  return [statusCode, status, code].find(
    (each): each is number => typeof each === "number" && each >= 300 && each <= 599,
  );
}

function hostOf({ url }: LooseError): string {
  return typeof url === "string" && URL.canParse(url) ? ` to ${new URL(url).host}` : "";
}

/** `type` and `code` of the error or of the error nested in it. */
function wordsOf({ type, code, name, error, status }: LooseError): string {
  const inner = typeof error === "object" && error !== null ? (error as LooseError) : {};
  const words = [type, code, status, inner.type, inner.code, inner.status, name];
  return words.filter((each) => typeof each === "string").join(" ");
}

function messageOf({ message, error, name }: LooseError): string {
  const inner = typeof error === "object" && error !== null ? (error as LooseError).message : error;
  const said = [message, inner, name].find((each) => typeof each === "string" && each.trim() !== "");
  return oneLine(typeof said === "string" ? said : "the server gave an error without a message");
}

/** Parse errors quote the complete text. */
function oneLine(text: string): string {
  const line = text
    .slice(0, 4 * MAX_MESSAGE)
    .replaceAll(/\s+/g, " ")
    .trim();
  return line.length > MAX_MESSAGE ? `${line.slice(0, MAX_MESSAGE)}…` : line;
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
