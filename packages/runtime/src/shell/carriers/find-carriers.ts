import { hasOption, optionValues, readArguments } from "../programs/options.ts";
import type { Option } from "../programs/options.ts";
import { dynamicWord, knownWord } from "../parsed-shell.ts";
import type { ShellRedirection, ShellWord } from "../parsed-shell.ts";
import type { PlainCommand, Runner, Unwrap } from "./runner.ts";
import { joinWords, nameOf } from "./runner.ts";
import { replaceEach } from "../evaluation/replace-each.ts";
import { childScope, PER_WORD, spend } from "../evaluation/scope.ts";
import type { Scope } from "../evaluation/scope.ts";
import { inSingleQuotes } from "../../protocol/shell-quote.ts";

/** Programs that run a command for each of many names. */
export const FILE_FINDERS: readonly (readonly [string, Unwrap])[] = [
  ["find", unwrapFind],
  ["gfind", unwrapFind],
  ["bfs", unwrapFind],
  ["fd", unwrapFd],
  ["fdfind", unwrapFd],
  ["xargs", unwrapXargs],
  ["gxargs", unwrapXargs],
  ["parallel", unwrapParallel],
];

const RUNS = /^-(?:exec|execdir|ok|okdir)$/;
const WRITES = /^-(?:fprint|fprint0|fprintf|fls)$/;
/** Tests that narrow a search. `-type` and `-maxdepth` do not: nearly everything remains. */
const NARROWS =
  /^-(?:i?name|i?path|i?wholename|i?regex|i?lname|size|[acm]time|[acm]min|newer.*|empty|user|group|perm|inum|samefile|links)$/;

