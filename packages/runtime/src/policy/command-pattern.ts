import type { SimpleCommand } from "../shell/parsed-shell.ts";
import { isCarrierName } from "../shell/run-command.ts";

/** A rule's or the denylist's pattern, held against words and never against text. */
export interface CommandPattern {
  matches(command: Pick<SimpleCommand, "words">): boolean;
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
  return {
    matches(command) {
      const given = command.words;
      if (words.trim() === "" || given.length < shapes.length || (!takesMore && given.length > shapes.length))
        return false;
      return shapes.every((shape, index) => {
        const word = given[index];
        if (word === undefined || word.isDynamic) return false;
        return shape.test(word.value) || (index === 0 && shape.test(word.value.slice(word.value.lastIndexOf("/") + 1)));
      });
    },
  };
}

/** Every `*` is a group that never gives characters back to the one before: no pattern can make it slow. */
function shapeOf(pattern: string): RegExp {
  const pieces = pattern.split(/\*+/).map((piece) => piece.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  const [first = "", ...rest] = pieces;
  const last = rest.pop();
  if (last === undefined) return new RegExp(`^${first}$`, "s");
  return new RegExp(`^${first}${rest.map((piece) => `(?:(?!${piece}).)*${piece}`).join("")}.*${last}$`, "s");
}

/**
 * The patterns of the denylist, one for each entry between commas or line breaks. Unlike a rule, an entry without `*`
 * at its end also matches with more words after it: who writes `git push` there means all of them.
 */
export function readDenylist(text: string): readonly { readonly pattern: string; readonly words: CommandPattern }[] {
  const entries = text.split(/[,\n]/).map((entry) => entry.trim().replace(/\s+/g, " "));
  const patterns = entries.filter((entry) => entry !== "");
  return patterns.map((pattern) => ({
    pattern,
    words: commandPattern(/(?:^| )\*$/.test(pattern) ? pattern : `${pattern} *`),
  }));
}

/**
 * Whether a pattern would stand for every command: a carrier with anything after it (`bash *`, `sudo *`, `env FOO=1 *`),
 * or a first word that is itself a `*`. Neither a rule nor a grant may hold such a pattern.
 */
export function isCarrierPattern(words: string): boolean {
  const [name = "", ...rest] = words.trim().split(/\s+/);
  if (name === "" || name.includes("*")) return true;
  const isOwn = rest.length > 0 && !rest[0]?.includes("*") && KNOWN_SUBCOMMANDS.test(`${baseOf(name)} ${rest[0]}`);
  if (isOwn) return false;
  const isFree = rest.some((word) => word.includes("*"));
  return isFree && isCarrierName(baseOf(name)) && !HARMLESS_CARRIERS.has(baseOf(name));
}

function baseOf(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}

/** Carriers only by their form: builtins that are looked at for what they change. */
const HARMLESS_CARRIERS = new Set([
  "cd",
  "pushd",
  "popd",
  "export",
  "declare",
  "local",
  "readonly",
  "unset",
  "read",
  "test",
  "[",
  "printf",
  "wait",
  "set",
  "shift",
  "let",
  "sort",
  "split",
  "less",
  "more",
  "man",
  "rg",
]);

/** Programs that carry others only by some of their subcommands. */
const KNOWN_SUBCOMMANDS =
  /^(?:git (?!bisect|submodule|rebase|filter-branch|difftool|config|-)|npm (?!exec|x$|-)|(?:yarn|pnpm) (?!exec|dlx|-)|bun (?!x$|-)|(?:uv|poetry|pdm|hatch|pipenv|conda) (?!run|x$|-)|bundle (?!exec)|(?:docker|podman|kubectl|docker-compose) (?!exec|run|shell|compose|-)|nix (?!develop|shell|run)|perf (?!stat|record|trace))/;
