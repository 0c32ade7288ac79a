import type { ChangedEntry, UndoRecord } from "../../contract/undo.ts";
import { makeId } from "../../protocol/ids.ts";
import type { ChangeParts } from "./attempt.ts";
import { PACKED_BYTES } from "./pack.ts";
import type { Packed } from "./pack.ts";
import { Syncs } from "./syncs.ts";
import { isFileVersion } from "../../contract/versions.ts";

export interface Recorded {
  /** Undefined where nothing could be put on record. */
  readonly undo_id: string | undefined;
  /** Those that can be taken back: their old content was there. */
  readonly files: readonly ChangedEntry[];
}

export interface RecordRequest extends Pick<UndoRecord, "lost" | "lost_more" | "by_command" | "set_aside"> {
  readonly run_id: string;
  readonly tool_call_id: string;
}

/** What somebody else did to a file, and what it held before. */
export interface OthersChange {
  readonly file: ChangedEntry;
  /** Asked once, when it is written; the content has the hash of `file.before`. Undefined where there was nothing. */
  readonly content: () => Buffer | undefined;
}

/** Descriptors that wait to be synced are open ones, and a process may have only so many. */
const MAX_WAITING = 128;
/** Others get a turn this often. */
const TURN_MS = 8;

/** On the disk when this is done. */
export async function recordChange(
  { logs, objects, clock }: ChangeParts,
  request: RecordRequest,
  changes: readonly OthersChange[],
): Promise<Recorded> {
  const log = logs.enter();
  const syncs = new Syncs();
  const packed = new Map<string, Packed>();
  const signal = new AbortController().signal; // what was done is put on record, whoever has lost patience
  try {
    const files: ChangedEntry[] = [];
    let turnMs = performance.now() + TURN_MS;
    for (const { file, content } of changes) {
      const sha256 = isFileVersion(file.before) ? file.before.sha256 : undefined;
      const bytes = sha256 === undefined || packed.has(sha256) ? undefined : content();
      if (sha256 === undefined || packed.has(sha256) || bytes !== undefined) files.push(file);
      if (sha256 === undefined || bytes === undefined) continue;
      if (bytes.length <= PACKED_BYTES) packed.set(sha256, log.pack.keep(sha256, bytes));
      else await objects.put(sha256, bytes, { syncs, signal });
      if (syncs.count >= MAX_WAITING) await syncs.run();
      if (performance.now() < turnMs) continue;
      await new Promise(setImmediate);
      turnMs = performance.now() + TURN_MS;
    }
    if (files.length === 0) return { undo_id: undefined, files };
    const now = clock();
    const undo_id = makeId("undo", now); // after that of the log: see `findRecords`
    const places = [...packed.values()];
    log.appendDone({ undo_id, ...request, ts: new Date(now).toISOString(), files }, places);
    log.pack.told(places);
    log.pack.addTo(syncs, places);
    log.addTo(syncs);
    await syncs.run();
    log.pack.synced(places);
    return { undo_id, files };
  } finally {
    syncs.close();
    log.leave();
  }
}
