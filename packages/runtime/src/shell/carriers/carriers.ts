import type { Option, OptionTable } from "../programs/options.ts";
import { hasOption, optionValues, readArguments } from "../programs/options.ts";
import type { ShellAssignment, ShellWord } from "../parsed-shell.ts";
import { isProgramName } from "../programs/program-names.ts";
import { findSubcommand, optionsOf } from "../programs/program-options.ts";
import type { PlainCommand, Runner, Unwrap } from "./runner.ts";
import { joinWords } from "./runner.ts";
import { runInput } from "./shells.ts";
import { inSingleQuotes } from "../../protocol/shell-quote.ts";

interface CarrierRow extends OptionTable {
  readonly names: readonly string[];
  /** Number of words between the options and the command: the duration of `timeout`, the folder of `chroot`. */
  readonly skip?: number;
  /** `NAME=value` may precede the command. */
  readonly takesAssignments?: boolean;
  /** Options whose value is evaluated as shell. */
  readonly runsText?: readonly string[];
  /** A single word is shell text. */
  readonly joins?: boolean;
  /** Words that must come first: `run` of `uv run`. */
  readonly after?: readonly string[];
}

/** Programs that run the rest of their words as a command. */
// oxfmt-ignore
const ROWS: readonly CarrierRow[] = [
  { names: ["sudo", "doas", "sudoedit"],       short: "ugphCcrtTUDR", long: ["user", "group", "prompt", "host", "close-from", "chdir", "chroot", "role", "type", "other-user", "command-timeout"], takesAssignments: true },
  { names: ["pkexec"],                         long: ["user"] },
  { names: ["gosu", "su-exec", "setuidgid"],   skip: 1 },
  { names: ["runuser"],                        short: "ugGcsw", long: ["user", "group", "command", "shell"], runsText: ["-c", "--command"] },
  { names: ["setpriv"],                        long: ["reuid", "regid", "groups", "inh-caps", "ambient-caps", "bounding-set", "securebits", "selinux-label"] },
  { names: ["nice"],                           short: "n", long: ["adjustment"] },
  { names: ["ionice"],                         short: "cnpPu", long: ["class", "classdata"] },
  { names: ["chrt"],                           short: "TPD", skip: 1 },
  { names: ["taskset"],                        skip: 1 },
  { names: ["numactl", "prlimit"],             short: "" },
  { names: ["nohup", "setsid", "catchsegv", "fakeroot", "unbuffer", "torsocks", "torify", "dbus-run-session", "xvfb-run", "setarch", "linux64", "linux32", "firejail", "eatmydata", "caffeinate", "noglob", "nocorrect", "-", "chronic", "ifne", "tini", "dumb-init", "catatonit", "i386", "x86_64", "uname26", "ssh-agent", "fakechroot", "dbus-launch", "wine", "box64", "with-contenv"], short: "sen" },
  { names: ["runcon"],                         short: "turlc", long: ["type", "user", "role", "range"] },
  { names: ["faketime"],                       short: "p", long: ["date-prog"], skip: 1 },
  { names: ["logsave", "setlock", "envdir", "softlimit-run", "daemonize-run"], skip: 1 },
  { names: ["chpst", "softlimit"],             short: "uUbedomnlLcfrtp/P012ast" },
  { names: ["ld.so"],                          long: ["library-path", "preload", "argv0", "audit", "inhibit-rpath", "glibc-hwcaps-prepend", "glibc-hwcaps-mask"] },
  { names: ["watchexec", "reflex", "when-changed", "onchange"], short: "efiwdsrRgNS", long: ["exts", "filter", "ignore", "watch", "delay-run", "debounce", "signal", "shell", "stop-signal", "workdir", "env", "exec"], runsText: ["--exec"], joins: true },
  { names: ["xterm", "uxterm", "urxvt", "st", "foot", "alacritty", "kitty", "konsole"], short: "TtgnW", long: ["title", "e"], joins: true },
  { names: ["proxychains", "proxychains4"],    short: "f" },
  { names: ["timeout", "gtimeout"],            short: "ks", long: ["kill-after", "signal"], skip: 1 },
  { names: ["time", "gtime"],                  short: "fo", long: ["format", "output"] },
  { names: ["stdbuf"],                         short: "ioe", long: ["input", "output", "error"] },
  { names: ["chroot"],                         long: ["userspec", "groups"], skip: 1 },
  { names: ["unshare"],                        short: "RwSGl", long: ["root", "wd", "setuid", "setgid", "propagation", "setgroups", "map-user", "map-group", "map-users", "map-groups", "monotonic", "boottime"] },
  { names: ["nsenter"],                        short: "tSGW", long: ["target", "setuid", "setgid", "wdns"] },
  { names: ["strace", "ltrace"],               short: "eopsSuIEPXOab", long: ["trace", "output", "attach", "user", "string-limit"] },
  { names: ["perf"],                           after: ["stat", "record", "trace"], short: "eorIF" },
  { names: ["valgrind", "heaptrack", "hyperfine-run"], short: "" },
  { names: ["systemd-run"],                    short: "pEudrHM", long: ["unit", "property", "description", "slice", "uid", "gid", "setenv", "working-directory", "on-active", "on-calendar", "host", "machine"] },
  { names: ["systemd-inhibit"],                long: ["what", "who", "why", "mode"] },
  { names: ["cpulimit"],                       short: "lpe", long: ["limit", "pid", "exe"] },
  { names: ["cgexec"],                         short: "g" },
  { names: ["bwrap"],                          long: ["ro-bind", "bind", "dev-bind", "proc", "dev", "tmpfs", "chdir", "setenv", "unsetenv", "symlink", "dir"] },
  { names: ["proot"],                          short: "rbwqk" },
  { names: ["rlwrap"],                         short: "fHsl" },
  { names: ["cross-env", "cross-env-shell", "dotenv", "dotenvx"], takesAssignments: true, short: "ef" },
  { names: ["busybox", "toybox"] },
  { names: ["npx", "bunx", "pnpx"],            short: "pwc", long: ["call", "package", "workspace", "cache", "registry", "userconfig"], runsText: ["-c", "--call"] },
  { names: ["uvx", "pipx-run"],                short: "p", long: ["from", "with", "python"] },
  { names: ["uv", "poetry", "pdm", "hatch", "rye", "pixi", "pipenv", "rtx", "mise", "asdf", "conda", "mamba", "micromamba"], after: ["run", "exec", "x"], short: "pnC", long: ["with", "from", "python", "package", "group", "extra", "env-file", "project", "directory", "name", "prefix"] },
  { names: ["bundle"],                         after: ["exec"] },
  { names: ["nix"],                            after: ["develop", "shell", "run"], short: "c", long: ["command"], runsText: ["-c", "--command"] },
  { names: ["direnv"],                         after: ["exec"], skip: 1 },
  { names: ["pnpm"],                           after: ["exec", "dlx"], short: "CF", long: ["filter", "dir", "package"], joins: true },
  { names: ["yarn"],                           after: ["exec", "dlx"], short: "p", long: ["cwd", "package"], joins: true },
  { names: ["bun"],                            after: ["x", "exec"], joins: true },
  { names: ["ip"],                             after: ["netns"], skip: 2 },
  { names: ["entr"],                           short: "", joins: true },
  { names: ["aws-vault"],                      after: ["exec"], skip: 1 },
  { names: ["doppler", "infisical", "op", "chamber"], after: ["run"] },
];

