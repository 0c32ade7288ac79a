import type { ShellWord } from "../parsed-shell.ts";

/** Which options of a command take a separate value, so that the value is not taken for an operand. */
export interface OptionTable {
  /** Letters of short options: "ug" for `-u name` and `-g name`. */
  readonly short?: string;
  /** Long options that take the next word: "user" for `--user name`. `--user=name` needs no entry. */
  readonly long?: readonly string[];
  /** Options like `-exec`: words with one dash, not letters. */
  readonly isOneDash?: boolean;
}

export interface Option {
  /** `-r` or `--recursive`; a cluster `-rf` gives two. */
  readonly name: string;
  readonly value?: ShellWord;
}

export interface Arguments {
  readonly options: readonly Option[];
  readonly operands: readonly ShellWord[];
  /** The index, among the words, of the first operand; the number of words if there is none. */
  readonly firstOperand: number;
  /** A word before the first operand is unknown and may be an option. */
  readonly isUnsure: boolean;
}

/**
 * The options and operands of a command's words (its name first). With `stopsEarly`, everything from the first operand
 * on belongs to another command, as in `env A=1 ls -l`.
 */
export function readArguments(
  words: readonly ShellWord[],
  table: OptionTable = {},
  { stopsEarly = false }: { stopsEarly?: boolean } = {},
): Arguments {
  const options: Option[] = [];
  const operands: ShellWord[] = [];
  let firstOperand = words.length;
  let isUnsure = false;
  for (let at = 1; at < words.length; at++) {
    const word = words[at];
    if (word === undefined) break;
    if (word.isDynamic && (word.canSplit || word.value === "") && operands.length === 0) isUnsure = true;
    if (word.value === "--" && !word.isDynamic) {
      firstOperand = Math.min(firstOperand, at + 1);
      operands.push(...words.slice(at + 1));
      break;
    }
    if (!/^-./.test(word.value)) {
      firstOperand = Math.min(firstOperand, at);
      if (stopsEarly) {
        operands.push(...words.slice(at));
        break;
      }
      operands.push(word);
      continue;
    }
    at += readOption(word, words[at + 1], { table, options });
  }
  return { options, operands, firstOperand, isUnsure };
}

/** Adds the options of one word; returns how many more words it consumed. */
function readOption(
  word: ShellWord,
  next: ShellWord | undefined,
  { table, options }: { readonly table: OptionTable; readonly options: Option[] },
): number {
  const { value } = word;
  if (value.startsWith("--") || table.isOneDash === true) {
    const equals = value.indexOf("=");
    if (equals > 0) {
      options.push({ name: value.slice(0, equals), value: { ...word, value: value.slice(equals + 1) } });
      return 0;
    }
    const takesNext = table.long?.includes(value.replace(/^--?/, "")) === true;
    options.push(takesNext && next !== undefined ? { name: value, value: next } : { name: value });
    return takesNext ? 1 : 0;
  }
  for (let at = 1; at < value.length; at++) {
    const letter = value.charAt(at);
    if (table.short?.includes(letter) !== true) {
      options.push({ name: `-${letter}` });
      continue;
    }
    const rest = value.slice(at + 1);
    if (rest !== "" || word.isDynamic) {
      options.push({ name: `-${letter}`, value: { ...word, value: rest } });
      return 0;
    }
    options.push(next === undefined ? { name: `-${letter}` } : { name: `-${letter}`, value: next });
    return 1;
  }
  return 0;
}

/** Whether an option is present, in one of several spellings; a long one also abbreviated, as GNU programs allow. */
export function hasOption(options: readonly Option[], ...names: readonly string[]): boolean {
  return options.some((option) => names.some((name) => isSpelling(option.name, name)));
}

export function optionValues(options: readonly Option[], ...names: readonly string[]): readonly ShellWord[] {
  const found: ShellWord[] = [];
  for (const option of options) {
    if (option.value !== undefined && names.some((name) => isSpelling(option.name, name))) found.push(option.value);
  }
  return found;
}

function isSpelling(given: string, name: string): boolean {
  return given === name || (name.startsWith("--") && given.length >= 5 && name.startsWith(given));
}
