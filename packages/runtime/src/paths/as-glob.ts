/** A path or name as a glob that means exactly this one. */
export function asGlob(path: string): string {
  return path.replace(/[*?[\]{}\\]/g, "\\$&");
}
