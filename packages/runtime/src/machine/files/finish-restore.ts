import type { RestoreItem, UndoRecord } from "../../contract/undo.ts";
import { isSameContent } from "../../contract/versions.ts";
import { judgePlace } from "../../policy/check-path.ts";
import type { Places } from "../../policy/facts.ts";
import { keyOf } from "../search/keys.ts";
import type { Outcome } from "./change-log.ts";
import { stateOf } from "./entry-state.ts";
import type { KeptReader } from "./kept-reader.ts";
import { KeyFolders } from "./key-folders.ts";
import { isAsBefore, linksAmong } from "./restore-links.ts";
import { applySteps } from "./restore-steps.ts";
import type { RestoreStep, StepOptions } from "./restore-steps.ts";

export interface FinishOptions {
  /** Nothing outside of them is restored. */
  readonly places: Places;
  readonly kept: KeptReader;
  readonly log: StepOptions["log"];
}

/**
 * Finishes a restore that was cut short: what is still as it was before it is restored, what is restored already stays.
 * `left` where others have changed a path since, or where a path could not be restored.
 */
export async function finishRestore(change: UndoRecord, { places, kept, log }: FinishOptions): Promise<Outcome> {
  const folders = new KeyFolders(places);
  try {
    const steps: RestoreStep[] = [];
    const links = linksAmong(change.files, folders);
    let isLeft = false;
    for (const { path, real, key: bytes, before, after } of change.files) {
      const key = bytes ?? keyOf(real);
      const mayRead = judgePlace(real, places) === undefined;
      const now = await stateOf(key, { folders, signal: new AbortController().signal, mayRead });
      const item: RestoreItem = { path, real, from: before, to: after, not_kept: false, broken: false, folders: [] };
      if (isAsBefore(item, now, links)) continue;
      // A mode is set last, so that a content that is in place may still have another one.
      const isOurs = isSameContent(now.version, before) || isSameContent(now.version, after) || now.version === null;
      if (isOurs) steps.push({ item, key, now });
      else isLeft = true;
    }
    const problems = await applySteps(steps, { folders, kept, log });
    return isLeft || problems.some(({ is_of_use }) => !is_of_use) ? "left" : "done";
  } finally {
    folders.close();
  }
}
