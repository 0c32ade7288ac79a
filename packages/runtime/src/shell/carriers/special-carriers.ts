import { hasOption, optionValues, readArguments } from "../programs/options.ts";
import { knownWord } from "../parsed-shell.ts";
import type { ShellWord } from "../parsed-shell.ts";
import { optionsOf } from "../programs/program-options.ts";
import type { PlainCommand, Runner, Unwrap } from "./runner.ts";
import { nameOf } from "./runner.ts";
import { namedInput } from "./shells.ts";
import { writtenTo } from "../evaluation/written-files.ts";

/** Programs that run others in a special way. */
export const SPECIAL_CARRIERS: readonly (readonly [string, Unwrap])[] = [
  ["cmake", unwrapCmake],
  ["socat", unwrapSocat],
  ["flock", unwrapFlock],
  ["hyperfine", unwrapEach],
  ["concurrently", unwrapEach],
  ["tmux", unwrapTerminal],
  ["screen", unwrapTerminal],
  ["start-stop-daemon", unwrapDaemon],
  ["patch", unwrapPatch],
  ["gh", unwrapHub],
  ["glab", unwrapHub],
  ["hub", unwrapHub],
];

/** `start-stop-daemon --start --exec /bin/tool -- words`. */
function unwrapDaemon({ words }: PlainCommand, runner: Runner): boolean {
  const end = words.findIndex(({ value }) => value === "--");
  const own = end < 0 ? words : words.slice(0, end);
  const table = {
    short: "xapncugdNR",
    long: ["exec", "startas", "pidfile", "name", "chuid", "user", "group", "chdir"],
  };
  const [program] = optionValues(readArguments(own, table).options, "-a", "--startas", "-x", "--exec");
  if (program === undefined) return false;
  runner.run([program, ...(end < 0 ? [] : words.slice(end + 1))]);
  return true;
}

/** A patch in the form of an ed script may contain shell commands. */
function unwrapPatch({ words }: PlainCommand, runner: Runner): boolean {
  const { options } = readArguments(words, { short: "diopBDFgrVxYz", long: ["directory", "input", "strip", "output"] });
  if (!hasOption(options, "-e", "--ed")) return false;
  runner.opaque("an ed script may run commands");
  const { input } = runner.scope;
  for (const [, text = ""] of input.kind === "known" ? input.text.matchAll(/^\s*!+\s*(.+)$/gm) : [])
    runner.runText(text);
  return false;
}

/** Settings of these programs whose value is a program. */
const HUB_SETTINGS = /^(?:\w+_)?(?:pager|editor|browser|glamour_style)$/;

/** `gh alias set name '!text'` runs later, `gh codespace ssh -- text` remotely, `gh repo clone a -- words` by git. */
function unwrapHub({ words }: PlainCommand, runner: Runner): boolean {
  const { operands } = readArguments(words, optionsOf(nameOf(words[0])));
  const [topic, verb, name, value] = operands.map((word) => word.value);
  const end = words.findIndex((word) => word.value === "--");
  const rest = end < 0 ? [] : words.slice(end + 1);
  if (topic === "alias" && /^(?:set|import)$/.test(verb ?? "")) {
    runner.opaque("the alias runs later");
    const text = value ?? "";
    const isShell = text.startsWith("!") || hasShell(words);
    runner.runText(isShell ? text.replace(/^!/, "") : `${runner.name} ${text}`);
  }
  if (topic === "config" && verb === "set" && HUB_SETTINGS.test(name ?? "")) {
    runner.opaque(`it would later run the value of the setting "${name}"`);
    runner.runText(value ?? "");
  }
  if (/^(?:codespace|cs)$/.test(topic ?? "") && verb === "ssh" && rest.length > 0) runner.run(rest);
  if (topic === "extension" && verb === "exec") runner.opaque("what an extension does is unknown");
  if (topic === "repo" && verb === "clone" && rest.length > 0)
    runner.run([knownWord("git"), knownWord("clone"), knownWord(name ?? ""), ...rest]);
  return false;
}

function hasShell(words: readonly ShellWord[]): boolean {
  return words.some(({ value }) => value === "-s" || value === "--shell");
}

