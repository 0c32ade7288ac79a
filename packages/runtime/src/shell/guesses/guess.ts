import { FORK_BOMB, readCode } from "../code/code.ts";
import { namedCommands } from "./named-commands.ts";
import type { GuessKind, ShellWord } from "../parsed-shell.ts";
import { knownWord } from "../parsed-shell.ts";
import {
  baseName,
  isPlainProgram,
  isProgramName,
  isProgramPath,
  plainName,
  readsData,
  runsByOption,
} from "../programs/program-names.ts";
import type { PlainCommand } from "../carriers/runner.ts";
import type { Scope } from "../evaluation/scope.ts";
import { PER_READ, PER_WORD, spend } from "../evaluation/scope.ts";

/** Input of a program that it may run. */
export interface Guess {
  readonly kind: GuessKind;
  /** Words of a command, or text that parses as shell. */
  readonly words?: readonly ShellWord[];
  readonly text?: string;
}

export interface Guesses {
  readonly guesses: readonly Guess[];
  /** Why the program's use of its input is unknown. */
  readonly opaque?: string;
}

/** Options whose value is code or a command in nearly every program that has them. */
const RUNS =
  /^--?(?:c|e|ex|eval|exec|execute|expr|expression|command|cmd|code|toolexec|wrapper|run-command|eval-\w+|exec-\w+|shell|shell-arg|script-shell|interpreter|editor|pager|browser|viewer|launcher|program|hook|on-\w+|[\w.:-]+[.:-](?:command|cmd|exec|execute|execute-string|executable|eval|shell|program|hook|wrapper|runner|launcher|invoke|logger))$/;
/** Options whose value is a sentence or a pattern. */
const SPEAKS =
  /^(?:-[mtkFgq]|--?(?:message|title|body|description|name|grep|text|notes?|reason|comment|subject|label|summary|prompt|query|filter|pattern|match|tags?|testNamePattern|test-name-pattern|header|data|m|author|search))$/;
