import type { ParsedShell, SimpleCommand } from "../../shell/parsed-shell.ts";

/**
 * Programs that change no file by themselves. In a sandbox the roots are read-only for them, so a mistake here changes
 * nothing.
 */
// oxfmt-ignore
const READ_ONLY_PROGRAMS = new Set([
  "ls", "cat", "head", "tail", "wc", "pwd", "echo", "printf", "true", "false", "test", "[", ":", "grep", "egrep", "fgrep", "stat", "file",
  "du", "df", "ps", "id", "whoami", "uname", "date", "which", "type", "basename", "dirname", "realpath", "readlink", "cut", "tr",
  "diff", "cmp", "comm", "nl", "od", "hexdump", "md5sum", "sha1sum", "sha256sum", "seq", "sleep", "expr", "cd", "jq", "hostname",
]);

/** Read-only git commands. */
const GIT_READ_ONLY = new Set([
  "status",
  "log",
  "diff",
  "show",
  "blame",
  "ls-files",
  "rev-parse",
  "describe",
  "shortlog",
]);
const GIT_WRITES = /^--(?:output|ext-diff|textconv|no-index)/;

/** Redirections that write to no file. */
const NOWHERE = /^(?:\/dev\/(?:null|stdout|stderr)|\d+-?|-)$/;

/**
 * Whether every command of a text is known to change no file, so that no search for changes is needed afterwards.
 * Unknown commands count as changing something.
 */
export function isReadOnly({ commands, opaque }: ParsedShell): boolean {
  return opaque.length === 0 && commands.length > 0 && commands.every(onlyReads);
}

/** Whether one command is known to change no file. */
export function onlyReads({ words, redirections, assignments }: SimpleCommand): boolean {
  const [name, second] = words;
  if (name === undefined || name.isDynamic || assignments.length > 0) return false;
  if (!writesNoFile(redirections)) return false;
  if (READ_ONLY_PROGRAMS.has(name.value)) return true;
  if (name.value !== "git" || second === undefined || !GIT_READ_ONLY.has(second.value)) return false;
  return !words.some(({ value, isDynamic }) => isDynamic || GIT_WRITES.test(value));
}

export function writesNoFile(redirections: SimpleCommand["redirections"]): boolean {
  return redirections.every(({ operator, target }) => !operator.includes(">") || NOWHERE.test(target.value));
}
