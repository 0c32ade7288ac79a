import { accessSync, constants, statSync } from "node:fs";
import { dirname, posix, resolve } from "node:path";
import { isInside } from "@autonous/runtime/internal";
import type { Runtime } from "@autonous/runtime";
import { createReceiveTool, RECEIVE_FILE } from "./receive-tool.ts";

export interface InboxPlace {
  /** The value of the setting. */
  readonly folder: string;
  readonly cwd: string;
  readonly roots: readonly string[];
}

const LONGEST_NAME_BYTES = 255;

/** Why the setting can never work, regardless of what is on disk: a clause with what to do. */
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

/** Why files cannot be stored there now: a clause. `runtime` decides as for a task, but changes nothing. */
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
    // If a rule of the user requires approval, that is intended.
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
