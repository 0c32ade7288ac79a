import type { Command, ParsedScript, PipelineNode, Word } from "unbash";
import { expandWhole, expandWord, textOfParts } from "./expand.ts";
import { isForeign } from "./foreign.ts";
import type { Input, ShellWord } from "../parsed-shell.ts";
import { FOREIGN_INPUT, NO_INPUT, PER_WORD, spend, UNKNOWN_INPUT } from "./scope.ts";
import type { Scope } from "./scope.ts";

/**
 * The output of a command substitution if it can be determined without running it: `$(echo rm)`, `$(printf '%s' rm)`,
 * `$(echo cm0= | base64 -d)`, `$(which rm)`. Undefined for all others.
 */
export function outputOf({ commands, errors }: ParsedScript, scope: Scope): string | undefined {
  if (errors !== undefined && errors.length > 0) return undefined;
  const [only] = commands;
  if (commands.length !== 1 || only === undefined || only.command.type === "AndOr") return undefined;
  let input: Input = NO_INPUT;
  for (const node of stagesOf(only.command)) {
    if (node.type !== "Command") return undefined;
    spend(scope, PER_STAGE);
    input = outputOfCommand(node, { ...scope, input });
    if (input.kind !== "known") return undefined;
  }
  return input.kind === "known" ? withoutLastBreaks(input.text) : undefined;
}

function withoutLastBreaks(text: string): string {
  let end = text.length;
  while (text.charAt(end - 1) === "\n") end--;
  return text.slice(0, end);
}

export function stagesOf(node: PipelineNode): readonly PipelineNode[] {
  return node.type === "Pipeline" ? node.commands : [node];
}

/** The words of a command. An assignment among the arguments (`export A=b`) is a word as well. */
export function wordsOf({ name, suffix }: Command, scope: Scope): readonly ShellWord[] {
  if (name === undefined) return [];
  const words = [...expandWord(name, scope)];
  for (const item of suffix) {
    if (item.type === "Word") words.push(...expandWord(item, scope));
    else if (item.type === "Assignment") words.push(assignmentWord(item, scope));
  }
  return words;
}

function assignmentWord(item: Extract<Command["suffix"][number], { type: "Assignment" }>, scope: Scope): ShellWord {
  if (item.value.type === "ArrayValue")
    return { value: `${item.name}=`, text: item.text, isDynamic: true, canSplit: false, isPattern: false };
  const value = expandWhole(item.value, scope);
  return { ...value, value: `${item.name}=${value.value}`, text: item.text };
}

/** A command's standard input: its own here-document or file, or the output of the pipe. */
export function inputOf({ redirects }: Command, scope: Scope): Input {
  let input = scope.input;
  for (const redirect of redirects) {
    if (redirect.descriptor !== undefined && !isStandardInput(redirect.descriptor)) continue;
    if (redirect.type === "HereDoc") {
      const { body, delimiter } = redirect;
      const isPlain = delimiter?.quoted === true || body.parts === undefined;
      input = known(isPlain ? body.text : textOfParts(body.parts ?? [], scope));
    } else if (redirect.type === "HereString") {
      const word = redirect.target && expandWhole(redirect.target, scope);
      input = known(word === undefined || word.isDynamic ? undefined : `${word.value}\n`);
      if (input.kind === "unknown" && isForeign(redirect)) input = FOREIGN_INPUT;
    } else if (redirect.operator === "<&") {
      // Another open file, or none. Text written to it is not tracked.
      if (!/^[0-]$/.test(redirect.target?.value ?? "")) input = UNKNOWN_INPUT;
    } else if (redirect.operator.startsWith("<")) {
      input = redirect.target === undefined ? UNKNOWN_INPUT : inputFrom(redirect.target, scope);
    }
  }
  return input;
}

/** The content read from a file: `< <(echo text)` is known, `< file` is not. */
function inputFrom(target: Word, scope: Scope): Input {
  if (target.value === "/dev/null") return NO_INPUT;
  return expandWhole(target, scope).input ?? UNKNOWN_INPUT;
}

function isStandardInput(descriptor: NonNullable<Command["redirects"][number]["descriptor"]>): boolean {
  return descriptor.type === "FileDescriptor" && descriptor.value === 0;
}

function known(text: string | undefined): Input {
  return text === undefined ? UNKNOWN_INPUT : { kind: "known", text };
}

/** What the next command of a pipe receives from this one. */
export function outputOfCommand(node: Command, scope: Scope): Input {
  const { name } = node;
  // Most programs are decided by their name, before any word is expanded.
  if (name === undefined || (name.parts === undefined && !isKnownMaker(name.value))) return UNKNOWN_INPUT;
  return outputOfWords(wordsOf(node, scope), { ...scope, input: inputOf(node, scope) });
}

function isKnownMaker(name: string): boolean {
  return name === "pwd" || OUTPUTS[baseOf(name)] !== undefined;
}

function baseOf(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}

/** The same for expanded words, with their own input. */
export function outputOfWords(words: readonly ShellWord[], scope: Scope): Input {
  const [name, ...rest] = words;
  if (name === undefined || words.some(({ isDynamic }) => isDynamic)) return UNKNOWN_INPUT;
  if (name.value === "pwd") return known(scope.where.folder.path);
  const make = OUTPUTS[baseOf(name.value)];
  if (make === undefined) return UNKNOWN_INPUT;
  const args = rest.map(({ value }) => value);
  const { input } = scope;
  const length = args.reduce((sum, arg) => sum + arg.length, textOf(input)?.length ?? 0);
  spend(scope, PER_WORD * args.length + PER_OUTPUT * length);
  return known(make(args, input));
}

