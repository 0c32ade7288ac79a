import { hash } from "node:crypto";
import { isParked } from "@autonous/runtime";
import type { FileDiff, Runtime, ToolCallResult } from "@autonous/runtime";
import { isObject, parseKept } from "../store/kept-json.ts";
import type { Finish, Lease, Store, UndoWish } from "../store/store.ts";

interface UndoOptions {
  readonly store: Store;
  readonly openRuntime: (lease: Lease) => Promise<Runtime>;
  readonly signal: AbortSignal;
}

const DAMAGED = "Cannot undo: the record of what is to be undone is damaged";

/**
 * Undoes the changes of a run by the runtime's own undo, governed and recorded like any call, for the person who asked.
 * After a crash a call that ended is not made again; one that had begun is, since undo restores nothing twice.
 */
export async function undoChanges(lease: Lease, { store, openRuntime, signal }: UndoOptions): Promise<Finish> {
  const { task } = lease;
  const wish = parseKept(task.undoes ?? "", isUndoWish);
  if (wish === undefined) return { outcome: "failed", error: DAMAGED, reply: DAMAGED };
  const tool_call_id = `call_undo_${task.retries}`;
  const { run_id, task_id, trace_id } = task;
  const past = await store.calls.result({ run_id, tool_call_id });
  if (past !== undefined) return finishFor(past);
  const runtime = await openRuntime(lease);
  try {
    if (!(await hasBegun(store, { run_id, tool_call_id })) && (await isOther(runtime, wish, signal)))
      return { outcome: "failed", error: CHANGED, reply: CHANGED };
    const who = { chat: task.lane, channel: task.source, ...(task.user === null ? {} : { user: task.user }) };
    return finishFor(await runtime.undo(wish.run_id, { tool_call_id, task_id, trace_id, signal, ...who }));
  } finally {
    await runtime.close();
  }
}

const CHANGED = "Not undone: the files have changed since the preview. Send /undo again.";

async function isOther(runtime: Runtime, { run_id, digest }: UndoWish, signal: AbortSignal): Promise<boolean> {
  return digestOfUndo(run_id, await runtime.changes({ run_id, undone: true, signal })) !== digest;
}

/** What a person agrees to: the run, and the change of each file as it is shown. */
export function digestOfUndo(run_id: string, changes: readonly FileDiff[]): string {
  return hash("sha256", JSON.stringify([run_id, changes]), "hex");
}

async function hasBegun(
  store: Store,
  { run_id, tool_call_id }: { readonly run_id: string; readonly tool_call_id: string },
): Promise<boolean> {
  const events = await store.events.last({ run_id, limit: 100 });
  return events.some(
    ({ event }) => event.type === "tool_call.started" && event.payload["tool_call_id"] === tool_call_id,
  );
}

function finishFor(result: ToolCallResult): Finish {
  if (isParked(result)) return { outcome: "parked" };
  const { error, payload } = result;
  if (error === null) return { outcome: "done", reply: `Undone.\n${payload?.stdout ?? ""}`.trim() };
  const message = `${error.code}: ${error.message}`;
  if (error.code === "Cancelled") return { outcome: "cancelled", error: message };
  return { outcome: "failed", error: message, reply: message };
}

function isUndoWish(value: unknown): value is UndoWish {
  return isObject(value) && typeof value["run_id"] === "string" && typeof value["digest"] === "string";
}
