import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";
import type { NoteStanding, ProjectNote, ProjectNotes, SkippedNote } from "../../contract/notes.ts";
import { cutAfter, shareOut } from "../../output/share-out.ts";
import { isInside } from "../../paths/inside.ts";
import { judgeSensitivity } from "../../policy/check-path.ts";
import type { Places } from "../../policy/facts.ts";
import { findImports, isClearlyPath } from "../../text/note-imports.ts";
import { resolvePath } from "../files/resolve.ts";
import { readNoteFile } from "./note-file.ts";
import type { JudgeNote, NoteFile } from "./note-file.ts";

/** All notes together: they are sent with every request. */
const NOTES_BYTES = 32_768;
/** More files than this are not read, imports included. */
const MAX_FILES = 50;
const MAX_SKIPPED = 50;
/** How far imports lead: a file that is imported by one that is imported, and so on. */
const MAX_HOPS = 5;
/** Its `@path` words are imports, wherever a link to it stands. */
const WITH_IMPORTS = "CLAUDE.md";

/** In each folder of the workspace, the first one that is there and not empty. */
const IN_WORKSPACE = ["AGENTS.override.md", "AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md"] as const;

/** The person's own, for every workspace: the first one that is there and not empty. */
// oxfmt-ignore
const OF_PERSON = [
  { in: "configuration", path: "AGENTS.md" },
  { in: "home",          path: ".agents/AGENTS.md" },
  { in: "home",          path: ".codex/AGENTS.md" },
  { in: "home",          path: ".claude/CLAUDE.md" },
] as const;

export interface NotesOptions {
  /** Real paths. */
  readonly workspace: Places;
  readonly cwd: string;
  /** As the environment has it. */
  readonly home: string;
  /** Where the person keeps what is configured for the runtime. */
  readonly configuration: string;
  /** Whether a file of the workspace may be read without asking: a clause that says why not. */
  readonly judge: JudgeNote;
}

interface Candidate {
  /** Where it is looked for. */
  readonly path: string;
  readonly owner: NoteStanding;
  readonly hops: number;
  /** The word after `@`, and the note that has it. */
  readonly imported?: { readonly word: string; readonly by: string };
}

type Found = Omit<ProjectNote, "truncated"> & Pick<NoteFile, "isCut">;

interface Collection {
  readonly notes: Found[];
  readonly skipped: SkippedNote[];
  /** Real paths: what two names lead to is read once. */
  readonly seen: Set<string>;
}

/** Reads the notes for a working folder. Never throws for what is there: that is told in `skipped`. */
export function findNotes(options: NotesOptions): ProjectNotes {
  const collection: Collection = { notes: [], skipped: [], seen: new Set() };
  const { home, configuration } = options;
  const bases = { configuration, home };
  const own = OF_PERSON.map((each) => join(bases[each.in], each.path));
  takeFirst(own, "user", collection, options);
  for (const folder of foldersDown(options)) {
    const names = IN_WORKSPACE.map((name) => join(folder, name));
    takeFirst(names, "workspace", collection, options);
  }
  return { notes: fitAll(collection.notes), skipped: collection.skipped };
}

/** From the outermost root around the working folder down to it. */
function foldersDown({ workspace: { roots }, cwd }: NotesOptions): readonly string[] {
  const [root = cwd] = roots.filter((each) => isInside(each, cwd)).sort((one, other) => one.length - other.length);
  const names = relative(root, cwd).split("/").filter(Boolean);
  return [root, ...names.map((_, at) => join(root, ...names.slice(0, at + 1)))];
}

function takeFirst(paths: readonly string[], owner: NoteStanding, collection: Collection, options: NotesOptions): void {
  for (const path of paths) if (take({ path, owner, hops: 0 }, collection, options)) return;
}

