import { isProgramName } from "../programs/program-names.ts";

/** Openings right before a text in code, with their closings. Others are closed by any quote or bracket. */
const CLOSERS: Readonly<Record<string, string | undefined>> = {
  __proto__: null as never,
  '"': '"',
  "'": "'",
  "`": "`",
  "[": "]'\"`",
  "{": "}'\"`",
  "(": ")'\"`",
  "<": ">'\"`",
};
const OPEN =
  /((?:^[^\S\n]*[\\.:!]*(?:run|ho(?:st)?|exec|shell|sh|sys(?:tem)?|go:generate)(?=\s)|\b(?:RUN|host|exec|shell|go:generate)(?=\s)|^|["'`[{(<>|~!^%#@$,;:=&]|\\n)[^\S\n]*)(?=([\w./+-]+)(?![\w(=:]))/gim;
const ANY_CLOSER = "'\"`)]}\n";
/** Calls that print or compare text instead of running it. */
const SPEAKS =
  /(?:\b(?:print\w*|puts|echo|say|warn|die|fail|raise|throw|log|error|info|debug|write\w*|format|assert\w*|expect|toBe|toEqual|toContain|includes?|contains?|match\w*|replace\w*|split|index\w*|search|startsWith|endsWith|startswith|endswith|grep|describe|it|test|title|name|message|description|Error|in|p)|[!=]=)\s*\(?\s*\w?["'`]$/;
const DELETES =
  /\b\w*(?:rm|remove|delete|unlink|rmdir|erase|purge|wipe|rmtree)\w*!?(?:["'`]\s*\])?\s*\(?\s*(?:\w+\s*[:=]\s*)?\w?["'`]([/~][^"'`\n]{0,400})["'`]/gi;
const JOINT = /(["'`])\s*(?:\+|\.|<>|\.\.|~|\|\||\s)\s*\1/g;
const NEXT = /^\s*,?\s*["'`]([^"'`\n]{0,400})["'`]/;
const ESCAPED = /\\(?:x([0-9a-fA-F]{2})|u\{?([0-9a-fA-F]{2,6})\}?|([0-3][0-7]{2}))/g;
/** Maximum length of a command, and maximum number of words in a list. */
const MAX_REACH = 400;
const MAX_WORDS = 16;

/**
 * Commands named in code of any language, whatever is called with them: a program's name right after a quote or
 * another delimiter, up to the closing one; the words of a list; paths that are deleted. Most are never run, so they
 * are possible commands, not certain ones.
 */
export function namedCommands(code: string): readonly string[] {
  const found = new Set<string>();
  const plain = unescaped(code);
  gather(plain, found);
  // `"sys" + "tem"` is one text, but `["rm", "."]` is a list: both are tried.
  const joined = plain.replace(JOINT, "");
  if (joined !== plain) gather(joined, found);
  return [...found];
}

function gather(plain: string, found: Set<string>): void {
  for (const match of plain.matchAll(OPEN)) {
    const [whole, before = "", name = ""] = match;
    const delimiter = before.trim();
    if (!isProgramName(name)) continue;
    const start = match.index + whole.length;
    if (SPEAKS.test(plain.slice(Math.max(0, match.index - 40), match.index + before.trimEnd().length))) continue;
    found.add(textFrom(plain, start, CLOSERS[delimiter] ?? ANY_CLOSER));
  }
  for (const [, path = ""] of plain.matchAll(DELETES)) found.add(`rm -rf ${path.replace(/^(~?)([^]*)$/, "$1'$2'")}`);
}

function unescaped(code: string): string {
  if (!code.includes("\\")) return code;
  return code.replace(ESCAPED, (_, hex: string | undefined, point: string | undefined, octal: string | undefined) =>
    String.fromCodePoint(
      Math.min(0x10ffff, Number.parseInt(hex ?? point ?? octal ?? "", octal === undefined ? 16 : 8)),
    ),
  );
}

/** Up to the closing delimiter; a list of texts is the words of one command. */
function textFrom(code: string, start: number, closers: string): string {
  const limit = Math.min(code.length, start + MAX_REACH);
  let end = start;
  while (end < limit && !closers.includes(code.charAt(end)) && code.charAt(end) !== "\n") end++;
  const words = [code.slice(start, end)];
  let rest = code.slice(end + 1, end + 1 + MAX_REACH);
  for (let next = NEXT.exec(rest); next !== null && words.length < MAX_WORDS; next = NEXT.exec(rest)) {
    words.push(next[1] ?? "");
    rest = rest.slice(next[0].length);
  }
  return words.join(" ").replace(/[|;&>\s]+$/, "");
}
