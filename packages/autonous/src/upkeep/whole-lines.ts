import { existsSync, statSync, truncateSync, utimesSync } from "node:fs";
import { readLines } from "@autonous/runtime/internal";

export interface WholeLines {
  readonly count: number;
  readonly bytes: number;
  readonly last: string | undefined;
}

/** Counts the complete lines of a file (at most `most`), in constant memory. */
export async function wholeLines(file: string, most = Number.POSITIVE_INFINITY): Promise<WholeLines> {
  let found: WholeLines = { count: 0, bytes: 0, last: undefined };
  if (!existsSync(file)) return found;
  for await (const lines of readLines(file))
    for (const { text, whole } of lines) {
      if (!whole || found.count >= most) return found;
      found = { count: found.count + 1, bytes: found.bytes + Buffer.byteLength(text) + 1, last: text };
    }
  return found;
}

/** Truncates a file after its first `most` lines, and removes an incomplete last line. Keeps the file times. */
export async function truncateLines(file: string, most?: number): Promise<void> {
  if (!existsSync(file)) return;
  const { bytes } = await wholeLines(file, most);
  const { size, atime, mtime } = statSync(file);
  if (bytes >= size) return;
  truncateSync(file, bytes);
  utimesSync(file, atime, mtime);
}
