import { closeSync, constants, fstatSync, openSync, opendirSync, readSync } from "node:fs";
import type { Dirent } from "node:fs";
import { join } from "node:path";
import { readGitState } from "../machine/git/git-state.ts";
import type { GitState } from "../machine/git/git-state.ts";
import { mayLook } from "./may-look.ts";
import type { LookOptions } from "./may-look.ts";
import { prepareStart } from "./start.ts";

/** A summary of a workspace. Names and text are raw: the caller marks them as data. */
export interface WorkspaceSurvey {
  readonly folder: string;
  /**
   * Top-level names, folders with a slash. Without dot files, and without those that tools may read only with approval.
   */
  readonly entries: readonly string[];
  /** Number of further entries; a lower bound if the folder has too many to count. */
  readonly more: number;
  /** The first lines of the README. */
  readonly readme?: { readonly name: string; readonly text: string };
  readonly git?: GitState;
}

const MAX_ENTRIES = 40;
/** Larger folders are read only up to this many entries. */
const MAX_READ = 2000;
const MAX_NAME = 80;
const README = /^readme(?:\.(?:md|markdown|txt|rst|adoc|org))?$/i;
const README_BYTES = 4096;
const README_LINES = 6;
const README_CHARACTERS = 400;
/** Images, badges and HTML carry no information. */
const DECORATION = /^\s*(?:\[?!\[|<|[-=*_~^]{3,}\s*$)/;

/**
 * Reads the working folder as `ls` and `read` may without approval. Runs nothing, and never throws because of its
 * content.
 */
export function surveyWorkspace({ settings, ...options }: LookOptions): WorkspaceSurvey {
  const { cwd: folder, workspace } = prepareStart({ ...options, checkpoint_handler: false, looking: true });
  const may = (access: "list" | "read", path: string): boolean =>
    mayLook({ access, path }, workspace, settings).effect === "ALLOW";
  const found = may("list", folder) ? readFolder(folder) : [];
  const shown = found.filter(
    (each) => !each.name.startsWith(".") && may(each.isDirectory() ? "list" : "read", join(folder, each.name)),
  );
  const names = shown.map((each) => `${shorten(each.name)}${each.isDirectory() ? "/" : ""}`).sort();
  const readme = shown
    .filter((each) => each.isFile() && README.test(each.name))
    .map(({ name }) => name)
    .sort()[0];
  const text = readme === undefined ? "" : readBeginning(join(folder, readme));
  const git = readGitState(folder);
  return {
    folder,
    entries: names.slice(0, MAX_ENTRIES),
    more: Math.max(0, names.length - MAX_ENTRIES),
    ...(readme === undefined || text === "" ? {} : { readme: { name: readme, text } }),
    ...(git === undefined ? {} : { git }),
  };
}

function readFolder(folder: string): readonly Dirent[] {
  const entries: Dirent[] = [];
  let opened;
  try {
    opened = opendirSync(folder);
  } catch {
    return []; // missing or not readable: the tools report it when they are used
  }
  try {
    for (let each = opened.readSync(); each !== null && entries.length < MAX_READ; each = opened.readSync())
      entries.push(each);
  } finally {
    opened.closeSync();
  }
  return entries;
}

function shorten(name: string): string {
  return name.length <= MAX_NAME ? name : `${name.slice(0, MAX_NAME)}…`;
}

/** Links are not followed: they could lead to files that no tool may read. */
function readBeginning(path: string): string {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return ""; // missing, replaced or not readable
  }
  try {
    if (!fstatSync(file).isFile()) return "";
    const bytes = Buffer.alloc(README_BYTES);
    const read = readSync(file, bytes, 0, README_BYTES, 0);
    const text = new TextDecoder().decode(bytes.subarray(0, read), { stream: true });
    const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "" && !DECORATION.test(line));
    return lines.slice(0, README_LINES).join("\n").slice(0, README_CHARACTERS).trim();
  } finally {
    closeSync(file);
  }
}
