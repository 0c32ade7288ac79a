import { closeSync, mkdirSync, openSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Journal } from "../contract/journal.ts";
import type { Tool } from "../contract/tool.ts";
import { interruptedEnd } from "./interrupted.ts";
import type { InterruptedChange } from "./interrupted.ts";
import { openJsonl } from "../journal/jsonl-journal.ts";
import { dropUnfinished, isRunId, runPath } from "../journal/run-folder.ts";
import { pause } from "../protocol/pause.ts";
import { lifeOf, ownProcess } from "../machine/system/process-owner.ts";
import type { EventDraft, RuntimeEvent } from "../protocol/event-record.ts";

/**
 * Tracks which process has which run open: an empty file `open-runs/<run_id>@<process>`, created on the first use of a
 * run and removed when it is closed. A leftover file belongs to a killed process: its calls are ended as `Interrupted`.
 */
export class OpenRuns {
  readonly #folder: string;
  #isMade = false;

  constructor(state_dir: string) {
    this.#folder = folderOf(state_dir);
  }

  enter(run_id: string): void {
    if (!this.#isMade) mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    this.#isMade = true;
    closeSync(openSync(join(this.#folder, markOf(run_id)), "w", 0o600));
  }

  leave(run_id: string): void {
    rmSync(join(this.#folder, markOf(run_id)), { force: true });
  }
}

function markOf(run_id: string): string {
  return `${run_id}@${ownProcess()}`;
}

function folderOf(state_dir: string): string {
  return join(state_dir, "open-runs");
}

interface Recovery {
  readonly state_dir: string;
  readonly heads: string;
  readonly clock: () => number;
  readonly findTool: FindTool;
  readonly findChange: FindChange;
  /** The run that the caller resumes: its open calls stay open, and this process takes over its mark. */
  readonly resumed?: string | undefined;
}

type FindTool = (name: string) => Tool | undefined;
/** Finds the recorded changes of an interrupted call. */
export type FindChange = (run_id: string, tool_call_id: string) => Promise<InterruptedChange | undefined>;

const CLOSING = ".closing";
const PAUSE_MS = 5;
/**
 * Processes of other containers are not visible: their runs are considered dead after this time without a new event.
 */
const UNSEEN_MS = 24 * 3_600_000;

/**
 * Ends the calls that killed processes left open, each exactly once: the process that renames the file owns the run,
 * and other starting processes wait for it. Returns messages about calls that could not be ended. Otherwise costs one
 * directory lookup.
 */
export async function endInterrupted(recovery: Recovery): Promise<readonly string[]> {
  const folder = folderOf(recovery.state_dir);
  const problems: string[] = [];
  for (const name of namesIn(folder)) {
    const [run_id = "", rest = ""] = name.split("@");
    if (!isRunId(run_id)) continue;
    const owner = rest.endsWith(CLOSING) ? rest.slice(0, -CLOSING.length) : rest;
    if (rest.endsWith(CLOSING)) await waitFor(join(folder, name), owner);
    if (!isLeft(recovery.state_dir, run_id, owner)) continue;
    const isResumed = run_id === recovery.resumed;
    const own = join(folder, `${markOf(run_id)}${isResumed ? "" : CLOSING}`);
    if (!tryRename(join(folder, name), own)) {
      await waitForAny(folder, run_id); // another process owns it, or has finished it
      continue;
    }
    if (isResumed) continue;
    try {
      await endCallsOf(run_id, recovery);
    } catch (error) {
      problems.push(`Cannot end the interrupted calls of run "${run_id}": ${(error as Error).message}`);
    }
    rmSync(own, { force: true });
  }
  return problems;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

async function waitForAny(folder: string, run_id: string): Promise<void> {
  for (const name of namesIn(folder)) {
    if (!name.startsWith(`${run_id}@`) || !name.endsWith(CLOSING)) continue;
    await waitFor(join(folder, name), name.slice(run_id.length + 1, -CLOSING.length));
  }
}

async function waitFor(path: string, owner: string): Promise<void> {
  while (lifeOf(owner) === "alive" && statSync(path, { throwIfNoEntry: false }) !== undefined) await pause(PAUSE_MS);
}

function isLeft(state_dir: string, run_id: string, owner: string): boolean {
  const life = lifeOf(owner);
  if (life !== "unseen") return life === "gone";
  const record = statSync(join(runPath(state_dir, run_id), "events.jsonl"), { throwIfNoEntry: false });
  return record === undefined || Date.now() - record.mtimeMs > UNSEEN_MS;
}

function tryRename(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

async function endCallsOf(run_id: string, { state_dir, heads, clock, findTool, findChange }: Recovery): Promise<void> {
  const file = join(runPath(state_dir, run_id), "events.jsonl");
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0) return; // nothing was recorded, or it was pruned
  const journal = await openJsonl({ state_dir, run_id, heads }, clock);
  try {
    await endOpenCalls(journal, { state_dir, findTool, findChange, clock });
  } finally {
    await journal.close();
  }
}

interface Ending {
  readonly state_dir: string;
  readonly findTool: FindTool;
  readonly findChange: FindChange;
  readonly clock: () => number;
  /** Ids of running calls of this process. */
  readonly running?: ReadonlySet<string>;
}

/** Ends the calls of a run that have started, have no recorded end, and will not be repeated. */
export async function endOpenCalls(journal: Journal, ending: Ending): Promise<void> {
  const { state_dir, findTool, findChange, clock, running } = ending;
  const open = new Map<string, RuntimeEvent>();
  for await (const event of journal.read()) {
    const id = String(event.payload["tool_call_id"]);
    if (event.type === "tool_call.started") open.set(id, event);
    else if (event.type === "tool_call.completed" || event.type === "tool_call.failed") open.delete(id);
  }
  const drafts: EventDraft[] = [];
  for (const [id, started] of open) {
    if (running?.has(id) === true) continue;
    const tool = findTool(String(started.payload["tool_name"]));
    drafts.push(interruptedEnd({ started, tool, now: clock(), change: await findChange(journal.run_id, id) }));
  }
  if (drafts.length > 0) await journal.append(drafts, { durable: true });
  for (const { payload } of drafts) dropUnfinished(runPath(state_dir, journal.run_id), String(payload["tool_call_id"]));
}
