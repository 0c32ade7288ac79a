import { commandsInAwk, commandsInSed } from "../carriers/filters.ts";
import { readCode } from "./code.ts";
import type { Arguments, Option, OptionTable } from "../programs/options.ts";
import { optionValues, readArguments } from "../programs/options.ts";
import { knownWord } from "../parsed-shell.ts";
import type { Input, ShellWord } from "../parsed-shell.ts";
import { plainName } from "../programs/program-names.ts";
import { namedInput } from "../carriers/shells.ts";
import { writtenTo } from "../evaluation/written-files.ts";
import type { PlainCommand, Runner, Unwrap } from "../carriers/runner.ts";
import { childScope, spend, UNKNOWN_INPUT } from "../evaluation/scope.ts";

interface LanguageRow extends OptionTable {
  readonly names: readonly string[];
  /** Options whose value is code. */
  readonly code: readonly string[];
  /** Options that make standard input data instead of code. */
  readonly module?: readonly string[];
  /** Options and subcommands that also start a console: standard input is code. */
  readonly console?: readonly string[];
  /** Options whose value is a file that runs first. */
  readonly loads?: readonly string[];
  /** A word that must come first: `deno eval`. */
  readonly after?: string;
  /** Options of letters after one dash that take the next word: node's `-pe`. */
  readonly clusters?: readonly string[];
  /** Subcommands that are followed by a script. */
  readonly script?: readonly string[];
  /** Its words are options and subcommands in any order, and its standard input is not code. */
  readonly isTool?: boolean;
}

const NODE_LOADS = ["-r", "--require", "--import", "--loader", "--experimental-loader"];
/** Python modules that run their input. */
const PYTHON_CONSOLES = /^(?:code|pdb|asyncio|IPython|ptpython|bpython|ipdb|pudb|ptipython|xonsh)$/;

// oxfmt-ignore
const LANGUAGES: readonly LanguageRow[] = [
  { names: ["python", "pypy", "ipython"],       code: ["-c"], module: ["-m"], console: ["-i"], short: "cmWX" },
  { names: ["node", "nodejs", "tsx", "ts-node"], code: ["-e", "-p", "--eval", "--print"], clusters: ["-pe"], module: ["-c", "--check", "--test", "--run"], console: ["-i", "--interactive", "inspect"], loads: NODE_LOADS, short: "eprC", long: ["eval", "print", "require", "import", "loader", "experimental-loader", "conditions", "run"] },
  { names: ["bun"],                             code: ["-e", "--eval", "-p", "--print"], console: ["repl"], loads: ["-r", "--preload", "--require", "--import"], short: "epr", long: ["eval", "print", "cwd", "preload", "require", "import"], script: ["run"] },
  { names: ["deno"],                            code: ["--eval"], after: "eval", console: ["repl"], loads: ["--eval-file", "--preload", "--import"], long: ["eval", "eval-file", "preload", "import"], script: ["run", "serve", "test", "bench"] },
  { names: ["perl"],                            code: ["-e", "-E"], console: ["-d"], short: "eEIMm" },
  { names: ["ruby", "jruby"],                   code: ["-e"], loads: ["-r"], short: "eIrC" },
  { names: ["irb", "pry", "erb", "jirb"],       code: ["-e", "--exec"], loads: ["-r"], short: "eIrTEUK", long: ["exec"] },
  { names: ["qjs", "gjs", "duk", "js", "d8", "jsc", "tjs", "mujs"], code: ["-e", "-c", "--eval", "--command"], console: ["-i", "--interactive"], short: "ecI", long: ["eval", "command"] },
  { names: ["php"],                             code: ["-r", "-B", "-R", "-E"], console: ["-a", "--interactive"], loads: ["-d", "--define"], short: "rBREdcfz", long: ["define"] },
  { names: ["lua", "luajit"],                   code: ["-e"], console: ["-i"], loads: ["-l"], short: "el" },
  { names: ["Rscript", "R"],                    code: ["-e"], short: "e" },
  { names: ["julia", "elixir", "groovy", "scala", "kotlin", "amm"], code: ["-e", "-E", "--eval", "-expression"], short: "eE", long: ["eval"], clusters: ["-expression"] },
  { names: ["jshell", "ghci", "ocaml", "utop", "iex", "gst", "io", "fsi", "csi.exe"], code: ["-e", "--eval", "-E", "--expression"], short: "eEI", long: ["eval", "expression", "feedback", "class-path"] },
  { names: ["clj", "clojure", "bb", "lein-exec", "janet", "fennel", "hy"], code: ["-e", "--eval", "-c"], short: "ec", long: ["eval"] },
  { names: ["ghc", "runghc", "runhaskell", "raku", "perl6", "nim", "kotlinc", "swift", "crystal"], code: ["-e", "--eval", "-E"], short: "eE", long: ["eval"], isTool: true },
  { names: ["octave", "octave-cli", "matlab", "sage", "maxima", "gp", "scilab"], code: ["--eval", "--batch-string", "-r", "-e", "-c"], clusters: ["-batch"], short: "rce", long: ["eval", "batch-string"] },
  { names: ["mongosh", "mongo"],                code: ["--eval"], long: ["eval"], isTool: true },
  { names: ["mix", "rails", "spring"],          code: ["-e", "--eval"], short: "e", long: ["eval"], isTool: true },
  { names: ["swipl", "gprolog", "yap"],         code: ["-g", "-t", "--goal", "--entry-goal", "--query-goal"], short: "gtsfl", long: ["goal"] },
  { names: ["erl"],                             code: ["-eval"], isOneDash: true, long: ["eval", "s", "pa", "sname", "name", "setcookie"] },
  { names: ["osascript"],                       code: ["-e"], short: "e" },
  { names: ["emacs", "emacsclient"],            code: ["--eval", "--execute", "-eval", "-execute", "-e"], isOneDash: true, long: ["eval", "execute", "e", "l", "load", "f", "funcall"], isTool: true },
  { names: ["guile", "racket", "sbcl", "clisp", "ecl", "csi", "gosh"], code: ["-c", "-e", "-x", "--eval", "-eval"], short: "ce", long: ["eval"], clusters: ["-eval", "-x"] },
];

