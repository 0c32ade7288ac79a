import type { EventNode, EventType, RuntimeEvent } from "@autonous/runtime";
import { cutTo } from "./table.ts";

const DETAIL_LENGTH = 100;

type Payload = RuntimeEvent["payload"];

/** One event on one line: when, what, and the one thing worth knowing of it. */
export function eventLine(event: RuntimeEvent): string {
  const detail = cutTo(detailOf(event), DETAIL_LENGTH);
  return `${event.ts} ${event.type}${detail === "" ? "" : `  ${detail}`}`;
}

/** What an event says of itself, where the fields below would say too little or too much. */
// oxfmt-ignore
const DETAILS: Readonly<Partial<Record<EventType, (payload: Payload) => string>>> = {
  "turn.started":        ({ turn }) => String(turn),
  "turn.completed":      ({ turn }) => String(turn),
  "model.completed":     modelText,
  "tool_call.started":   callText,
  "tool_call.completed": (payload) => `${callText(payload)} · ${String(payload["latency_ms"])} ms`,
  "tool_call.failed":    (payload) => `${callText(payload)} · ${problemOf(payload)}`,
};

/** The fields that tell most, in this order. */
const TELLING = [
  "tool_name",
  "code",
  "message",
  "answer",
  "task",
  "reason",
  "content",
  "error",
  "text",
  "source",
] as const;

/** On one line, of any length. */
function detailOf({ type, payload }: RuntimeEvent): string {
  const own = DETAILS[type];
  return oneLine(own === undefined ? tellingFields(payload) : own(payload));
}

function tellingFields(payload: Payload): string {
  const texts = TELLING.map((name) => (name === "error" && "error" in payload ? problemOf(payload) : payload[name]));
  return texts
    .filter((text) => typeof text === "string" && text !== "")
    .slice(0, 2)
    .join(": ");
}

/** What came of a model round, rather than the reply as it was written. */
function modelText({ kind, calls, progress, answer, message }: Payload): string {
  if (kind === "final") return `answers: ${String(answer)}`;
  if (kind === "invalid") return `cannot be used: ${String(message)}`;
  const names = Array.isArray(calls) ? calls.map((call) => String((call as { name?: unknown }).name)) : [];
  return `asks for ${names.join(", ")}${progress === "" ? "" : `: ${String(progress)}`}`;
}

/** A call as its event has it: the name, and what it was called with. */
function callText({ tool_name, arguments: given, audit }: Payload): string {
  const params = given ?? (audit as { readonly params?: unknown } | undefined)?.params;
  const shown = params === undefined || params === null ? "{}" : JSON.stringify(params);
  return shown === "{}" ? String(tool_name) : `${String(tool_name)} ${shown}`;
}

/** `code: message` of an event that tells of a failure, wherever it has them. */
function problemOf(payload: Payload): string {
  const { error = payload } = payload;
  if (typeof error === "string") return error;
  const { code, message } = Object(error) as { readonly code?: string; readonly message?: string };
  return [code, message].filter((part) => typeof part === "string").join(": ");
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

/** A tree as lines: what, how long it took, how it ended. */
export function treeLines(nodes: readonly EventNode[], indent = ""): string[] {
  return nodes.flatMap((node, i) => {
    const last = i === nodes.length - 1;
    return [
      `${indent}${last ? "└─ " : "├─ "}${nodeLine(node)}`,
      ...treeLines(node.children, indent + (last ? "   " : "│  ")),
    ];
  });
}

function nodeLine({ event, end }: EventNode): string {
  const [name = "", stage] = event.type.split(".");
  const isOpen = stage === "started" && end === undefined;
  const what = end === undefined && !isOpen ? event.type : name;
  const parts = [`${what} ${cutTo(detailOf(event), DETAIL_LENGTH)}`.trimEnd()];
  if (isOpen) parts.push("not over");
  if (end !== undefined) {
    const ending = end.type.split(".")[1] ?? "";
    parts.push(ending, `${Date.parse(end.ts) - Date.parse(event.ts)} ms`);
    if (ending !== "completed") parts.push(cutTo(oneLine(problemOf(end.payload)), DETAIL_LENGTH));
  }
  return parts.filter((part) => part !== "").join(" · ");
}

/** What a live view of a run shows of an event; nothing of most. */
// oxfmt-ignore
const LIVE: Readonly<Partial<Record<EventType, (payload: Payload) => readonly string[]>>> = {
  "turn.started":        ({ turn }) => [`turn ${String(turn)}`],
  "model.completed":     ({ kind, progress, message }) => [...(kind === "tool_calls" && progress !== "" ? [`  ${String(progress)}`] : []), ...(kind === "invalid" ? ["  the reply cannot be used", `    ${String(message)}`] : [])],
  "model.failed":        ({ message }) => ["  the model failed", `    ${String(message)}`],
  "tool_call.completed": (payload) => [`  ok ${durationOf(payload)}  ${callText(payload)}`],
  "tool_call.failed":    (payload) => [`  failed ${durationOf(payload)}  ${callText(payload)}`, `    ${problemOf(payload)}`],
  "display":             ({ content }) => [`  ${String(content)}`],
};

export function liveLines({ type, payload }: RuntimeEvent): readonly string[] {
  return LIVE[type]?.(payload).map((line) => line.replaceAll(/[\n\r]+/g, " ")) ?? [];
}

function durationOf({ audit }: Payload): string {
  return `${String((audit as { readonly duration_ms?: unknown } | undefined)?.duration_ms)} ms`;
}
