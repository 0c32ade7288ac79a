import { readdirSync } from "node:fs";
import type { Clock } from "../contract/host.ts";
import type { UndoKeeper } from "../contract/undo-keeper.ts";
import type { FileChanger } from "../machine/files/file-changer.ts";
import type { LeftChange } from "../machine/files/recover-changes.ts";
import type { PreviewRequest } from "../machine/files/preview-change.ts";
import { describeInterrupted } from "../runs/interrupted.ts";
import type { InterruptedChange } from "../runs/interrupted.ts";
import { ToolError } from "../protocol/errors.ts";
import type { WorkspaceContext } from "../policy/decide.ts";
import { stateFolders } from "../machine/system/state-folders.ts";
import { lazy, lazyMethods } from "./lazy.ts";

interface LazyOptions {
  readonly state_dir: string;
  readonly clock: Clock;
  readonly workspace: WorkspaceContext;
}

type LoadedMethods = Pick<FileChanger, "restore" | "keepRevert">;

/** Changes files. Loaded on the first change or lookup: most processes only read, and start faster without it. */
export interface LazyChanger extends LoadedMethods {
  readonly undoLog: UndoKeeper["undoLog"];
  load(): Promise<FileChanger>;
  /** The recorded changes of an interrupted command. Undefined if none were recorded. */
  interruptedChange(run_id: string, tool_call_id: string): Promise<InterruptedChange | undefined>;
  /** A changer that only reports what it would change. */
  previewing(onPlanned: PreviewRequest["onPlanned"]): Pick<FileChanger, "applyPlan">;
  close(): Promise<void>;
}

export function createLazyChanger(options: LazyOptions): LazyChanger {
  let isLoaded = false;
  const load = lazy(async () => {
    isLoaded = true;
    const { createFileChanger } = await import("../machine/files/file-changer.ts");
    return createFileChanger(options);
  });
  const undoLog = lazyMethods(async () => (await load()).undoLog, ["find", "content"]);
  return {
    ...lazyMethods(load, ["restore", "keepRevert"]),
    undoLog,
    load,
    async interruptedChange(run_id, tool_call_id) {
      try {
        const records = await undoLog.find({ run_id });
        const own = records.find((each) => each.tool_call_id === tool_call_id && each.by_command === true);
        return own === undefined ? undefined : describeInterrupted(own);
      } catch (error) {
        if (error instanceof ToolError && error.code === "NotFound") return undefined;
        throw error;
      }
    },
    previewing: (onPlanned) => ({
      async applyPlan(request, paths, plan) {
        const { previewPlan } = await import("../machine/files/preview-change.ts");
        return await previewPlan({ ...request, onPlanned }, paths, plan);
      },
    }),
    close: async () => {
      if (isLoaded) await (await load()).close();
    },
  };
}

/** Recovers the changes of killed processes. Costs one directory lookup if there are none. */
export async function recoverLeft({
  state_dir,
  workspace,
}: Omit<LazyOptions, "clock">): Promise<readonly LeftChange[]> {
  if (!hasOpenLogs(state_dir)) return [];
  const { recoverChanges } = await import("../machine/files/recover-changes.ts");
  return (await recoverChanges(state_dir, workspace)).left;
}

function hasOpenLogs(state_dir: string): boolean {
  try {
    return readdirSync(stateFolders(state_dir).open).length > 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}
