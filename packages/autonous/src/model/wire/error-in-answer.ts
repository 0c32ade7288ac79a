import { AttemptFailed } from "../failures/model-failure.ts";
import type { Failure } from "../failures/model-failure.ts";
import { readError } from "../failures/read-failure.ts";
import type { ServerError } from "../failures/read-failure.ts";
import { isUnreadableCall } from "../failures/refusal-words.ts";
import { messageIn, messageTexts } from "../failures/server-words.ts";
import { countOf, isRecord, recordOf, textOf } from "../json-values.ts";
import type { Json } from "../json-values.ts";

/**
 * The provider could not parse the model's output: the reply is unusable, but neither the server nor the request is at
 * fault.
 */
export class UnusableReply extends Error {}

/** Fields of an error without `error` that a reply never has. */
const SPEAKING = [
  "message",
  "msg",
  "detail",
  "errors",
  "error_msg",
  "error_message",
  "errorMessage",
  "err_msg",
] as const;
/** Attempts after an unknown error: one retry, not five. */
const ONCE_MORE = 2;

/** Whether a value in an answer is an error instead of a part of the answer. */
export function isError(value: Json, isReply: boolean): boolean {
  const { error, type, object, base_resp, response } = value;
  if (hasContent(error) || hasContent(recordOf(response)["error"])) return true;
  if (type === "error" || object === "error") return true;
  const code = countOf(recordOf(base_resp)["status_code"]);
  if (code !== undefined && code !== 0) return true;
  return !isReply && SPEAKING.some((name) => hasContent(value[name]));
}

function hasContent(value: unknown): boolean {
  if (typeof value === "string") return value.trim() !== "";
  return Array.isArray(value) ? value.length > 0 : isRecord(value) ? Object.keys(value).length > 0 : value === true;
}

/** Meaning of an error in an answer with status 200: its content counts, not the status. */
export function errorInAnswer(value: unknown, nowMs: number): Error {
  const record = recordOf(value);
  const inner = [recordOf(record["error"]), recordOf(recordOf(record["response"])["error"]), record];
  const status = inner.flatMap(statusesOf).find((each) => each >= 400 && each <= 599);
  const words = inner
    .flatMap(({ type, code, status: name, error_type }) => [type, code, name, error_type])
    .filter((each) => typeof each === "string" && each !== "error")
    .join(" ");
  const code = recordOf(record["base_resp"])["status_code"];
  const body = typeof value === "string" ? value : JSON.stringify(code === undefined ? value : { code, ...record });
  return readRefusal({ status, words, message: "", body, headers: {} }, nowMs);
}

function statusesOf({ code, status, status_code, statusCode, http_code }: Json): readonly number[] {
  return [code, status, status_code, statusCode, http_code].flatMap((each) => countOf(each) ?? []);
}

/** The error that a server sent instead of an answer. */
export function readRefusal(error: ServerError, nowMs: number): Error {
  const { status } = error;
  if (isUnreadableCall(messageTexts(error), status)) {
    const said = messageIn(error.body).slice(0, 1000);
    return new UnusableReply(`the server could not read its tool call (${said})`);
  }
  const known = readError(error, nowMs);
  if (known !== undefined) return new AttemptFailed(withWords(known, error));
  const message = messageIn(error.body) || "the server sent an error without a message";
  return new AttemptFailed({
    reason: "server_error",
    message: `the server said: ${message}`,
    max_attempts: ONCE_MORE,
  });
}

/** For a body without a message: the status and its name. */
function withWords(failure: Failure, { status, body, message }: ServerError): Failure {
  if (status === undefined || messageIn(body) !== "") return failure;
  const said = body.trim() === "" ? `${status} with an empty body` : `${status} ${message}`.trim();
  return { ...failure, message: said };
}

/** A web page of a proxy, a login, or a server that does not serve models. */
export function pageInAnswer(page: string): Error {
  const message = `the server sent ${messageIn(page) || "a web page"}`;
  return new AttemptFailed({ reason: "server_error", message, max_attempts: ONCE_MORE });
}

const MAX_START = 4000;

/** JSON that is neither an answer nor an error. */
export function unknownAnswer(text: string): Error {
  // Shortened after redaction: half of a key would not be recognised.
  const start = textOf(text).trim().slice(0, MAX_START);
  const message =
    start === "" ? "incomplete reply: it is empty" : `the server sent something other than a reply: ${start}`;
  return new AttemptFailed({ reason: "cut_off", message, ...(start === "" ? {} : { max_attempts: ONCE_MORE }) });
}
