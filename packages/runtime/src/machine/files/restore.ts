import type {
  ChangedEntry,
  RestoreResult,
  RestoreItem,
  RestoreRequest,
  UndoRecord,
} from "../../contract/undo-keeper.ts";
import { isRemovableKey, judgePlace } from "../../policy/paths/check-path.ts";
import type { WorkspaceContext } from "../../policy/decide.ts";
import { ToolError } from "../../protocol/errors.ts";
import { makeId } from "../../protocol/ids.ts";
import { keyOf } from "../system/keys.ts";
import type { ChangeParts } from "./change-attempt.ts";
import type { ChangeLog } from "./change-log.ts";
import type { EntryState } from "./entry-state.ts";
import { stateOf } from "./entry-state.ts";
import { storeEntries } from "./store-entries.ts";
import type { ContentReader } from "./content-reader.ts";
import { KeyFolders } from "../system/key-folders.ts";
import { isAsBefore, linksAmong } from "./restore-links.ts";
import { planOf } from "./restore-preview.ts";
import { applySteps } from "./restore-steps.ts";
import type { RestoreStep, StepProblem } from "./restore-steps.ts";
import { Syncs } from "../system/syncs.ts";
import { isFileVersion, isSameContent } from "../../contract/versions.ts";

export interface RestoreParts extends ChangeParts {
  readonly workspace: WorkspaceContext;
  /** Old contents by hash; all needed hashes are looked up at once. */
  readonly openContents: (hashes: ReadonlySet<string>) => ContentReader;
}

const MAX_NAMED = 20;
/** Yields to the event loop at this interval. */
const TURN_MS = 8;

/**
 * Restores every item from its expected current state to its old state: files, links and folders with their modes. All
 * items are compared first; if one is not as expected, nothing changes. The current content is stored first, so the
 * restore itself can be undone; the next start completes an interrupted restore.
 */
export async function restore(
  parts: RestoreParts,
  request: RestoreRequest,
  items: readonly RestoreItem[],
): Promise<RestoreResult> {
  const folders = new KeyFolders(parts.workspace);
  const sure = request.force ? items : items.filter(({ doubt }) => doubt === undefined);
  const unsure = request.force ? [] : items.filter(({ doubt }) => doubt !== undefined);
  try {
    const steps = await examine(sure, { folders, parts, request });
    const kept = parts.openContents(hashesOf(steps));
    try {
      assertStored(steps, kept);
      if (request.onPlanned !== undefined) {
        request.onPlanned(await planOf(steps, { folders, kept }));
        return { undo_id: undefined, files: steps.map(changedBy) };
      }
      const restored =
        steps.length === 0 ? NOTHING_TO_DO : await applyAndRecord(steps, { parts, request, folders, kept });
      return unsure.length === 0 ? restored : { failure: skippedError(unsure, restored), ...restored };
    } finally {
      kept.close();
    }
  } finally {
    folders.close();
  }
}

const NOTHING_TO_DO: RestoreResult = { undo_id: undefined, files: [] };

function skippedError(unsure: readonly RestoreItem[], { files }: RestoreResult): ToolError {
  const paths = unsure.slice(0, MAX_NAMED).map(({ path }) => path);
  const more = unsure.length > MAX_NAMED ? ` and ${unsure.length - MAX_NAMED} more` : "";
  const list = `${paths.map((path) => JSON.stringify(path)).join(", ")}${more}`;
  return new ToolError(
    "Stale",
    `Restored ${files.length} of ${files.length + unsure.length} paths; ${list} left alone: ${unsure[0]?.doubt}`,
    {
      paths,
      hint: "Check whose changes these are; set force to undo them too.",
    },
  );
}

interface ExamineParts {
  readonly folders: KeyFolders;
  readonly parts: RestoreParts;
  readonly request: RestoreRequest;
}

/** The steps needed; none for items that are already restored. Throws `Stale`. */
async function examine(
  items: readonly RestoreItem[],
  { folders, parts, request }: ExamineParts,
): Promise<readonly RestoreStep[]> {
  const steps: RestoreStep[] = [];
  const stale: RestoreItem[] = [];
  const links = linksAmong(items, folders);
  const opened = new Map<string, EntryState>();
  let turnMs = performance.now() + TURN_MS;
  for (const item of items) {
    const key = item.key ?? keyOf(item.real);
    const refusal = judgePlace(item.real, parts.workspace);
    if (refusal !== undefined && !(item.to === null && isRemovableKey(item.real, parts.workspace))) {
      throw new ToolError(refusal.code, `Cannot restore "${item.path}": ${refusal.reason}`, { path: item.path });
    }
    const now = await stateOf(key, { folders, signal: request.signal, mayRead: refusal === undefined, opened });
    if (!isAsBefore(item, now, links)) {
      if (!request.force && (item.broken || !isAsExpected(item, now))) stale.push(item);
      steps.push({ item, key, now });
    }
    if (performance.now() < turnMs) continue;
    await new Promise(setImmediate);
    request.signal.throwIfAborted();
    turnMs = performance.now() + TURN_MS;
  }
  if (stale.length > 0) throw staleError(stale);
  return steps;
}

