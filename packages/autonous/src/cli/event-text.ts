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
  "tool_call.completed": ({ tool_name, latency_ms }) => `${String(tool_name)} · ${String(latency_ms)} ms`,
  "tool_call.failed":    (payload) => `${String(payload["tool_name"])} · ${problemOf(payload)}`,
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
  return `${String(tool_name)} ${argumentsText(params)}`.trimEnd();
}

/** Arguments for people. Switches that are off are left out: they are as they were declared, and hide the rest. */
export function argumentsText(params: unknown): string {
  if (typeof params !== "object" || params === null) return "";
  return JSON.stringify(params, (_, value: unknown) => (value === false ? undefined : value));
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

/** What can be cut at the end of a line comes last. */
function nodeLine({ event, end }: EventNode): string {
  const [name = "", stage] = event.type.split(".");
  if (end === undefined && stage !== "started")
    return `${event.type} ${cutTo(detailOf(event), DETAIL_LENGTH)}`.trimEnd();
  const { tool_name } = event.payload;
  const isCall = typeof tool_name === "string";
  const ending = end === undefined ? "not over" : (end.type.split(".")[1] ?? "");
  const parts = [
    `${name} ${isCall ? tool_name : cutTo(detailOf(event), DETAIL_LENGTH)}`.trimEnd(),
    ending,
    end === undefined ? "" : `${Date.parse(end.ts) - Date.parse(event.ts)} ms`,
    end === undefined || ending === "completed" ? "" : cutTo(oneLine(problemOf(end.payload)), DETAIL_LENGTH),
    isCall ? cutTo(argumentsText(event.payload["arguments"]), DETAIL_LENGTH) : "",
  ];
  return parts.filter((part) => part !== "").join(" · ");
}

/** What a live view of a run shows of an event; nothing of most. */
// oxfmt-ignore
const LIVE: Readonly<Partial<Record<EventType, (payload: Payload) => readonly string[]>>> = {
  "turn.started":        ({ turn }) => [`turn ${String(turn)}`],
  "model.completed":     modelLines,
  "model.failed":        ({ message }) => ["  the model failed", `    ${String(message)}`],
  "tool_call.completed": (payload) => [`  ok ${durationOf(payload)}  ${callText(payload)}`],
  "tool_call.failed":    (payload) => [`  failed ${durationOf(payload)}  ${callText(payload)}`, `    ${problemOf(payload)}`],
  "display":             ({ content }) => [`  ${String(content)}`],
};

export function liveLines({ type, payload }: RuntimeEvent): readonly string[] {
  return LIVE[type]?.(payload).map((line) => line.replaceAll(/[\n\r]+/g, " ")) ?? [];
}

/** What the model says beside its calls. Its answer is the result of the run, and is not shown twice. */
function modelLines({ kind, progress, message }: Payload): readonly string[] {
  if (kind === "invalid") return ["  the reply cannot be used", `    ${String(message)}`];
  return kind === "tool_calls" && progress !== "" ? [`  ${String(progress)}`] : [];
}

function durationOf({ audit }: Payload): string {
  return `${String((audit as { readonly duration_ms?: unknown } | undefined)?.duration_ms)} ms`;
}
