import { closeSync, lstatSync, mkdirSync } from "node:fs";
import { basename, dirname } from "node:path";
import { judgePlace } from "../../policy/paths/check-path.ts";
import type { WorkspaceContext } from "../../policy/decide.ts";
import { ToolError } from "../../protocol/errors.ts";
import { realPathChanged } from "./concurrent-change.ts";
import { openFolder, procPath, realBytesOf } from "./handle.ts";
import { asToolError } from "./system-error.ts";

/**
 * The folders of one change, each opened once and verified. Names are then looked up relative to the open descriptor,
 * so a link planted later cannot redirect them. The caller closes it.
 */
export class OpenFolders {
  readonly #workspace: WorkspaceContext;
  readonly #fds = new Map<string, number>();

  constructor(workspace: WorkspaceContext) {
    this.#workspace = workspace;
  }

  /** The folder at this real path, or undefined if it does not exist. Messages show `path`. */
  find(real: string, path: string): number | undefined {
    const known = this.#fds.get(real);
    if (known !== undefined) return known;
    const fd = openOrMissing(real, path);
    if (fd === undefined) return undefined;
    const refusal = judgePlace(real, this.#workspace);
    if (isAt(fd, real) && refusal === undefined) {
      this.#fds.set(real, fd);
      return fd;
    }
    closeSync(fd);
    if (refusal === undefined) throw realPathChanged(path);
    throw new ToolError(refusal.code, `Cannot change "${path}": ${refusal.reason}`, { path });
  }

  /** The missing folders from this one upwards, outermost first. Their parent exists and was verified. */
  missing(real: string, path: string): string[] {
    const missing: string[] = [];
    for (let each = real; this.find(each, path) === undefined; each = dirname(each)) missing.unshift(each);
    return missing;
  }

  /** Creates a folder in its existing parent. False if another process has just created it. */
  make(real: string, path: string): boolean {
    const above = this.find(dirname(real), path);
    if (above === undefined) throw realPathChanged(path);
    try {
      mkdirSync(`${procPath(above)}/${basename(real)}`);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
      throw asToolError(error, path, "change");
    }
  }

  /** A path to a name in a folder that was found before. */
  at(folder: string, name: string): string {
    const fd = this.#fds.get(folder);
    if (fd === undefined) throw new Error(`The folder "${folder}" was not opened`);
    return `${procPath(fd)}/${name}`;
  }

  fdOf(folder: string): number | undefined {
    return this.#fds.get(folder);
  }

  /** Whether all these folders are still where they were found. */
  areInPlace(folders: Iterable<string>): boolean {
    for (const folder of folders) {
      const fd = this.#fds.get(folder);
      if (fd === undefined || !isAt(fd, folder)) return false;
    }
    return true;
  }

  close(): void {
    for (const fd of this.#fds.values()) closeSync(fd);
    this.#fds.clear();
  }
}

function isAt(fd: number, real: string): boolean {
  return realBytesOf(fd) === Buffer.from(real).toString("latin1");
}

function openOrMissing(real: string, path: string): number | undefined {
  try {
    return openFolder(real);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    // The access check used the real path, so a link here must be newer than that check.
    const stats = lstatSync(real, { throwIfNoEntry: false });
    if (stats?.isSymbolicLink() === true) throw realPathChanged(path);
    if (code === "ENOTDIR") {
      throw new ToolError(
        "InvalidArguments",
        `Cannot change "${path}": a name above it is a file, not a folder`,
        { path },
        error,
      );
    }
    throw asToolError(error, path, "change");
  }
}
