import type { Input, ShellWord } from "../parsed-shell.ts";
import { knownWord } from "../parsed-shell.ts";
import { readArguments } from "../programs/options.ts";
import type { PlainCommand, Runner, Unwrap } from "./runner.ts";
import { childScope, FOREIGN_INPUT, reachedBy, NO_INPUT, UNKNOWN_INPUT } from "../evaluation/scope.ts";
import type { Scope } from "../evaluation/scope.ts";
import { writtenTo } from "../evaluation/written-files.ts";

// oxfmt-ignore
const SHELL_NAMES = ["bash", "sh", "dash", "zsh", "ksh", "ash", "rbash", "mksh", "lksh", "pdksh", "yash", "fish", "csh", "tcsh", "hush", "elvish", "xonsh", "nu", "rc", "es"];
/** Shells of other languages, whose scripts cannot be parsed here. */
const FOREIGN_NAMES = ["pwsh", "powershell", "cmd", "cmd.exe", "powershell.exe", "wsl"];
/** Shells that accept bash's grammar; the others have another grammar, or more of it. */
const BASH_LIKE = new Set(["bash", "sh", "dash", "ash", "rbash", "ksh", "mksh", "lksh", "pdksh", "yash", "hush"]);
const OPTIONS = { short: "oO", long: ["rcfile", "init-file", "command", "init-command"] } as const;

export const SHELLS: readonly (readonly [string, Unwrap])[] = [
  ...SHELL_NAMES.map((name) => [name, unwrapShell] as const),
  ...FOREIGN_NAMES.map((name) => [name, unwrapForeign] as const),
];

function unwrapForeign({ words }: PlainCommand, runner: Runner): boolean {
  if (words.length > 1 || runner.scope.input.kind !== "none") runner.opaque("it runs a text in another language");
  return false;
}

/** `bash -c TEXT NAME ARG…`, a script file, or commands on standard input. */
function unwrapShell({ words, assignments }: PlainCommand, runner: Runner): boolean {
  const { options, operands, isUnsure } = readArguments(joinPlus(words), OPTIONS, { stopsEarly: true });
  if (isUnsure && operands[0]?.input === undefined) {
    runner.opaque(`what ${runner.name} runs is known only when it runs`);
    return true;
  }
  // A lone dash ends the options, like `--`; if nothing follows it, commands come from standard input.
  const [first, ...rest] = operands[0]?.value === "-" && !operands[0].isDynamic ? operands.slice(1) : operands;
  const given = options.find(({ name }) => name === "--command" || name === "-C");
  const text = options.some(({ name }) => name === "-c") ? first : given?.value;
  if (options.some(({ name }) => /^--(?:rc|init-)file/.test(name))) runner.opaque("it reads another start file first");
  if (text !== undefined) {
    runNamed(text, text === first ? rest : operands, assignments, runner);
    return true;
  }
  if (first !== undefined && !options.some(({ name }) => name === "-s")) return runFile(first, runner);
  if (options.some(({ name }) => name === "--version" || name === "--help")) return false;
  return runInput(runner);
}

/** `+o name` is an option as well. */
function joinPlus(words: readonly ShellWord[]): readonly ShellWord[] {
  return words.map((word, index) =>
    index > 0 && /^\+[a-zA-Z]+$/.test(word.value) ? { ...word, value: `-${word.value.slice(1)}` } : word,
  );
}

function runNamed(
  text: ShellWord,
  args: readonly ShellWord[],
  assignments: PlainCommand["assignments"],
  runner: Runner,
): void {
  if (text.isDynamic) {
    runner.opaque(`the text that ${runner.name} runs is known only when it runs`);
    return;
  }
  const scope = childScope(reachedBy(runner.scope, "-c"), {
    positionals: args.length === 0 ? [knownWord(runner.name)] : args,
    isBash: BASH_LIKE.has(runner.name),
  });
  for (const { name, value } of assignments) {
    scope.variables.set(name, value.isDynamic ? undefined : [value.value]);
    scope.exported.set(name, true);
  }
  runner.runText(text.value, scope);
}

/** A file written by an earlier command in the same text. */
export function runWritten(file: ShellWord, runner: Runner): boolean {
  const written = writtenTo(file, runner);
  if (written === undefined) return false;
  if (written.kind === "known") runner.runText(written.text);
  else runner.opaque("it runs a file that a command before it wrote");
  return true;
}

/** A script is a program like any other, unless it is unknown which file it is. */
function runFile(file: ShellWord, runner: Runner): boolean {
  if (runWritten(file, runner)) return true;
  if (file.input !== undefined) return runInput(runner, file.input);
  if (file.isDynamic && file.value === "")
    runner.opaque(`the file that ${runner.name} runs is known only when it runs`);
  else if (file.value.startsWith("/dev/tcp/")) return runInput(runner, FOREIGN_INPUT);
  const input = namedInput(file, runner.scope);
  return input === undefined ? false : runInput(runner, input);
}

const OTHER_DESCRIPTOR = /\/fd\/(?!0+$)/;
const INPUT_NAMES = /^\/dev\/(?:stdin|fd(?:\/|$)|tty|pts\/)|^\/proc\//;

/** The content of a file that is standard input, or another open file: `/dev/stdin`, `/proc/self/fd/3`, `-`. */
export function namedInput({ value, isDynamic }: ShellWord, { where, input }: Scope): Input | undefined {
  if (value === "-" && !isDynamic) return input;
  const from = value.startsWith("/") || value.startsWith("..") ? "" : (where.folder.path ?? "");
  const path = climb(`${from.startsWith("/") ? from : ""}/${value}`);
  if (!INPUT_NAMES.test(path)) return undefined;
  // Other descriptors are not tracked.
  return OTHER_DESCRIPTOR.test(path) ? UNKNOWN_INPUT : input;
}

/** An absolute path without `.` and `..`; `..` at the top of the machine stays there. */
function climb(path: string): string {
  const names: string[] = [];
  for (const name of path.split("/")) {
    if (name === "..") names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  }
  return `/${names.join("/")}`;
}

/** Commands from a pipe or a here-document. */
export function runInput(runner: Runner, input: Input = runner.scope.input): boolean {
  if (input.kind === "known") {
    const isBash = BASH_LIKE.has(runner.name);
    runner.runText(input.text, childScope(reachedBy(runner.scope, "standard input"), { input: NO_INPUT, isBash }));
  } else if (input.kind === "unknown") {
    runner.opaque(`${runner.name} runs commands from elsewhere`);
  }
  return input.kind !== "none";
}
