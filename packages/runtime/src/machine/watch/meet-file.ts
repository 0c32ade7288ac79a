import type { KeptContents } from "./kept-contents.ts";
import { hashContent, readContent, readTarget } from "./read-entry.ts";
import type { FolderToRead, ReadEntry } from "./read-entry.ts";
import { areSame, isYoungAt } from "./tree-entry.ts";
import type { Facts, Place, TreeEntry } from "./tree-entry.ts";
import type { TreeLimits } from "./tree-limits.ts";

/** What one look has used up so far. */
interface Budget {
  kept: number;
  readBytes: number;
  laterBytes: number;
  isLate: boolean;
}

/** Bytes of files that run later that one look keeps, in units of `call_bytes`. */
const LATER_CALLS = 4;

interface MeetOptions {
  readonly name: string;
  /** As it is now, and as the look before saw it. */
  readonly facts: Facts;
  readonly before: TreeEntry | undefined;
  readonly place: Place;
  readonly toRead: FolderToRead;
  readonly nowMs: number;
  readonly isAfter: boolean;
  readonly keeps: boolean;
  readonly contents: KeptContents;
  readonly limits: TreeLimits;
  readonly budget: Budget;
  /** Whether a rule hides it from the command. Asked only where it would be read. */
  readonly isHidden: () => boolean;
}

/** The entry of something that is no folder: the one of the look before where nothing changed, else one that is read. */
export function meetFile(options: MeetOptions): TreeEntry | Promise<TreeEntry> {
  const { facts, before, contents, budget, toRead, name } = options;
  const isSame = before !== undefined && areSame(before, facts);
  const useful = wanted(options, isSame);
  const how = useful !== "no" && options.isHidden() ? "no" : useful;
  if (how === "kept") return keep(options);
  if (how === "hashed") {
    budget.readBytes += facts.size;
    return hashContent({ folder: toRead, name, facts }).then((found) => entryOf(options, found));
  }
  if (!isSame) return entryOf(options, { facts, sha256: undefined });
  if (contents.has(before.sha256)) budget.kept++;
  return before;
}

/** Whether a file is read, and whether its content is kept then or only told by its hash. */
function wanted(options: MeetOptions, isSame: boolean): "no" | "kept" | "hashed" {
  const { facts, before, place, isAfter, keeps, contents, limits } = options;
  if (facts.kind !== "file" || place === "sensitive") return "no";
  const isCertain = isSame && before?.isYoung === false;
  if (isCertain && (isAfter || contents.has(before?.sha256))) return "no";
  if (place === "later") return fitsLater(options) ? "kept" : "no";
  if (isSame && isAfter && before?.sha256 === undefined) return "no";
  if (keeps && fits(options)) return "kept";
  // What is new has to be told apart later; what was changed, from what it was, or from what another call left.
  const isOfUse = isAfter && (before === undefined || before.sha256 !== undefined || !keeps);
  return isOfUse && facts.size <= limits.hash_bytes && !options.budget.isLate ? "hashed" : "no";
}

/** Few and small, so that the other bounds do not hold for them; but nothing is without any. */
function fitsLater({ facts, limits, budget }: MeetOptions): boolean {
  return facts.size <= limits.later_bytes && budget.laterBytes + facts.size <= LATER_CALLS * limits.call_bytes;
}

function fits({ facts, limits, budget }: MeetOptions): boolean {
  return (
    facts.size <= limits.file_bytes &&
    budget.kept < limits.keep_files &&
    budget.readBytes + facts.size <= limits.call_bytes &&
    !budget.isLate
  );
}

function keep(options: MeetOptions): TreeEntry {
  const { contents, budget, place, limits, toRead, name, facts } = options;
  const found = readContent({
    folder: toRead,
    name,
    facts,
    limit_bytes: place === "later" ? limits.later_bytes : limits.file_bytes,
    onContent: (sha256, content) => {
      if (place === "later") budget.laterBytes += content.length;
      else budget.readBytes += content.length;
      if (contents.keep(sha256, content)) budget.kept++;
    },
  });
  return entryOf(options, found);
}

function entryOf({ place, nowMs, toRead, name }: MeetOptions, { facts, sha256 }: ReadEntry): TreeEntry {
  const target = facts.kind === "link" ? readTarget(toRead, name) : undefined;
  return { ...facts, place, isYoung: isYoungAt(nowMs, facts), sha256, target };
}
