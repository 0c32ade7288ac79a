import { readCode } from "../code/code.ts";
import type { OptionTable } from "../programs/options.ts";
import { optionValues, readArguments } from "../programs/options.ts";
import type { Input, ShellWord } from "../parsed-shell.ts";
import { knownWord } from "../parsed-shell.ts";
import type { PlainCommand, Runner, Unwrap } from "./runner.ts";
import { PER_READ, spend } from "../evaluation/scope.ts";
import { namedInput } from "./shells.ts";
import { writtenTo } from "../evaluation/written-files.ts";

/** A pattern in text of another language at which a shell command begins. */
interface Shape {
  readonly at: RegExp;
  /** Prefixed to the matched text: `rm -rf` for a call that deletes. */
  readonly as?: string;
  /** Braces quote in this language. */
  readonly braces?: boolean;
}

/** A program with its own language that can start commands. */
interface Dialect extends OptionTable {
  readonly names: readonly string[];
  /** Options whose value is code in the language. */
  readonly options?: readonly string[];
  /** Operands from this one on are code in the language too. */
  readonly operandsFrom?: number;
  /** Options whose value is a file in the language. */
  readonly files?: readonly string[];
  /** Standard input: always code, or data that is code only for its author. */
  readonly input: "code" | "data" | "none";
  readonly shapes: readonly Shape[];
  /** Variables whose value is code in the language, or changes which program runs it. */
  readonly variables?: RegExp;
}

