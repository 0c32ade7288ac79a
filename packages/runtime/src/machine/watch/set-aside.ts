import type { FileChanger } from "../files/file-changer.ts";
import type { Intruder, TakenBack } from "../files/take-back.ts";
import { isInside } from "../../paths/inside.ts";
import type { WorkspaceContext } from "../../policy/decide.ts";
import { ToolError } from "../../protocol/errors.ts";
import { decodeKey, keyOf } from "../system/keys.ts";
import { setAsideOf } from "./find-intruders.ts";
import type { KeptContents } from "../tree/kept-contents.ts";
import { tryToRecord } from "./record-changes.ts";

interface SetAsideParts {
  readonly changer: FileChanger;
  readonly workspace: WorkspaceContext;
  readonly cwd: string;
  readonly contents: KeptContents;
}

interface Found {
  readonly intruders: readonly Intruder[];
  /** Keys of folders that are new. */
  readonly folders_made: readonly string[];
}

interface SetAside {
  readonly taken: readonly TakenBack[];
  /** Undo with this ID restores the files. */
  readonly set_aside_id?: string | undefined;
}

/**
 * Removes a file that would run later, or restores its previous state, after its bytes were stored: undo restores them
 * for their author, who may have been a user and not the command.
 */
export async function setAside(
  parts: SetAsideParts,
  { run_id, tool_call_id }: { readonly run_id: string; readonly tool_call_id: string },
  { intruders, folders_made }: Found,
): Promise<SetAside> {
  if (intruders.length === 0) return { taken: [] };
  const kept = intruders.flatMap((each) => setAsideOf(each, parts.cwd, parts.contents));
  const { undo_id, files } = await tryToRecord(parts.changer, { run_id, tool_call_id, set_aside: true }, kept);
  const safe = new Set(files.map(({ key, real }) => key ?? keyOf(real)));
  const isLost = ({ key, after }: Intruder): boolean =>
    after.place === "later" && after.kind !== "directory" && !safe.has(key);
  const lost = intruders.filter(isLost).map((intruder) => ({
    intruder,
    outcome: "stays" as const,
    problem: "its content could not be stored, so it was not removed",
  }));
  const taken = await takeBack(parts, { folders_made, intruders: intruders.filter((each) => !isLost(each)) });
  return { taken: [...taken, ...lost], set_aside_id: undo_id };
}

async function takeBack(parts: SetAsideParts, { intruders, folders_made }: Found): Promise<readonly TakenBack[]> {
  if (intruders.length === 0) return [];
  const { changer, workspace, contents } = parts;
  const rootOf = (key: string): string => innermost(workspace.roots, decodeKey(key));
  try {
    return await changer.takeBack(intruders, { contents, folders_made, rootOf });
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    return intruders.map((intruder) => ({ intruder, outcome: "stays", problem: error.message }));
  }
}

function innermost(roots: readonly string[], real: string): string {
  return roots
    .filter((root) => isInside(root, real))
    .reduce((one, other) => (other.length > one.length ? other : one), "/");
}
