import type { OptionTable } from "./options.ts";
import { optionValues, readArguments } from "./options.ts";
import type { ShellWord } from "./parsed-shell.ts";
import type { Unwrap } from "./runner.ts";
import { UNKNOWN_INPUT } from "./scope.ts";

interface OptionRow extends OptionTable {
  readonly names: readonly string[];
  /** Options whose value is run. */
  readonly runs: readonly string[];
  /** What stands before the command inside the value. */
  readonly after?: RegExp;
}

/** Programs with an option that runs something. */
// oxfmt-ignore
const ROWS: readonly OptionRow[] = [
  { names: ["tar", "gtar", "bsdtar"],    runs: ["--to-command", "-I", "--use-compress-program", "-F", "--info-script", "--new-volume-script", "--rsh-command", "--rmt-command"], short: "fCIFTXbgKLNV", long: ["to-command", "use-compress-program", "info-script", "new-volume-script", "rsh-command", "file", "directory", "checkpoint-action"] },
  { names: ["tar", "gtar", "bsdtar"],    runs: ["--checkpoint-action"], after: /^exec=/, short: "fCIFTXbgKLNV", long: ["checkpoint-action"] },
  { names: ["rsync"],                    runs: ["-e", "--rsh", "--rsync-path"], short: "efBTM", long: ["rsh", "rsync-path"] },
  { names: ["rg"],                       runs: ["--pre", "--hostname-bin"], short: "ABCegfjmrtTM", long: ["pre", "hostname-bin"] },
  { names: ["ugrep", "ug"],              runs: ["--pager", "--view"], short: "ABCegfjmrtTMOQ", long: ["pager", "view", "filter"] },
  { names: ["ugrep", "ug"],              runs: ["--filter"], after: /^[^:]*:/, short: "ABCegfjmrtTMOQ", long: ["filter"] },
  { names: ["sort"],                     runs: ["--compress-program"], short: "kotST", long: ["compress-program"] },
  { names: ["split"],                    runs: ["--filter"], short: "abCln", long: ["filter"] },
  { names: ["man"],                      runs: ["-P", "--pager", "-H", "--html", "--browser"], short: "PMSeHCLmR", long: ["pager"] },
  { names: ["rpm"],                      runs: ["--pipe"], long: ["pipe"] },
  { names: ["rpm", "rpmbuild", "rpmspec"], runs: ["-E", "--eval"], after: /^[^]*?%\(/, short: "E", long: ["eval"] },
  { names: ["fzf", "sk"],                runs: ["--preview"], long: ["preview", "bind"] },
  { names: ["fzf", "sk"],                runs: ["--bind"], after: /^[^]*?(?:execute(?:-silent)?|become|reload|transform)[([:{]/, long: ["preview", "bind"] },
  { names: ["zip"],                      runs: ["-TT", "--unzip-command"], short: "", isOneDash: true, long: ["TT", "unzip-command"] },
  { names: ["tcpdump"],                  runs: ["-z"], short: "zwrciCsGWFyEmU" },
  { names: ["wget"],                     runs: ["--use-askpass"], long: ["use-askpass"] },
  { names: ["sshfs", "scp", "sftp"],     runs: ["-S"], short: "ScFiJlPoX" },
  { names: ["scp", "sftp", "sshfs"],     runs: ["-o"], after: /^(?:Proxy|Local)Command[= ]/i, short: "ScFiJlPoX" },
];

const rowsByName = new Map<string, OptionRow[]>();
for (const row of ROWS) for (const name of row.names) rowsByName.set(name, [...(rowsByName.get(name) ?? []), row]);

export const OPTION_CARRIERS: readonly (readonly [string, Unwrap])[] = [
  ...[...rowsByName].map(([name, rows]) => [name, unwrapRows(rows)] as const),
  ["less", unwrapLess],
  ["more", unwrapPlus],
];

/** Keys of a file or a text of keys may run commands. */
const LESS_KEYS = /^(?:-[A-Za-z~]*k|--lesskey-)/;

function unwrapLess(command: Parameters<Unwrap>[0], runner: Parameters<Unwrap>[1]): boolean {
  const keys = command.words.find(({ value }, at) => at > 0 && LESS_KEYS.test(value));
  if (keys !== undefined) {
    runner.opaque("what its keys run is known only when it runs");
    runner.mention(keys.value.replace(/^[^=]*=/, ""));
  }
  return unwrapPlus(command, runner);
}

function unwrapRows(rows: readonly OptionRow[]): Unwrap {
  return (command, runner) => {
    let carries = unwrapPlus(command, runner);
    for (const { runs, after, ...table } of rows) {
      for (const value of optionValues(readArguments(command.words, table).options, ...runs)) {
        if (after !== undefined && !after.test(value.value)) continue;
        // It is started by a program, with pipes to it.
        runner.scope.input = UNKNOWN_INPUT;
        runner.runWord(after === undefined ? value : cut(value, after));
        carries = true;
      }
    }
    return carries;
  };
}

function cut(word: ShellWord, before: RegExp): ShellWord {
  return { ...word, value: word.value.replace(before, "") };
}

/** `vim +'!text'`, `less +!text`: a command that runs when the program starts. */
function unwrapPlus({ words }: Parameters<Unwrap>[0], runner: Parameters<Unwrap>[1]): boolean {
  const texts = words.filter(({ value }) => /^\+:?\s*(?:sil(?:ent)?!?\s+)?%?!/.test(value));
  for (const text of texts) runner.runWord(cut(text, /^[^!]*(?:silent!?\s+%?)?!/));
  return texts.length > 0;
}
