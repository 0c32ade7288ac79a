import { CODE, isIn, isNewline, isQuote, isSpace, setOf, SETS } from "../text/character-sets.ts";
import type { SecretMatch, Span } from "./find-shape.ts";
import { REDACTION_MARKER } from "../../protocol/marker.ts";
import { ROWS_BY_PROGRAM } from "./program-secrets.ts";
import type { ProgramOption } from "./program-secrets.ts";
import { isPlaceholderOrReference } from "../assignments/placeholders.ts";
import { isPlainWord } from "../assignments/values.ts";
import { beforeMarker, codeAt, codeBefore, restOfLine, runEnd, runStart } from "../text/text-view.ts";
import type { View } from "../text/text-view.ts";

/** At most this much of a command is read. */
const COMMAND_WINDOW = 600;
const NAME_REACH = { of: SETS.dotted, window: 32 };

/** A word of a command, without the quotes around it. */
interface Word extends Span {
  readonly text: string;
}

/** The secrets on the command line of a program that accepts them there. `anchor` is the beginning of its name. */
export function findProgramSecrets(view: View, anchor: Span): SecretMatch | undefined {
  const start = runStart(view, anchor.start, NAME_REACH);
  const end = runEnd(view, anchor.start, NAME_REACH);
  const name = view.text.slice(start, end);
  const rows =
    ROWS_BY_PROGRAM.get(name) ?? (isRemovedLine(view, start) ? ROWS_BY_PROGRAM.get(name.slice(1)) : undefined);
  if (rows === undefined || (view.isDecoded && start <= view.floor)) return undefined;
  const next = codeAt(view, end);
  if (!isSpace(next) && !isQuote(next) && next !== CODE.backslash) return undefined;
  const { words, isCut } = wordsOf(view, end);
  if (view.short) return undefined;
  const spans = rows
    .flatMap((row) => (isCut && row.place === "last" ? [] : secretsIn(words, row)))
    .filter(({ start: from, end: to }) => isSecret(view.text.slice(from, to)))
    .toSorted((a, b) => a.start - b.start);
  const last = spans.pop();
  return last === undefined ? undefined : { ...last, before: spans, isBeside: true };
}

/** `-mysql …` at the beginning of a line, as in a diff. */
function isRemovedLine(view: View, start: number): boolean {
  const before = codeBefore(view, start);
  return view.text.charCodeAt(start) === CODE.dash && (before < 0 || isNewline(before));
}

/** Only characters that surround words in sentences and source code. */
const ONLY_SIGNS = /^["'`,.:;()[\]{}\s+-]*$/;

function isSecret(text: string): boolean {
  return (
    !ONLY_SIGNS.test(text) &&
    !isPlaceholderOrReference(text) &&
    !text.startsWith("$") &&
    !isPlainWord(text.replace(/[.,:;!?)]+$/, ""))
  );
}

/** Programs that read a secret from a pipe. */
const READERS =
  /^(?:sudo\b[^|;]{0,80}\s-\w*S\b|(?:sudo )?(?:chpasswd|cryptsetup|smbpasswd|kinit|vncpasswd)\b|(?:sudo )?passwd\b[^|;]{0,80}--stdin|[^|;]{0,200}--(?:password|token|pass)-stdin|[^|;]{0,80}--passphrase-fd[ =]0|[^|;]{0,200}-pass(?:in|out)? stdin|gh auth login\b[^|;]{0,80}--with-token)/;
const FED = /^[ \t]+(?:-[neE]+[ \t]+)?(?:"([^"]{1,200})"|'([^']{1,200})'|([^\s|;&"']{1,200}))[ \t]*\|[ \t]*/;
const LINE_WINDOW = 500;