/** Per command whose output is determined. */
const PER_STAGE = 128;
/** Per character of a program's output. */
const PER_OUTPUT = 4;

type Make = (args: readonly string[], input: Input) => string | undefined;

// oxfmt-ignore
const OUTPUTS: Readonly<Record<string, Make | undefined>> = {
  __proto__: null as never,
  echo:    echo,
  printf:  printf,
  cat:     (args, input) => (args.length === 0 || args[0] === "-" ? textOf(input) : undefined),
  tee:     (_, input) => textOf(input),
  base64:  (args, input) => (/^(?:-d|-D|--decode|-di|-id)$/.test(args[0] ?? "") && args.length === 1 ? decodeBase64(textOf(input)) : undefined),
  xxd:     (args, input) => (args.join(" ") === "-r -p" || args.join(" ") === "-p -r" ? decodeHex(textOf(input)) : undefined),
  rev:     (args, input) => (args.length === 0 ? textOf(input)?.split("\n").map((line) => Array.from(line).reverse().join("")).join("\n") : undefined),
  tr:      (args, input) => transliterate(args, textOf(input)),
  ls:      (args) => listed(args),
  which:   (args) => (args.length === 1 ? args[0] : undefined),
  command: (args) => (args.length === 2 && args[0] === "-v" ? args[1] : undefined),
  type:    (args) => (args.length === 2 && args[0] === "-p" ? args[1] : undefined),
};

/** Patterns represent the names that they match: `ls | xargs rm -rf` deletes `*`. */
function listed(args: readonly string[]): string | undefined {
  const options = args.filter((arg) => arg.startsWith("-"));
  const operands = args.filter((arg) => !arg.startsWith("-"));
  if (options.some((option) => !/^-[1ad]+$/.test(option))) return undefined;
  const isThemselves = options.join("").includes("d") || operands.some((operand) => /[*?[]/.test(operand));
  return isThemselves ? operands.join("\n") : "*";
}

function textOf(input: Input): string | undefined {
  return input.kind === "known" ? input.text : undefined;
}

function echo(args: readonly string[]): string | undefined {
  const start = args.findIndex((arg) => !/^-[neE]+$/.test(arg));
  const options = args.slice(0, start < 0 ? args.length : start).join("");
  const text = args.slice(start < 0 ? args.length : start).join(" ");
  const end = options.includes("n") ? "" : "\n";
  return (options.includes("e") ? unescape(text) : text) + end;
}

function printf([format = "", ...args]: readonly string[]): string | undefined {
  if (format.startsWith("-")) return undefined;
  const slots = format.match(/%[sb]/g)?.length ?? 0;
  if (/%(?![sb%])/.test(format) || format.length * (args.length + 1) > 8192) return undefined;
  let text = "";
  let left = [...args];
  do {
    text += unescape(format).replace(/%[sb%]/g, (slot) => {
      if (slot === "%%") return "%";
      const given = left.shift() ?? "";
      return slot === "%b" ? unescape(given) : given;
    });
    if (slots === 0) left = [];
  } while (left.length > 0);
  return text;
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", "\\": "\\", r: "\r", e: "\u001b", a: "\u0007" };

function unescape(text: string): string {
  return text.replace(/\\(?:x([0-9a-fA-F]{1,2})|0?([0-7]{1,3})|([ntrea\\]))/g, (_, hex, octal, letter) => {
    if (typeof hex === "string") return String.fromCharCode(Number.parseInt(hex, 16));
    if (typeof octal === "string") return String.fromCharCode(Number.parseInt(octal, 8) & 0xff);
    return ESCAPES[String(letter)] ?? "";
  });
}

function decodeBase64(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    return atob(text);
  } catch {
    // Not base64: the program's output is unknown.
    return undefined;
  }
}

function decodeHex(text: string | undefined): string | undefined {
  const digits = text?.replace(/\s+/g, "");
  if (digits === undefined || digits.length % 2 === 1 || /[^0-9a-fA-F]/.test(digits)) return undefined;
  return digits.replace(/../g, (pair) => String.fromCharCode(Number.parseInt(pair, 16)));
}

/** `tr a-z b-za` and the like: two plain sets of the same length, or ranges of letters. */
function transliterate(args: readonly string[], text: string | undefined): string | undefined {
  if (text === undefined || args.length !== 2) return undefined;
  const [from, to] = args.map(spellSet);
  if (from === undefined || to === undefined || to === "") return undefined;
  const changed = new Map<string, string>();
  let at = 0;
  for (const character of from) {
    changed.set(character, to[at] ?? to.at(-1) ?? "");
    at += character.length;
  }
  return Array.from(text, (character) => changed.get(character) ?? character).join("");
}

const ASCII = String.fromCharCode(...Array.from({ length: 128 }, (_, code) => code));
/** Longer sets than two alphabets and the digits are not expanded. */
const MAX_SET = 64;

function spellSet(set: string): string | undefined {
  if (set.length > MAX_SET || /[\\[]/.test(set) || set.startsWith("-")) return undefined;
  return set.replace(/([A-Za-z0-9])-([A-Za-z0-9])/g, (_, from: string, to: string) =>
    ASCII.slice(from.charCodeAt(0), to.charCodeAt(0) + 1),
  );
}
