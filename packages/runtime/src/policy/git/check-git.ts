import type { PlaceJudge } from "../../contract/processes.ts";
import { isInside } from "../../paths/inside.ts";
import type { SimpleCommand } from "../../shell/parsed-shell.ts";
import { isPublishedKey, judgeRoots, judgeSensitivity } from "../paths/check-path.ts";
import { closedPaths } from "../paths/closed-paths.ts";
import { normal, spelledPath } from "../commands/command-places.ts";
import type { NamedCommand, Places } from "../facts.ts";
import { contentWords, recordedBy } from "./git-contents.ts";
import type { Pathspec, RecordedPaths } from "./git-contents.ts";
import { confirm, deny, quote } from "../verdict.ts";
import type { Subject, Verdict } from "../verdict.ts";

/**
 * A sandbox hides files, but not their content in git's objects: a command that reads a closed file from git's objects
 * is refused like a tool that names the file.
 */
export function checkGitContents({ call, workspace }: Subject): Verdict | undefined {
  for (const named of call.commands ?? []) {
    for (const command of named.parsed.commands) {
      const texts = new Set(contentWords(command).map(({ text }) => text));
      if (texts.size === 0) continue;
      for (const { command: of, shown, real } of named.places) {
        if (of !== command || !texts.has(shown) || judgeRoots(real, workspace.roots) !== undefined) continue;
        const closed = judgeSensitivity(real, workspace);
        if (closed === undefined || isPublishedKey(real, workspace)) continue;
        return deny(closed.code, `Cannot read ${quote(shown)} from git: ${closed.reason}`, "floor:sensitive_places");
      }
    }
  }
  return undefined;
}

/** Git sees files hidden by a sandbox as deleted: a command that would record that is refused, with an alternative. */
export function checkHiddenTracked(subject: Subject): Verdict | string {
  const { call, workspace } = subject;
  if (workspace.sandbox === "none") return "Nothing is hidden from commands without a sandbox";
  for (const named of call.commands ?? []) {
    for (const command of named.parsed.commands) {
      const verdict = judgeRecording(command, named, subject);
      if (verdict !== undefined) return verdict;
    }
  }
  return "Git would not record hidden files as deleted";
}

function judgeRecording(command: SimpleCommand, named: NamedCommand, subject: Subject): Verdict | undefined {
  const recorded = recordedBy(command);
  const folder = recorded && folderOf(command, named, subject);
  const tracked = folder === undefined ? undefined : named.tracked?.(folder);
  if (recorded === undefined || folder === undefined || tracked === undefined) return undefined;
  const covered = tracked.files.filter((path) => isRecorded(path, recorded, { folder, top: tracked.top }));
  if (covered.length === 0) return undefined;
  const always = hiddenAmong(covered, subject, true).filter((path) => tracked.isThere(path));
  const text = command.words.map((word) => word.text).join(" ");
  if (always.length > 0) {
    const reason = `Cannot run ${quote(text)}: git would record files hidden from commands as deleted (${listOf(always, tracked.top)}). ${wayAround(recorded, always, tracked.top)}`;
    return deny("CommandDenied", reason, "floor:hidden_tracked_files");
  }
  const asked = hiddenAmong(covered, subject, false).filter((path) => tracked.isThere(path));
  if (asked.length === 0) return undefined;
  const reason = `${quote(text)} includes files that need approval by a rule (${listOf(asked, tracked.top)}); without it git would record them as deleted`;
  return confirm(reason, "builtin:hidden_tracked_files");
}

/** The folder that git works in: the command's own, or the one given by `-C`. */
function folderOf({ words, folder }: SimpleCommand, named: NamedCommand, { workspace }: Subject): string | undefined {
  const ground = { ...workspace, folder: named.folder };
  let at: string | undefined = spelledPath({ value: "." }, folder, ground);
  for (const [index, { value }] of words.entries()) {
    if (words[index - 1]?.value !== "-C" || at === undefined) continue;
    at = value.startsWith("/") ? value : `${at}/${value}`;
  }
  return at === undefined ? undefined : normal(at).replace(/(?<=.)\/$/, "");
}

