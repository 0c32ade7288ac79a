import { accessSync, constants, statSync } from "node:fs";
import { dirname, posix, resolve } from "node:path";
import { isInside } from "@autonous/runtime";
import type { Runtime } from "@autonous/runtime";
import { createReceiveTool, RECEIVE_FILE } from "./receive-tool.ts";

export interface InboxPlace {
  /** What the setting says. */
  readonly folder: string;
  readonly cwd: string;
  readonly roots: readonly string[];
}

const LONGEST_NAME_BYTES = 255;

/** Why no file could ever be stored there, whatever is on the disk: a clause with what to do. */
export function settingProblem({ folder, cwd, roots }: InboxPlace): string | undefined {
  const wanted = 'set AUTONOUS_INBOX_FOLDER to a folder inside a root, such as "inbox"';
  const names = folder.split("/");
  const path = resolve(cwd, folder);
  if (folder.trim() === "") return `it is empty; ${wanted}`;
  if (/[\p{C}\p{Zl}\p{Zp}]/u.test(folder)) return `its name has invisible characters; ${wanted}`;
  if (folder.startsWith("~")) return `"~" is not expanded; ${wanted}`;
  if (names.some((name) => Buffer.byteLength(name) > LONGEST_NAME_BYTES)) return `its name is too long; ${wanted}`;
  // Others choose the names of files, and some files in these folders configure programs.
  if (path === cwd || roots.includes(path)) return `it is the working folder or a root itself; ${wanted}`;
  return roots.some((root) => isInside(root, path)) ? undefined : `it is outside the roots; ${wanted}`;
}

/** What keeps files from being stored there now: a clause. `runtime` decides as it would for a task, and looks only. */
export async function placeProblem(
  { folder, cwd }: InboxPlace,
  runtime: Pick<Runtime, "register" | "explain">,
): Promise<string | undefined> {
  runtime.register(createReceiveTool(() => undefined));
  const file = { path: posix.join(folder, "file.txt"), name: "file.txt", bytes: 0, sha256: "" };
  const { effect, rule, reason } = await runtime.explain({ name: RECEIVE_FILE, args: file });
  if (effect === "DENY") return `files are refused: ${reason}`;
  return (
    diskProblem(resolve(cwd, folder)) ??
    // A rule of the user's own that asks is what they want.
    (effect === "REQUIRE_CONFIRMATION" && rule.startsWith("builtin:")
      ? `each file needs approval: ${reason}`
      : undefined)
  );
}

function diskProblem(path: string): string | undefined {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) return path === dirname(path) ? undefined : diskProblem(dirname(path));
    if (!found.isDirectory()) return `"${path}" is not a folder`;
    accessSync(path, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOTDIR") return diskProblem(dirname(path));
    return `"${path}" cannot be written (${code})`;
  }
}
