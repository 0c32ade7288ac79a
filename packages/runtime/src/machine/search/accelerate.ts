/** A prefilter for the names that a glob matches. It may accept more names than the glob. */
export interface NameHint {
  /** A glob over single names that every engine interprets the same way. */
  readonly glob: string;
  readonly prefix: string;
  readonly suffix: string;
}

/** Characters that are literal in every dialect, stars, and one flat group of alternatives. */
const PLAIN = /^[\w.*-]*(?:\{[\w.*-]+(?:,[\w.*-]+)+\})?[\w.*-]*$/;
const HAS_LITERAL = /[\w.-]/;
/** A group before the last name may span a "/". */
const UNCLEAR = /[{}\\]/;

/**
 * A hint for the last name of a pattern, if it consists of plain characters. `?` is not one of them: here it matches a
 * character, in ripgrep a byte.
 */
export function hintOf(pattern: string): NameHint | undefined {
  const trimmed = pattern.replace(/\/+$/, "");
  const slash = trimmed.lastIndexOf("/");
  const last = trimmed.slice(slash + 1).replace(/\*+/g, "*");
  if (UNCLEAR.test(trimmed.slice(0, slash + 1)) || !PLAIN.test(last) || !HAS_LITERAL.test(last)) return undefined;
  if (last === "." || last === "..") return undefined;
  return { glob: last, prefix: /^[^*{]*/.exec(last)?.[0] ?? "", suffix: /[^*}]*$/.exec(last)?.[0] ?? "" };
}

export function mayMatch({ prefix, suffix }: NameHint, name: string): boolean {
  return name.startsWith(prefix) && name.endsWith(suffix);
}
