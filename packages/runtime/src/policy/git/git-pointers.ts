import { posix } from "node:path";

/**
 * The target of a `.git` file or a `commondir` in the given folder: an absolute path, as text. Undefined if git would
 * reject it or might read it differently.
 */
export function pointedTo(text: string, folder: string): string | undefined {
  const path = text.replace(/^gitdir: /, "").replace(/[\r\n]+$/, "");
  if (path === "" || /[\0\r\n]/.test(path)) return undefined;
  const full = posix.resolve(folder, path);
  return full === "/" ? undefined : full;
}