const EX: readonly Shape[] = [
  {
    at: /(?:^|[|\n])[\s:%\d,$.;'+-]*(?:sil(?:ent)?!?\s*)?(?:(?:[rwe]|read|write|edit|exe(?:cute)?\s*["'])\s*)?!+\s*([^\n]+)/g,
  },
  { at: /(?:^|[|\n])[\s:]*(?:sil(?:ent)?!?\s*)?(?:te(?:rminal)?|term|make|grep)\s+([^\n]+)/g },
];
const SQL_SHELL: readonly Shape[] = [
  { at: /\\!\s*([^\n]+)/g },
  { at: /(?:^|\n)\s*system\s+([^\n;]+)/gi },
  { at: /\bprogram\s+'((?:[^']|'')+)'/gi },
  { at: /\\(?:o|g|gx|w)\s*\|\s*([^\n]+)/g },
];
/** `host rm x`, `!rm x`, `shell rm x;` in other database shells. */
const SQL_HOST: readonly Shape[] = [
  { at: /(?:^|[;\n])\s*(?:!+\s*(?:sh(?:ell)?\s)?|\$\s*|\\!\s*|:!!\s*|(?:ho(?:st)?|shell|sh|os|\.os)\s)\s*([^\n;]+)/gi },
];
const DEBUGGER: readonly Shape[] = [
  { at: /(?:^|\n)\s*(?:!|shell\s|(?:platform\s+)?shell\s|pipe\s[^|\n]*\|)\s*([^\n]+)/g },
];
const MAKE: readonly Shape[] = [
  { at: /(?:^|\n)\t[@+-]*([^\n]+)/g },
  { at: /(?:^|\n)[^\t\n:=#]*::?[^=\n;][^;\n]*;\s*([^\n]+)|(?:^|\n)[^\t\n:=#]*::?\s*;\s*([^\n]+)/g },
  { at: /\$[({]shell\s+([^)}]*)/g },
  { at: /!=\s*([^\n]+)/g },
];

// oxfmt-ignore
const DIALECTS: readonly Dialect[] = [
  { names: ["ed", "red"],                              input: "code", shapes: EX, short: "p" },
  { names: ["vim", "vi", "nvim", "view", "ex", "gvim", "vimdiff", "rvim", "vim.basic", "vim.tiny", "elvis", "nvi"], options: ["-c", "--cmd", "-S"], input: "code", shapes: EX, short: "cSTuUwWi", long: ["cmd"] },
  { names: ["tclsh", "wish", "jimsh", "expect", "expectk"], options: ["-c"], input: "code", short: "c", shapes: [{ at: /\b(?:exec|spawn)\s+(?:-\w+\s+)*((?:\{[^}]*\}|[^\]\n;])+)/g, braces: true }, { at: /\bfile\s+delete\s+(?:-force\s+)?(?:--\s+)?([^\]\n;]+)/g, as: "rm -rf" }, { at: /\bopen\s+["{]?\|([^"}\n]+)/g }] },
  { names: ["make", "gmake", "gnumake", "bmake"],      options: ["--eval", "-E"], files: ["-f", "--file", "--makefile"], operandsFrom: 0, input: "none", shapes: MAKE, variables: /^(?:GNU)?MAKEFLAGS$/, short: "fCIjloWE", long: ["eval", "file", "makefile", "directory"] },
  { names: ["m4", "gm4"],                              input: "code", shapes: [{ at: /\be?syscmd\(\s*[`'"]*([^)'"]+)/g }], short: "DUIoLB" },
  { names: ["sqlite3", "sqlite", "litecli"],           options: ["-cmd"], operandsFrom: 1, input: "data", isOneDash: true, long: ["cmd", "separator", "nullvalue", "newline", "init", "vfs", "maxsize", "mmap"], shapes: [{ at: /(?:^|\n)\s*\.(?:sh\w*|sys\w*)\s+([^\n]+)/g }, { at: /(?:^|\n)\s*\.(?:o\w*|e\w*|i\w*|r\w*)\s+[^|\n]*\|\s*([^\n"']+)/g }] },
  { names: ["psql", "pgcli", "mysql", "mariadb", "mycli", "usql"], options: ["-c", "--command", "-e", "--execute"], input: "data", shapes: SQL_SHELL, short: "cedfhpPUuvoFRDS", long: ["command", "execute", "dbname", "host", "port", "username", "set", "user", "database"] },
  { names: ["sqlplus", "sqlcl", "sql", "gsql", "ksql", "impala-shell", "hive", "beeline", "spark-sql", "presto", "trino", "isql", "isql-fb", "fbsql", "bteq", "sqlcmd", "cqlsh", "nzsql", "vsql", "hbase"], options: ["-c", "-e", "-q", "-Q", "--execute", "--query", "--command"], operandsFrom: 0, input: "data", shapes: SQL_HOST, short: "ceqQfidupU", long: ["execute", "query", "command", "file"] },
  { names: ["clickhouse", "clickhouse-client", "clickhouse-local"], options: ["-q", "--query"], input: "data", shapes: [{ at: /\bexecutable\s*\(\s*'((?:[^'\\]|\\.)+)'/gi }], short: "qhudC", long: ["query", "host", "user", "database", "password", "port", "format"] },
  { names: ["duckdb"],                                 options: ["-c", "-cmd", "-s"], operandsFrom: 1, input: "data", isOneDash: true, long: ["c", "cmd", "s", "separator", "init"], shapes: [{ at: /(?:^|\n)\s*\.(?:sh\w*|sys\w*)\s+([^\n]+)/g }] },
  { names: ["gdb", "cgdb", "rust-gdb", "lldb", "rust-lldb", "pwndbg"], options: ["-ex", "--ex", "--eval-command", "-eval-command", "-iex", "--init-eval-command", "-o", "--one-line", "-O", "-S", "-s", "-k"], input: "code", shapes: DEBUGGER, isOneDash: true, long: ["ex", "eval-command", "iex", "init-eval-command", "o", "one-line", "O", "S", "s", "k", "x", "command", "cd", "p", "pid"] },
  { names: ["dc"],                                     options: ["-e", "--expression"], input: "code", shapes: [{ at: /!(?![<>=])\s*([^\n]+)/g }], short: "ef", long: ["expression", "file"] },
  { names: ["gnuplot"],                                options: ["-e"], input: "code", shapes: [{ at: /(?:^|[;\n])\s*!\s*([^\n]+)/g }, { at: /["']<\s*([^"'\n]+)["']/g }], short: "e" },
  { names: ["ftp", "lftp", "sftp", "mutt", "mail", "mailx"], options: ["-e", "-c"], input: "data", shapes: [{ at: /(?:^|[;\n])\s*~?!\s*([^\n]+)/g }], short: "ecuph" },
];

export const DIALECT_RUNNERS: readonly (readonly [string, Unwrap])[] = DIALECTS.flatMap((dialect) =>
  dialect.names.map((name) => [name, unwrapDialect(dialect)] as const),
);

function unwrapDialect(dialect: Dialect): Unwrap {
  return (command, runner) => {
    const { options, operands } = readArguments(command.words, dialect);
    const texts = [...optionValues(options, ...(dialect.options ?? [])), ...plusWords(command)];
    if (dialect.operandsFrom !== undefined) texts.push(...operands.slice(dialect.operandsFrom));
    if (dialect.variables !== undefined) texts.push(...valuesFor(command, dialect.variables, runner));
    const carries = texts.map((text) => runDialect(text, dialect.shapes, runner));
    const files = optionValues(options, ...(dialect.files ?? []));
    for (const file of files) {
      const input = file.input ?? writtenTo(file, runner) ?? namedInput(file, runner.scope);
      if (input !== undefined) carries.push(runSource(input, { ...dialect, input: "code" }, runner));
    }
    if (dialect.input !== "none") carries.push(runSource(runner.scope.input, dialect, runner));
    return carries.some(Boolean);
  };
}

/** Shells that commonly run recipes. */
const PLAIN_SHELL = /^(?:\/(?:usr\/)?bin\/(?:env )?)?(?:ba|da|z|k)?sh$/;

/** `MAKEFLAGS=… make`, `make SHELL=…`. */
function valuesFor({ words, assignments }: PlainCommand, names: RegExp, runner: Runner): readonly ShellWord[] {
  for (const { value, isDynamic } of words) {
    const shell = /^(?:SHELL|\.SHELLFLAGS)[:?+]?=([^]*)$/.exec(value)?.[1];
    if (shell === undefined || PLAIN_SHELL.test(shell) || /^-\w*e?\w*c$/.test(shell)) continue;
    runner.opaque("make runs its recipes by another program");
    if (!isDynamic) runner.run([...shell.split(/\s+/).map((each) => knownWord(each)), knownWord("/")]);
  }
  const given = assignments.filter(({ name }) => names.test(name)).map(({ value }) => value);
  return given.map((value) => ({ ...value, value: value.value.replaceAll("\\ ", " ") }));
}

/** `vim +'!text'`: a command that runs when the program starts. */
function plusWords({ words }: PlainCommand): readonly ShellWord[] {
  return words.slice(1).flatMap((word) => (/^\+\D/.test(word.value) ? [{ ...word, value: word.value.slice(1) }] : []));
}

function runSource(input: Input, { shapes, input: kind }: Dialect, runner: Runner): boolean {
  if (input.kind === "known") return runDialect(knownWord(input.text), shapes, runner);
  if (input.kind === "unknown" && (kind !== "data" || input.isForeign))
    runner.opaque(`the text that ${runner.name} runs comes from elsewhere`);
  return false;
}

/** Runs the commands at the matches in a text, and everything that its code plainly starts. */
function runDialect(word: ShellWord, shapes: readonly Shape[], runner: Runner): boolean {
  // A name, a target or a setting: too short for a command.
  if (/^[\w./:=+@%,-]*$/.test(word.value)) return false;
  spend(runner.scope, PER_READ * word.value.length);
  const found: string[] = [];
  for (const { at, as, braces } of shapes) {
    for (const groups of word.value.matchAll(at)) {
      const given = groups.slice(1).find((each) => each !== undefined) ?? "";
      const text = braces === true ? given.replace(/\{([^{}']*)\}/g, "'$1'") : given;
      found.push(as === undefined ? text : `${as} ${text}`);
    }
  }
  for (const text of found) runner.runText(text.replaceAll("$$", "$"));
  const { texts, commands, named, opaque } = readCode(word.value);
  for (const text of texts) runner.runText(text);
  for (const words of commands) runner.run(words);
  if (opaque !== undefined) runner.opaque(opaque);
  runner.mention([word.value, ...named].join("\n"));
  return found.length + texts.length + commands.length > 0;
}
