import { parseJson } from "../json-values.ts";

/** The server's answer to a rejected request. */
export interface Refusal {
  readonly status: number | undefined;
  /** `type` and `code` of the error. */
  readonly words: string;
  readonly message: string;
  readonly body: string;
}

const MAX_TEXT = 2_000;
const MAX_TEXTS = 20;
const DEEPEST = 10;
/** Fields with error messages. Other fields may quote the request. */
const SPEAKING =
  /^(?:error|errors|message|msg|detail|details|code|type|status|status_msg|base_resp|error_msg|error_message|err_msg|errorMessage|reason|title|metadata|raw|cause|info|description|response|__type|innererror|n_ctx|n_prompt_tokens)$/i;

/** The server's message without quotations: the conversation itself may contain words of an overflow message. */
export function messageTexts({ words, message, body }: Refusal): readonly string[] {
  const texts: string[] = [words];
  collect(message, texts, 0);
  collect(body, texts, 0);
  return [...new Set(texts.map((each) => withoutQuotations(each.slice(0, MAX_TEXT))))].slice(0, MAX_TEXTS);
}

function collect(value: unknown, texts: string[], depth: number): void {
  if (depth > DEEPEST || texts.length >= MAX_TEXTS) return;
  if (typeof value === "number") texts.push(String(value));
  if (typeof value === "string") {
    const inner = asJson(value);
    if (inner === undefined) texts.push(value);
    else collect(inner, texts, depth + 1);
  }
  if (Array.isArray(value)) for (const each of value.slice(0, MAX_TEXTS)) collect(each, texts, depth + 1);
  else if (typeof value === "object" && value !== null) {
    const { n_prompt_tokens: sent, n_ctx: limit } = value as Readonly<Record<string, unknown>>;
    if (typeof sent === "number" && typeof limit === "number") texts.push(`n_prompt_tokens ${sent} n_ctx ${limit}`);
    for (const [key, each] of Object.entries(value)) if (SPEAKING.test(key)) collect(each, texts, depth + 1);
  }
}

/** Proxies nest the JSON of one error in the text of another, and streams put it after `data:`. */
function asJson(text: string): unknown {
  const trimmed = text.replace(/^\s*data:/, "").trim();
  return /^[[{"]/.test(trimmed) ? parseJson(trimmed) : undefined;
}

/** Quoted text, except after `"message":`, which is the message of a nested error. */
const QUOTATION =
  /(?<![\w"'\\])(?<!(?:message|msg|detail|error|code|type|reason)\\?["']\s*[:=]\s*(?:\\?))(["'“`])(?=[^"'”`\n]*\s)(?:(?!\1|”)[^\n])*?(?:\1|”)(?!\w)/g;

function withoutQuotations(text: string): string {
  const [, all] = /^(["'])([^\n]*)\1$/.exec(text) ?? [];
  return (all ?? text).replaceAll(QUOTATION, "…");
}

/** Message fields; all of them are used. */
const MESSAGES = ["error", "message", "msg", "error_msg", "error_message", "errorMessage", "err_msg", "errors"];
/** Fallback fields; the first one is used. */
const OTHERWISE = [
  "detail",
  "details",
  "error_description",
  "base_resp",
  "status_msg",
  "title",
  "reason",
  "description",
  "info",
  "cause",
  "innererror",
  "response",
  "type",
  "code",
  "status",
];
const MAX_MESSAGES = 3;

/** The message in an error's body as one short line. Empty if it has none. */
export function messageIn(body: unknown, depth = 0): string {
  if (depth > DEEPEST) return "";
  if (typeof body === "string") return fromText(body, depth);
  if (Array.isArray(body))
    return joined(
      body.slice(0, MAX_TEXTS).map((each: unknown) => messageIn(each, depth + 1)),
      "; ",
    );
  if (typeof body !== "object" || body === null) return "";
  const record = body as Readonly<Record<string, unknown>>;
  const say = (name: string): string => messageIn(record[name], depth + 1);
  const { loc, msg } = record;
  if (Array.isArray(loc) && typeof msg === "string") return `${loc.slice(0, 10).map(String).join(".")}: ${msg}`;
  const said = joined(MESSAGES.map(say)) || (OTHERWISE.map(say).find((each) => each !== "") ?? "");
  const behind = upstreamMessage(record["metadata"], depth + 1);
  return [said, behind].filter((each) => each !== "").join(" ");
}

function fromText(text: string, depth: number): string {
  const inner = asJson(text);
  const said = inner === undefined || typeof inner === "string" ? "" : messageIn(inner, depth + 1);
  if (said !== "" || /^\s*(?:\{\s*\}|\[\s*\])\s*$/.test(text)) return said;
  const plain = /^\s*<[a-z!?/]/i.test(text) ? pageText(text) : text;
  return plain.replaceAll(/\s+/g, " ").trim().slice(0, MAX_TEXT);
}

/** Removes duplicates and texts contained in another one. */
function joined(texts: readonly string[], separator = ": "): string {
  const distinct = [...new Set(texts)].filter((text) => text !== "");
  const kept = distinct.filter((text) => !distinct.some((other) => other !== text && other.includes(text)));
  return kept.slice(0, MAX_MESSAGES).join(separator);
}

/** OpenRouter puts the upstream provider's message in `metadata.raw`. */
function upstreamMessage(metadata: unknown, depth: number): string {
  if (typeof metadata !== "object" || metadata === null) return "";
  const { raw, provider_name: name } = metadata as Readonly<Record<string, unknown>>;
  const said = messageIn(raw, depth);
  const provider = typeof name === "string" ? name.slice(0, 100) : "";
  const parts = [provider, said].filter((each) => each !== "");
  return parts.length === 0 ? "" : `(${parts.join(": ")})`;
}

const MAX_PAGE = 20_000;
const PAGE_WORDS = 200;
// oxfmt-ignore
const ENTITIES = new Map([["amp", "&"], ["lt", "<"], ["gt", ">"], ["quot", '"'], ["#39", "'"], ["nbsp", " "]]);

/** A proxy or login page: its title and the start of its text. */
function pageText(html: string): string {
  const page = html.slice(0, MAX_PAGE);
  const title = /<title[^>]{0,200}>([^<]{1,300})/i.exec(page)?.[1] ?? "";
  const text = page
    .replaceAll(/<(script|style|title)\b[^]*?(?:<\/\1|$)/gi, " <")
    .replaceAll(/<[^>]*(?:>|$)/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim();
  const short = text.length > PAGE_WORDS ? `${text.slice(0, PAGE_WORDS)}…` : text;
  const said = [title.trim(), short].filter((each) => each !== "").join(": ");
  const plain = said.replaceAll(/&(#?\w{1,6});/g, (all, name: string) => ENTITIES.get(name) ?? all);
  return plain === "" ? "a web page without text" : `a web page: ${plain}`;
}
