import { statSync } from "node:fs";
import { readLines } from "@autonous/runtime/internal";
import type { RuntimeEvent } from "@autonous/runtime";
import { readChatRecord, totalUse } from "../chat/chat-record.ts";
import { parseEvent, Records, runFile } from "../records/records.ts";
import { table } from "../output/table.ts";
import { costText } from "../usage.ts";

/** A chat, or a run with a task, that can be resumed. */
export interface Session {
  readonly run_id: string;
  readonly kind: "chat" | "run";
  /** The first line of the first message, redacted. */
  readonly first_line: string;
  readonly messages: number;
  /** When it was last active, ISO 8601. */
  readonly last_at: string;
  /** In the currency of the price table; null if a round has no price. */
  readonly cost: number | null;
}

interface SessionFilter {
  readonly limit: number;
  readonly kind?: Session["kind"];
}

/** Maximum number of files to read, latest first: most runs are single calls. */
const MAX_FILES = 2000;

/** The sessions of a state folder, last active first, without those of the service. */
export async function listSessions(state_dir: string, { limit, kind }: SessionFilter): Promise<readonly Session[]> {
  const records = await Records.open(state_dir);
  try {
    const sessions: Session[] = [];
    for (const { run_id, changedMs } of await filesOf(records, state_dir)) {
      if (sessions.length >= limit) break;
      const session = await readSession(state_dir, run_id, changedMs);
      if (session !== undefined && (kind === undefined || session.kind === kind)) sessions.push(session);
    }
    return sessions;
  } finally {
    await records.close();
  }
}

async function filesOf(records: Records, state_dir: string) {
  const runs = [...(await records.runs())].flatMap(([run_id, where]) => (where === "file" ? [run_id] : []));
  return runs
    .map((run_id) => ({
      run_id,
      changedMs: statSync(runFile(state_dir, run_id), { throwIfNoEntry: false })?.mtimeMs ?? 0,
    }))
    .sort((a, b) => b.changedMs - a.changedMs || (a.run_id < b.run_id ? 1 : -1))
    .slice(0, MAX_FILES);
}

async function readSession(state_dir: string, run_id: string, changedMs: number): Promise<Session | undefined> {
  const { first, messages, isChat, models } = await readChatRecord(wantedEvents(state_dir, run_id));
  if (first === undefined) return undefined;
  const kind = isChat ? "chat" : "run";
  const first_line = firstLine(first);
  const last_at = new Date(changedMs).toISOString();
  return { run_id, kind, first_line, messages, last_at, cost: totalUse(models).cost };
}

/** Only these events are parsed; most of a record is calls. */
const WANTED = ['"type":"agent.started"', '"type":"model.completed"', '"type":"model.billed"'] as const;

async function* wantedEvents(state_dir: string, run_id: string): AsyncIterable<RuntimeEvent> {
  for await (const lines of readLines(runFile(state_dir, run_id)))
    for (const { text } of lines) {
      const event = WANTED.some((type) => text.includes(type)) ? parseEvent(text) : undefined;
      if (event !== undefined) yield event;
    }
}

const MAX_LINE_LENGTH = 200;

function firstLine(text: string): string {
  const line = text.split("\n").find((each) => each.trim() !== "") ?? "";
  return line.trim().slice(0, MAX_LINE_LENGTH).toWellFormed();
}

interface ListOptions {
  readonly width: number | undefined;
  readonly now: number;
  /** The session that is open. */
  readonly current?: string;
}

/** A table for people, one line per session. */
export function sessionTable(sessions: readonly Session[], { width, now, current }: ListOptions): string {
  const rows = sessions.map(({ run_id, last_at, cost, first_line }) => [
    run_id,
    run_id === current ? "this" : ageOf(now - Date.parse(last_at)),
    costText(cost),
    first_line,
  ]);
  return table([["RUN", "AGE", "COST", "FIRST LINE"], ...rows], { width, fixed: 3, last: "cut" });
}

// oxfmt-ignore
const UNITS = [
  { unit: "d", ms: 86_400_000 },
  { unit: "h", ms: 3_600_000 },
  { unit: "m", ms: 60_000 },
  { unit: "s", ms: 1000 },
] as const;

/** `3d`, `5h`, `12m`, `40s`. */
function ageOf(ms: number): string {
  const row = UNITS.find((each) => ms >= each.ms);
  return row === undefined ? "0s" : `${Math.floor(ms / row.ms)}${row.unit}`;
}