function unwrapFind({ words }: PlainCommand, runner: Runner): boolean {
  const start = words.findIndex(({ value }, index) => index > 0 && !/^-[HLPDO]/.test(value) && /^[-(!]/.test(value));
  const begins = words.slice(1, start < 0 ? undefined : start).filter(({ value }) => !/^-[HLP]$/.test(value));
  const expression = start < 0 ? [] : words.slice(start);
  const found = foundWords(begins.length === 0 ? [knownWord(".")] : begins, expression);
  const redirections: ShellRedirection[] = [];
  let carries = false;
  for (let at = 0; at < expression.length; at++) {
    const value = expression[at]?.value ?? "";
    if (RUNS.test(value)) {
      const end = endOfRun(expression, at + 1);
      runner.run(expression.slice(at + 1, end).flatMap((word) => fillIn(word, found, runner.scope)));
      carries = true;
      at = end;
    } else if (value === "-delete") {
      runner.run([knownWord("rm"), knownWord(found.some(({ isDynamic }) => isDynamic) ? "-f" : "-rf"), ...found]);
      carries = true;
    } else if (WRITES.test(value)) {
      redirections.push({ operator: ">", target: expression[at + 1] ?? knownWord("") });
    }
  }
  if (expression.some(({ isDynamic, canSplit }) => isDynamic && canSplit))
    runner.opaque("what find does is known only when it runs");
  if (redirections.length > 0) runner.run([knownWord("true")], { redirections });
  return carries;
}

/** Where the command of an `-exec` ends: at `;`, at `{} +`, or with the expression. */
function endOfRun(expression: readonly ShellWord[], from: number): number {
  for (let at = from; at < expression.length; at++) {
    const value = expression[at]?.value;
    if (value === ";" || (value === "+" && expression[at - 1]?.value === "{}")) return at;
  }
  return expression.length;
}

/** What `{}` expands to: the start paths themselves without a narrowing test, otherwise paths below them. */
function foundWords(begins: readonly ShellWord[], expression: readonly ShellWord[]): readonly ShellWord[] {
  const at = expression.findIndex(({ value }) => NARROWS.test(value));
  if (at < 0) return begins;
  const isNamed = /^-i?name$/.test(expression[at]?.value ?? "");
  const name =
    isNamed && !expression.some(({ value }) => value === "-o" || value === "!" || value === "-not")
      ? expression[at + 1]
      : undefined;
  const isPlain = name !== undefined && !name.isDynamic && !/[*?[]/.test(name.value);
  const isAll = name !== undefined && /^[*?.]*$/.test(name.value) && !name.isDynamic;
  if (isAll) return begins;
  return begins.map(({ value }) =>
    isPlain ? knownWord(`${value}/${name.value}`) : dynamicWord(`${value.replace(/\/$/, "")}/`, "{}"),
  );
}

function fillIn(word: ShellWord, found: readonly ShellWord[], scope: Scope): readonly ShellWord[] {
  if (word.value === "{}" && !word.isDynamic) {
    spend(scope, PER_WORD * found.length);
    return found;
  }
  if (!word.value.includes("{}")) return [word];
  const only = found.length === 1 && found[0]?.isDynamic === false ? found[0].value : undefined;
  if (only !== undefined) return [{ ...word, value: replaceEach(word.value, { part: "{}", by: only }, scope) }];
  return [dynamicWord(word.value.slice(0, word.value.indexOf("{}")), word.text)];
}

const FD = {
  short: "tedExXcSjo",
  long: [
    "type",
    "extension",
    "max-depth",
    "min-depth",
    "exclude",
    "size",
    "threads",
    "base-directory",
    "changed-within",
    "changed-before",
    "color",
  ],
};

function unwrapFd({ words }: PlainCommand, runner: Runner): boolean {
  const at = words.findIndex(({ value }) => /^(?:-[A-Za-z]*[xX]|--exec(?:-batch)?(?:=.*)?)/.test(value));
  if (at < 0) return false;
  const attached = /^(?:-[A-Za-z]*?[xX]|--exec(?:-batch)?=?)([^]*)$/.exec(words[at]?.value ?? "")?.[1] ?? "";
  const { operands } = readArguments(words.slice(0, at), FD);
  const root = operands[1]?.value ?? ".";
  const found = [/^[.*^$]*$/.test(operands[0]?.value ?? "") ? knownWord(root) : dynamicWord(`${root}/`, "{}")];
  const first = attached === "" ? [] : [knownWord(attached)];
  const inner = [...first, ...words.slice(at + 1)].filter(({ value }) => value !== ";");
  runner.run(
    inner.some(({ value }) => value.includes("{"))
      ? inner.flatMap((word) => fillIn(word, found, runner.scope))
      : [...inner, ...found],
  );
  return true;
}

const XARGS = {
  short: "IJELPnsdaR",
  long: [
    "max-args",
    "max-procs",
    "max-lines",
    "max-chars",
    "delimiter",
    "arg-file",
    "replace",
    "eof",
    "process-slot-var",
  ],
};

/** The command with its input appended, or inserted where `-I` says. */
function unwrapXargs({ words }: PlainCommand, runner: Runner): boolean {
  const { options, operands, isUnsure } = readArguments(words, XARGS, { stopsEarly: true });
  if (operands.length === 0) return false;
  if (isUnsure) {
    runner.opaque("what xargs runs is known only when it runs");
    return true;
  }
  const { input } = runner.scope;
  const texts =
    input.kind === "known" ? input.text.split(separatorOf(options)).filter((text) => text !== "") : undefined;
  const added: readonly ShellWord[] =
    texts === undefined
      ? [{ value: "", text: "…", isDynamic: true, canSplit: true, isPattern: false }]
      : texts.slice(0, 64).map((text) => knownWord(text));
  const replaced =
    optionValues(options, "-I", "-J", "--replace")[0]?.value ?? (hasOption(options, "-i") ? "{}" : undefined);
  const inner =
    replaced === undefined
      ? [...operands, ...added]
      : operands.flatMap((word) => replaceIn(word, { replaced, texts, scope: runner.scope }));
  runner.run(inner, { scope: childScope(runner.scope, { input: { kind: "none" } }) });
  return true;
}

/** The separator of arguments: spaces, lines with `-I`, or as `-0` and `-d` say. */
function separatorOf(options: readonly Option[]): RegExp | string {
  if (hasOption(options, "-0", "--null")) return "\0";
  const [delimiter] = optionValues(options, "-d", "--delimiter");
  if (delimiter !== undefined) return delimiter.value.replace("\\n", "\n").replace("\\0", "\0").replace("\\t", "\t");
  return hasOption(options, "-I", "-i", "--replace", "-L", "--max-lines") ? "\n" : /[\s\0]+/;
}

function replaceIn(
  word: ShellWord,
  { replaced, texts, scope }: { replaced: string; texts: readonly string[] | undefined; scope: Scope },
): readonly ShellWord[] {
  if (!word.value.includes(replaced)) return [word];
  if (texts === undefined || texts.length !== 1)
    return [dynamicWord(word.value.slice(0, word.value.indexOf(replaced)), word.text)];
  return [{ ...word, value: replaceEach(word.value, { part: replaced, by: texts[0] ?? "" }, scope) }];
}

const PARALLEL = {
  short: "jaSILnNdCE",
  long: [
    "jobs",
    "arg-file",
    "max-procs",
    "sshlogin",
    "colsep",
    "delimiter",
    "results",
    "joblog",
    "timeout",
    "retries",
    "delay",
    "tmpdir",
    "workdir",
  ],
};

/** GNU parallel joins its words and passes them to a shell. */
function unwrapParallel({ words }: PlainCommand, runner: Runner): boolean {
  const at = words.findIndex(({ value }) => /^:{3,4}\+?$/.test(value));
  const { operands } = readArguments(words.slice(0, at < 0 ? undefined : at), PARALLEL, { stopsEarly: true });
  const given = at < 0 || words[at]?.value.startsWith("::::") === true ? undefined : words.slice(at + 1);
  if (operands.length === 0 && given !== undefined) {
    for (const text of given) runner.runWord(text);
    return true;
  }
  const text = joinWords(operands);
  if (operands.length === 0 || text === undefined) {
    runner.opaque("what parallel runs is known only when it runs");
    return true;
  }
  if (given !== undefined && given.every(({ isDynamic }) => !isDynamic)) {
    const list = given.filter(({ value }) => !/^:{3,4}\+?$/.test(value)).slice(0, 64);
    for (const { value } of list)
      for (const by of spellings(value)) {
        runner.runText(text.includes("{}") ? replaceEach(text, { part: "{}", by }, runner.scope) : `${text} ${by}`);
      }
    return true;
  }
  const name = nameOf(operands[0]);
  if (/\s/.test(operands[0]?.value ?? "")) runner.runText(text.replaceAll("{}", '"$1"'));
  else if (name !== "") runner.run([...operands, dynamicWord("", "{}")]);
  return true;
}

/** One parallel quotes the inserted text, another does not. */
function spellings(value: string): readonly string[] {
  return /^[\w./@%+:,~-]*$/.test(value) ? [value] : [value, inSingleQuotes(value)];
}
