import { hash } from "node:crypto";
import { accessSync, constants } from "node:fs";
import type { FilesChange, FileChange, FileSide, PlannedFile } from "../../contract/context.ts";
import type { ChangedFile, FileVersion } from "../../contract/undo-keeper.ts";
import { ToolError } from "../../protocol/errors.ts";
import type { ChangeRequest } from "./change-attempt.ts";
import { asBefore, checkPlan, findDeclaredTouch } from "./change-plan.ts";
import type { ChangePlan } from "./change-plan.ts";
import { ConcurrentChangeError } from "../system/concurrent-change.ts";
import { OpenFolders } from "../system/folders.ts";
import { doing } from "../system/system-error.ts";
import { Target } from "../system/target.ts";

/** Maximum size of a file shown in a preview; the file handle edits no larger files in memory either. */
const EDIT_LIMIT_BYTES = 64 << 20;
const SHOWN_BYTES = 1 << 20;
const MAX_TRIES = 4;

export interface PreviewRequest extends ChangeRequest {
  readonly onPlanned: (files: readonly PlannedFile[]) => void;
}

/**
 * Computes what `applyPlan` would do, without side effects: the plan runs on the current files, and nothing is locked,
 * stored or written. Throws what the change would throw, as far as that is known in advance.
 */
export async function previewPlan(
  request: PreviewRequest,
  paths: readonly string[],
  plan: ChangePlan,
): Promise<FilesChange> {
  for (let tries = 1; ; tries++) {
    try {
      return await previewOnce(request, paths, plan);
    } catch (error) {
      if (!(error instanceof ConcurrentChangeError)) throw error;
      if (tries < MAX_TRIES) continue;
      const message = `Cannot plan to change "${error.path}": another process keeps changing it`;
      throw new ToolError("Stale", message, { path: error.path }, error);
    }
  }
}

async function previewOnce(request: PreviewRequest, paths: readonly string[], plan: ChangePlan): Promise<FilesChange> {
  const { workspace, signal, touches, onPlanned } = request;
  const folders = new OpenFolders(workspace);
  try {
    const options = { folders, workspace, signal, edit_limit_bytes: EDIT_LIMIT_BYTES };
    const targets = paths.map((path) => new Target(path, findDeclaredTouch(path, touches).real, options));
    const steps = checkPlan(await plan(targets.map(asBefore)), targets, touches);
    const planned: { readonly file: PlannedFile; readonly changed: ChangedFile }[] = [];
    for (const { target, change } of steps) {
      if (target.stats !== undefined) doing("change", target.path, () => accessSync(target.at(), constants.W_OK));
      const outcome = await outcomeOf(target, change);
      if (outcome !== undefined) planned.push(outcome);
    }
    onPlanned(planned.map(({ file }) => file));
    return { files: planned.map(({ changed }) => changed), undo_id: undefined };
  } finally {
    folders.close();
  }
}

interface Outcome {
  readonly file: PlannedFile;
  readonly changed: ChangedFile;
}

/** Undefined if the file already has the wanted content. */
async function outcomeOf(target: Target, change: FileChange): Promise<Outcome | undefined> {
  const { path, real, facts } = target;
  const before = facts === null ? null : { size: facts.size, mode: facts.mode, ...(await contentOf(target)) };
  const after = "remove" in change ? null : await sideAfter(target, change);
  if (isSame(before, after)) return undefined;
  return { file: { path, before, after }, changed: { path, real, before: versionOf(before), after: versionOf(after) } };
}

async function contentOf(target: Target): Promise<{ readonly content?: Uint8Array }> {
  return target.size > SHOWN_BYTES ? {} : { content: await target.read() };
}

async function sideAfter(target: Target, change: Exclude<FileChange, { remove: true }>): Promise<FileSide> {
  const old = target.facts?.mode;
  if ("content" in change) {
    const { content, mode = old } = change;
    return { size: content.length, mode, ...(content.length > SHOWN_BYTES ? {} : { content }) };
  }
  const size = target.size + change.append.length;
  if (size > SHOWN_BYTES) return { size, mode: old };
  return { size, mode: old, content: Buffer.concat([await target.read(), change.append]) };
}

function isSame(before: FileSide | null, after: FileSide | null): boolean {
  if (before === null || after === null) return before === after;
  if (before.content === undefined || after.content === undefined) return false;
  return before.mode === after.mode && Buffer.compare(before.content, after.content) === 0;
}

/** Only contents that are shown have a hash; the rest of a preview needs none. */
function versionOf(side: FileSide | null): FileVersion | null {
  if (side === null) return null;
  const sha256 = side.content === undefined ? "" : hash("sha256", side.content, "hex");
  return { sha256, size: side.size, mode: side.mode ?? 0o644 };
}
