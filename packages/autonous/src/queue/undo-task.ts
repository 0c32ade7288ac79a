import { hash } from "node:crypto";
import { isParked } from "@autonous/runtime/internal";
import type { Runtime, ToolCallResult } from "@autonous/runtime";
import type { FileDiff } from "@autonous/runtime/internal";
import { isObject, parseKept } from "../store/sqlite/kept-json.ts";
import type { Finish, Lease, Store, UndoRequest } from "../store/store.ts";

interface UndoOptions {
  readonly store: Store;
  readonly openRuntime: (lease: Lease) => Promise<Runtime>;
  readonly signal: AbortSignal;
}

const DAMAGED = "Cannot undo: the stored undo plan is damaged";

/**
 * Undoes the changes of a run with the runtime's undo, governed and recorded like any call, for the person who asked.
 * After a crash, a call that had ended is not repeated. A call that had only started is repeated under another id,
 * unless nothing is left to undo: undo restores nothing twice.
 */
export async function undoChanges(lease: Lease, { store, openRuntime, signal }: UndoOptions): Promise<Finish> {
  const { task } = lease;
  const request = parseKept(task.undoes ?? "", isUndoRequest);
  if (request === undefined) return { outcome: "failed", error: DAMAGED, reply: DAMAGED };
  const { run_id, task_id, trace_id } = task;
  const base = `call_undo_${task.retries}`;
  const begun = await begunCalls(store, { run_id, base });
  const past = await store.calls.result({ run_id, tool_call_id: begun.at(-1) ?? base });
  if (past !== undefined) return finishFor(past);
  const runtime = await openRuntime(lease);
  try {
    const planned = await runtime.changes({ run_id: request.run_id, undone: true, signal });
    if (begun.length === 0 && digestOfUndo(request.run_id, planned) !== request.digest)
      return { outcome: "failed", error: CHANGED, reply: CHANGED };
    if (begun.length > 0 && planned.length === 0) return { outcome: "done", reply: UNDONE };
    const who = { chat: task.lane, channel: task.source, ...(task.user === null ? {} : { user: task.user }) };
    const tool_call_id = begun.length === 0 ? base : `${base}_${begun.length + 1}`;
    return finishFor(await runtime.undo(request.run_id, { tool_call_id, task_id, trace_id, signal, ...who }));
  } finally {
    await runtime.close();
  }
}

const UNDONE = "Undone.";
const CHANGED = "Not undone: the files have changed since the preview. Send /undo again.";

/** Digest of what the person confirms: the run, and the change of each file as shown. */
export function digestOfUndo(run_id: string, changes: readonly FileDiff[]): string {
  return hash("sha256", JSON.stringify([run_id, changes]), "hex");
}

/** The ids of its calls that are recorded as started, oldest first. */
async function begunCalls(
  store: Store,
  { run_id, base }: { readonly run_id: string; readonly base: string },
): Promise<readonly string[]> {
  const events = await store.events.last({ run_id, limit: 100 });
  return events
    .filter(({ event }) => event.type === "tool_call.started")
    .map(({ event }) => String(event.payload["tool_call_id"]))
    .filter((id) => id === base || id.startsWith(`${base}_`));
}

function finishFor(result: ToolCallResult): Finish {
  if (isParked(result)) return { outcome: "parked" };
  const { error, payload } = result;
  if (error === null) return { outcome: "done", reply: `${UNDONE}\n${payload?.stdout ?? ""}`.trim() };
  const message = `${error.code}: ${error.message}`;
  if (error.code === "Cancelled") return { outcome: "cancelled", error: message };
  return { outcome: "failed", error: message, reply: message };
}

function isUndoRequest(value: unknown): value is UndoRequest {
  return isObject(value) && typeof value["run_id"] === "string" && typeof value["digest"] === "string";
}
