import { parse } from "unbash";
import type { Word, WordPart } from "unbash";
import { expandBraces } from "./braces.ts";
import { valueOf } from "./parameters.ts";
import { isForeign } from "./foreign.ts";
import { knownWord } from "../parsed-shell.ts";
import type { Input, ShellWord } from "../parsed-shell.ts";
import { FOREIGN_INPUT, PER_READ, PER_WORD, spend, UNKNOWN_INPUT } from "./scope.ts";
import type { Scope, Values } from "./scope.ts";

/** Longer values than this are not tracked: doubling a variable repeatedly would make them grow without limit. */
const MAX_VALUE = 16_384;
const MAX_FIELDS = 256;
/** Text that every program reads literally. */
const LITERAL = /^[\w./@%+:,-]+$/;
/** The minimum cost of reading a text as shell. */
const PER_PARSE = 256;

/** A word under construction. */
interface Field {
  value: string;
  isDynamic: boolean;
  canSplit: boolean;
  isPattern: boolean;
  /** A quoted or literal part, so that it is a word even if it is empty. */
  isReal: boolean;
  input?: Input;
}

/** What one source word expands to: one word, several (braces, splitting), or none. */
export function expandWord(word: Word, scope: Scope): readonly ShellWord[] {
  const parts = word.parts;
  if (parts === undefined) return [literalWord(word)];
  if (parts.some(({ type }) => type === "BraceExpansion")) return expandBraced(word, scope);
  return expandParts(word, parts, scope);
}

/** The value of a word that stays one word: assignments, redirection targets, here-strings. */
export function expandWhole(word: Word, scope: Scope): ShellWord {
  const fields: Field[] = [newField()];
  for (const part of word.parts ?? []) addPart(part, true, fields, scope);
  if (word.parts === undefined) return literalWord(word);
  return finish(fields[0] ?? newField(), word.text);
}

/** The value of a list of parts as one text, e.g. of a here-document. Undefined if unknown. */
export function textOfParts(parts: readonly WordPart[], scope: Scope): string | undefined {
  const fields: Field[] = [newField()];
  for (const part of parts) addPart(part, true, fields, scope);
  const field = fields[0];
  return field === undefined || field.isDynamic ? undefined : field.value;
}

function literalWord({ value, text }: Word): ShellWord {
  const isName = value.startsWith("~") && !text.startsWith("~");
  return { value: isName ? `./${value}` : value, text, isDynamic: false, canSplit: false, isPattern: false };
}

function expandBraced(word: Word, scope: Scope): readonly ShellWord[] {
  const texts = expandBraces(word.text);
  if (texts === undefined) return [{ value: "", text: word.text, isDynamic: true, canSplit: true, isPattern: false }];
  const expanded: ShellWord[] = [];
  for (const text of texts) {
    if (text === "") continue;
    spend(scope, PER_WORD + text.length);
    if (LITERAL.test(text)) {
      expanded.push(knownWord(text));
      continue;
    }
    spend(scope, PER_PARSE + PER_READ * text.length);
    const inner = plainWordOf(text);
    // An unmatched brace is literal.
    if (inner === undefined) expanded.push({ value: "", text, isDynamic: true, canSplit: true, isPattern: false });
    else expanded.push(...expandParts(inner, inner.parts ?? [], scope));
  }
  return expanded;
}

/** A separate word, as an argument. */
function plainWordOf(text: string): Word | undefined {
  const { commands, errors } = parse(`: ${text}`);
  const command = commands[0]?.command;
  if (errors !== undefined && errors.length > 0) return undefined;
  if (commands.length !== 1 || command?.type !== "Command" || command.suffix.length !== 1) return undefined;
  const word = command.suffix[0];
  return word?.type === "Word" ? word : undefined;
}

function expandParts(word: Word, parts: readonly WordPart[], scope: Scope): readonly ShellWord[] {
  if (parts.length === 0) return [literalWord(word)];
  const fields: Field[] = [newField()];
  for (const part of parts) addPart(part, false, fields, scope);
  const words = fields.filter(({ isReal, isDynamic, value }) => isReal || isDynamic || value !== "");
  return words.map((field) => finish(field, word.text));
}

