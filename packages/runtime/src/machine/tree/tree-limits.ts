/** Limits on the cost of one snapshot of the workspace. Beyond them files are listed but not restorable, or left out. */
export interface TreeLimits {
  /** Maximum number of scanned files. */
  readonly look_files: number;
  /** Maximum number of files with stored content, and their maximum size. */
  readonly keep_files: number;
  readonly file_bytes: number;
  /** Bytes that one snapshot reads and stores. */
  readonly call_bytes: number;
  /** How long one snapshot stores contents; it continues to scan for as long again. A snapshot after a command has longer. */
  readonly look_ms: number;
  /** A git-ignored folder with up to this many files is treated like any other, and left out above that. */
  readonly ignored_files: number;
  /** Run-later files are small; a larger file is something else. */
  readonly later_bytes: number;
  /** From this count or size on, git objects are held by hard links; below it they are stored like other files. */
  readonly store_files: number;
  readonly store_bytes: number;
  /** The largest new file that undo can remove: it has to be hashed to check that it is still the same. */
  readonly hash_bytes: number;
}

// oxfmt-ignore
export const TREE_LIMITS: TreeLimits = {
  look_files:    1_000_000,
  keep_files:    1_000_000,
  file_bytes:    64 << 20,
  call_bytes:    512 << 20,
  look_ms:       20_000,
  ignored_files: 20_000,
  later_bytes:   8 << 20,
  store_files:   4096,
  store_bytes:   32 << 20,
  hash_bytes:    1 << 30,
};

/** Git objects are held once, and everything else relies on them: enough time to finish on a busy machine. */
export const HOLD_FACTOR = 6;

/** A snapshot after a command gets more time: changed files that are not read could not be undone. */
export const AFTER_FACTOR = 8;

/** A folder with a longer list of names is left out: reading it would block the event loop. */
export const FOLDER_BYTES = 4 << 20;
