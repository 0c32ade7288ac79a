import { StoreError } from "../store-error.ts";
import type { StoreErrorCode } from "../store-error.ts";
import { pause } from "@autonous/runtime/internal";

/**
 * Retry interval. SQLite's busy timeout stays off: it blocks the whole process, including heartbeats, and would never
 * succeed if another connection of the same process has the lock. Short, because a busy writer leaves only short gaps;
 * a retry costs some microseconds.
 */
const BUSY_PAUSE_MS = 1;

/** Retries as long as another process has the lock. */
export async function whileBusy(limitMs: number, attempt: () => void): Promise<void> {
  const end = performance.now() + limitMs;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (codeOf(error) !== "Busy" || performance.now() >= end) throw error;
    }
    await pause(BUSY_PAUSE_MS);
  }
}

interface ErrorMeaning {
  readonly code: StoreErrorCode;
  readonly why: (file: string) => string;
}

const MEANINGS = {
  locked: { code: "Busy", why: (file) => `another process keeps "${file}" locked` },
  full: { code: "Full", why: (file) => `no space left for "${file}"` },
  readOnly: { code: "ReadOnly", why: (file) => `"${file}" is not writable` },
  damaged: { code: "Corrupt", why: (file) => `"${file}" is damaged or not a database` },
  unreachable: { code: "Unavailable", why: (file) => `"${file}" cannot be reached` },
} as const satisfies Record<string, ErrorMeaning>;

/** SQLite's primary result codes and Node's names of system errors. Errors that are not listed are bugs. */
const CAUSES: Readonly<Record<string, ErrorMeaning>> = {
  5: MEANINGS.locked,
  6: MEANINGS.locked,
  8: MEANINGS.readOnly,
  10: MEANINGS.unreachable,
  11: MEANINGS.damaged,
  13: MEANINGS.full,
  14: MEANINGS.unreachable,
  15: MEANINGS.locked, // SQLITE_PROTOCOL: lost a race for the locks
  26: MEANINGS.damaged,
  ENOSPC: MEANINGS.full,
  EDQUOT: MEANINGS.full,
  EACCES: MEANINGS.readOnly,
  EPERM: MEANINGS.readOnly,
  EROFS: MEANINGS.readOnly,
  EEXIST: MEANINGS.unreachable,
  EISDIR: MEANINGS.unreachable,
  ELOOP: MEANINGS.unreachable,
  ENAMETOOLONG: MEANINGS.unreachable,
  ENOENT: MEANINGS.unreachable,
  ENOTDIR: MEANINGS.unreachable,
  EIO: MEANINGS.unreachable,
};

function meaningOf(error: unknown): ErrorMeaning | undefined {
  if (!(error instanceof Error)) return undefined;
  const { errcode, code } = error as Error & { readonly errcode?: number; readonly code?: string };
  return CAUSES[errcode === undefined ? (code ?? "") : String(errcode & 0xff)]; // the low byte is the primary code
}

function codeOf(error: unknown): StoreErrorCode | undefined {
  return meaningOf(error)?.code;
}

/** Turns an error of SQLite or of the system into a `StoreError`. Returns other errors unchanged. */
export function asStoreError(error: unknown, doing: string, file: string): unknown {
  const meaning = meaningOf(error);
  if (meaning === undefined || error instanceof StoreError) return error;
  const why = `${meaning.why(file)} (${(error as Error).message})`;
  return new StoreError(meaning.code, { doing, why }, error);
}
