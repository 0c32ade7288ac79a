import type { ShellWord } from "./parsed-shell.ts";
import { knownWord } from "./parsed-shell.ts";
import { readArguments } from "./options.ts";
import type { PlainCommand, Runner, Unwrap } from "./runner.ts";
import { childScope, reachedBy, NO_INPUT } from "./scope.ts";

// oxfmt-ignore
const SHELL_NAMES = ["bash", "sh", "dash", "zsh", "ksh", "ash", "rbash", "mksh", "lksh", "pdksh", "yash", "fish", "csh", "tcsh", "hush", "elvish", "xonsh", "nu", "rc", "es"];
/** Shells of another language, whose texts cannot be read here. */
const FOREIGN_NAMES = ["pwsh", "powershell", "cmd", "cmd.exe", "powershell.exe", "wsl"];
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
  if (isUnsure) {
    runner.opaque(`what ${runner.name} runs is known only when it runs`);
    return true;
  }
  const [first, ...rest] = operands;
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
  });
  for (const { name, value } of assignments) {
    scope.variables.set(name, value.isDynamic ? undefined : [value.value]);
    scope.exported.add(name);
  }
  runner.runText(text.value, scope);
}

/** A file that a command before it in the same text wrote. */
export function runWritten({ value, isDynamic }: ShellWord, runner: Runner): boolean {
  const text = isDynamic ? undefined : runner.walk.written.get(value.replace(/^\.\//, ""));
  if (text === undefined) return false;
  runner.runText(text);
  return true;
}

/** A script of its own is a program like any other, unless nobody can say which file it is. */
function runFile(file: ShellWord, runner: Runner): boolean {
  if (runWritten(file, runner)) return true;
  if (file.isDynamic && file.value === "")
    runner.opaque(`the file that ${runner.name} runs is known only when it runs`);
  else if (/^\/(?:dev\/(?:fd|stdin|tcp)|proc\/)/.test(file.value)) return runInput(runner);
  return false;
}

/** Commands that come in by a pipe or a here-document. */
export function runInput(runner: Runner): boolean {
  const { input } = runner.scope;
  if (input.kind === "known") {
    runner.runText(input.text, childScope(reachedBy(runner.scope, "standard input"), { input: NO_INPUT }));
  } else if (input.kind === "unknown") {
    runner.opaque(`the commands that ${runner.name} runs come from elsewhere`);
  }
  return input.kind !== "none";
}
