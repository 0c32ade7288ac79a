/** What the wire formats share, and the interface that each implements. */
import type { IncomingHttpHeaders } from "node:http";
import type { Reply } from "../reply.ts";

export type FormatName = "openai-chat" | "openai-responses" | "anthropic" | "gemini";

export type Json = Readonly<Record<string, unknown>>;

/** One message, in any format. */
export interface SpokenMessage {
  readonly role: "user" | "assistant" | "tool";
  readonly text: string;
}

/** A request as a responder sees it. */
export interface Conversation {
  readonly format: FormatName;
  readonly model: string;
  readonly system: string;
  readonly messages: readonly SpokenMessage[];
  /** The names of the offered tools. */
  readonly tools: readonly string[];
  /** The schemas of their arguments, by name. */
  readonly schemas: Readonly<Record<string, Json>>;
}

export interface WireRequest {
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Json;
}

/** A violation that a real server rejects. */
export interface Problem {
  readonly status?: number;
  readonly message: string;
  readonly param?: string | null;
  readonly code?: string | null;
  readonly details?: readonly Json[];
}

/** Reasons for which any server may reject a request, and its own failures. */
export type Trouble =
  | { readonly kind: "no_key" | "unknown_path" | "broken_json" }
  | { readonly kind: "wrong_key"; readonly key: string }
  | { readonly kind: "unknown_model"; readonly model: string }
  | { readonly kind: "too_large"; readonly bytes: number; readonly limit: number }
  | { readonly kind: "too_long"; readonly tokens: number; readonly limit: number }
  | { readonly kind: "rate_limited" | "server_error" | "unavailable" | "overloaded" | "no_credit" };

export type RefusalTrouble = Trouble | { readonly kind: "invalid"; readonly problem: Problem };

export interface Refusal {
  readonly status: number;
  /** A string is sent unchanged. */
  readonly body: unknown;
  /** Default: JSON. */
  readonly type?: string;
}

/** A chunk of a stream. Faults are placed by its kind. */
export interface Frame {
  readonly kind: "open" | "reasoning" | "text" | "call" | "close";
  readonly data: string;
  /** For a chunk with call arguments: where a cut within them is made. */
  readonly inside?: number;
}

/** The position of a call: some ids are numbered. */
export interface CallPlace {
  /** Within the reply. */
  readonly index: number;
  /** Calls in the conversation before this reply. */
  readonly earlier: number;
  readonly model: string;
}

export interface Answering {
  readonly request: WireRequest;
  readonly model: string;
  readonly pieces: (text: string) => readonly string[];
}

export interface Format {
  readonly name: FormatName;
  /** For a path of its own. */
  matches(path: string): boolean;
  key(request: WireRequest): string | undefined;
  model(request: WireRequest): string;
  isStream(request: WireRequest): boolean;
  /** The content type of a stream. */
  streamType(request: WireRequest): string;
  /** What the real server would reject, in its order. */
  problems(request: WireRequest): Iterable<Problem>;
  /** What it accepts although the model stops working: rewritten call ids, for example. */
  degraded?(request: WireRequest): Problem | undefined;
  conversation(request: WireRequest): Conversation;
  refusal(trouble: RefusalTrouble): Refusal;
  whole(reply: Reply, answering: Answering): Json;
  frames(reply: Reply, answering: Answering): readonly Frame[];
  /** How it reports an error in a stream that has started. */
  errorFrame(): Frame;
}

export function isRecord(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function record(value: unknown): Json {
  return isRecord(value) ? value : {};
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The text of content that is a string or a list of parts. */
export function contentText(value: unknown): string {
  if (typeof value === "string") return value;
  return list(value)
    .map((part) => text(record(part)["text"]))
    .join("");
}

export function unknownKeys(value: Json, known: readonly string[]): string[] {
  return Object.keys(value).filter((key) => !known.includes(key));
}

export function event(data: Json | string, name?: string): string {
  const line = `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
  return name === undefined ? line : `event: ${name}\n${line}`;
}

/** The same frame, to be cut within the arguments: after the given name, else in the middle. */
export function withArguments(frame: Frame, name?: string): Frame {
  const { data } = frame;
  const at = name === undefined ? data.length / 2 : data.indexOf(name) + name.length + 2;
  return { ...frame, inside: Buffer.byteLength(data.slice(0, at)) };
}

/** The names and schemas of the tools of a conversation. */
export function offered(
  tools: readonly { readonly name: unknown; readonly schema: unknown }[],
): Pick<Conversation, "tools" | "schemas"> {
  return {
    tools: tools.map(({ name }) => text(name)),
    schemas: Object.fromEntries(tools.map(({ name, schema }) => [text(name), record(schema)])),
  };
}

/** The words of one line: it keeps tables of fields readable. */
export function words(line: string): readonly string[] {
  return line.trim().split(/\s+/);
}
