/** Names under which a run puts aside what was too long to show: of a call's output, its data or its arguments. */
const STORAGE_REF = /^observations\/call_[A-Za-z0-9_-]{1,123}\.(?:txt|data\.json|arguments\.json)$/;

/** Whether a path is a `storage_ref` as results give them out. Every other path is one of the workspace. */
export function isStorageRef(path: string): boolean {
  return STORAGE_REF.test(path);
}
