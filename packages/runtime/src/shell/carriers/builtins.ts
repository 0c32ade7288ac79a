import { hasOption, optionValues, readArguments } from "../programs/options.ts";
import type { ShellWord } from "../parsed-shell.ts";
import type { PlainCommand, Runner, Unwrap } from "./runner.ts";
import { joinWords } from "./runner.ts";
import { withAssignments } from "../evaluation/scope.ts";
import { namedInput, runInput, runWritten } from "./shells.ts";

/** Builtins that run other commands, change the meaning of names, or evaluate their arguments a second time. */
// oxfmt-ignore
export const BUILTINS: readonly (readonly [string, Unwrap])[] = [
  ["eval",      unwrapEval],
  ["source",    unwrapSource],
  [".",         unwrapSource],
  ["trap",      unwrapTrap],
  ["exec",      unwrapWords("a")],
  ["command",   unwrapCommand],
  ["builtin",   unwrapWords("")],
  ["cd",        changeFolder],
  ["pushd",     changeFolder],
  ["popd",      forgetFolder],
  ["export",    declareVariables],
  ["declare",   declareVariables],
  ["typeset",   declareVariables],
  ["local",     declareVariables],
  ["readonly",  declareVariables],
  ["unset",     forgetVariables],
  ["read",      forgetVariables],
  ["getopts",   forgetVariables],
  ["let",       forgetVariables],
  ["printf",    printToVariable],
  ["wait",      evaluates],
  ["test",      testsVariable],
  ["[",         testsVariable],
  ["mapfile",   unwrapMapfile],
  ["readarray", unwrapMapfile],
  ["set",       changeSettings],
  ["shift",     forgetPositionals],
  ["shopt",     (command, runner) => opaqueWith(command, runner, /^(?:expand_aliases|extdebug)$/)],
  ["enable",    (command, runner) => opaqueWith(command, runner, /^-[a-zA-Z]*f/)],
  ["hash",      (command, runner) => opaqueWith(command, runner, /^-[a-zA-Z]*p/)],
  ["complete",  (command, runner) => opaqueWith(command, runner, /./)],
  ["compgen",   (command, runner) => opaqueWith(command, runner, /^-[a-zA-Z]*[CFW]/)],
  ["bind",      (command, runner) => opaqueWith(command, runner, /./)],
  ["alias",     (command, runner) => opaqueWith(command, runner, /=/)],
  ["fc",        (command, runner) => opaqueWith(command, runner, /^-[a-zA-Z]*[se]|^[^-]/)],
];

