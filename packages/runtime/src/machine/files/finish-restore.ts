import type { RestoreItem, UndoRecord } from "../../contract/undo-keeper.ts";
import { isSameContent } from "../../contract/versions.ts";
import { judgePlace } from "../../policy/paths/check-path.ts";
import type { Places } from "../../policy/facts.ts";
import { keyOf } from "../system/keys.ts";
import type { Outcome } from "./change-log.ts";
import { stateOf } from "./entry-state.ts";
import type { ContentReader } from "./content-reader.ts";
import { KeyFolders } from "../system/key-folders.ts";
import { isAsBefore, linksAmong } from "./restore-links.ts";
import { applySteps } from "./restore-steps.ts";
import type { RestoreStep, StepOptions } from "./restore-steps.ts";

export interface FinishOptions {
  /** Paths outside these places are not restored. */
  readonly places: Places;
  readonly kept: ContentReader;
  readonly log: StepOptions["log"];
}

/**
 * Completes an interrupted restore: paths not restored yet are restored, the others stay. `left` if another process has
 * changed a path since, or if a path could not be restored.
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
      // The mode is set last, so a file with the restored content may still have its previous mode.
      const isOurs = isSameContent(now.version, before) || isSameContent(now.version, after) || now.version === null;
      if (isOurs) steps.push({ item, key, now });
      else isLeft = true;
    }
    const problems = await applySteps(steps, { folders, kept, log });
    return isLeft || problems.some(({ in_use }) => !in_use) ? "left" : "done";
  } finally {
    folders.close();
  }
}
