/** Whether an absolute, normalized path is the folder itself or below it. `/workspace` is not inside `/work`. */
export function isInside(folder: string, path: string): boolean {
  if (!path.startsWith(folder)) return false;
  return path.length === folder.length || folder.endsWith("/") || path.charCodeAt(folder.length) === SLASH;
}

const SLASH = 47;

/** A real path as seen from a folder: relative if it is below. */
export function pathFor(real: string, cwd: string): string {
  if (real === cwd) return ".";
  return isInside(cwd, real) ? real.slice(cwd.endsWith("/") ? cwd.length : cwd.length + 1) : real;
}
