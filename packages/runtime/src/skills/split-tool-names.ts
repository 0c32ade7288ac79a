const SEPARATOR = /[\s,]/;
const QUOTES = /^[\s"'`[\]]+|[\s"'`[\]]+$/g;
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
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (depth === 0 && SEPARATOR.test(character) && !opensLater(text, at)) {
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

/** `Bash (git:*)`: only blanks are left before the bracket. */
function opensLater(text: string, at: number): boolean {
  return /^[ \t]+\(/.test(text.slice(at, at + 8));
}
