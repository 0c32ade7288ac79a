import type { RuntimeEvent } from "@autonous/runtime";
import type { EventType } from "@autonous/runtime/internal";
import type { Queries } from "../sqlite/database.ts";
import { switchWords } from "./switch-words.ts";

type Phase = "ingress" | "model" | "tool" | "reply" | "done" | "failed";

type Payload = Readonly<Record<string, unknown>>;

interface AuditLine {
  readonly phase: Phase;
  readonly message: (payload: Payload) => string;
}

/** Events shown in the short history of a task, with their text. */
// oxfmt-ignore
export const LINES: Partial<Record<EventType, AuditLine>> = {
  "task.queued":          { phase: "ingress", message: (payload) => payload["by"] === undefined ? `received from ${valueText(payload, "source")}` : `requeued by ${valueText(payload, "by")}` },
  "model.completed":      { phase: "model",   message: () => "the model answered" },
  "model.failed":         { phase: "model",   message: (payload) => `the model did not answer: ${valueText(payload, "message")}` },
  "model.switched":       { phase: "model",   message: switchWords },
  "tool_call.completed":  { phase: "tool",    message: (payload) => `${valueText(payload, "tool_name")} succeeded` },
  "tool_call.failed":     { phase: "tool",    message: (payload) => `${valueText(payload, "tool_name")} failed: ${valueText(payload, "error")}` },
  "reply.sent":           { phase: "reply",   message: (payload) => `${payload["file"] === undefined ? "" : `"${fileName(payload["file"])}" `}sent by ${valueText(payload, "channel")}` },
  "task.completed":       { phase: "done",    message: () => "done" },
  "task.retry_scheduled": { phase: "failed",  message: (payload) => `retry at ${valueText(payload, "retry_at")}: ${valueText(payload, "error")}` },
  "task.failed":          { phase: "failed",  message: (payload) => valueText(payload, "error") },
  "task.cancelled":       { phase: "failed",  message: (payload) => `cancelled: ${valueText(payload, "error")}` },
  "task.dead_lettered":   { phase: "failed",  message: (payload) => `dead-lettered: ${valueText(payload, "error")}` },
};

const INSERT = "insert into task_audit (task_id, phase, message, created_at) values (?, ?, ?, ?)";

export async function auditEvent(queries: Queries, { task_id, type, payload, ts }: RuntimeEvent): Promise<void> {
  const line = LINES[type];
  if (line === undefined || task_id === null) return;
  await queries.run(INSERT, [task_id, line.phase, line.message(payload), Date.parse(ts)]);
}

/** The reply is in the outbox. This has no event: it is part of the end of the task. */
export async function auditReply(queries: Queries, task_id: string, now: number): Promise<void> {
  await queries.run(INSERT, [task_id, "reply", "the reply is ready to be sent", now]);
}

interface GivenUp {
  readonly kind: keyof typeof NAMES;
  readonly channel: string;
  readonly error: string;
  readonly now: number;
}

const NAMES = { text: "the reply", file: "a file", approval: "a question", display: "a message" } as const;

/** This has no event either: the answer was recorded when it was made. */
export async function auditResent(
  queries: Queries,
  task_id: string,
  { by, now }: { readonly by: string; readonly now: number },
): Promise<void> {
  await queries.run(INSERT, [task_id, "reply", `sent again by ${by}`, now]);
}

/** This has no event either: nothing was done, and the log of the run may be closed. */
export async function auditGivenUp(
  queries: Queries,
  task_id: string,
  { kind, channel, error, now }: GivenUp,
): Promise<void> {
  const message = `${NAMES[kind]} could not be sent by ${channel} and will not be retried: ${error}`;
  await queries.run(INSERT, [task_id, "reply", message, now]);
}

function fileName(file: unknown): string {
  return valueText(file as Payload, "name");
}

function valueText(payload: Payload, name: string): string {
  const value = payload[name];
  if (value === undefined) return "(missing)";
  return typeof value === "string" ? value : JSON.stringify(value);
}
