/** A path or name as a glob that matches exactly this one. */
export function asGlob(path: string): string {
  return path.replace(/[*?[\]{}\\]/g, "\\$&");
}
