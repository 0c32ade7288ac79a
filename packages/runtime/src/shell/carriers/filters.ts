/** What a sed or awk program would run and write. */
export interface FilterEffects {
  /** Run as shell. */
  readonly texts: readonly string[];
  /** Files that are written. */
  readonly targets: readonly string[];
  readonly opaque: string | undefined;
}

const LETTERS_WITH_FILE = "wWrR";
const LETTERS_WITH_TEXT = "aic";
const LETTERS_WITH_LABEL = "btT:";

/** The `e` and `w` commands of a sed script, and the same flags of `s`. */
export function commandsInSed(script: string): FilterEffects {
  const texts: string[] = [];
  const targets: string[] = [];
  let opaque: string | undefined;
  let at = 0;
  const restOfLine = (): string => {
    const end = script.indexOf("\n", at);
    const rest = script.slice(at, end < 0 ? script.length : end);
    at += rest.length;
    return rest.trim();
  };
  while (at < script.length) {
    at = skipAddress(script, at);
    const letter = script.charAt(at++);
    if (letter === "s" || letter === "y") {
      at = skipDelimited(script, at, 2);
      const flags = /^[gpiIeEmM\d]*/.exec(script.slice(at, at + 40))?.[0] ?? "";
      at += flags.length;
      if (letter === "s" && flags.includes("e")) opaque = "sed runs the result of its replacement";
      if (script.charAt(at) === "w") {
        at++;
        targets.push(restOfLine());
      }
    } else if (letter === "e") {
      const text = restOfLine();
      if (text === "") opaque = "sed runs the lines that it reads";
      else texts.push(text);
    } else if (LETTERS_WITH_FILE.includes(letter)) {
      const target = restOfLine();
      if (letter === "w" || letter === "W") targets.push(target);
    } else if (LETTERS_WITH_TEXT.includes(letter)) {
      while (restOfLine().endsWith("\\") && at < script.length) at++;
    } else if (LETTERS_WITH_LABEL.includes(letter)) {
      while (at < script.length && !/[;\n}]/.test(script.charAt(at))) at++;
    }
  }
  return { texts, targets, opaque };
}

/** Skips spaces, separators, braces and addresses, up to the letter of a command. */
function skipAddress(script: string, from: number): number {
  let at = from;
  while (at < script.length) {
    const character = script.charAt(at);
    if (/[\s;{}!,\d$~+]/.test(character)) at++;
    else if (character === "/") at = skipFlags(script, skipDelimited(script, at, 1));
    else if (character === "\\") at = skipFlags(script, skipDelimited(script, at + 1, 1));
    else if (character === "#") at = endOfLine(script, at);
    else return at;
  }
  return at;
}

function skipFlags(script: string, at: number): number {
  let end = at;
  while (/[IM]/.test(script.charAt(end))) end++;
  return end;
}

function endOfLine(script: string, at: number): number {
  const end = script.indexOf("\n", at);
  return end < 0 ? script.length : end;
}

/** Skips `count` parts closed by a delimiter; the delimiter is at `at`. */
function skipDelimited(script: string, at: number, count: number): number {
  const delimiter = script.charAt(at);
  let end = at + 1;
  for (let part = 0; part < count; part++) {
    let inSet = false;
    for (; end < script.length; end++) {
      const character = script.charAt(end);
      if (character === "\\") end++;
      else if (character === "[" && part === 0) inSet = true;
      else if (character === "]") inSet = false;
      else if (character === delimiter && !inSet) break;
    }
    end++;
  }
  return Math.min(end, script.length);
}

const AWK_STRING = String.raw`"((?:[^"\\\n]|\\.)*)"`;
const AWK_SYSTEM = new RegExp(String.raw`\bsystem\s*\(\s*(?:${AWK_STRING}\s*\))?`, "g");
const AWK_PIPE_TO = new RegExp(String.raw`\|&?\s*${AWK_STRING}`, "g");
const AWK_GETLINE = /\|&?\s*getline/g;
/** A `print`, the end of a statement, or the target of an output. */
const AWK_WRITE = new RegExp(String.raw`\bprintf?\b|[;}\n]|>>?\s*${AWK_STRING}`, "g");
/** Unclosed text is consumed to the end of its line at once, so that it is not read again from each of its quotes. */
const AWK_QUOTED = /"(?:[^"\\\n]|\\.)*"?/g;
const AWK_LITERAL = /"(?:[^"\\\n]|\\.)*"?|\/(?:[^/\\\n]|\\.)+\/?/g;

/** `system("…")`, `"…" | getline`, `print | "…"` and `print > "…"` in an awk program. */
export function commandsInAwk(program: string): FilterEffects {
  const texts: string[] = [];
  let opaque: string | undefined;
  for (const [, text] of program.matchAll(AWK_SYSTEM)) {
    if (text === undefined) opaque = "awk runs text that it builds";
    else texts.push(unescapeString(text));
  }
  for (const [, text = ""] of program.matchAll(AWK_PIPE_TO)) texts.push(unescapeString(text));
  for (const { index } of program.matchAll(AWK_GETLINE)) {
    const text = textBefore(program, index);
    if (text !== undefined) texts.push(unescapeString(text));
  }
  if (texts.length === 0 && /(?<!\|)\|(?!\|)/.test(withoutLiterals(program))) {
    opaque = "awk runs text that it builds";
  }
  const targets = targetsInAwk(program).map(unescapeString);
  return { texts, targets: targets.filter((target) => !target.startsWith("/dev/std")), opaque };
}

/** The quoted text that ends right before an index. */
function textBefore(program: string, index: number): string | undefined {
  let end = index - 1;
  while (/\s/.test(program.charAt(end))) end--;
  if (program.charAt(end) !== '"' || isEscaped(program, end)) return undefined;
  let start = program.lastIndexOf('"', end - 1);
  while (start > 0 && isEscaped(program, start)) start = program.lastIndexOf('"', start - 1);
  const text = program.slice(start + 1, end);
  return start < 0 || end === 0 || text.includes("\n") ? undefined : text;
}

function isEscaped(program: string, at: number): boolean {
  let start = at;
  while (program.charAt(start - 1) === "\\") start--;
  return (at - start) % 2 === 1;
}

function withoutLiterals(program: string): string {
  return program.replace(AWK_LITERAL, (found) => {
    const isWhole = found.length > 1 && found.endsWith(found.charAt(0));
    return isWhole ? '""' : found.replace(AWK_QUOTED, '""');
  });
}

function targetsInAwk(program: string): readonly string[] {
  const targets: string[] = [];
  let prints = false;
  for (const [found, target] of program.matchAll(AWK_WRITE)) {
    if (target !== undefined && prints) targets.push(target);
    prints = found.startsWith("print");
  }
  return targets;
}

function unescapeString(text: string): string {
  return text.replace(/\\(["\\/])/g, "$1");
}