/** The usual names of the tools of `cmake -E`. */
// oxfmt-ignore
const CMAKE_TOOLS: Readonly<Record<string, readonly string[] | undefined>> = {
  __proto__: null as never,
  rm:               ["rm"],
  remove:           ["rm"],
  remove_directory: ["rm", "-rf"],
  rename:           ["mv"],
  copy:             ["cp"],
  copy_directory:   ["cp", "-r"],
  make_directory:   ["mkdir", "-p"],
  touch:            ["touch"],
  create_symlink:   ["ln", "-s"],
  env:              ["env"],
  time:             [],
};

/** `cmake -E rm -rf x` runs a built-in tool; `cmake -P file` a script, which may be standard input. */
function unwrapCmake({ words }: PlainCommand, runner: Runner): boolean {
  const at = words.findIndex(({ value }) => value === "-E");
  if (at > 0) {
    const [tool, ...rest] = words.slice(at + 1);
    const inner = tool?.value === "chdir" ? [] : CMAKE_TOOLS[tool?.value ?? ""];
    const given = tool?.value === "chdir" ? rest.slice(1) : rest;
    if (inner !== undefined) runner.run([...inner.map((each) => knownWord(each)), ...given]);
    return inner !== undefined && inner.length + given.length > 0;
  }
  const [file] = optionValues(readArguments(words, { short: "PDSBG" }).options, "-P");
  const input = file && (file.input ?? writtenTo(file, runner) ?? namedInput(file, runner.scope));
  if (input?.kind === "unknown") runner.opaque("the script that cmake runs comes from elsewhere");
  if (input?.kind !== "known") return false;
  for (const [, text = ""] of input.text.matchAll(/\bCOMMAND\s+([^)]+)/gi)) runner.runText(text);
  for (const [, text = ""] of input.text.matchAll(/\bfile\s*\(\s*REMOVE\w*\s+([^)]+)/gi))
    runner.runText(`rm -rf ${text}`);
  return true;
}

/** `socat - EXEC:'text'`. */
function unwrapSocat({ words }: PlainCommand, runner: Runner): boolean {
  const texts = words.filter(({ value }) => /^(?:EXEC|SYSTEM|SHELL):/i.test(value));
  for (const word of texts)
    runner.runWord({
      ...word,
      value: word.value
        .replace(/^\w+:/, "")
        .replace(/,(?:pty|stderr|setsid|sigint|sane|ctty|fork|nofork|echo=\d)\b.*$/, ""),
    });
  return texts.length > 0;
}

function unwrapFlock(command: PlainCommand, runner: Runner): boolean {
  const { operands } = readArguments(
    command.words,
    { short: "wE", long: ["timeout", "conflict-exit-code"] },
    { stopsEarly: true },
  );
  const [, ...inner] = operands;
  if (inner[0]?.value === "-c" || inner[0]?.value === "--command") runner.runWord(inner[1]);
  else runner.run(inner);
  return inner.length > 0;
}

/** Each operand is a command of its own. */
function unwrapEach({ words }: PlainCommand, runner: Runner): boolean {
  const table = {
    short: "wrmMpSnc",
    long: [
      "warmup",
      "runs",
      "min-runs",
      "max-runs",
      "prepare",
      "cleanup",
      "setup",
      "names",
      "prefix-colors",
      "export-json",
      "export-markdown",
    ],
  };
  const { options, operands } = readArguments(words, table);
  for (const text of [...operands, ...optionValues(options, "--prepare", "--cleanup", "--setup")]) runner.runWord(text);
  return operands.length > 0;
}

/** `tmux new-session -d 'text'`, `screen -dmS name program`. Keys typed into a terminal are opaque. */
function unwrapTerminal({ words }: PlainCommand, runner: Runner): boolean {
  const at =
    nameOf(words[0]) === "screen"
      ? 0
      : words.findIndex(({ value }) =>
          /^(?:new|new-session|new-window|neww|split-window|splitw|respawn-pane|run|run-shell|if-shell)$/.test(value),
        );
  if (words.some(({ value }) => /^(?:send-keys|send|stuff|pipe-pane)$/.test(value)))
    runner.opaque("it types into another terminal");
  if (at < 0) return false;
  const { operands } = readArguments(words.slice(at), { short: "sntcFxySe" }, { stopsEarly: true });
  if (operands.length === 1) runner.runWord(operands[0]);
  else runner.run(operands);
  return operands.length > 0;
}
