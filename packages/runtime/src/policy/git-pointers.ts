import { posix } from "node:path";

/**
 * Where a `.git` file or a `commondir` leads, given with its folder: an absolute path, as text. Undefined where git
 * would not take it for one, or might take it for another.
 */
export function pointedTo(text: string, folder: string): string | undefined {
  const path = text.replace(/^gitdir: /, "").replace(/[\r\n]+$/, "");
  if (path === "" || /[\0\r\n]/.test(path)) return undefined;
  const full = posix.resolve(folder, path);
  return full === "/" ? undefined : full;
}
