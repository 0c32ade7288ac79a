import type { Entry, EntryKind, Listing, ToolFiles } from "../contract/context.ts";
import { ToolError } from "../protocol/errors.ts";

/** An entry's position in the order of the walk, to continue after it. */
export interface Place {
  readonly keys: readonly string[];
  /** It is a folder whose own entries come next. */
  readonly folder: boolean;
}

export interface WalkEntry {
  readonly keys: readonly string[];
  readonly names: readonly string[];
  readonly kind: EntryKind;
}

export interface WalkOptions {
  readonly path: string;
  readonly recursive: boolean;
  readonly show_sensitive: boolean;
  readonly skip: (path: string) => boolean;
  readonly start: Place | undefined;
  /** The expected number of entries, as far as it is known. */
  readonly page: number;
  readonly onUnreadable: (error: ToolError) => void;
}

/** Entries of one folder in memory at a time. A larger folder is read again for the next ones. */
const BATCH = 4096;

interface Frame {
  readonly keys: readonly string[];
  readonly names: readonly string[];
  after: string | undefined;
  entries: readonly Entry[];
  next: number;
  more: boolean;
}

/**
 * A folder's entries in path order, each folder's own right after it. Memory grows with the depth, not with the number
 * of entries. Folders that vanish, move or cannot be read meanwhile are reported and skipped.
 */
export async function* walk(
  files: ToolFiles,
  options: WalkOptions,
): AsyncIterable<WalkEntry | { readonly hidden: number }> {
  const frames = startFrames(options.start);
  for (let frame = frames.at(-1); frame !== undefined; frame = frames.at(-1)) {
    if (frame.next === frame.entries.length && frame.more) {
      const hidden = await refill(frame, files, options);
      if (hidden > 0) yield { hidden };
    }
    const entry = frame.entries[frame.next++];
    if (entry === undefined) {
      frames.pop();
      continue;
    }
    const keys = [...frame.keys, entry.key];
    const names = [...frame.names, entry.name];
    yield { keys, names, kind: entry.kind };
    if (options.recursive && entry.kind === "directory") frames.push(newFrame(keys, names, undefined));
  }
}

function newFrame(keys: readonly string[], names: readonly string[], after: string | undefined): Frame {
  return { keys, names, after, entries: [], next: 0, more: true };
}

/** One frame for each folder on the path to where the previous page ended. */
function startFrames(start: Place | undefined): Frame[] {
  if (start === undefined) return [newFrame([], [], undefined)];
  const names = start.keys.map((key) => Buffer.from(key, "latin1").toString("utf8"));
  const frames = start.keys.map((key, depth) => newFrame(start.keys.slice(0, depth), names.slice(0, depth), key));
  if (start.folder) frames.push(newFrame(start.keys, names, undefined));
  return frames;
}

/** Reads the frame's next entries and returns the number of withheld ones. */
async function refill(frame: Frame, files: ToolFiles, options: WalkOptions): Promise<number> {
  const first = frame.after === undefined;
  const listing = await listOrSkip(frame, files, options);
  frame.entries = listing.entries;
  frame.next = 0;
  frame.more = listing.more;
  frame.after = listing.entries.at(-1)?.key ?? frame.after;
  return first ? listing.hidden : 0;
}

const NOTHING: Listing = { entries: [], more: false, hidden: 0 };

async function listOrSkip(frame: Frame, files: ToolFiles, options: WalkOptions): Promise<Listing> {
  const prefix = frame.names.length === 0 ? "" : `${frame.names.join("/")}/`;
  try {
    return await files.list(options.path, {
      below: frame.keys,
      ...(frame.after === undefined ? {} : { after: frame.after }),
      limit: Math.min(options.page + 1, BATCH),
      show_sensitive: options.show_sensitive,
      skip: (name) => options.skip(prefix + name),
    });
  } catch (error) {
    if (frame.names.length === 0 || !(error instanceof ToolError)) throw error;
    if (error.code !== "NotFound") options.onUnreadable(error);
    return NOTHING;
  }
}
