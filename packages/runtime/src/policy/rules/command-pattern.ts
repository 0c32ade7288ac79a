import type { ParsedShell, ShellRedirection, SimpleCommand } from "../../shell/parsed-shell.ts";
import { withoutOptionsBefore } from "../../shell/programs/program-options.ts";

/** A text with commands, and its findings. */
interface JudgedText {
  readonly parsed: ParsedShell;
  readonly verdict: { readonly findings: readonly { readonly level: string }[] };
}

/** A pattern of a rule, a grant or the denylist, matched against words, never against text. */
export interface CommandPattern {
  /** Whether this command matches, whatever folder its program is in: for rules that deny or ask. */
  matches(command: Pick<SimpleCommand, "words">): boolean;
  /**
   * Whether everything that would run matches, and nothing else happens: for rules that allow. Does not cover unknown
   * effects, a program of the same name in an unusual folder, or a dangerous redirection, which the words do not show.
   */
  readonly covers: (judged: JudgedText) => boolean;
}

/**
 * Words with `*`: `git push *` matches `git push` with any words after it, `npm run *` needs no words either, `rm -rf
 * /*` takes each `*` inside a word for any characters. The first word is the program, with or without its folder. All
 * words must match: without a last `*` nothing may follow.
 */
export function commandPattern(words: string): CommandPattern {
  const parts = words.trim().split(/\s+/);
  const takesMore = parts.at(-1) === "*" && parts.length > 1;
  const shapes = (takesMore ? parts.slice(0, -1) : parts).map(shapeOf);

  function fits({ words: given }: Pick<SimpleCommand, "words">, folders: RegExp): boolean {
    if (words.trim() === "" || given.length < shapes.length || (!takesMore && given.length > shapes.length))
      return false;
    return shapes.every((shape, index) => {
      const word = given[index];
      if (word === undefined || word.isDynamic) return false;
      return shape.test(word.value) || (index === 0 && shape.test(word.value.replace(folders, "")));
    });
  }

  return {
    // For rules that deny or ask, `git -C x push` is a `git push`.
    matches: (command) =>
      [command.words, ...withoutOptionsBefore(command.words)].some((given) => fits({ words: given }, ANY_FOLDER)),
    covers({ parsed: { commands, opaque }, verdict: { findings } }) {
      if (opaque.length > 0 || findings.some(({ level }) => level === "opaque")) return false;
      const isRisky = findings.length > 0;
      if (commands.some(({ redirections }) => isRisky && !redirections.every(isHarmless))) return false;
      // Assignments alone run nothing; those that would change what runs are findings.
      const run = commands.filter(({ words: given, redirections }) => given.length + redirections.length > 0);
      return run.length > 0 && run.every((command) => fits(command, SYSTEM_FOLDERS));
    },
  };
}

const ANY_FOLDER = /^.*\//s;
const SYSTEM_FOLDERS = /^\/(?:usr\/(?:local\/)?)?s?bin\/(?=[^/]+$)/;

function isHarmless({ operator, target }: ShellRedirection): boolean {
  return (
    !target.isDynamic && (operator.endsWith("&") ? /^(?:\d+-?|-)$/.test(target.value) : target.value === "/dev/null")
  );
}

/** Every `*` stops at the next literal piece, so no pattern can cause catastrophic backtracking. */
function shapeOf(pattern: string): RegExp {
  const pieces = pattern.split(/\*+/).map((piece) => piece.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  const [first = "", ...rest] = pieces;
  const last = rest.pop();
  if (last === undefined) return new RegExp(`^${first}$`, "s");
  return new RegExp(`^${first}${rest.map((piece) => `(?:(?!${piece}).)*${piece}`).join("")}.*${last}$`, "s");
}

/**
 * The patterns of the denylist, one per entry between commas or line breaks. Unlike a rule, an entry without a trailing
 * `*` also matches with more words after it: `git push` there means every `git push`.
 */
export function readDenylist(text: string): readonly { readonly pattern: string; readonly words: CommandPattern }[] {
  const entries = text.split(/[,\n]/).map((entry) => entry.trim().replace(/\s+/g, " "));
  const patterns = entries.filter((entry) => entry !== "");
  return patterns.map((pattern) => ({
    pattern,
    words: commandPattern(/(?:^| )\*$/.test(pattern) ? pattern : `${pattern} *`),
  }));
}
