import type { SimpleCommand } from "../shell/parsed-shell.ts";

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
