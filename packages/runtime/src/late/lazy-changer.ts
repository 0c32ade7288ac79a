import { readdirSync } from "node:fs";
import type { Clock } from "../contract/host.ts";
import type { UndoKeeper } from "../contract/undo.ts";
import type { FileChanger } from "../machine/files/file-changer.ts";
import type { LeftChange } from "../machine/files/recover-changes.ts";
import type { PreviewRequest } from "../machine/files/preview-change.ts";
import { describeInterrupted } from "../gate/steps/interrupted.ts";
import type { InterruptedChange } from "../gate/steps/interrupted.ts";
import { ToolError } from "../protocol/errors.ts";
import type { WorkspaceContext } from "../policy/decide.ts";
import { stateFolders } from "../machine/system/state-folders.ts";

interface LazyOptions {
  readonly state_dir: string;
  readonly clock: Clock;
  readonly workspace: WorkspaceContext;
}

/** Changes files. Loaded on the first change or lookup: most processes only read, and start faster without it. */
export class LazyChanger implements UndoKeeper {
  readonly #options: LazyOptions;
  #changer: Promise<FileChanger> | undefined;

  constructor(options: LazyOptions) {
    this.#options = options;
  }

  readonly undoLog: UndoKeeper["undoLog"] = {
    find: async (target) => await (await this.load()).undoLog.find(target),
    content: async (sha256) => await (await this.load()).undoLog.content(sha256),
  };

  async restore(...given: Parameters<UndoKeeper["restore"]>): ReturnType<UndoKeeper["restore"]> {
    return await (await this.load()).restore(...given);
  }

  /** The recorded changes of an interrupted command. Undefined if none were recorded. */
  async interruptedChange(run_id: string, tool_call_id: string): Promise<InterruptedChange | undefined> {
    try {
      const records = await this.undoLog.find({ run_id });
      const own = records.find((each) => each.tool_call_id === tool_call_id && each.by_command === true);
      return own === undefined ? undefined : describeInterrupted(own);
    } catch (error) {
      if (error instanceof ToolError && error.code === "NotFound") return undefined;
      throw error;
    }
  }

  /** A changer that only reports what it would change. */
  previewing(onPlanned: PreviewRequest["onPlanned"]): Pick<FileChanger, "applyPlan"> {
    return {
      async applyPlan(request, paths, plan) {
        const { previewPlan } = await import("../machine/files/preview-change.ts");
        return await previewPlan({ ...request, onPlanned }, paths, plan);
      },
    };
  }

  async keepRevert(...given: Parameters<FileChanger["keepRevert"]>): Promise<string> {
    return await (await this.load()).keepRevert(...given);
  }

  load(): Promise<FileChanger> {
    return (this.#changer ??= this.#make());
  }

  async close(): Promise<void> {
    await (await this.#changer)?.close();
  }

  async #make(): Promise<FileChanger> {
    const { createFileChanger } = await import("../machine/files/file-changer.ts");
    return createFileChanger(this.#options);
  }
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
