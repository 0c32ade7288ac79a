/** Prefix of the names of all temporary files of a log, and of no other files. */
export function temporaryPrefix({ id }: { readonly id: string }): string {
  return `.autonous-${id.replace("undo_", "")}-`;
}

const TEMPORARY = /^\.autonous-[0-9a-z]{20,30}-\d+\.(?:tmp|old)$/;

/** Whether a file exists only during a change. Such files are hidden from listings. */
export function isTemporaryName(name: string): boolean {
  return TEMPORARY.test(name);
}
