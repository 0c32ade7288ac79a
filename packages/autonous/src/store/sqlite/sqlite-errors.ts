import { StoreError } from "../store-error.ts";
import type { StoreErrorCode } from "../store-error.ts";

/**
 * How often to ask again. SQLite's own busy timeout stays off: it stops the whole process while it waits, heartbeats
 * and all, and cannot end when the lock is held by another connection of the same process. Short, because a writer with
 * much to do leaves only short gaps; asking costs some microseconds.
 */
const BUSY_PAUSE_MS = 1;

/** Tries again as long as another process has the lock. */
export async function whileBusy(limitMs: number, attempt: () => void): Promise<void> {
  const end = performance.now() + limitMs;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (codeOf(error) !== "Busy" || performance.now() >= end) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, BUSY_PAUSE_MS));
  }
}

interface Meaning {
  readonly code: StoreErrorCode;
  readonly why: (file: string) => string;
}

const MEANINGS = {
  locked: { code: "Busy", why: (file) => `another process keeps "${file}" locked` },
  full: { code: "Full", why: (file) => `there is no room left for "${file}"` },
  readOnly: { code: "ReadOnly", why: (file) => `"${file}" may not be written` },
  damaged: { code: "Corrupt", why: (file) => `"${file}" is damaged, or no database` },
  unreachable: { code: "Unavailable", why: (file) => `"${file}" cannot be reached` },
} as const satisfies Record<string, Meaning>;

/** SQLite's primary result codes and Node's names of system errors. What is not here is a fault of the code. */
const CAUSES: Readonly<Record<string, Meaning>> = {
  5: MEANINGS.locked,
  6: MEANINGS.locked,
  8: MEANINGS.readOnly,
  10: MEANINGS.unreachable,
  11: MEANINGS.damaged,
  13: MEANINGS.full,
  14: MEANINGS.unreachable,
  15: MEANINGS.locked, // the protocol of the locks was lost in a race for them
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

function meaningOf(error: unknown): Meaning | undefined {
  if (!(error instanceof Error)) return undefined;
  const { errcode, code } = error as Error & { readonly errcode?: number; readonly code?: string };
  return CAUSES[errcode === undefined ? (code ?? "") : String(errcode & 0xff)]; // the low byte is the primary code
}

function codeOf(error: unknown): StoreErrorCode | undefined {
  return meaningOf(error)?.code;
}

/** What a failure of SQLite or of the system means, told in words. Others are given back as they are. */
export function asStoreError(error: unknown, doing: string, file: string): unknown {
  const meaning = meaningOf(error);
  if (meaning === undefined || error instanceof StoreError) return error;
  const why = `${meaning.why(file)} (${(error as Error).message})`;
  return new StoreError(meaning.code, { doing, why }, error);
}
