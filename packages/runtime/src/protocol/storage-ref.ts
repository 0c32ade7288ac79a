/** Names under which a run stores long output, data or arguments of a call. */
const STORAGE_REF = /^observations\/call_[A-Za-z0-9_-]{1,123}\.(?:txt|data\.json|arguments\.json)$/;

/** Whether a path is a `storage_ref` from a result. All other paths are workspace paths. */
export function isStorageRef(path: string): boolean {
  return STORAGE_REF.test(path);
}
