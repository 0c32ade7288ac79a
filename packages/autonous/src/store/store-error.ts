/** Every way the store can fail that is no fault of the code, and what to do next. */
// oxfmt-ignore
const STORE_ERRORS = {
  Busy:        "look for a process that holds the database for long, then try again",
  Full:        "free some space there, then try again; nothing of this was stored",
  ReadOnly:    "make the file and its folder writable for this user, then try again",
  Corrupt:     "move the file away and put a backup in its place; it was left as it is",
  DamagedRow:  'run "autonous audit verify" to see all damage; other rows are not affected',
  Unavailable: "see that the path and its disk are as they should be, then try again",
  Fenced:      "drop this work without any further effect; the task goes on elsewhere",
  NewerSchema: "run the newer version that wrote it, or a database of its own; it was left as it is",
} as const satisfies Record<string, string>;

export type StoreErrorCode = keyof typeof STORE_ERRORS;

/** `message` says what was being done, on what, why it could not be, and what to do next. Nothing of it was stored. */
export class StoreError extends Error {
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, what: { readonly doing: string; readonly why: string }, cause?: unknown) {
    super(`Cannot ${what.doing}: ${what.why}; ${STORE_ERRORS[code]}`, cause === undefined ? undefined : { cause });
    this.name = "StoreError";
    this.code = code;
  }
}
