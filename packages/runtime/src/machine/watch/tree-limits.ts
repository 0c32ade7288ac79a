/** Bounds on what one look at the workspace costs. Beyond them files are listed but cannot be brought back, or left out. */
export interface TreeLimits {
  /** Files that are looked at at all. */
  readonly look_files: number;
  /** Files whose content is kept, and the largest one. */
  readonly keep_files: number;
  readonly file_bytes: number;
  /** Bytes that one look reads and keeps. */
  readonly call_bytes: number;
  /** How long one look goes on keeping contents; it goes on looking for as long again. One after a command has longer. */
  readonly look_ms: number;
  /** A folder that git ignores is treated like any other up to so many files, and left out above. */
  readonly ignored_files: number;
  /** Files that run later are few and small; above this they are something else. */
  readonly later_bytes: number;
  /** Git objects are held by hard links from this count or this size on, and kept like other files below it. */
  readonly store_files: number;
  readonly store_bytes: number;
  /** The largest new file that undo can remove: it is read to tell whether it is still the same then. */
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

/** Objects of git are held once, and all else relies on them: so long that it ends on a machine that is busy. */
export const HOLD_FACTOR = 6;

/** What a command changed has to be read, however much it is: else it could not be undone. */
export const AFTER_FACTOR = 8;

/** A folder whose own list of names is longer than this is left out: reading it alone would hold up everybody. */
export const FOLDER_BYTES = 4 << 20;
