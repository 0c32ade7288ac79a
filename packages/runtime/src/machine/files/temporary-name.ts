/** The names of all temporary files that belong to a log begin with this, and no others do. */
export function temporaryPrefix({ id }: { readonly id: string }): string {
  return `.autonous-${id.replace("undo_", "")}-`;
}

const TEMPORARY = /^\.autonous-[0-9a-z]{20,30}-\d+\.(?:tmp|old)$/;

/** Whether a file is there only while a change is under way. Nobody is shown it. */
export function isTemporaryName(name: string): boolean {
  return TEMPORARY.test(name);
}
