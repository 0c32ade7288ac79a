import type { RuntimeEvent } from "@autonous/runtime";

type Payload = RuntimeEvent["payload"];

/** Of longer or multi-line texts only the beginning and the size are shown. */
const LONG_TEXT = 160;
const TEXT_START = 60;
/** Limit for all arguments together. */
const LONG_ARGUMENTS = 600;

/** A call with its name and arguments, from its event. On one line of bounded length. */
export function callText(payload: Payload): string {
  const text = argumentsText(argumentsOf(payload), isExcerpt(payload));
  return `${String(payload["tool_name"])} ${text}`.trimEnd();
}

/** The most informative argument of a call, shown without its name. */
const MAIN = ["cmd", "command", "path", "file_path", "pattern", "url", "background_id", "name", "query"] as const;

/** Default values, which events record like explicit ones. */
const DEFAULTS: Readonly<Record<string, unknown>> = { workdir: ".", mode: "overwrite" };

/** The same without JSON syntax, for the live view: `bash npm test`, `edit a.txt find="80" replace="8080"`. */
export function callWords(payload: Payload): string {
  const args = argumentsOf(payload);
  const isCut = isExcerpt(payload);
  const main = MAIN.find((name) => typeof args[name] === "string");
  const others = Object.entries(args).filter(
    ([name, value]) => name !== main && value !== false && value !== DEFAULTS[name],
  );
  const words = [
    String(payload["tool_name"]),
    ...(main === undefined ? [] : [String(shorten(args[main], isCut))]),
    ...others.map(([name, value]) => `${name}=${valueText(value, isCut)}`),
  ];
  const text = words.join(" ");
  return text.length > LONG_ARGUMENTS ? `${text.slice(0, LONG_ARGUMENTS).toWellFormed()}…` : text;
}

function valueText(value: unknown, isCut: boolean): string {
  if (typeof value === "string" && isLong(value)) return `(${sizeOf(value, isCut)})`;
  return JSON.stringify(value, (_, each: unknown) => shorten(each, isCut)) ?? "";
}

/** The arguments of an event; of long ones only what the excerpt contains. */
export function argumentsOf(payload: Payload): Readonly<Record<string, unknown>> {
  const params = paramsOf(payload);
  return isExcerpt(payload) ? (parseStart(String(params["excerpt"])) ?? { excerpt: params["excerpt"] }) : params;
}

/** Whether the event contains only the beginning of the arguments. */
export function isExcerpt(payload: Payload): boolean {
  const { excerpt, storage_ref } = paramsOf(payload);
  return typeof excerpt === "string" && typeof storage_ref === "string";
}

function paramsOf({ arguments: given, audit }: Payload): Readonly<Record<string, unknown>> {
  return Object(given ?? (audit as { readonly params?: unknown } | undefined)?.params) as Record<string, unknown>;
}

/** Possible endings for truncated JSON, innermost first. */
const ENDINGS = ['"}', "}", '"]}', "]}"] as const;

/** Parses truncated JSON arguments up to the cut. */
function parseStart(json: string): Readonly<Record<string, unknown>> | undefined {
  const whole = json.replace(/\\(?:u[0-9a-fA-F]{0,3})?$|,$/, ""); // half an escape
  const tries = ENDINGS.map((ending) => `${whole}${ending}`);
  const member = whole.lastIndexOf(',"'); // cut within a name, or right after one
  for (const text of member < 0 ? tries : [...tries, `${whole.slice(0, member)}}`]) {
    try {
      const value: unknown = JSON.parse(text);
      if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
    } catch {
      // Cut elsewhere: try the next ending.
    }
  }
  return undefined;
}

/** Arguments for users. Flags that are false are omitted: they are the defaults and only add noise. */
export function argumentsText(params: unknown, isCut = false): string {
  if (typeof params !== "object" || params === null) return "";
  const text = JSON.stringify(params, (_, value: unknown) => (value === false ? undefined : shorten(value, isCut)));
  return text.length > LONG_ARGUMENTS ? `${text.slice(0, LONG_ARGUMENTS).toWellFormed()}…` : text;
}

function isLong(text: string): boolean {
  return text.length > LONG_TEXT || text.trimEnd().includes("\n");
}

function sizeOf(text: string, isCut: boolean): string {
  const lines = text.trimEnd().split("\n").length;
  return `${isCut ? "over " : ""}${lines === 1 ? "" : `${lines} lines, `}${text.length} characters`;
}

function shorten(value: unknown, isCut: boolean): unknown {
  if (typeof value !== "string" || !isLong(value)) return value;
  const [first = ""] = value.trimStart().split("\n", 1);
  const start = first.length > TEXT_START ? first.slice(0, TEXT_START).toWellFormed() : first;
  return `${start}… (${sizeOf(value, isCut)})`;
}

/** The reported progress of a call: `40 % what it does`. */
export function farText({ fraction, detail }: Payload): string {
  const percent = typeof fraction === "number" ? `${Math.floor(fraction * 100)} %` : "";
  return [percent, typeof detail === "string" ? detail.trim() : ""].filter((part) => part !== "").join(" ");
}

/** `code: message` of a failure event, wherever the payload has them. */
export function problemOf(payload: Payload): string {
  const { error = payload } = payload;
  if (typeof error === "string") return error;
  const { code, message } = Object(error) as { readonly code?: string; readonly message?: string };
  return [code, message].filter((part) => typeof part === "string").join(": ");
}