export const CARRIERS: readonly (readonly [string, Unwrap])[] = [
  ...ROWS.flatMap((row) => row.names.map((name) => [name, unwrapRow(row)] as const)),
  ["env", unwrapEnv],
  ["su", unwrapSu],
  ["script", unwrapOption({ short: "cEIOTBm", long: ["command"] }, "-c", "--command")],
  ["watch", unwrapText({ short: "nqs", long: ["interval"] })],
  ["npm", unwrapNpm],
  ["nix-shell", unwrapOption({ short: "pAIE", long: ["run", "command", "packages"] }, "--run", "--command")],
  ["at", unwrapSchedule],
  ["batch", unwrapSchedule],
];

function unwrapRow(row: CarrierRow): Unwrap {
  return (command, runner) => {
    let { words } = command;
    if (row.after !== undefined) {
      const known = findSubcommand(words, row.after);
      const after = row.after;
      const at = known > 0 ? known : words.findIndex(({ value }, index) => index > 0 && after.includes(value));
      if (at < 0) return false;
      words = words.slice(at);
    }
    const { firstOperand, isUnsure, options } = readArguments(words, row, { stopsEarly: true });
    const texts = row.runsText === undefined ? [] : optionValues(options, ...row.runsText);
    for (const text of [...texts, ...options.flatMap(textOfOption)]) runner.runWord(text);
    return carry(words.slice(firstOperand), { row, isUnsure, command, runner }) || texts.length > 0;
  };
}

/** An option of the carrier that starts a command: `strace -o '|sort'`, `valgrind --db-command='gdb %f'`. */
function textOfOption({ value }: Option): readonly ShellWord[] {
  if (value === undefined || value.isDynamic) return [];
  if (/^[|!]\s*\S/.test(value.value)) return [{ ...value, value: value.value.slice(1) }];
  return isProgramName(/^(\S+)\s/.exec(value.value)?.[1] ?? "") ? [value] : [];
}

function carry(
  rest: readonly ShellWord[],
  { row, isUnsure, command, runner }: { row: CarrierRow; isUnsure: boolean; command: PlainCommand; runner: Runner },
): boolean {
  const { assignments, inner } = takeAssignments(rest, row.takesAssignments === true);
  const words = inner.slice(row.skip ?? 0);
  if (words[0]?.value === "--") words.shift();
  if (isUnsure) {
    runner.opaque(`what ${runner.name} runs is known only when it runs`);
    return true;
  }
  if (row.joins === true && words.length === 1) {
    runner.runWord(words[0]);
    return true;
  }
  runner.run(words, { assignments: [...command.assignments, ...assignments] });
  return words.length > 0;
}