interface Place {
  readonly folder: string;
  readonly top: string;
}

function isRecorded(path: string, { specs, excluded }: RecordedPaths, place: Place): boolean {
  const isLeftOut = excluded.some((spec) => !spec.isPartial && covers(fullPath(spec, place), path));
  return !isLeftOut && (specs === undefined || specs.some((spec) => mayCover(fullPath(spec, place), path)));
}

function fullPath({ path, isTop }: Pathspec, { folder, top }: Place): string {
  return normal(path.startsWith("/") ? path : `${isTop ? top : folder}/${path}`).replace(/(?<=.)\/$/, "");
}

/** Certain match only: `*` matches slashes too, and other wildcards are taken literally. */
function covers(spec: string, path: string): boolean {
  const pieces = spec.split(/\*+/);
  const last = String(pieces.pop());
  if (pieces.length === 0 || /[?[\\]/.test(spec)) return isInside(spec, path);
  const end = endOf(pieces, path);
  return end >= 0 && path.length - last.length >= end && path.endsWith(last);
}

/** Possible match: case is ignored, and a wildcard matches anything; in a pathspec that includes slashes. */
function mayCover(spec: string, path: string): boolean {
  const [full, folded] = [spec.toLowerCase(), path.toLowerCase()];
  const pieces = full.split(/[*?]+|\[[^\]]*\]?/);
  return pieces.length === 1 ? isInside(full, folded) : endOf(pieces, folded) >= 0;
}

/**
 * The end of the last piece in a text that begins with the first and contains the others in order; -1 without a match.
 */
function endOf([first = "", ...pieces]: readonly string[], text: string): number {
  let at = text.startsWith(first) ? first.length : -1;
  for (const piece of pieces) {
    const found = at < 0 ? -1 : text.indexOf(piece, at);
    at = found < 0 ? -1 : found + piece.length;
  }
  return at;
}

/** Files that the sandbox hides from the command; `confirmed`: even after approval. */
function hiddenAmong(paths: readonly string[], { call, workspace, settings }: Subject, confirmed: boolean) {
  const closes = closedPaths(call, workspace, settings, { confirmed });
  return paths.filter((path) => isHiddenFrom(path, workspace, closes));
}

/** Whether a sandbox hides a file below the roots, because it is sensitive or by a rule. */
export function isHiddenFrom(path: string, workspace: Places, closes: Pick<PlaceJudge, "judge"> | undefined): boolean {
  if (judgeRoots(path, workspace.roots) !== undefined) return false;
  if (judgeSensitivity(path, workspace) !== undefined && !isPublishedKey(path, workspace)) return true;
  return closes?.judge(path, false) === "hide";
}

const MAX_NAMED = 5;

function listOf(paths: readonly string[], top: string): string {
  const shown = paths.slice(0, MAX_NAMED).map((path) => quote(relativeTo(top, path)));
  return `${shown.join(", ")}${paths.length > MAX_NAMED ? ` and ${paths.length - MAX_NAMED} more` : ""}`;
}

function relativeTo(top: string, path: string): string {
  return path.slice(top === "/" ? 1 : top.length + 1);
}

/** How to do it without touching the hidden files. */
function wayAround({ isCommit }: RecordedPaths, paths: readonly string[], top: string): string {
  const names = paths.map((path) => relativeTo(top, path));
  // For many keys: a pattern that covers all with the same ending.
  const kinds = names.map((name) => name.replace(/^.*(?=\.[^./]+$)/s, "*"));
  const told = names.length > MAX_NAMED ? [...new Set(kinds)] : names;
  const excluded = told.slice(0, MAX_NAMED).map((name) => `':(top,exclude)${name}'`);
  const add = `git add -A -- :/ ${excluded.join(" ")}`;
  return isCommit
    ? `Name the files to commit, or: ${add}, then commit without -a`
    : `Name other paths, or leave them out: ${excluded.join(" ")}`;
}
