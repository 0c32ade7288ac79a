import { commandsInAwk, commandsInSed } from "./filters.ts";
import { readCode } from "./code.ts";
import type { OptionTable } from "./options.ts";
import { optionValues, readArguments } from "./options.ts";
import { knownWord } from "./parsed-shell.ts";
import type { Input, ShellWord } from "./parsed-shell.ts";
import { isInputName } from "./shells.ts";
import type { PlainCommand, Runner, Unwrap } from "./runner.ts";
import { spend } from "./scope.ts";

interface LanguageRow extends OptionTable {
  readonly names: readonly string[];
  /** Options whose value is code. */
  readonly code: readonly string[];
  /** Options after which standard input is data, not code. */
  readonly module?: readonly string[];
  /** A word that must come first: `deno eval`. */
  readonly after?: string;
  /** Its words are options and subcommands in any order, and its standard input is no code. */
  readonly isTool?: boolean;
}

// oxfmt-ignore
const LANGUAGES: readonly LanguageRow[] = [
  { names: ["python", "pypy", "ipython"],       code: ["-c"], module: ["-m"], short: "cmWX" },
  { names: ["node", "nodejs", "tsx", "ts-node"], code: ["-e", "-p", "--eval", "--print"], module: ["-c", "--check", "--test", "--run"], short: "eprC", long: ["eval", "print", "require", "import", "loader", "conditions", "run"] },
  { names: ["bun"],                             code: ["-e", "--eval", "-p", "--print"], short: "ep", long: ["eval", "print"] },
  { names: ["deno"],                            code: [], after: "eval" },
  { names: ["perl"],                            code: ["-e", "-E"], short: "eEIMm" },
  { names: ["ruby", "jruby"],                   code: ["-e"], short: "eIrC" },
  { names: ["php"],                             code: ["-r", "-B", "-R", "-E"], short: "rBREdcf" },
  { names: ["lua", "luajit"],                   code: ["-e"], short: "el" },
  { names: ["Rscript", "R"],                    code: ["-e"], short: "e" },
  { names: ["julia", "elixir", "groovy", "scala", "kotlin", "amm"], code: ["-e", "-E", "--eval"], short: "eE", long: ["eval"] },
  { names: ["clj", "clojure", "bb", "lein-exec", "janet", "fennel", "hy"], code: ["-e", "--eval", "-c"], short: "ec", long: ["eval"] },
  { names: ["ghc", "runghc", "runhaskell", "ocaml", "raku", "perl6", "nim", "jshell", "kotlinc", "iex", "swift", "gst", "io", "crystal"], code: ["-e", "--eval", "-E"], short: "eE", long: ["eval"], isTool: true },
  { names: ["octave", "octave-cli", "matlab", "sage", "maxima", "gp", "scilab"], code: ["--eval", "--batch-string", "-r", "-batch", "-c"], short: "rc", long: ["eval", "batch-string"] },
  { names: ["mongosh", "mongo"],                code: ["--eval"], long: ["eval"], isTool: true },
  { names: ["mix", "rails", "spring"],          code: ["-e", "--eval"], short: "e", long: ["eval"], isTool: true },
  { names: ["swipl", "gprolog", "yap"],         code: ["-g", "-t", "--goal", "--entry-goal", "--query-goal"], short: "gtsfl", long: ["goal"] },
  { names: ["erl"],                             code: ["-eval"], isOneDash: true, long: ["eval", "s", "pa", "sname", "name", "setcookie"] },
  { names: ["osascript"],                       code: ["-e"], short: "e" },
  { names: ["emacs", "emacsclient"],            code: ["--eval", "--execute", "-eval", "-execute", "-e"], isOneDash: true, long: ["eval", "execute", "e", "l", "load", "f", "funcall"], isTool: true },
  { names: ["guile", "racket", "sbcl", "clisp", "ecl", "csi", "gosh"], code: ["-c", "-e", "--eval"], short: "ce", long: ["eval"] },
];

export const CODE_RUNNERS: readonly (readonly [string, Unwrap])[] = [
  ...LANGUAGES.flatMap((row) => row.names.map((name) => [name, unwrapLanguage(row)] as const)),
  ...["awk", "gawk", "mawk", "nawk", "original-awk"].map((name) => [name, unwrapAwk] as const),
  ...["sed", "gsed"].map((name) => [name, unwrapSed] as const),
];

