/** All failures of the store that are not bugs, and what to do next. */
// oxfmt-ignore
const STORE_ERRORS = {
  Busy:        "find the process that holds the database, then retry",
  Full:        "free some space there, then retry; none of this was stored",
  ReadOnly:    "make the file and its folder writable for this user, then retry",
  Corrupt:     "move the file away and restore a backup; it was left unchanged",
  DamagedRow:  'run "autonous audit verify" to see all damage; other rows are not affected',
  Unavailable: "check the path and its disk, then retry",
  Fenced:      "drop this work without further effects; another worker continues the task",
  NewerSchema: "run the newer version that wrote it, or use another database; it was left unchanged",
} as const satisfies Record<string, string>;

export type StoreErrorCode = keyof typeof STORE_ERRORS;

/** `message` says what was attempted, on what, why it failed, and what to do next. Nothing was stored. */
export class StoreError extends Error {
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, what: { readonly doing: string; readonly why: string }, cause?: unknown) {
    super(`Cannot ${what.doing}: ${what.why}; ${STORE_ERRORS[code]}`, cause === undefined ? undefined : { cause });
    this.name = "StoreError";
    this.code = code;
  }
}