/** Whether it has a text. What it imports follows it. */
function take(candidate: Candidate, collection: Collection, options: NotesOptions): boolean {
  const { path, owner, hops, imported } = candidate;
  const shown = showPath(path, owner, options);
  const skip = (why: string): false => {
    if (collection.skipped.length < MAX_SKIPPED) collection.skipped.push({ path: shown, why });
    return false;
  };
  const file = readNoteFile(path, judgeFor(candidate, options), NOTES_BYTES);
  if (file === undefined) {
    const isExpected = imported !== undefined && isClearlyPath(imported.word);
    return isExpected && skip(`it does not exist (imported by ${imported.by})`);
  }
  if (file.real !== undefined) {
    if (collection.seen.has(file.real)) return true;
    collection.seen.add(file.real);
  }
  if ("why" in file) return skip(file.why);
  if (file.text.trim() === "") return skip("it is empty");
  if (collection.notes.length >= MAX_FILES) return skip(`there are more than ${MAX_FILES} files of notes`);
  const standing = owner === "user" && !isInRoots(file.real, options) ? "user" : "workspace";
  const { text, bytes, isCut } = file;
  const imported_by = imported === undefined ? {} : { imported_by: imported.by };
  collection.notes.push({ path: shown, standing, text, bytes, isCut, ...imported_by });
  if (hops > 0 || [basename(path), basename(file.real)].includes(WITH_IMPORTS))
    takeImports(file, { ...candidate, owner: standing }, shown, { collection, options, skip });
  return true;
}

interface Taking {
  readonly collection: Collection;
  readonly options: NotesOptions;
  readonly skip: (why: string) => false;
}

function takeImports(
  { text }: NoteFile,
  candidate: Candidate,
  shown: string,
  { collection, options, skip }: Taking,
): void {
  const { path, owner, hops } = candidate;
  const imports = findImports(text);
  if (imports.length > 0 && hops >= MAX_HOPS) {
    skip(`its imports are more than ${MAX_HOPS} steps away from the first file`);
    return;
  }
  for (const word of imports) {
    const target = word.startsWith("~/") ? join(options.home, word.slice(2)) : resolve(dirname(path), word);
    if (word.startsWith("~/") && owner === "workspace") {
      const why = `only your own notes import from "~" (imported by ${shown})`;
      if (collection.skipped.length < MAX_SKIPPED) collection.skipped.push({ path: word, why });
    } else take({ path: target, owner, hops: hops + 1, imported: { word, by: shown } }, collection, options);
  }
}

function isInRoots(real: string, { workspace: { roots } }: NotesOptions): boolean {
  return roots.some((root) => isInside(root, real));
}

/**
 * A person's own notes may lie where tools do not reach, for that is where the configuration is; a link of theirs and an
 * import may not lead to a sensitive place. What lies in the workspace is judged as the workspace's, also where the person's notes import it.
 */
function judgeFor({ path, owner, hops }: Candidate, options: NotesOptions): JudgeNote {
  return (real) => {
    if (owner === "workspace" || isInRoots(real, options)) return options.judge(real);
    const place = join(resolvePath(dirname(path), "/").real, basename(path));
    return hops === 0 && real === place ? undefined : judgeSensitivity(real, options.workspace)?.reason;
  };
}

function showPath(path: string, owner: NoteStanding, { home, cwd }: NotesOptions): string {
  if (owner === "workspace") return relative(cwd, path);
  const below = relative(home, path);
  return below.startsWith("..") || isAbsolute(below) ? path : `~/${below}`;
}

/** Long files are cut at the end of a line, so that every file has a part of the space. */
function fitAll(notes: readonly Found[]): readonly ProjectNote[] {
  const shares = shareOut(
    notes.map(({ text }) => Buffer.byteLength(text)),
    NOTES_BYTES,
  );
  return notes.map(({ isCut, ...note }, at) => {
    const text = cutAfter(note.text, shares[at] ?? 0, ["\n"]);
    return { ...note, text, ...(isCut || text !== note.text ? { truncated: true as const } : {}) };
  });
}