export const CODE_RUNNERS: readonly (readonly [string, Unwrap])[] = [
  ...LANGUAGES.flatMap((row) => row.names.map((name) => [name, unwrapLanguage(row)] as const)),
  ...["awk", "gawk", "mawk", "nawk", "original-awk"].map((name) => [name, unwrapAwk] as const),
  ...["sed", "gsed", "ssed"].map((name) => [name, unwrapSed] as const),
];

/** Names of programs that run code passed as text. */
function unwrapLanguage(row: LanguageRow): Unwrap {
  return ({ words: given }, runner) => {
    const { words, codes: clustered } = takeClusters(given, row.clusters ?? []);
    const { options, operands, isUnsure } = readArguments(words, row, { stopsEarly: row.isTool !== true });
    if (isUnsure && row.isTool !== true && operands[0]?.input === undefined) {
      runner.opaque(`what ${runner.name} runs is known only when it runs`);
      return true;
    }
    const codes = [...clustered, ...optionValues([...options, ...behindConsole(row, operands)], ...row.code)];
    const loads = optionValues([...options, ...behindConsole(row, operands)], ...(row.loads ?? []));
    for (const file of loads) runLoaded(file, runner);
    if (runner.name.startsWith("perl")) for (const operand of operands) runOpened(operand, runner);
    if (row.after !== undefined && operands[0]?.value === row.after) codes.push(...operands.slice(1));
    for (const code of codes) runCode(code, runner);
    const isModule = row.module?.some((name) => options.some((option) => option.name === name)) === true;
    const [file] = row.script?.includes(operands[0]?.value ?? "") === true ? scriptOf(operands) : operands;
    for (const { value } of words) if (/^(?:--[\w-]+=)?data:/.test(value)) runner.opaque("it runs code in a URL");
    if (file !== undefined && /^https?:\/\//.test(file.value)) runner.opaque("it runs code from a URL");
    const named = file && (file.input ?? writtenTo(file, runner) ?? namedInput(file, runner.scope));
    if (named !== undefined) return runInputAsCode(runner, named);
    if (isConsole(row, { options, operands })) runInputAsCode(runner);
    const isAnswer = options.some(({ name }) => /^(?:--version|--help|-V|-v|-h)$/.test(name));
    if (isModule) runModuleInput(runner);
    if (row.names.includes("ruby") && options.some(({ value }) => value?.value === "un"))
      runner.opaque("it changes files with a library of commands");
    if (codes.length === 0 && !isModule && file === undefined && !isAnswer && row.isTool !== true)
      return runInputAsCode(runner);
    return codes.length > 0;
  };
}

/** `deno repl --eval code`: the options follow the subcommand. */
function behindConsole(row: LanguageRow, operands: readonly ShellWord[]): readonly Option[] {
  return row.console?.includes(operands[0]?.value ?? "") === true ? readArguments(operands, row).options : [];
}

function isConsole(row: LanguageRow, { options, operands }: Pick<Arguments, "options" | "operands">): boolean {
  const isModule = ({ name, value }: Option): boolean =>
    row.module?.includes(name) === true && PYTHON_CONSOLES.test(value?.value ?? "");
  return (
    row.console?.includes(operands[0]?.value ?? "") === true ||
    options.some((option) => row.console?.includes(option.name) === true || isModule(option))
  );
}

/**
 * A file that runs before the others: standard input, one that was just written, or one of the workspace. `-d
 * auto_prepend_file=x` of PHP names one as well.
 */
function runLoaded(given: ShellWord, runner: Runner): void {
  const file = { ...given, value: given.value.replace(/^auto_(?:pre|ap)pend_file=/, "") };
  const input = file.input ?? writtenTo(file, runner) ?? namedInput(file, runner.scope);
  if (input !== undefined) runInputAsCode(runner, input);
  if (/^(?:https?|php|data):/.test(file.value)) runner.opaque("it runs code from a URL");
}

/** Perl treats a file name that ends with a bar as a command, and reads its output. */
function runOpened(operand: ShellWord, runner: Runner): void {
  const text = /^\s*\|([^]*)$|^([^]*)\|\s*$/.exec(operand.value);
  if (text === null) return;
  runner.opaque("perl runs a file name that contains a bar as a command");
  runner.runWord({ ...operand, value: text[1] ?? text[2] ?? "" });
}

/** `python3 -m code` runs its input, `python3 -m json.tool` does not: commands in the input may run. */
function runModuleInput(runner: Runner): void {
  const { input } = runner.scope;
  if (input.kind === "known") runner.mention(input.text);
}

function scriptOf(operands: readonly ShellWord[]): readonly ShellWord[] {
  return readArguments(operands, {}).operands;
}

function takeClusters(
  words: readonly ShellWord[],
  clusters: readonly string[],
): { readonly words: readonly ShellWord[]; readonly codes: readonly ShellWord[] } {
  const at = clusters.length === 0 ? -1 : words.findIndex(({ value }) => clusters.includes(value));
  const code = at < 0 ? undefined : words[at + 1];
  return code === undefined
    ? { words, codes: [] }
    : { words: [...words.slice(0, at), ...words.slice(at + 2)], codes: [code] };
}

function runInputAsCode(runner: Runner, input: Input = runner.scope.input): boolean {
  if (input.kind === "unknown") runner.opaque(`the code that ${runner.name} runs comes from elsewhere`);
  if (input.kind === "known") runCode(knownWord(input.text), runner);
  return input.kind !== "none";
}

/** Per character that is searched for calls. */
const PER_CODE = 4;
const PER_PROGRAM = 256;

function runCode(code: ShellWord, runner: Runner): void {
  if (code.isDynamic) runner.opaque(`the code that ${runner.name} runs is known only when it runs`);
  spend(runner.scope, PER_PROGRAM + PER_CODE * code.value.length);
  const { texts, commands, targets, named, opaque } = readCode(code.value, plainName(runner.name));
  for (const text of texts) runner.runText(text);
  for (const words of commands) runner.run(words);
  const redirections = targets.map((target) => ({ operator: ">", target: knownWord(target) }));
  if (redirections.length > 0) runner.run([knownWord("true")], { redirections });
  if (opaque !== undefined) runner.opaque(opaque);
  runner.mention([code.value, ...named].join("\n"));
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
  // A program started by awk reads what awk prints to it.
  const scope = { ...runner.scope, input: UNKNOWN_INPUT };
  return programs
    .map((program) => runFilter(program, commandsInAwk(program.value), { ...runner, scope }))
    .some(Boolean);
}

function unwrapSed({ words }: PlainCommand, runner: Runner): boolean {
  const { options, operands } = readArguments(words, { short: "efl", long: ["expression", "file", "line-length"] });
  const given = optionValues(options, "-e", "--expression");
  const files = optionValues(options, "-f", "--file");
  const inner = given.length + files.length > 0 ? given : operands.slice(0, 1);
  const scripts = [...inner, ...files.flatMap((file) => readAsFile(file, runner))];
  return scripts.map((script) => runFilter(script, commandsInSed(script.value), runner)).some(Boolean);
}

/** The content of a program file that is standard input or was written before; workspace files are not examined. */
function readAsFile(file: ShellWord, runner: Runner): readonly ShellWord[] {
  const input = file.input ?? writtenTo(file, runner) ?? namedInput(file, runner.scope);
  if (input?.kind === "known") return [knownWord(input.text)];
  if (input?.kind === "unknown") runner.opaque(`the program that ${runner.name} runs comes from elsewhere`);
  return [];
}

/** A filter with a partly known text is everyday (`sed "s/a/$b/"`); with an unknown text it is not. */
function runFilter(program: ShellWord, found: ReturnType<typeof commandsInSed>, runner: Runner): boolean {
  spend(runner.scope, PER_PROGRAM + PER_CODE * program.value.length);
  if (program.isDynamic && program.value === "") runner.opaque(`what ${runner.name} does is known only when it runs`);
  if (found.opaque !== undefined) runner.opaque(found.opaque);
  for (const text of found.texts) runner.runText(text, childScope(runner.scope, { isBash: false }));
  const redirections = found.targets.map((target) => ({ operator: ">", target: knownWord(target) }));
  if (redirections.length > 0) runner.run([knownWord("true")], { redirections });
  return found.texts.length > 0;
}
