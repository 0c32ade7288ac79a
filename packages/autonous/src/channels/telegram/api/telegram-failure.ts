import { GrammyError, HttpError } from "grammy";

/** What a call to Telegram that did not go well means. */
export type FailureKind =
  /** The token is not (or no longer) that of a bot. */
  | "bad_token"
  /** Too many requests: nothing for `retryAfterMs`. */
  | "busy"
  /** Another program gets this bot's messages. */
  | "conflict"
  /** The chat is not there, or the person has shut the door. */
  | "gone"
  /** This will never be taken, whenever it is tried. */
  | "refused"
  /** No answer, or none of Telegram's own; later there may be one. */
  | "unreachable";

interface FailureFacts {
  readonly kind: FailureKind;
  readonly retryAfterMs?: number;
  /** The time that we gave it was over. */
  readonly isLate?: boolean;
}

/** A failed call. Neither its message nor its cause holds the token, which is part of every address. */
export class TelegramFailure extends Error {
  readonly kind: FailureKind;
  readonly retryAfterMs: number | undefined;
  readonly isLate: boolean;

  constructor(message: string, { kind, retryAfterMs, isLate = false }: FailureFacts) {
    super(message);
    this.name = "TelegramFailure";
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
    this.isLate = isLate;
  }
}

// oxfmt-ignore
const KINDS: Readonly<Record<number, FailureKind>> = {
  401: "bad_token",
  403: "gone",
  404: "bad_token", // a token of an unknown form: the address does not exist
  409: "conflict",
  429: "busy",
};

/** Telegram gives these as 400, and only its words tell them from a message that is wrong in itself. */
const GONE = /chat not found|peer_id_invalid|user is deactivated|group chat was deactivated|bot was kicked/i;

/** Only these are about the request itself. A 408 comes from a proxy that waited, and the others are faults of the server. */
function isRefusal(code: unknown): boolean {
  return Number.isInteger(code) && Number(code) >= 400 && Number(code) < 500 && code !== 408;
}

/** Where a 429 does not say how long. */
const BUSY_MS = 5000;

/** How long a 429 asks for. */
export function busyMs(retry_after_s: number | undefined): number {
  return retry_after_s === undefined ? BUSY_MS : retry_after_s * 1000;
}

export function failureOf(error: unknown): TelegramFailure {
  if (error instanceof TelegramFailure) return error;
  if (error instanceof GrammyError) return refusalOf(error);
  if (error instanceof HttpError) return unreachable(error.message, error.error);
  throw error; // a mistake of our own is not Telegram's
}

function refusalOf({ method, error_code, description, parameters }: GrammyError): TelegramFailure {
  const message = `Telegram rejected ${method} (${error_code}: ${description})`;
  if (!isRefusal(error_code)) return new TelegramFailure(message, { kind: "unreachable" });
  const { retry_after } = parameters;
  const isGone = error_code === 400 && GONE.test(description);
  const kind = isGone ? "gone" : (KINDS[error_code] ?? "refused");
  return new TelegramFailure(message, {
    kind,
    ...(kind === "busy" ? { retryAfterMs: busyMs(retry_after) } : {}),
  });
}

/** Of the cause only its code is told: its message may have the address, and so the token. */
function unreachable(message: string, cause: unknown): TelegramFailure {
  const method = /'(\w+)'/.exec(message)?.[1] ?? "a call";
  const why = whyOf(cause);
  const isLate = why === LATE;
  return new TelegramFailure(`Telegram cannot be reached for ${method} (${why})`, { kind: "unreachable", isLate });
}

const LATE = "timed out";

function whyOf(error: unknown): string {
  const { code, name, cause } = Object(error) as Readonly<Record<"code" | "name" | "cause", unknown>>;
  if (typeof code === "string") return code;
  if (name === "AbortError") return LATE;
  return cause === undefined ? "not a response from Telegram" : whyOf(cause);
}