/** `echo x | sudo -S …`: a secret piped to the program that reads it. `anchor` is the word "echo". */
export function findFedSecret(view: View, { start, end }: Span): SecretMatch | undefined {
  if (isIn(SETS.dotted, codeBefore(view, start)) || !isSpace(codeAt(view, end))) return undefined;
  const line = restOfLine(view, end, LINE_WINDOW);
  const fed = FED.exec(line);
  if (fed === null || !READERS.test(beforeMarker(line.slice(fed[0].length)))) return undefined;
  const given = fed[1] ?? fed[2] ?? fed[3] ?? "";
  const isPair = line.slice(fed[0].length).includes("chpasswd");
  const from = end + fed[0].indexOf(given, 1) + (isPair ? given.indexOf(":") + 1 : 0);
  const to = end + fed[0].indexOf(given, 1) + given.length;
  return isSecret(view.text.slice(from, to)) ? { start: from, end: to, isBeside: true } : undefined;
}

const COMMAND_ENDS = setOf(";|&");
/** After the quote that closes a command, in a script or a sentence. */
const AFTER_COMMAND = setOf(";|&.,:)");

interface Words {
  readonly words: readonly Word[];
  /** A marker ended them. Before the redaction, more or fewer of the following words were within reach. */
  readonly isCut: boolean;
}

/** The words after a program's name, up to the end of its command. Reads bash, and lists in JSON and Python. */
function wordsOf(view: View, from: number): Words {
  const words: Word[] = [];
  const limit = from + COMMAND_WINDOW;
  // The quote that closes the name in `["mysql", "-px"]` opens nothing.
  let at = from;
  while (
    at < limit &&
    (codeAt(view, at) === CODE.backslash || isQuote(codeAt(view, at))) &&
    !isNewline(codeAt(view, at + 1))
  )
    at++;
  while (at < limit) {
    const code = codeAt(view, at);
    if (code < 0 || isIn(COMMAND_ENDS, code) || code === CODE.closeBracket) break;
    if (isNewline(code)) break;
    if (code === CODE.backslash && isNewline(codeAt(view, at + 1))) at += codeAt(view, at + 2) === CODE.newline ? 3 : 2;
    else if (isSpace(code) || code === CODE.comma || code === CODE.openParenthesis) at++;
    else {
      const word = wordAt(view, at, limit);
      words.push(word);
      if (word.text.includes(REDACTION_MARKER)) return { words, isCut: true };
      // The next program is read separately, so each word is read once, however many programs there are.
      if (endsInProgram(view, word) || closesQuote(view, word, at)) break;
      at = Math.max(at + 1, word.end);
      while (
        at < limit &&
        (isQuote(codeAt(view, at)) || (codeAt(view, at) === CODE.backslash && isQuote(codeAt(view, at + 1))))
      )
        at++;
    }
  }
  return { words, isCut: false };
}

/** Whether the quote after a word was opened before the command: `sh -c "mysql -px" file`. */
function closesQuote(view: View, { start, end, text }: Word, at: number): boolean {
  const quote = codeAt(view, end);
  if (start > at || !isQuote(quote) || text.includes(String.fromCharCode(quote))) return false;
  const next = codeAt(view, end + 1);
  return next < 0 || isSpace(next) || isIn(AFTER_COMMAND, next);
}

/** Whether the word is a program's name, with or without its folder. */
function endsInProgram({ text }: View, { start, end }: Word): boolean {
  const limit = Math.max(start, end - NAME_REACH.window);
  let from = end;
  while (from > limit && isIn(SETS.dotted, text.charCodeAt(from - 1))) from--;
  return from < end && ROWS_BY_PROGRAM.has(text.slice(from, end));
}

