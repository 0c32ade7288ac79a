import type { Changed } from "../contract/context.ts";
import type { ToolOutput } from "../contract/tool.ts";
import { makeVisible } from "../output/visible.ts";

export interface UndoTold {
  /** Names what cannot be taken back. Empty where all of it can. */
  readonly note: string;
  readonly artifacts: NonNullable<ToolOutput<unknown>["artifacts"]>;
}

/** What the result of a call says about the files it changed, and whether that can be taken back. */
export function describeUndo({ files, undo_id }: Changed): UndoTold {
  const lost = files.filter((file) => file.not_kept === true);
  return {
    note: lost
      .map(
        ({ path, before }) =>
          `${makeVisible(path)}: its old content (${before?.size} bytes) is too large to keep, so undo cannot bring it back\n`,
      )
      .join(""),
    artifacts: { files_changed: files.map(({ path }) => path), ...(undo_id === undefined ? {} : { undo_id }) },
  };
}
