import { optionValues, readArguments } from "../programs/options.ts";
import { knownWord } from "../parsed-shell.ts";
import type { ShellWord } from "../parsed-shell.ts";
import { isProgramName } from "../programs/program-names.ts";
import { optionsOf } from "../programs/program-options.ts";
import type { PlainCommand, Runner, Unwrap } from "./runner.ts";
import { joinWords } from "./runner.ts";

export const GIT: readonly (readonly [string, Unwrap])[] = [["git", unwrapGit]];

const BEFORE = optionsOf("git");

/** Settings whose value is a program, from git's list of settings, and any with such a name. */
const RUNS =
  /^(?:[\w-]+\.(?:.+\.)?\w*(?:cmd|command|hook|prog|program|tunnel|httpd|driver)|(?:web|help|instaweb)\.browser|sendemail\.smtpserver|submodule\..+\.update|url\..*::.*\.(?:push)?insteadof|core\.worktree|core\.(?:pager|editor|sshcommand|fsmonitor|hookspath|askpass|gitproxy|alternaterefscommand)|sequence\.editor|pager\..+|diff\.(?:.+\.)?(?:external|textconv|command)|(?:merge|diff)tool\..+\.(?:cmd|path)|merge\..+\.driver|filter\..+\.(?:clean|smudge|process)|credential\.(?:.+\.)?helper|gpg\.(?:.+\.)?program|interactive\.difffilter|uploadpack\.packobjectshook|remote\..+\.(?:uploadpack|receivepack|vcs|proxy)|protocol\..*allow|includeif?\..*path|include\.path|init\.templatedir|browser\..+\.(?:cmd|path)|man\..+\.(?:cmd|path)|sendemail\..*cmd|ssh\.variant|trailer\..+\.(?:command|cmd)|http\.proxy)$/i;
/** Harmless values: commonly used to keep git from prompting or paging. */
const HARMLESS = /^(?:cat|less|more|true|false|yes|no|on|off|[01]|:|)$/;

/** How a submodule is updated: a word, or a command after `!`. */
function isRun(key: string, value: string): boolean {
  return RUNS.test(key) && !(/^submodule\./i.test(key) && /^\w+$/.test(value));
}

/** The words from git's subcommand on: `["push", "--force"]`. */
export function gitSubcommand(words: readonly ShellWord[]): readonly ShellWord[] {
  const { firstOperand } = readArguments(words, BEFORE, { stopsEarly: true });
  return words.slice(firstOperand);
}

function unwrapGit({ words }: PlainCommand, runner: Runner): boolean {
  const { options, isUnsure, operands } = readArguments(words, BEFORE, { stopsEarly: true });
  if (isUnsure) runner.opaque("what git does is known only when it runs");
  let carries = false;
  for (const setting of optionValues(options, "-c")) {
    carries = unwrapSetting(setting, runner) || carries;
    runAlias(setting, operands, runner);
  }
  for (const { value } of optionValues(options, "--config-env")) {
    const key = value.slice(0, value.lastIndexOf("="));
    if (/^alias\./i.test(key) || RUNS.test(key)) runner.opaque(`git runs the value of the setting "${key}"`);
  }
  if (optionValues(options, "--exec-path").length > 0)
    runner.opaque("git would look for its programs in another folder");
  const [subcommand] = operands;
  carries = (SUBCOMMANDS[subcommand?.value ?? ""]?.(operands, runner) ?? false) || carries;
  carries = runExternal(words, runner) || carries;
  return runOptions(operands, runner) || carries;
}

/** Options whose value is a message, a pattern or an output format. */
const SPEAKS =
  /^--(?:m|message|format|pretty|grep|author|committer|date|trailer|prefix|output|glob|exclude|include|sort|points-at|contains|no-contains|word-diff-regex|diff-filter|color|since|until|after|before|branch|source|onto|track|cleanup|fixup|squash|notes|subject-prefix|label|reason)$/;

/** An option of any subcommand whose value begins with the name of a program: `--httpd=…`, `--exec …`. */
function runOptions(operands: readonly ShellWord[], runner: Runner): boolean {
  let carries = false;
  for (const [at, word] of operands.entries()) {
    const [, name = "", attached] = /^(--[a-z][a-z-]*)(?:=([^]*))?$/.exec(word.value) ?? [];
    const value = attached === undefined ? operands[at + 1] : { ...word, value: attached };
    if (name === "" || value === undefined || value.isDynamic || SPEAKS.test(name)) continue;
    const [first = ""] = value.value.trim().split(/\s/);
    if ((attached === undefined && first === value.value) || !isProgramName(first)) continue;
    runner.runText(value.value);
    carries = true;
  }
  return carries;
}

/** URLs of the form `ext::sh -c …` start the named program wherever they occur. */
function runExternal(words: readonly ShellWord[], runner: Runner): boolean {
  const found = words.filter(({ value }) => /(?:^|=)ext::/i.test(value));
  for (const { value, ...word } of found) {
    runner.opaque("git starts a program named in a URL");
    runner.runWord({ ...word, value: value.replace(/^[^]*?ext::/i, "").replaceAll("% ", " ") });
  }
  return found.length > 0;
}