function wordAt(view: View, from: number, limit: number): Word {
  let start = from;
  while (start < limit && codeAt(view, start) === CODE.backslash && isQuote(codeAt(view, start + 1))) start++;
  const quote = isQuote(codeAt(view, start)) ? codeAt(view, start) : undefined;
  if (quote !== undefined) start++;
  let inner = quote;
  let end = start;
  for (; end < limit; end++) {
    const code = codeAt(view, end);
    if (code < 0 || isNewline(code)) break;
    if (isQuote(code)) {
      if (inner === code) break;
      if (inner === undefined && !opensQuote(view, start, end)) break;
      inner ??= code;
    } else if (inner === undefined && (isSpace(code) || isIn(COMMAND_ENDS, code) || code === CODE.backslash)) break;
    else if (inner !== undefined && code === CODE.backslash && codeAt(view, end + 1) === inner) {
      if (start > from + 1) break; // the quotes are written \"…\"
      end++;
    }
  }
  return { start, end, text: view.text.slice(start, end) };
}

/** `-p'x'`, `--user="a:b"`: the value itself is quoted. */
function opensQuote({ text }: View, start: number, end: number): boolean {
  const last = text.charCodeAt(end - 1);
  if (end > start && (last === CODE.equals || last === CODE.colon)) return true;
  return end - start === 2 && text.charCodeAt(start) === CODE.dash && isIn(SETS.word, last);
}

function secretsIn(words: readonly Word[], row: ProgramOption): readonly Span[] {
  const { command, when, place } = row;
  const from = command === undefined ? -1 : words.findIndex(({ text }) => text === command);
  if (command !== undefined && from < 0) return [];
  if (when !== undefined && !words.some(({ text }) => when.test(text))) return [];
  const values = place === undefined ? optionValues(words, row) : placedValue(words.slice(from + 1), place);
  return values.flatMap((word) => afterSign(word, row.after));
}

function optionValues(words: readonly Word[], { options }: ProgramOption): readonly Word[] {
  const values: Word[] = [];
  for (const [index, word] of words.entries()) {
    for (const option of options) {
      const value = optionValue(word, words[index + 1], option);
      if (value !== undefined) values.push(value);
    }
  }
  return values;
}

function optionValue(word: Word, next: Word | undefined, option: string): Word | undefined {
  const { text } = word;
  if (option.startsWith("~")) return bundledValue(word, next, option.slice(1));
  if (option.endsWith("*")) {
    const { length } = option;
    return text.length >= length && option.startsWith(text.slice(0, length - 1)) ? restOf(word, length - 1) : undefined;
  }
  if (!text.startsWith(option)) return undefined;
  if (text.charCodeAt(option.length) === CODE.equals) return restOf(word, option.length + 1);
  return text === option && next !== undefined && !isOption(next) ? next : undefined;
}

function bundledValue(word: Word, next: Word | undefined, letter: string): Word | undefined {
  const at = /^-(?!-)[A-Za-z]/.test(word.text) ? word.text.indexOf(letter, 1) : -1;
  if (at < 0 || at > 8) return undefined;
  if (at + 1 < word.text.length) return restOf(word, at + 1);
  return next === undefined || isOption(next) ? undefined : next;
}

function isOption({ text }: Word): boolean {
  return /^-{1,2}[A-Za-z][A-Za-z-]*$/.test(text);
}

/** Options and redirections are not counted. */
function placedValue(words: readonly Word[], place: NonNullable<ProgramOption["place"]>): readonly Word[] {
  const plain = words.filter(({ text }) => !/^[-<>]|^\d?>/.test(text));
  if (place === "each") return plain;
  const word = place === "last" ? plain.at(-1) : plain[place === "first" ? 0 : 1];
  return word === undefined ? [] : [word];
}

function restOf({ start, end, text }: Word, skip: number): Word {
  const quoted = /^["'`]/.test(text.slice(skip)) ? 1 : 0;
  return { start: start + skip + quoted, end, text: text.slice(skip + quoted) };
}

function afterSign(word: Word, sign: string | undefined): readonly Span[] {
  if (sign === undefined) return [word];
  const at = word.text.indexOf(sign);
  if (at < 0 || (at === 0 && sign === "/")) return [];
  const { start, end, text } = restOf(word, at + sign.length);
  // `user/password@database`
  const host = sign === "/" ? text.lastIndexOf("@") : -1;
  return [{ start, end: host < 0 ? end : start + host }];
}