const OPTION = /^--?[A-Za-z][\w.-]*$/;
const CODE = /[;`\n]|\$[({]|[\w!?]\s?\(|\(\s*[\w"']|&&|\|\||=>/;
/** Words that start programs or run text, in several languages. */
const STARTS =
  /\b(?:system|exec\w*|spawn\w*|popen|shell\w*|subprocess|eval|sh|bash|fork|unlink|rmtree|decode\w*|b64\w*|unpack)\b|`|\$\(/;

/**
 * What a program not known to be harmless may run of its words and its input. Payloads that can be parsed are returned
 * to be judged; code and text that cannot be parsed are opaque.
 */
export function guessCarried({ words }: PlainCommand, scope: Scope, readsCode: boolean): Guesses {
  const [name, ...rest] = words;
  if (name === undefined) return NOTHING;
  const base = plainName(baseName(name.value));
  if (isPlainProgram(base)) return runsByOption(base) ? { guesses: rest.flatMap(longOption) } : NOTHING;
  const guesses: Guess[] = [];
  let opaque: string | undefined;
  for (const [index, word] of rest.entries()) {
    const before = rest[index - 1]?.value ?? "";
    const given = readGiven(word, before);
    if (word.input !== undefined) {
      const read = ofInput(base, { ...scope, input: word.input });
      guesses.push(...read.guesses);
      opaque ??= read.opaque;
    }
    if (given.isProgram) {
      // Every position is tried; a text with too many of them is opaque.
      spend(scope, PER_WORD * (rest.length - index));
      guesses.push({ kind: given.kind, words: rest.slice(index) });
    }
    if (given.program !== undefined) {
      spend(scope, 4 * PER_WORD * (rest.length - index));
      guesses.push({ kind: given.kind, words: [knownWord(given.program), ...handedOn(rest.slice(index + 1))] });
    }
    if (given.hasList === true)
      guesses.push(...namedCommands(word.value).map((text): Guess => ({ kind: "named", text })));
    if (given.words !== undefined) guesses.push({ kind: given.kind, words: given.words });
    if (given.text !== undefined) guesses.push({ kind: given.kind, text: given.text });
    if (given.isCode && !readsCode && !isOfWorkspace(name, rest))
      opaque ??= `${base} receives code, and what it does with the code is unknown`;
  }
  const input = readsCode || readsData(base) ? NOTHING : ofInput(base, scope);
  return { guesses: [...guesses, ...input.guesses], ...((opaque ??= input.opaque) !== undefined && { opaque }) };
}

const NO_GUESSES: readonly Guess[] = [];
const NOTHING: Guesses = { guesses: NO_GUESSES };

/** `-Dexec.args='-rf x'` passes on the words of its value; any other form, the whole value. */
function handedOn(words: readonly ShellWord[]): readonly ShellWord[] {
  return words.flatMap((word) => {
    const given = /^-D[\w.]+=([^]*)$/.exec(word.value)?.[1];
    return given === undefined ? [word] : given.split(/\s+/).map((each) => knownWord(each));
  });
}

/** Read-only programs may still start a pager or a filter named by a long option: `bat --pager='less -R'`. */
function longOption(word: ShellWord, index: number, words: readonly ShellWord[]): readonly Guess[] {
  const before = words[index - 1]?.value ?? "";
  // Called for every word of a command that may have thousands.
  if (!before.startsWith("--") && !word.value.startsWith("--")) return NO_GUESSES;
  const { kind, text } = readGiven(word, before.startsWith("--") ? before : "");
  const isRun = RUNS.test(word.value.startsWith("--") ? (word.value.split("=")[0] ?? "") : before);
  return kind === "likely" && text !== undefined && isRun ? [{ kind, text }] : NO_GUESSES;
}

/** A program or a script of the workspace: code passed to it is contained like its own. */
function isOfWorkspace({ value }: ShellWord, rest: readonly ShellWord[]): boolean {
  if (value.includes("/") && !value.startsWith("/")) return true;
  return (
    rest[0] !== undefined && /^[^-].*\.(?:py|js|mjs|cjs|ts|rb|php|pl|sh|exs|lua|R|jl)$|^artisan$/.test(rest[0].value)
  );
}

interface GuessInput {
  readonly kind: GuessKind;
  readonly isProgram: boolean;
  readonly words?: readonly ShellWord[] | undefined;
  readonly text?: string | undefined;
  /** A program named by an option, `--command=rm`: it receives the words that follow. */
  readonly program?: string | undefined;
  /** A list of texts in it, `runner=["rm","-rf"]`: the words of a command. */
  readonly hasList?: boolean;
  readonly isCode: boolean;
}

/** `-r'rm -rf x'`. */
function attachedLetter(value: string): readonly string[] {
  const [, option = "", given = "", first = ""] = /^(-\w)((\S+)\s[^]*)$/.exec(value) ?? [];
  return isProgramName(first) ? [value, option, given] : [];
}

/** One word, and the previous one. */
function readGiven(word: ShellWord, before: string): GuessInput {
  const { value, isDynamic } = word;
  const [, attached, given = value] =
    /^(--?[A-Za-z][\w.-]*|[A-Za-z_][\w.:-]*)=([^]*)$/.exec(value) ?? attachedLetter(value);
  const option = attached ?? (OPTION.test(before) ? before : "");
  const isRun = RUNS.test(option);
  // `--shell-arg '-c rm -rf x'`
  const inner = isRun ? given.replace(/^(?:-\w+\s+)+/, "") : given;
  if (isDynamic) return { kind: "possible", isProgram: false, isCode: isRun && /\$\(|`/.test(word.text) };
  const kind: GuessKind = before === "--" || isRun || isProgramPath(inner) ? "likely" : "possible";
  if (SPEAKS.test(option) && !isRun) return { kind, isProgram: false, isCode: false };
  const pieces = inner.includes(",") && (isRun || !/\s/.test(inner)) ? inner.split(",") : [];
  const isName = isProgramName(inner);
  return {
    kind,
    isProgram: attached === undefined && isProgramName(value),
    program: isRun && attached !== undefined && isName ? inner : undefined,
    hasList: /[[{]\s*["']/.test(inner),
    words: isProgramName(pieces[0] ?? "") ? pieces.map((piece) => knownWord(piece)) : undefined,
    text: /\s/.test(inner) || (isRun && isName) ? inner : undefined,
    isCode: isRun && CODE.test(inner) && !isProgramName(/^\S*/.exec(inner)?.[0] ?? ""),
  };
}

/** Text from a pipe or a here-document, and untrusted text. */
function ofInput(name: string, { input }: Scope): Guesses {
  if (input.kind === "unknown" && input.isForeign)
    return {
      guesses: [],
      opaque: `${name} receives text from another source, and what it does with the text is unknown`,
    };
  if (input.kind !== "known") return NOTHING;
  const isCode = CODE.test(input.text) && STARTS.test(input.text) && !/^\s*[[{"]/.test(input.text);
  const guesses: readonly Guess[] = [{ kind: "possible", text: input.text }];
  return isCode ? { guesses, opaque: `${name} receives code, and what it does with the code is unknown` } : { guesses };
}

/** The commands that code in any language plainly starts, as guesses. */
export function guessInCode(text: string, scope: Scope): readonly Guess[] {
  if (!CODE.test(text)) return [];
  spend(scope, PER_WORD + PER_READ * text.length);
  const { texts, commands } = readCode(text);
  // Prose may mention forks, too.
  return [
    ...texts.filter((each) => each !== FORK_BOMB).map((each): Guess => ({ kind: "likely", text: each })),
    ...commands.map((words): Guess => ({ kind: "likely", words })),
  ];
}
