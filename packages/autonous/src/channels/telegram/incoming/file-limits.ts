import type { SentFile } from "./media.ts";

/** What is taken of a message. */
export interface FileLimits {
  readonly max_files: number;
  readonly max_file_bytes: number;
}

/** How long a task waits for its files, at most. Longer than it takes to get them; a channel that opens again renews it. */
export const HOLD_MS = 3_600_000;
const MEGABYTE = 1_000_000;

/** Why a file is not even asked for: a clause. */
export function fileProblem(
  number: number,
  { bytes = 0 }: Pick<SentFile, "bytes">,
  limits: FileLimits,
): string | undefined {
  if (limits.max_files === 0) return "files are not accepted here (AUTONOUS_TELEGRAM_MAX_FILES is 0)";
  if (number > limits.max_files) return `at most ${limits.max_files} files per message; send it separately`;
  return bytes > limits.max_file_bytes ? tooLarge(limits, bytes) : undefined;
}

/** Why a file is not taken: a clause. */
export function tooLarge({ max_file_bytes }: FileLimits, bytes?: number): string {
  const size = bytes === undefined ? "it is too large" : `it has ${Math.ceil(bytes / MEGABYTE)} MB`;
  return `${size}; the limit is ${Math.floor(max_file_bytes / MEGABYTE)} MB`;
}