function takeAssignments(
  words: readonly ShellWord[],
  isAllowed: boolean,
): { readonly assignments: readonly ShellAssignment[]; readonly inner: ShellWord[] } {
  if (!isAllowed) return { assignments: [], inner: [...words] };
  const assignments: ShellAssignment[] = [];
  let at = 0;
  for (; at < words.length; at++) {
    const word = words[at];
    const name = word && /^([A-Za-z_][^=]*)=/.exec(word.value)?.[1];
    if (word === undefined || name === undefined) break;
    assignments.push({ name, value: { ...word, value: word.value.slice(name.length + 1) } });
  }
  return { assignments, inner: words.slice(at) };
}

const ENV: CarrierRow = {
  names: ["env"],
  short: "uCSP",
  long: ["unset", "chdir", "split-string"],
  takesAssignments: true,
};

/** `env -S 'rm -rf /'` splits its text much like a shell, and continues with the resulting and following words. */
function unwrapEnv(command: PlainCommand, runner: Runner): boolean {
  const { firstOperand, isUnsure } = readArguments(command.words, ENV, { stopsEarly: true });
  const split = findSplit(command.words);
  if (split === undefined) return carry(command.words.slice(firstOperand), { row: ENV, isUnsure, command, runner });
  const { text, rest } = split;
  if (text.isDynamic || rest.some(({ isDynamic }) => isDynamic)) {
    runner.opaque("what env runs is known only when it runs");
    return true;
  }
  runner.runText(`env ${[text.value, ...rest.map(({ value }) => quote(value))].join(" ")}`);
  return true;
}

/** The text that env splits, and the words after it; separate, in a cluster (`-vS`), or with its value (`-Stext`). */
function findSplit(
  words: readonly ShellWord[],
): { readonly text: ShellWord; readonly rest: readonly ShellWord[] } | undefined {
  for (const [at, word] of words.entries()) {
    if (at === 0) continue;
    const [, attached] = /^(?:-[iv0]*S|--s[a-z-]*=?)([^]*)$/.exec(word.value) ?? [];
    if (attached !== undefined) {
      const next = words[at + 1];
      if (attached !== "" || word.isDynamic) return { text: { ...word, value: attached }, rest: words.slice(at + 1) };
      return next === undefined ? undefined : { text: next, rest: words.slice(at + 2) };
    }
    if (!/^-|=/.test(word.value) && !/^(?:-[uCP]|--(?:unset|chdir))$/.test(words[at - 1]?.value ?? ""))
      return undefined;
  }
  return undefined;
}

/** The home folder stays unchanged. */
function quote(value: string): string {
  const home = /^~[\w-]*/.exec(value)?.[0] ?? "";
  return `${home}${inSingleQuotes(value.slice(home.length))}`;
}

function unwrapSu({ words }: PlainCommand, runner: Runner): boolean {
  const { options } = readArguments(words, { short: "cgGsw", long: ["command", "group", "shell"] });
  for (const text of optionValues(options, "-c", "--command")) runner.runWord(text);
  const isRead = !hasOption(options, "-c", "--command") && runner.scope.input.kind !== "none";
  return isRead ? runInput(runner) : true;
}

/** A program that runs the text of one option. */
function unwrapOption(table: OptionTable, ...names: readonly string[]): Unwrap {
  return ({ words }, runner) => {
    const texts = optionValues(readArguments(words, table).options, ...names);
    for (const text of texts) runner.runWord(text);
    return texts.length > 0;
  };
}

/** A program that joins its words and runs them as shell text. */
function unwrapText(table: OptionTable): Unwrap {
  return ({ words }, runner) => {
    const { operands, isUnsure } = readArguments(words, table, { stopsEarly: true });
    const text = isUnsure ? undefined : joinWords(operands);
    if (text === undefined) runner.opaque(`the text that ${runner.name} runs is known only when it runs`);
    else runner.runText(text);
    return operands.length > 0;
  };
}

/** `npm exec -- tool`, `npm x -c 'text'`; all other npm subcommands are its own. */
function unwrapNpm({ words }: PlainCommand, runner: Runner): boolean {
  const at = findSubcommand(words, ["exec", "x", "explore"]);
  if (at < 0) return false;
  if (words[at]?.value === "explore") {
    const end = words.findIndex(({ value }) => value === "--");
    const inner = end > at ? words.slice(end + 1) : words.slice(at + 2);
    if (inner.length === 1) runner.runWord(inner[0]);
    else runner.run(inner);
    return inner.length > 0;
  }
  const table = { short: "cpwC", long: optionsOf("npm")?.long ?? [] };
  const { options, operands } = readArguments(words.slice(at), table, { stopsEarly: true });
  for (const text of optionValues(options, "-c", "--call")) runner.runWord(text);
  runner.run(operands);
  return true;
}

function unwrapSchedule({ words }: PlainCommand, runner: Runner): boolean {
  return words.some(({ value }) => /^-[lrdcV]$/.test(value)) ? false : runInput(runner);
}
