import type { EventNode, RuntimeEvent } from "@autonous/runtime";

const DETAIL_LENGTH = 100;

/** One event on one line: when, what, and the one thing worth knowing of it. */
export function eventLine(event: RuntimeEvent): string {
  const detail = detailOf(event);
  return `${event.ts} ${event.type}${detail === "" ? "" : `  ${detail}`}`;
}

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

function detailOf({ payload }: RuntimeEvent): string {
  const parts: string[] = [];
  for (const name of TELLING) {
    const value = payload[name];
    const text =
      typeof value === "object" && value !== null
        ? `${(value as { code?: string }).code ?? ""} ${(value as { message?: string }).message ?? ""}`.trim()
        : value;
    if (typeof text === "string" && text !== "") parts.push(text.replaceAll(/\s+/g, " "));
    if (parts.length === 2) break;
  }
  return cut(parts.join(": "));
}

function cut(text: string): string {
  return text.length > DETAIL_LENGTH ? `${text.slice(0, DETAIL_LENGTH - 1)}…` : text;
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
  const name = end === undefined ? event.type : (event.type.split(".")[0] ?? event.type);
  const detail = detailOf(event);
  const ending =
    end === undefined ? "" : ` · ${end.type.split(".")[1]} · ${Date.parse(end.ts) - Date.parse(event.ts)} ms`;
  const problem = end?.payload["error"] === undefined ? "" : ` · ${detailOf(end)}`;
  return `${name}${detail === "" ? "" : ` ${detail}`}${ending}${problem}`;
}