const POSITIONALS = ["@", "*", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

function unwrapEval({ words, assignments }: PlainCommand, runner: Runner): boolean {
  const text = joinWords(words.slice(words[1]?.value === "--" ? 2 : 1));
  if (text === undefined) runner.opaque("the text that eval runs is known only when it runs");
  else withAssignments(assignments, runner.scope, () => runner.runText(text, runner.scope));
  return true;
}

/** Users' start files, which set up their tools. */
const OWN_FILES =
  /^~\/\.(?:nvm\/nvm\.sh|cargo\/env|bashrc|profile|bash_profile|zshrc|zprofile|asdf\/asdf\.sh|sdkman\/bin\/sdkman-init\.sh|rvm\/scripts\/rvm)$/;

/** A file of the workspace is treated like a script that is run; anything that may not be a file is opaque. */
function unwrapSource({ words }: PlainCommand, runner: Runner): boolean {
  const file = words[1];
  if (file === undefined || OWN_FILES.test(file.value)) return false;
  if (runWritten(file, runner)) return true;
  if (file.input !== undefined) return runInput(runner, file.input);
  const input = file.value === "-" ? undefined : namedInput(file, runner.scope);
  if (input !== undefined) return runInput(runner, input);
  if (file.isDynamic) runner.opaque("the file that is read into the shell is known only when it runs");
  else if (/^(?:\/(?:dev|proc|tmp)\b|~)/.test(file.value) || file.value.includes("..")) {
    runner.opaque("it reads a file from outside the workspace into the shell");
  }
  return false;
}

function unwrapTrap({ words }: PlainCommand, runner: Runner): boolean {
  const { operands } = readArguments(words);
  if (operands.length < 2 || operands[0]?.value === "-") return false;
  const [text] = operands;
  if (text?.isDynamic === true) runner.opaque("the text that trap runs is known only when it runs");
  else runner.runText(text?.value ?? "", runner.scope);
  return true;
}

function unwrapWords(short: string): Unwrap {
  return ({ words, redirections }, runner) => {
    const { operands, isUnsure } = readArguments(words, { short }, { stopsEarly: true });
    if (isUnsure) runner.opaque(`what ${runner.name} runs is known only when it runs`);
    else runner.run(operands, { redirections });
    return operands.length > 0;
  };
}

function unwrapCommand(command: PlainCommand, runner: Runner): boolean {
  const { options } = readArguments(command.words, {}, { stopsEarly: true });
  return hasOption(options, "-v", "-V") ? false : unwrapWords("")(command, runner);
}

function changeFolder({ words }: PlainCommand, { scope }: Runner): boolean {
  const { operands } = readArguments(words);
  const [target] = operands;
  const { folder } = scope.where;
  scope.where.folder = { path: target === undefined ? "~" : goTo(folder.path, target), isCertain: folder.isCertain };
  return false;
}

function goTo(from: string | undefined, { value, isDynamic, isPattern }: ShellWord): string | undefined {
  if (isDynamic || isPattern || value === "-" || /^[+-]\d+$/.test(value)) return undefined;
  if (/^[/~]/.test(value)) return value;
  return from === undefined ? undefined : `${from}/${value}`;
}

function forgetFolder(_: PlainCommand, { scope }: Runner): boolean {
  scope.where.folder = { path: undefined, isCertain: false };
  return false;
}

function declareVariables({ words }: PlainCommand, { scope, walk, name, opaque }: Runner): boolean {
  const { options, operands } = readArguments(words);
  if (hasOption(options, "-n")) opaque("a name is an alias of another one");
  // For an integer or a reference, the assigned value is evaluated.
  if (hasOption(options, "-i", "-n", "-A", "-a")) walk.evaluates = true;
  const exports = name === "export" || hasOption(options, "-x");
  const isOther = hasOption(options, "-n", "-i");
  for (const { value } of operands) {
    const [, variable = "", equals] = /^([A-Za-z_]\w*)(=)?/.exec(value) ?? [];
    if (variable === "") walk.evaluates = true;
    else if (exports) scope.exported.set(variable, true);
    if (equals === undefined && isOther) scope.variables.set(variable, undefined);
    if (/\[/.test(value.split("=")[0] ?? "")) walk.evaluates = true;
  }
  return false;
}

function forgetVariables({ words }: PlainCommand, { scope, walk }: Runner): boolean {
  for (const { value, isDynamic } of words.slice(1)) {
    const [, variable] = /^([A-Za-z_]\w*)/.exec(value) ?? [];
    if (variable !== undefined) scope.variables.set(variable, undefined);
    if (isDynamic || /[[=(]/.test(value)) walk.evaluates = true;
  }
  if (!words.some(({ isDynamic }, index) => index > 0 && isDynamic)) return false;
  for (const each of scope.variables.keys()) scope.variables.set(each, undefined);
  return false;
}

function printToVariable({ words }: PlainCommand, { scope, walk }: Runner): boolean {
  const [, option, name] = words;
  if (option?.value !== "-v") return false;
  walk.evaluates = true;
  if (name !== undefined) scope.variables.set(name.value, undefined);
  return false;
}

function evaluates(_: PlainCommand, { walk }: Runner): boolean {
  walk.evaluates = true;
  return false;
}

function testsVariable({ words }: PlainCommand, { walk }: Runner): boolean {
  if (words.some(({ value }) => value === "-v" || value === "-R")) walk.evaluates = true;
  return false;
}

function unwrapMapfile({ words }: PlainCommand, runner: Runner): boolean {
  const { options, operands } = readArguments(words, { short: "dnOsuCc" });
  runner.walk.evaluates = true;
  for (const { value } of operands) runner.scope.variables.set(value, undefined);
  const callbacks = optionValues(options, "-C");
  for (const callback of callbacks) runner.runWord(callback);
  return callbacks.length > 0;
}

/** `set -x` prints with `PS4`, which is evaluated; `set -- a b` sets new arguments. */
function changeSettings({ words }: PlainCommand, { scope, walk }: Runner): boolean {
  const [, first] = words;
  if (first === undefined) return false;
  if (/^-[a-zA-Z]*x|xtrace/.test(words.map(({ value }) => value).join(" "))) walk.evaluates = true;
  if (first.isDynamic || /^[^-+]/.test(first.value) || words.some(({ value }) => value === "--")) {
    // It exists only in this shell, and may be in a function or a loop.
    for (const name of POSITIONALS) scope.variables.set(name, undefined);
  }
  return false;
}

function forgetPositionals(_: PlainCommand, { scope }: Runner): boolean {
  for (const name of POSITIONALS) scope.variables.set(name, undefined);
  return false;
}

function opaqueWith({ words }: PlainCommand, runner: Runner, shape: RegExp): boolean {
  if (words.slice(1).some(({ value, isDynamic }) => isDynamic || shape.test(value))) {
    runner.opaque(`${runner.name} changes what later names mean`);
  }
  return false;
}