/** `-c alias.x='!rm -rf /'`, `-c core.pager='rm -rf /'`. */
function unwrapSetting(setting: ShellWord, runner: Runner): boolean {
  const equals = setting.value.indexOf("=");
  const key = equals < 0 ? setting.value : setting.value.slice(0, equals);
  const value = equals < 0 ? "" : setting.value.slice(equals + 1);
  const isAlias = /^alias\./i.test(key);
  if (!isAlias && !isRun(key, value)) return false;
  if (setting.isDynamic) {
    runner.opaque("what git runs by this setting is known only when it runs");
    return true;
  }
  if (isAlias) runner.runText(value.startsWith("!") ? value.slice(1) : `git ${value}`);
  else if (HARMLESS.test(value)) return false;
  else {
    runner.opaque(`git runs the value of the setting "${key}"`);
    runner.runText(value.replace(/^!/, ""));
  }
  return true;
}

/** `-c alias.x=show x HEAD:a`: the aliased subcommand, with the words that follow. */
function runAlias({ value, isDynamic }: ShellWord, [name, ...rest]: readonly ShellWord[], runner: Runner): void {
  const [, alias, text = ""] = /^alias\.([^=]+)=([^!][^]*)$/i.exec(value) ?? [];
  if (isDynamic || alias === undefined || alias !== name?.value) return;
  runner.run([knownWord("git"), ...text.split(/\s+/).map((each) => knownWord(each)), ...rest]);
}

type Hand = (operands: readonly ShellWord[], runner: Runner) => boolean;

const SUBCOMMANDS: Readonly<Record<string, Hand | undefined>> = {
  __proto__: null as never,
  submodule: (operands, runner) => runRest(operands, "foreach", runner),
  bisect: (operands, runner) => runRest(operands, "run", runner),
  rebase: (operands, runner) => runOption(operands, runner, { short: "xsXC", long: ["exec"], names: ["-x", "--exec"] }),
  difftool: (operands, runner) =>
    runOption(operands, runner, { short: "xt", long: ["extcmd"], names: ["-x", "--extcmd"] }),
  grep: (operands, runner) =>
    runOption(operands, runner, { short: "eOfABCm", long: [], names: ["-O", "--open-files-in-pager"] }),
  clone: runPacks,
  fetch: runPacks,
  pull: runPacks,
  push: runPacks,
  "ls-remote": runPacks,
  "filter-branch": (operands, runner) =>
    runOption(operands, runner, { short: "d", long: FILTERS, names: FILTERS.map((name) => `--${name}`) }),
  config: noteSetting,
  "remote-ext": (operands, runner) => {
    runner.runWord(operands[2]);
    return operands[2] !== undefined;
  },
  shell: (operands, runner) => runOption(operands, runner, { short: "c", long: [], names: ["-c"] }),
  "for-each-repo": (operands, runner) => {
    const inner = readArguments(operands, { long: ["config"] }, { stopsEarly: true }).operands;
    runner.run([knownWord("git"), ...inner]);
    return inner.length > 0;
  },
};

const FILTERS = [
  "env-filter",
  "tree-filter",
  "index-filter",
  "parent-filter",
  "msg-filter",
  "commit-filter",
  "tag-name-filter",
  "setup",
];

function runRest(operands: readonly ShellWord[], after: string, runner: Runner): boolean {
  const at = operands.findIndex(({ value }) => value === after);
  if (at < 0) return false;
  const inner = operands.slice(at + 1).filter(({ value }, index) => !(index === 0 && value === "--recursive"));
  const text = joinWords(inner);
  if (inner.length === 1 || text === undefined)
    runner.runWord(
      inner.length === 1 ? inner[0] : { value: "", text: "", isDynamic: true, canSplit: true, isPattern: false },
    );
  else runner.run(inner);
  return inner.length > 0;
}

function runOption(
  operands: readonly ShellWord[],
  runner: Runner,
  { short, long, names }: { short: string; long: readonly string[]; names: readonly string[] },
): boolean {
  const texts = optionValues(readArguments(operands, { short, long }).options, ...names);
  for (const text of texts) runner.runWord(text);
  return texts.length > 0;
}

/** A program on the remote side. */
function runPacks(operands: readonly ShellWord[], runner: Runner): boolean {
  const { options } = readArguments(operands, {
    short: "ucobj",
    long: ["upload-pack", "receive-pack", "exec", "config", "origin", "branch", "depth"],
  });
  let carries = false;
  for (const text of optionValues(options, "--upload-pack", "--receive-pack", "--exec")) {
    runner.runWord(text);
    carries = true;
  }
  for (const setting of operands[0]?.value === "clone" ? optionValues(options, "-c", "--config") : []) {
    carries = unwrapSetting(setting, runner) || carries;
  }
  return carries;
}

/** A stored setting runs later. */
function noteSetting(operands: readonly ShellWord[], runner: Runner): boolean {
  const { operands: rest } = readArguments(operands, { short: "f", long: ["file", "type", "default"] });
  const [key, value] = rest[0]?.value === "set" ? rest.slice(1) : rest;
  if (key === undefined || value === undefined) return false;
  if (/^alias\..*/i.test(key.value) && !value.value.startsWith("!") && !value.isDynamic) return false;
  if ((/^alias\./i.test(key.value) || isRun(key.value, value.value)) && !HARMLESS.test(value.value)) {
    runner.opaque(`git would later run the value of the setting "${key.value}"`);
  }
  return false;
}