function newField(): Field {
  return { value: "", isDynamic: false, canSplit: false, isPattern: false, isReal: false };
}

function finish({ value, isDynamic, canSplit, isPattern, input }: Field, text: string): ShellWord {
  const word = { value, text: isDynamic ? text : value, isDynamic, canSplit, isPattern };
  return input === undefined ? word : { ...word, input };
}

function addPart(part: WordPart, isQuoted: boolean, fields: Field[], scope: Scope): void {
  const field = fields.at(-1) ?? newField();
  switch (part.type) {
    case "Literal":
    case "SingleQuoted":
    case "AnsiCQuoted":
      addKnown(field, part.value, part.type === "Literal" && part.text.startsWith("~"));
      return;
    case "Glob":
    case "ExtendedGlob":
    case "BraceExpansion":
      addKnown(field, part.text, true);
      if (!isQuoted) field.isPattern = true;
      return;
    case "DoubleQuoted":
    case "LocaleString":
      field.isReal = true;
      for (const inner of part.parts) addPart(inner, true, fields, scope);
      return;
    case "SimpleExpansion":
    case "ParameterExpansion":
      addValues(valueOf(part, scope, expandWhole), { isQuoted, scope, fields });
      return;
    case "CommandExpansion": {
      const output = part.script === undefined ? undefined : scope.outputOf(part.script, scope);
      addValues(output === undefined ? undefined : [output], { isQuoted, scope, fields });
      return;
    }
    case "ProcessSubstitution":
      if (part.operator === "<") field.input = contentsOf(part, scope);
      addUnknown(field, false);
      return;
    case "ArithmeticExpansion":
      addUnknown(field, false);
      return;
  }
}

function contentsOf(part: Extract<WordPart, { type: "ProcessSubstitution" }>, scope: Scope): Input {
  const text = part.script === undefined ? undefined : scope.outputOf(part.script, scope);
  if (text !== undefined) return { kind: "known", text: `${text}\n` };
  return isForeign(part) ? FOREIGN_INPUT : UNKNOWN_INPUT;
}

/** A dynamic word keeps only the text before its first unknown part. */
function addKnown(field: Field, value: string, mayBeHome: boolean): void {
  field.isReal = true;
  if (field.isDynamic) return;
  field.value += field.value === "" && !mayBeHome && value.startsWith("~") ? `./${value}` : value;
  if (field.value.length > MAX_VALUE) addUnknown(field, false);
}

function addUnknown(field: Field, canSplit: boolean): void {
  field.isReal = true;
  field.isDynamic = true;
  field.canSplit ||= canSplit;
}

/** Several values are an array or `$@`; unquoted ones split at spaces and match file names. */
function addValues(
  values: Values,
  { isQuoted, scope, fields }: { isQuoted: boolean; scope: Scope; fields: Field[] },
): void {
  const last = fields.at(-1);
  if (last === undefined) return;
  if (values === undefined || fields.length + values.length > MAX_FIELDS || (!isQuoted && scope.variables.has("IFS"))) {
    addUnknown(last, !isQuoted);
    return;
  }
  for (const value of values) spend(scope, isQuoted ? PER_WORD + value.length : PER_WORD * (1 + value.length));
  const pieces = isQuoted ? values : values.flatMap(splitFields);
  for (const [index, piece] of pieces.entries()) {
    if (index > 0 || (!isQuoted && piece === "")) fields.push(newField());
    const field = fields.at(-1) ?? last;
    if (piece === "" && !isQuoted) continue;
    addKnown(field, piece, true);
    if (!isQuoted && /[*?[]/.test(piece)) field.isPattern = true;
  }
  if (isQuoted && values.length > 0) last.isReal = true;
}

/** Splits like the shell; an empty text at an end marks a break there. */
function splitFields(value: string): readonly string[] {
  const pieces = value.split(/[ \t\n]+/);
  if (pieces.length <= 1 || pieces.length > MAX_FIELDS) return pieces.slice(0, MAX_FIELDS).filter(isNotEmpty);
  return pieces;
}

function isNotEmpty(text: string): boolean {
  return text !== "";
}
