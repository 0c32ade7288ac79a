import type { RuntimeEvent } from "@autonous/runtime";
import type { AuditRecord, EventNode, EventType } from "@autonous/runtime/internal";
import { argumentsText, callText, farText, problemOf } from "../../channels/words/event-words.ts";
import { skillWords } from "../../store/record/skill-words.ts";
import { switchWords } from "../../store/record/switch-words.ts";
import { cutTo } from "../../channels/words/width.ts";

const DETAIL_LENGTH = 100;

type Payload = RuntimeEvent["payload"];

/** One event on one line: time, type, and its most important detail. */
export function eventLine(event: RuntimeEvent): string {
  const detail = cutTo(detailOf(event), DETAIL_LENGTH);
  return `${event.ts} ${event.type}${detail === "" ? "" : `  ${detail}`}`;
}

/** Details by event type, where the generic fields below are not suitable. */
// oxfmt-ignore
const DETAILS: Readonly<Partial<Record<EventType, (payload: Payload) => string>>> = {
  "turn.started":        ({ turn }) => String(turn),
  "turn.completed":      ({ turn }) => String(turn),
  "model.completed":     modelText,
  "model.switched":      switchWords,
  "model.billed":        billedText,
  "tool_call.started":   callText,
  "skill.activated":     (payload) => `${String(payload["skill"])} · ${skillWords(payload)}`,
  "tool_call.completed": ({ tool_name, latency_ms }) => `${String(tool_name)} · ${String(latency_ms)} ms`,
  "progress":            (payload) => `${String(payload["tool_name"])} · ${farText(payload)}`,
  "access.granted":      accessText,
  "access.denied":       accessText,
  "access.revoked":      accessText,
  "tool_call.failed":    (payload) => `${String(payload["tool_name"])} · ${problemOf(payload)}`,
};

/** The most informative fields, in this order. */
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
  return oneLine(own === undefined ? describeFields(payload) : own(payload));
}

function describeFields(payload: Payload): string {
  const texts = TELLING.map((name) => (name === "error" && "error" in payload ? problemOf(payload) : payload[name]));
  return texts
    .filter((text) => typeof text === "string" && text !== "")
    .slice(0, 2)
    .join(": ");
}

function accessText({ channel, user, name, by, via }: Payload): string {
  return `${String(channel)}:${String(user)} ${JSON.stringify(name)} · by ${String(by)} (${String(via)})`;
}

/** The outcome of a model round, instead of the raw reply. */
function modelText({ kind, calls, progress, answer, message }: Payload): string {
  if (kind === "final") return `answers: ${String(answer)}`;
  if (kind === "cut") return `answers, cut off: ${String(answer)}`;
  if (kind === "invalid") return `cannot be used: ${String(message)}`;
  const names = Array.isArray(calls) ? calls.map((call) => String((call as { name?: unknown }).name)) : [];
  return `asks for ${names.join(", ")}${progress === "" ? "" : `: ${String(progress)}`}`;
}

function billedText({ provider, purpose, outcome, usage }: Payload): string {
  const { input_tokens, output_tokens } = Object(usage) as Readonly<Record<string, unknown>>;
  const what = `${String(purpose).replace("_", " ")}${outcome === "failed" ? ", failed attempt" : ""}`;
  return `${String(provider)}: ${what}: ${String(input_tokens)} tokens in and ${String(output_tokens)} out`;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

/** A tree as lines: name, duration, outcome. */
export function treeLines(nodes: readonly EventNode[]): string[] {
  return linesOf(nodes, "", undefined);
}

function linesOf(nodes: readonly EventNode[], indent: string, parent: EventNode | undefined): string[] {
  return nodes.flatMap((node, i) => {
    const last = i === nodes.length - 1;
    return [
      `${indent}${last ? "└─ " : "├─ "}${nodeLine(node, parent)}`,
      ...linesOf(node.children, indent + (last ? "   " : "│  "), node),
    ];
  });
}

/** Details that may be cut come last. */
function nodeLine({ event, end }: EventNode, parent: EventNode | undefined): string {
  const [name = "", stage] = event.type.split(".");
  // A task's start event is a step of the task, and ends with it.
  const isStep = stage !== "started" || parent?.event.type.split(".")[0] === name;
  if (end === undefined && isStep) return `${event.type} ${cutTo(detailOf(event), DETAIL_LENGTH)}`.trimEnd();
  const { tool_name } = event.payload;
  const isCall = typeof tool_name === "string";
  const ending = end === undefined ? "not over" : (end.type.split(".")[1] ?? "");
  const parts = [
    `${name} ${isCall ? tool_name : cutTo(detailOf(event), DETAIL_LENGTH)}`.trimEnd(),
    ending,
    end === undefined ? "" : `${Date.parse(end.ts) - Date.parse(event.ts)} ms`,
    end === undefined || ending === "completed" ? "" : cutTo(oneLine(problemOf(end.payload)), DETAIL_LENGTH),
    isCall ? approvalText(end?.payload) : "",
    isCall ? challengeText(end?.payload) : "",
    isCall ? cutTo(argumentsText(event.payload["arguments"]), DETAIL_LENGTH) : "",
  ];
  return parts.filter((part) => part !== "").join(" · ");
}

type Audit = Partial<Pick<AuditRecord, "policy" | "reverse_thinking">>;

function auditOf(payload: Payload | undefined): Audit {
  return payload?.["audit"] ?? {};
}

/** Who approved a call, and with which scope. */
function approvalText(payload: Payload | undefined): string {
  const { approved, approved_by, approval_scope } = auditOf(payload).policy ?? {};
  if (approved !== true) return "";
  const scope = approval_scope === "run" || approval_scope === "session" ? ` for the ${approval_scope}` : "";
  return `approved${scope}${approved_by === null || approved_by === undefined ? "" : ` by ${oneLine(approved_by)}`}`;
}

/** The verdict of reverse thinking about the call. */
function challengeText(payload: Payload | undefined): string {
  const { verdict, verdict_reason } = Object(auditOf(payload).reverse_thinking) as Readonly<Record<string, unknown>>;
  if (typeof verdict !== "string") return "";
  return cutTo(oneLine(`reverse thinking: ${verdict}, ${String(verdict_reason)}`), DETAIL_LENGTH);
}
