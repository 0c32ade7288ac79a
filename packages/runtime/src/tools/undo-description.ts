import type { ToolOutput } from "../contract/tool.ts";
import type { ChangedEntry } from "../contract/undo-keeper.ts";
import { isFileVersion } from "../contract/versions.ts";
import { makeVisible } from "../output/visible.ts";

export interface UndoDescription {
  /** Names the changes that cannot be undone. Empty if all can. */
  readonly note: string;
  readonly artifacts: NonNullable<ToolOutput<unknown>["artifacts"]>;
  readonly meta: NonNullable<ToolOutput<unknown>["meta"]>;
}

/** Maximum number of names in a record; the total count is given with them. */
const MAX_FILES = 1000;
const MAX_NOTES = 20;

interface ChangeFacts {
  readonly files: readonly ChangedEntry[];
  readonly undo_id: string | undefined;
}

/** The result's text about the files that a call changed, and whether that can be undone. */
export function describeUndo({ files, undo_id }: ChangeFacts): UndoDescription {
  const lost = files.filter((file) => file.not_kept === true);
  const notes = lost.slice(0, MAX_NOTES).map(({ path, before }) => {
    const size = isFileVersion(before) ? before.size : 0;
    return `${makeVisible(path)}: its old content (${size} bytes) was not stored, so undo cannot restore it\n`;
  });
  const more = lost.length > MAX_NOTES ? `${lost.length - MAX_NOTES} more files were not stored\n` : "";
  return {
    note: `${notes.join("")}${more}`,
    artifacts: {
      files_changed: files.slice(0, MAX_FILES).map(({ path }) => path),
      ...(undo_id === undefined ? {} : { undo_id }),
    },
    meta: files.length > MAX_FILES ? { files_changed: files.length } : {},
  };
}
