import type { OptionTable } from "../programs/options.ts";
import { hasOption, optionValues, readArguments } from "../programs/options.ts";
import { knownWord } from "../parsed-shell.ts";
import type { ShellWord } from "../parsed-shell.ts";
import { baseName, isPlainProgram, isProgramName, plainName } from "../programs/program-names.ts";
import type { Runner, Unwrap } from "./runner.ts";
import { UNKNOWN_INPUT } from "../evaluation/scope.ts";

interface OptionRow extends OptionTable {
  readonly names: readonly string[];
  /** Options whose value is run. */
  readonly runs: readonly string[];
  /** Prefix of the command inside the value. */
  readonly after?: RegExp;
}

/**
 * Programs that do something else, with an option that names a program to run. Each row follows the manual of its
 * program: GNU coreutils (sort, split, install), GNU tar, cpio and mt, diffutils (sdiff, diff3), rsync(1), man(1),
 * zip(1), wget(1), aria2c(1), tcpdump(8), scp(1), rpm(8), gpg(1), nano(1), gcc(1), hg(1), `svn help`, `borg help`,
 * `restic help` and the guides of ripgrep, ugrep, ack, ag, bat, delta, fzf and yt-dlp.
 */
// oxfmt-ignore
const ROWS: readonly OptionRow[] = [
  { names: ["tar", "gtar", "bsdtar"],    runs: ["--to-command", "-I", "--use-compress-program", "-F", "--info-script", "--new-volume-script", "--rsh-command", "--rmt-command"], short: "fCIFTXbgKLNV", long: ["to-command", "use-compress-program", "info-script", "new-volume-script", "rsh-command", "rmt-command", "file", "directory", "checkpoint-action"] },
  { names: ["tar", "gtar", "bsdtar"],    runs: ["--checkpoint-action"], after: /^exec=/, short: "fCIFTXbgKLNV", long: ["checkpoint-action"] },
  { names: ["cpio", "mt"],               runs: ["--rsh-command", "--rmt-command"], short: "CFHMORfIE", long: ["rsh-command", "rmt-command"] },
  { names: ["rsync"],                    runs: ["-e", "--rsh", "--rsync-path"], short: "efBTM", long: ["rsh", "rsync-path"] },
  { names: ["rg"],                       runs: ["--pre", "--hostname-bin"], short: "ABCegfjmrtTM", long: ["pre", "hostname-bin"] },
  { names: ["ugrep", "ug"],              runs: ["--pager", "--view"], short: "ABCegfjmrtTMOQ", long: ["pager", "view", "filter"] },
  { names: ["ugrep", "ug"],              runs: ["--filter"], after: /^[^:]*:/, short: "ABCegfjmrtTMOQ", long: ["filter"] },
  { names: ["ack", "ag", "bat", "batcat", "delta", "colordiff"], runs: ["--pager", "--detect-dark-light-command"], short: "ABCmHlrn", long: ["pager"] },
  { names: ["sort", "gsort"],            runs: ["--compress-program"], short: "kotST", long: ["compress-program"] },
  { names: ["split", "gsplit"],          runs: ["--filter"], short: "abCln", long: ["filter"] },
  { names: ["install", "ginstall"],      runs: ["--strip-program"], short: "gmoSt", long: ["strip-program", "mode", "owner", "group", "suffix", "target-directory"] },
  { names: ["sdiff", "diff3"],           runs: ["--diff-program"], short: "IWwoL", long: ["diff-program"] },
  { names: ["man"],                      runs: ["-P", "--pager", "-H", "--html", "--browser"], short: "PMSeHCLmR", long: ["pager"] },
  { names: ["rpm"],                      runs: ["--pipe"], long: ["pipe"] },
  { names: ["rpm", "rpmbuild", "rpmspec"], runs: ["-E", "--eval"], after: /^[^]*?%\(/, short: "E", long: ["eval"] },
  { names: ["fzf", "sk"],                runs: ["--preview"], long: ["preview", "bind"] },
  { names: ["fzf", "sk"],                runs: ["--bind"], after: /^[^]*?(?:execute(?:-silent)?|become|reload|transform)[([:{]/, long: ["preview", "bind"] },
  { names: ["sk"],                       runs: ["-c", "--cmd"], short: "cpqtnd", long: ["cmd"] },
  { names: ["zip"],                      runs: ["-TT", "--unzip-command"], short: "", isOneDash: true, long: ["TT", "unzip-command"] },
  { names: ["tcpdump"],                  runs: ["-z"], short: "zwrciCsGWFyEmU" },
  { names: ["wget"],                     runs: ["--use-askpass"], short: "OPoUtTQe", long: ["use-askpass", "execute", "output-document", "directory-prefix"] },
  { names: ["wget"],                     runs: ["-e", "--execute"], after: /^\s*use[-_]?askpass\s*=\s*/i, short: "OPoUtTQe", long: ["execute"] },
  { names: ["aria2c"],                   runs: ["--on-download-start", "--on-download-complete", "--on-download-error", "--on-download-pause", "--on-download-stop", "--on-bt-download-complete"], short: "doijsxZ", long: ["on-download-start", "on-download-complete", "on-download-error", "on-download-pause", "on-download-stop", "on-bt-download-complete"] },
  { names: ["yt-dlp", "youtube-dl"],     runs: ["--exec", "--exec-before-download", "--downloader", "--external-downloader", "--netrc-cmd"], short: "foPNIarSu", long: ["exec", "exec-before-download", "downloader", "external-downloader", "netrc-cmd"] },
  { names: ["sshfs", "scp", "sftp"],     runs: ["-S"], short: "ScFiJlPoX" },
  { names: ["scp", "sftp", "sshfs"],     runs: ["-o"], after: /^(?:Proxy|Local|KnownHosts)Command[= ]/i, short: "ScFiJlPoX" },
  { names: ["gpg", "gpg2", "gpgsm"],     runs: ["--agent-program", "--dirmngr-program", "--keyboxd-program", "--photo-viewer", "--pinentry-program"], short: "ruo", long: ["agent-program", "dirmngr-program", "keyboxd-program", "photo-viewer", "pinentry-program", "recipient", "local-user", "output"] },
  { names: ["nano", "pico", "rnano"],    runs: ["-s", "--speller"], short: "sCQTrXYof", long: ["speller"] },
  { names: ["gcc", "g++", "cc", "c++", "gfortran"], runs: ["-wrapper"], isOneDash: true, long: ["wrapper", "o", "x", "I", "L", "D"] },
  { names: ["hg", "chg"],                runs: ["--config"], after: /^(?:hooks|alias|merge-tools|extdiff|extensions)\.[^=]*=!?|^(?:ui\.(?:ssh|editor|merge|remotecmd)|pager\.pager)=/i, short: "R", long: ["config", "repository", "cwd"] },
  { names: ["hg", "chg"],                runs: ["-e", "--ssh", "--remotecmd"], short: "eR", long: ["ssh", "remotecmd"] },
  { names: ["svn"],                      runs: ["--diff-cmd", "--diff3-cmd", "--editor-cmd"], short: "rmFNcx", long: ["diff-cmd", "diff3-cmd", "editor-cmd"] },
  { names: ["svn"],                      runs: ["--config-option"], after: /^[^:]*:(?:helpers|tunnels):[^=]*=/i, short: "rmFNcx", long: ["config-option"] },
  { names: ["borg"],                     runs: ["--rsh", "--remote-path"], long: ["rsh", "remote-path"] },
  { names: ["restic"],                   runs: ["--password-command"], short: "ropk", long: ["password-command", "repo", "option"] },
  { names: ["restic"],                   runs: ["-o", "--option"], after: /^(?:sftp\.command|rclone\.program)=/, short: "ropk", long: ["option"] },
];

/** Everyday programs in the rows: a rule for one of them does not cover every command. */
// oxfmt-ignore
export const EVERYDAY_BY_OPTION: readonly string[] = [
  "install", "ginstall", "gcc", "g++", "cc", "c++", "gfortran", "hg", "svn", "gpg", "gpg2", "nano", "groff", "ack", "ag", "bat", "batcat", "delta", "sdiff", "diff3", "yq", "java", "curl", "openssl", "clang", "clang++",
];

/**
 * Programs commonly named by such an option, besides read-only ones: compressors, connections, converters. Anything
 * else is unexpected there and needs approval.
 */
// oxfmt-ignore
const USUAL = new Set([
  "gzip", "pigz", "bzip2", "pbzip2", "lbzip2", "bzip3", "xz", "pixz", "lzma", "lzip", "plzip", "lzop", "zstd", "zstdmt", "pzstd", "lz4", "brotli", "compress", "7z", "unzip", "ssh", "rsync", "strip", "diff", "colordiff",
  "pdftotext", "pandoc", "exiftool", "antiword", "catdoc", "docx2txt", "odt2txt", "zcat", "ffmpeg", "aria2c", "curl", "wget", "true", "false", "never", "ccache", "sccache", "distcc", "icecc",
]);

function isUsual(text: string): boolean {
  const base = plainName(baseName(/^\s*(?:\w+=\S*\s+)*(\S*)/.exec(text)?.[1] ?? ""));
  return USUAL.has(base) || (isPlainProgram(base) && !isProgramName(base));
}

interface FlagRow extends OptionTable {
  readonly names: readonly string[];
  /** Options that make the program run commands from its input, or load code into itself. */
  readonly flags: readonly string[];
  /** The values that do so. */
  readonly value?: RegExp;
  readonly why: string;
}

const LIBRARY = /[/\\]|\.so\b|\.dylib$/;

/** groff(1) and troff(1), the manuals of Ghostscript, yq, OpenSSL, curl, gcc, Java and man(1). */
// oxfmt-ignore
const FLAGS: readonly FlagRow[] = [
  { names: ["groff", "troff", "gtroff", "pic", "gpic"], flags: ["-U"], short: "dDfFIKLmMnoPrTwW", why: "it runs commands named in the text that it formats" },
  { names: ["groff"],                    flags: ["-F"], short: "dDfFIKLmMnoPrTwW", why: "it runs programs named in a device description" },
  { names: ["gs", "ghostscript"],        flags: ["-dNOSAFER", "-dDELAYSAFER", "--permit-file-all"], isOneDash: true, why: "it lets a document run programs" },
  { names: ["gs", "ghostscript"],        flags: ["-dSAFER"], value: /^(?:false|0)$/i, isOneDash: true, why: "it lets a document run programs" },
  { names: ["dvips"],                    flags: ["-R0"], isOneDash: true, why: "it lets a document run programs" },
  { names: ["rpm", "rpmbuild", "rpmspec"], flags: ["-E", "--eval", "-D", "--define"], value: /%\{lua:/, short: "ED", long: ["eval", "define"], why: "it runs code in an expression" },
  { names: ["yq"],                       flags: ["--security-enable-system-operator"], why: "it lets an expression run programs" },
  { names: ["man"],                      flags: ["-C", "--config-file"], short: "PMSeHCLmR", long: ["config-file"], why: "it runs programs named in a settings file" },
  { names: ["openssl"],                  flags: ["-engine", "-provider", "-provider-path", "-provider_path"], value: LIBRARY, isOneDash: true, long: ["engine", "provider", "provider-path"], why: "it loads a library into itself" },
  { names: ["curl"],                     flags: ["--engine"], value: LIBRARY, long: ["engine"], why: "it loads a library into itself" },
  { names: ["gcc", "g++", "cc", "c++", "gfortran", "clang", "clang++"], flags: ["-fplugin", "-fpass-plugin"], isOneDash: true, why: "it loads a library into itself" },
  { names: ["java"],                     flags: ["-XX:OnOutOfMemoryError", "-XX:OnError"], isOneDash: true, why: "it runs a command when it fails" },
];

const rowsByName = new Map<string, OptionRow[]>();
for (const row of ROWS) for (const name of row.names) rowsByName.set(name, [...(rowsByName.get(name) ?? []), row]);
for (const { names } of FLAGS) for (const name of names) rowsByName.set(name, rowsByName.get(name) ?? []);

export const OPTION_CARRIERS: readonly (readonly [string, Unwrap])[] = [
  ...[...rowsByName].map(([name, rows]) => [name, unwrapRows(rows)] as const),
  ["less", unwrapLess],
  ["more", unwrapPlus],
];

/** Keys of a file or a text that may run commands. */
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
      const long = [...(table.long ?? []), ...shortened(command.words, runs)];
      for (const value of optionValues(readArguments(command.words, { ...table, long }).options, ...runs)) {
        if (after !== undefined && !after.test(value.value)) continue;
        // Started by a program, with pipes to it.
        runner.scope.input = UNKNOWN_INPUT;
        runNamed(after === undefined ? value : cut(value, after), runner);
        carries = true;
      }
    }
    noteFlags(command.words, runner);
    return carries;
  };
}

/** Abbreviated options, as GNU programs allow: `sort --compress-prog x`. */
function shortened(words: readonly ShellWord[], runs: readonly string[]): readonly string[] {
  return words
    .filter(({ value }) => value.startsWith("--") && hasOption([{ name: value }], ...runs))
    .map(({ value }) => value.slice(2));
}

/** A program named by an option; the words of `-wrapper sh,-c,text` are separated by commas. */
function runNamed(word: ShellWord, runner: Runner): void {
  const words = word.isDynamic ? [word.value] : word.value.split(",");
  if (!word.isDynamic && !isUsual(words[0] ?? ""))
    runner.opaque(`${runner.name} runs the program that an option names`);
  if (words.length > 1 && !/\s/.test(words[0] ?? "")) runner.run(words.map((each) => knownWord(each)));
  else runner.runWord(word);
}

function noteFlags(words: readonly ShellWord[], runner: Runner): void {
  const name = plainName(runner.name);
  for (const { names, flags, value, why, ...table } of FLAGS) {
    if (!names.includes(name)) continue;
    const { options } = readArguments(words, table);
    const given = options.filter((option) => flags.includes(option.name));
    if (given.some((option) => value === undefined || value.test(option.value?.value ?? ""))) runner.opaque(why);
  }
}

function cut(word: ShellWord, before: RegExp): ShellWord {
  return { ...word, value: word.value.replace(before, "") };
}

/** `vim +'!text'`, `less +!text`: a command that runs when the program starts. */
function unwrapPlus({ words }: Parameters<Unwrap>[0], runner: Parameters<Unwrap>[1]): boolean {
  const texts = words.filter(({ value }) => /^\+:?\s*(?:sil(?:ent)?!?\s+)?%?!/.test(value));
  for (const text of texts) runNamed(cut(text, /^[^!]*(?:silent!?\s+%?)?!/), runner);
  return texts.length > 0;
}