/** Names of programs that run code given as text. */
function unwrapLanguage(row: LanguageRow): Unwrap {
  return ({ words }, runner) => {
    const { options, operands, isUnsure } = readArguments(words, row, { stopsEarly: row.isTool !== true });
    if (isUnsure && row.isTool !== true && operands[0]?.input === undefined) {
      runner.opaque(`what ${runner.name} runs is known only when it runs`);
      return true;
    }
    const codes = [...optionValues(options, ...row.code)];
    if (row.after !== undefined && operands[0]?.value === row.after) codes.push(...operands.slice(1));
    for (const code of codes) runCode(code, runner);
    const isModule = row.module?.some((name) => options.some((option) => option.name === name)) === true;
    const [file] = operands;
    const isFile = file !== undefined && file.input === undefined && !isInputName(file, runner.scope);
    const isAnswer = options.some(({ name }) => /^(?:--version|--help|-V|-v|-h)$/.test(name));
    const written = file && runner.walk.written.get(file.value.replace(/^\.\//, ""));
    if (isFile && written !== undefined) runCode(knownWord(written), runner);
    if (codes.length === 0 && !isModule && !isFile && !isAnswer && row.isTool !== true)
      return runInputAsCode(runner, file?.input);
    return codes.length > 0;
  };
}

function runInputAsCode(runner: Runner, input: Input = runner.scope.input): boolean {
  if (input.kind === "unknown") runner.opaque(`the code that ${runner.name} runs comes from elsewhere`);
  if (input.kind === "known") runCode(knownWord(input.text), runner);
  return input.kind !== "none";
}

/** Of each character that is looked through for calls. */
const PER_CODE = 4;
const PER_PROGRAM = 256;

function runCode(code: ShellWord, runner: Runner): void {
  if (code.isDynamic) runner.opaque(`the code that ${runner.name} runs is known only when it runs`);
  spend(runner.scope, PER_PROGRAM + PER_CODE * code.value.length);
  const { texts, commands, targets, opaque } = readCode(code.value);
  for (const text of texts) runner.runText(text);
  for (const words of commands) runner.run(words);
  const redirections = targets.map((target) => ({ operator: ">", target: knownWord(target) }));
  if (redirections.length > 0) runner.run([knownWord("true")], { redirections });
  if (opaque !== undefined) runner.opaque(opaque);
}

function unwrapAwk({ words }: PlainCommand, runner: Runner): boolean {
  const { options, operands } = readArguments(
    words,
    { short: "vfFieE", long: ["assign", "file", "field-separator", "include", "exec", "source"] },
    { stopsEarly: true },
  );
  const files = optionValues(options, "-f", "-E", "--file", "--exec");
  const programs = [...optionValues(options, "-e", "--source"), ...(files.length > 0 ? [] : operands.slice(0, 1))];
  programs.push(...files.flatMap((file) => readAsFile(file, runner)));
  return programs.map((program) => runFilter(program, commandsInAwk(program.value), runner)).some(Boolean);
}

function unwrapSed({ words }: PlainCommand, runner: Runner): boolean {
  const { options, operands } = readArguments(words, { short: "efl", long: ["expression", "file", "line-length"] });
  const given = optionValues(options, "-e", "--expression");
  const files = optionValues(options, "-f", "--file");
  const inner = given.length + files.length > 0 ? given : operands.slice(0, 1);
  const scripts = [...inner, ...files.flatMap((file) => readAsFile(file, runner))];
  return scripts.map((script) => runFilter(script, commandsInSed(script.value), runner)).some(Boolean);
}

/** What a program file holds that is standard input or was written before; a file of the workspace is its own. */
function readAsFile(file: ShellWord, runner: Runner): readonly ShellWord[] {
  const written = runner.walk.written.get(file.value.replace(/^\.\//, ""));
  if (written !== undefined) return [knownWord(written)];
  const input = file.input ?? (isInputName(file, runner.scope) ? runner.scope.input : undefined);
  if (input?.kind === "known") return [knownWord(input.text)];
  if (input?.kind === "unknown") runner.opaque(`the program that ${runner.name} runs comes from elsewhere`);
  return [];
}

/** A filter whose text is only partly known is everyday (`sed "s/a/$b/"`); one that is wholly unknown is not. */
function runFilter(program: ShellWord, found: ReturnType<typeof commandsInSed>, runner: Runner): boolean {
  spend(runner.scope, PER_PROGRAM + PER_CODE * program.value.length);
  if (program.isDynamic && program.value === "") runner.opaque(`what ${runner.name} does is known only when it runs`);
  if (found.opaque !== undefined) runner.opaque(found.opaque);
  for (const text of found.texts) runner.runText(text);
  const redirections = found.targets.map((target) => ({ operator: ">", target: knownWord(target) }));
  if (redirections.length > 0) runner.run([knownWord("true")], { redirections });
  return found.texts.length > 0;
}
