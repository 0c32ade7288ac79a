const SEPARATOR = /[\s,]/;
/** Around names, and around the list. */
const QUOTES = /^["'`]+|["'`\]]+$/g;
const BEGINNING = /^[\s"'`]*\[/;
/** What stands before each name in a list that is written as text. */
const BULLET = /^[-*•]$/;

/**
 * The names in a text, with spaces, commas or lines between them, quoted or not. What stands in brackets belongs to the
 * name before it, spaces and commas included: `Bash(git add:*, git commit:*), Read`.
 */
export function splitToolNames(text: string): readonly string[] {
  if (text.trim() === "*") return ["*"];
  const names: string[] = [];
  let name = "";
  let depth = 0;
  for (const character of text.replace(BEGINNING, "")) {
    if (depth === 0 && SEPARATOR.test(character)) {
      names.push(name);
      name = "";
      continue;
    }
    if (character === "(") depth++;
    if (character === ")") depth = Math.max(0, depth - 1);
    name += character;
  }
  const all = [...names, name].map((each) => each.replaceAll(QUOTES, ""));
  return all.filter((each) => each !== "" && (names.length === 0 || !BULLET.test(each)));
}

const BRACKET = /^[([{<]/;

/**
 * Brackets that stand alone restrict the name before them, whatever is between the two: `Bash (git:*)`. Read as an entry
 * of their own, they would leave that name without its restriction.
 */
export function joinBrackets(names: readonly string[]): readonly string[] {
  const joined: string[] = [];
  for (const name of names) {
    if (BRACKET.test(name)) joined.push(`${joined.pop() ?? ""} ${name}`.trim());
    else joined.push(name);
  }
  return joined;
}
