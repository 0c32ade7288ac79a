import { hash } from "node:crypto";
import { closeSync } from "node:fs";
import type { ChangedEntry, FileVersion, UndoRecord } from "../../contract/undo-keeper.ts";
import { makeId } from "../../protocol/ids.ts";
import type { ChangeParts } from "./change-attempt.ts";
import type { ChangeLog } from "./change-log.ts";
import { PACKED_BYTES } from "./pack.ts";
import type { Packed } from "./pack.ts";
import { Syncs } from "../system/syncs.ts";
import { isFileVersion, isSameVersion } from "../../contract/versions.ts";

export interface RecordedChanges {
  /** Undefined if nothing could be recorded. */
  readonly undo_id: string | undefined;
  /** Files that can be undone, because their old content was available. */
  readonly files: readonly ChangedEntry[];
  /** Real paths of files that turned out to be unchanged. */
  readonly same: readonly string[];
}

export interface RecordRequest extends Pick<UndoRecord, "lost" | "lost_more" | "by_command" | "set_aside"> {
  readonly run_id: string;
  readonly tool_call_id: string;
}

/** An old content: its bytes, or an open file with them, which is closed after reading. */
type OldContent = Buffer | { readonly bytes: Buffer } | { readonly fd: number; readonly sha256: string };

/** A file change made by another process, with the old content. */
export interface ExternalChange {
  readonly file: ChangedEntry;
  /**
   * Called once, when the content is stored. The content matches the hash of `file.before`, if that is not empty.
   * Undefined if nothing existed before, or the content is lost.
   */
  readonly content: () => OldContent | undefined | Promise<OldContent | undefined>;
}

/** Descriptors waiting for fsync stay open, and the number of open descriptors per process is limited. */
const MAX_WAITING = 128;
/** Yields to the event loop at this interval. */
const TURN_MS = 8;

/** Resolves when the record is durable. */
export async function recordExternalChanges(
  { logs, objects, clock }: ChangeParts,
  request: RecordRequest,
  changes: readonly ExternalChange[],
): Promise<RecordedChanges> {
  const log = logs.enter();
  const syncs = new Syncs();
  const packed = new Map<string, Packed>();
  try {
    const files: ChangedEntry[] = [];
    const same: string[] = [];
    const gone: string[] = [];
    let turnMs = performance.now() + TURN_MS;
    for (const change of changes) {
      const found = await storeContent(change, { log, objects, syncs, packed });
      if (found === "same") same.push(change.file.real);
      else if (found === undefined) gone.push(change.file.path);
      else files.push(found);
      if (syncs.count >= MAX_WAITING) await syncs.run();
      if (performance.now() < turnMs) continue;
      await new Promise(setImmediate);
      turnMs = performance.now() + TURN_MS;
    }
    const lost = withLost(request, gone);
    if (files.length === 0 && (lost.lost ?? request.lost) === undefined) return { undo_id: undefined, files, same };
    const now = clock();
    const undo_id = makeId("undo", now); // made after the log's id: see `findRecords`
    const change = { undo_id, ...request, ...lost, ts: new Date(now).toISOString(), files };
    await log.store({ change, staged: [], packed: [...packed.values()], ended: undo_id, outcome: "done" }, syncs);
    return { undo_id, files, same };
  } finally {
    syncs.close();
    log.leave();
  }
}

/** Maximum number of lost files that a record names. */
export const MAX_LOST = 100;
export const CONTENT_GONE = "its old content no longer exists";

/** Files whose old content turned out to be lost only now cannot be undone either. */
function withLost({ lost = [], lost_more = 0 }: RecordRequest, gone: readonly string[]): Partial<RecordRequest> {
  if (gone.length === 0) return {};
  const all = [...lost, ...gone.map((path) => ({ path, why: CONTENT_GONE }))];
  return { lost: all.slice(0, MAX_LOST), lost_more: lost_more + Math.max(0, all.length - MAX_LOST) };
}

interface StorageParts {
  readonly log: ChangeLog;
  readonly objects: ChangeParts["objects"];
  readonly syncs: Syncs;
  readonly packed: Map<string, Packed>;
}

/** Stores the old content. "same" if nothing changed after all; undefined if the old content is lost. */
async function storeContent(
  { file, content }: ExternalChange,
  { log, objects, syncs, packed }: StorageParts,
): Promise<ChangedEntry | "same" | undefined> {
  const { before } = file;
  if (!isFileVersion(before) || packed.has(before.sha256)) return file;
  const found = await content();
  if (found === undefined) return undefined;
  const signal = new AbortController().signal; // record the change even if the call was aborted
  if ("fd" in found) {
    try {
      const known = withHash(file, before, found.sha256);
      if (isUnchanged(known)) return "same";
      return (await objects.putFile(found.sha256, found.fd, { syncs, signal })) ? known : undefined;
    } finally {
      closeSync(found.fd);
    }
  }
  const bytes = Buffer.isBuffer(found) ? found : found.bytes;
  const sha256 = before.sha256 === "" ? hash("sha256", bytes, "hex") : before.sha256;
  const known = withHash(file, before, sha256);
  if (isUnchanged(known)) return "same";
  if (packed.has(sha256)) return known;
  if (bytes.length <= PACKED_BYTES) packed.set(sha256, log.pack.keep(sha256, bytes));
  else await objects.put(sha256, bytes, { syncs, signal });
  return known;
}

/** A file that was linked to, or unlinked from, other names has changed although its content is the same. */
function isUnchanged({ before, after }: ChangedEntry): boolean {
  const isLinked = [before, after].some((each) => isFileVersion(each) && each.linked !== undefined);
  return isSameVersion(before, after) && !isLinked;
}

function withHash(file: ChangedEntry, before: FileVersion, sha256: string): ChangedEntry {
  return before.sha256 === sha256 ? file : { ...file, before: { ...before, sha256 } };
}
