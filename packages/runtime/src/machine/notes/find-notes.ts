import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";
import type { NoteStanding, ProjectNote, ProjectNotes, SkippedNote } from "../../contract/notes.ts";
import { cutAfter, shareOut } from "../../output/share-out.ts";
import { isInside } from "../../paths/inside.ts";
import { judgeSensitivity } from "../../policy/paths/check-path.ts";
import type { Places } from "../../policy/facts.ts";
import { findImports, isClearlyPath } from "../../text/note-imports.ts";
import { resolvePath } from "../system/resolve.ts";
import { readNoteFile } from "./note-file.ts";
import type { JudgeNote, NoteFile } from "./note-file.ts";

/** Limit for all notes together, because they are sent with every request. */
const NOTES_BYTES = 32_768;
/** Maximum number of files, imports included. */
const MAX_FILES = 50;
const MAX_SKIPPED = 50;
/** Maximum depth of nested imports. */
const MAX_HOPS = 5;
/** In this file `@path` words are imports, also when it is reached through a link. */
const WITH_IMPORTS = "CLAUDE.md";

/** In each folder of the workspace, the first that exists and is not empty. */
const IN_WORKSPACE = ["AGENTS.override.md", "AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md"] as const;

/** The user's own notes for every workspace: the first that exists and is not empty. */
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
  /** As set in the environment. */
  readonly home: string;
  /** The user's configuration folder for the runtime. */
  readonly configuration: string;
  /** Why a workspace file may not be read without approval, as a clause; undefined if it may. */
  readonly judge: JudgeNote;
}

interface Candidate {
  /** The path to try. */
  readonly path: string;
  readonly owner: NoteStanding;
  readonly hops: number;
  /** The word after `@`, and the note that contains it. */
  readonly imported?: { readonly word: string; readonly by: string };
}

type FoundNote = Omit<ProjectNote, "truncated"> & Pick<NoteFile, "isCut">;

interface Collection {
  readonly notes: FoundNote[];
  readonly skipped: SkippedNote[];
  /** Real paths, so that a file reached by two names is read once. */
  readonly seen: Set<string>;
}

/** Reads the notes for a working folder. Never throws for unusable files: `skipped` lists them. */
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

/** Whether the file has text. Its imports are added after it. */
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
  if (collection.notes.length >= MAX_FILES) return skip(`there are more than ${MAX_FILES} note files`);
  const standing = owner === "user" && !isInRoots(file.real, options) ? "user" : "workspace";
  const { text, bytes, isCut } = file;
  const imported_by = imported === undefined ? {} : { imported_by: imported.by };
  collection.notes.push({ path: shown, standing, text, bytes, isCut, ...imported_by });
  if (hops > 0 || [basename(path), basename(file.real)].includes(WITH_IMPORTS))
    takeImports(file, { ...candidate, owner: standing }, shown, { collection, options, skip });
  return true;
}

interface ImportParts {
  readonly collection: Collection;
  readonly options: NotesOptions;
  readonly skip: (why: string) => false;
}

function takeImports(
  { text }: NoteFile,
  candidate: Candidate,
  shown: string,
  { collection, options, skip }: ImportParts,
): void {
  const { path, owner, hops } = candidate;
  const imports = findImports(text);
  if (imports.length > 0 && hops >= MAX_HOPS) {
    skip(`its imports are nested more than ${MAX_HOPS} levels deep`);
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
 * The user's own notes may be in folders that are closed to tools, such as the configuration folder; but their links
 * and imports may not lead to a sensitive path. Files in the workspace follow the workspace's rules, even when the
 * user's notes import them.
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

/** Long files are truncated at the end of a line, so that every file gets a share of the limit. */
function fitAll(notes: readonly FoundNote[]): readonly ProjectNote[] {
  const shares = shareOut(
    notes.map(({ text }) => Buffer.byteLength(text)),
    NOTES_BYTES,
  );
  return notes.map(({ isCut, ...note }, at) => {
    const text = cutAfter(note.text, shares[at] ?? 0, ["\n"]);
    return { ...note, text, ...(isCut || text !== note.text ? { truncated: true as const } : {}) };
  });
}