function isAsExpected({ from, to }: RestoreItem, now: EntryState): boolean {
  const { version } = now;
  if (isContentOf(from, now)) return true;
  // A folder that another process created or removed meanwhile does not prevent restoring its contents.
  if (from === null && to?.kind === "folder" && version?.kind === "folder") return true;
  if (from?.kind === "folder" && to === null && version === null) return true;
  return false;
}

/** Also compares the substitute hash recorded for content that could not be read. */
function isContentOf(recorded: RestoreItem["from"], { version, file }: EntryState): boolean {
  if (file !== undefined && isFileVersion(recorded) && recorded.sha256 === file.rough) return true;
  return isSameContent(version, recorded);
}

function staleError(items: readonly RestoreItem[]): ToolError {
  const paths = items.slice(0, MAX_NAMED).map(({ path }) => path);
  const list = paths.map((path) => JSON.stringify(path)).join(", ");
  const more = items.length > MAX_NAMED ? ` and ${items.length - MAX_NAMED} more` : "";
  return new ToolError("Stale", `Cannot undo the change: ${list}${more} changed since; nothing was restored`, {
    paths,
    hint: "Check what changed; set force to restore the old content anyway.",
  });
}

function hashesOf(steps: readonly RestoreStep[]): ReadonlySet<string> {
  return new Set(steps.flatMap(({ item: { to } }) => (isFileVersion(to) ? [to.sha256] : [])));
}

/** Runs for all items before the first one changes. */
function assertStored(steps: readonly RestoreStep[], kept: ContentReader): void {
  const needsContent = ({ item: { to }, now }: RestoreStep): boolean =>
    isFileVersion(to) && !isSameContent(to, now.version);
  const lost = steps.filter((step) => {
    const { to, not_kept } = step.item;
    if (to?.kind === "other") return true;
    return needsContent(step) && (not_kept || !isFileVersion(to) || !kept.has(to.sha256));
  });
  const [first] = lost;
  if (first === undefined) return;
  const { path, not_kept } = first.item;
  const why = not_kept ? "it could not be stored" : "it is no longer stored";
  const more = lost.length > 1 ? ` (and ${lost.length - 1} more)` : "";
  throw new ToolError("NotFound", `Cannot restore the old content of "${path}"${more}: ${why}; nothing was restored`, {
    path,
    paths: lost.slice(0, MAX_NAMED).map(({ item }) => item.path),
    hint: "This change cannot be undone; restore the file from elsewhere, such as version control.",
  });
}

interface ApplyParts extends ExamineParts {
  readonly kept: ContentReader;
}

async function applyAndRecord(steps: readonly RestoreStep[], context: ApplyParts): Promise<RestoreResult> {
  const { parts, folders, kept } = context;
  const log = parts.logs.enter();
  try {
    const change = await record(steps, log, context);
    const problems = await applySteps(steps, { folders, kept, log });
    log.end(change.undo_id, "done");
    const failed = problems.filter(({ in_use }) => !in_use);
    const left = new Set(problems.map(({ path }) => path));
    const files = change.files.filter(({ path }) => !left.has(path));
    const failure = failed.length === 0 ? {} : { failure: partialError(steps.length, failed) };
    return { undo_id: change.undo_id, files, ...failure };
  } finally {
    log.leave();
  }
}

/** Current and target state are durable before the first path changes. */
async function record(
  steps: readonly RestoreStep[],
  log: ChangeLog,
  { parts, request, folders }: ApplyParts,
): Promise<UndoRecord> {
  const { run_id, tool_call_id, signal } = request;
  const syncs = new Syncs();
  try {
    const { packed, not_kept } = await storeEntries(steps, { folders, log, parts, syncs, signal });
    const now = parts.clock();
    const files = steps.map((step) =>
      not_kept.has(step.key) ? { ...changedBy(step), not_kept: true as const } : changedBy(step),
    );
    // The id is made after the log's id: see `findRecords`.
    const change = { undo_id: makeId("undo", now), run_id, tool_call_id, ts: new Date(now).toISOString(), files };
    await log.store({ change, staged: [], packed, restoring: true }, syncs);
    await request.recorded();
    return change;
  } finally {
    syncs.close();
  }
}

function changedBy({ item, now }: RestoreStep): ChangedEntry {
  const { path, real, key, from, to } = item;
  const linked = isFileVersion(from) && isContentOf(from, now) ? from.linked : undefined;
  const before = isFileVersion(now.version) && linked !== undefined ? { ...now.version, linked } : now.version;
  return { path, real, ...(key === undefined ? {} : { key }), before, after: to };
}

function partialError(count: number, problems: readonly StepProblem[]): ToolError {
  const named = problems.slice(0, MAX_NAMED).map(({ path, why }) => `"${path}" (${why})`);
  const more = problems.length > MAX_NAMED ? ` and ${problems.length - MAX_NAMED} more` : "";
  return new ToolError(
    "IOError",
    `Restored ${count - problems.length} of ${count} paths; these could not be restored: ${named.join(", ")}${more}`,
    { paths: problems.slice(0, MAX_NAMED).map(({ path }) => path) },
  );
}
