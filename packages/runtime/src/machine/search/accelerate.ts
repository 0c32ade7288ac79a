/** What can be told of the names that a glob matches, without matching it. More names may fit than the glob matches. */
export interface NameHint {
  /** A glob over single names that every engine reads alike. */
  readonly glob: string;
  readonly prefix: string;
  readonly suffix: string;
}

/** Characters that stand for themselves in every dialect, stars, and one flat group of alternatives. */
const PLAIN = /^[\w.*-]*(?:\{[\w.*-]+(?:,[\w.*-]+)+\})?[\w.*-]*$/;
const HAS_LITERAL = /[\w.-]/;
/** A group before the last name may reach over the "/". */
const UNCLEAR = /[{}\\]/;

/**
 * A hint on the last name of a pattern, where it is made of plain characters. `?` is none: it is a character to us and
 * a byte to ripgrep.
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
