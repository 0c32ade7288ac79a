import { hasOption, optionValues, readArguments } from "../shell/options.ts";
import type { OptionTable } from "../shell/options.ts";
import type { ShellWord, SimpleCommand } from "../shell/parsed-shell.ts";
import { findLaterPlace } from "./check-path.ts";
import type { DangerLevel } from "./command-dangers.ts";
import { isMadeAgain, isMadeAgainBelow, isOneFile, placeOf, resolveWord, withoutPattern } from "./command-places.ts";
import type { CommandGround } from "./command-places.ts";

/** What is said of one command. */
export interface Remark {
  readonly level: DangerLevel;
  readonly reason: string;
}

type Judge = (command: SimpleCommand, ground: CommandGround) => readonly Remark[];

const destructive = (reason: string): Remark => ({ level: "destructive", reason });
const risky = (reason: string): Remark => ({ level: "risky", reason });

/** Commands whose danger lies in the paths they are given. */
// oxfmt-ignore
export const DEEDS: Readonly<Record<string, Judge | undefined>> = {
  __proto__: null as never,
  rm:        judgeRemove,
  grm:       judgeRemove,
  srm:       judgeRemove,
  trash:     judgeRemove,
  rimraf:    (command, ground) => judgeDeletion(command, ground, { isDeep: true }),
  del:       judgeRemove,
  unlink:    (command, ground) => judgeDeletion(command, ground, { isDeep: false }),
  rmdir:     (command, ground) => judgeDeletion(command, ground, { isDeep: false }),
  shred:     judgeShred,
  wipe:      judgeShred,
  truncate:  (command, ground) => judgeWrites(command, ground, readArguments(command.words, { short: "sr", long: ["size", "reference"] }).operands),
  mv:        judgeMove,
  cp:        judgeCopy,
  install:   judgeCopy,
  rsync:     judgeSync,
  ln:        judgeLink,
  dd:        judgeDd,
  tee:       (command, ground) => judgeWrites(command, ground, readArguments(command.words).operands),
  sponge:    (command, ground) => judgeWrites(command, ground, readArguments(command.words).operands),
  touch:     (command, ground) => judgeWrites(command, ground, readArguments(command.words, { short: "rdt", long: ["reference", "date"] }).operands),
  mkdir:     (command, ground) => judgeWrites(command, ground, readArguments(command.words, { short: "m", long: ["mode"] }).operands),
  mkfifo:    (command, ground) => judgeWrites(command, ground, readArguments(command.words, { short: "m" }).operands),
  mknod:     () => [risky("it makes a device")],
  sed:       judgeInPlace,
  gsed:      judgeInPlace,
  perl:      judgeInPlace,
  ruby:      judgeInPlace,
  curl:      (command, ground) => judgeOutput(command, ground, { short: "oAHbcDeEKmPQrtuUwxyYzCdFTX", long: ["output"], names: ["-o", "--output", "-D", "-c"] }),
  wget:      (command, ground) => judgeOutput(command, ground, { short: "OPo", long: ["output-document", "directory-prefix"], names: ["-O", "--output-document", "-P", "-o"] }),
  tar:       (command, ground) => judgeOutput(command, ground, { short: "fCIFTX", long: ["directory"], names: ["-C", "--directory"] }),
  unzip:     (command, ground) => judgeOutput(command, ground, { short: "dxP", names: ["-d"] }),
  git:       judgeGitOutput,
  sort:      (command, ground) => judgeOutput(command, ground, { short: "kotST", long: ["output"], names: ["-o", "--output"] }),
  openssl:   (command, ground) => judgeOutput(command, ground, { isOneDash: true, long: ["out"], names: ["-out"] }),
  ed:        (command, ground) => judgeWrites(command, ground, readArguments(command.words, { short: "p" }).operands),
  ex:        (command, ground) => judgeWrites(command, ground, readArguments(command.words, { short: "cS" }).operands),
  chmod:     judgeRights,
  chown:     judgeRights,
  chgrp:     judgeRights,
  chattr:    judgeRights,
  setfacl:   judgeRights,
  kill:      judgeKill,
  tune2fs:   () => [risky("it changes a file system")],
};

const REMOVE: OptionTable = {};

function judgeRemove(command: SimpleCommand, ground: CommandGround): readonly Remark[] {
  const { options } = readArguments(command.words, REMOVE);
  if (hasOption(options, "--no-preserve-root"))
    return [destructive("it is told to delete even the top of the machine")];
  return judgeDeletion(command, ground, { isDeep: hasOption(options, "-r", "-R", "--recursive", "-d") });
}

function judgeDeletion(
  command: SimpleCommand,
  ground: CommandGround,
  { isDeep }: { isDeep: boolean },
): readonly Remark[] {
  const remarks: Remark[] = [];
  for (const word of readArguments(command.words).operands)
    remarks.push(...judgeDeleted(word, command, { ground, isDeep }));
  return remarks;
}

interface DeletionFacts {
  readonly ground: CommandGround;
  readonly isDeep: boolean;
}

function judgeDeleted(
  word: ShellWord,
  { folder }: SimpleCommand,
  { ground, isDeep }: DeletionFacts,
): readonly Remark[] {
  if (word.isDynamic) return judgeUnknownDeletion(word, isDeep);
  const full = resolveWord(word, folder, ground);
  const shown = JSON.stringify(word.value);
  if (full === undefined) return isDeep ? [risky(`it deletes ${shown} in a folder that is not known`)] : [];
  const { path, isContents } = withoutPattern(full);
  const place = placeOf(path, ground);
  if (place === "null") return [];
  const whole = WHOLE[place];
  const isWhole = whole !== undefined;
  if (isWhole && (isDeep || place === "machine" || place === "device"))
    return [destructive(`it deletes ${whole} (${shown})`)];
  if (isWhole && isContents) return [risky(`it deletes every file in a folder (${shown})`)];
  if (place === "outside" || isWhole) return [risky(`it deletes outside the workspace (${shown})`)];
  if (findLaterPlace(path, ground.roots) !== undefined) return [risky(`it deletes what runs later unasked (${shown})`)];
  if (!isDeep || (isOneFile(full) && !isContents)) return [];
  if (isMadeAgainBelow(ground.roots, path) && (folder.isCertain || !/^[.*/]*$/.test(word.value))) return [];
  return place === "scratch" && !isContents ? [] : [risky(`it deletes a whole folder (${shown})`)];
}

// oxfmt-ignore
const WHOLE: Readonly<Record<string, string>> = {
  machine:    "a part of the machine",
  home:       "a home folder",
  above:      "a folder that holds the workspace",
  root:       "the whole workspace",
  repository: "the history of the workspace",
  device:     "a device",
};

function judgeUnknownDeletion(word: ShellWord, isDeep: boolean): readonly Remark[] {
  if (!isDeep && !word.canSplit && !/^[/~]/.test(word.value)) return [];
  if (isMadeAgain(word.value)) return [];
  return [risky(`what it deletes is known only when it runs (${word.text})`)];
}

function judgeShred(command: SimpleCommand, ground: CommandGround): readonly Remark[] {
  const { operands, options } = readArguments(command.words, {
    short: "ns",
    long: ["iterations", "size", "random-source"],
  });
  if (hasOption(options, "--help", "--version")) return [];
  const isInside = operands.every((word) => {
    const path = word.isDynamic ? undefined : resolveWord(word, command.folder, ground);
    return path !== undefined && /^(?:inside|scratch)$/.test(placeOf(withoutPattern(path).path, ground));
  });
  return [
    isInside
      ? risky("what it overwrites cannot be had back")
      : destructive("it overwrites what lies outside the workspace for good"),
  ];
}

/** Whether each word may be written. Used for redirections as well. */
export function judgeWrites(
  { folder }: Pick<SimpleCommand, "folder">,
  ground: CommandGround,
  words: readonly ShellWord[],
): readonly Remark[] {
  const remarks: Remark[] = [];
  for (const word of words) {
    const full = resolveWord(word, folder, ground);
    if (full === undefined || (word.isDynamic && word.value === "")) continue;
    const shown = JSON.stringify(word.text);
    const place = placeOf(withoutPattern(full).path, ground);
    if (/^\/dev\/(?:tcp|udp)\//.test(full)) remarks.push(risky(`it opens a connection (${shown})`));
    else if (place === "device") remarks.push(destructive(`it writes to a device (${shown})`));
    else if (place === "machine" && !word.isDynamic && !/^\/(?:usr\/local|opt|tmp|var\/tmp|dev)\b/.test(full))
      remarks.push(destructive(`it writes to a part of the machine (${shown})`));
    else if (/^(?:machine|home|above|outside)$/.test(place) && full !== "/tmp" && full !== "/dev/shm")
      remarks.push(risky(`it writes outside the workspace (${shown})`));
    else if (place === "repository" || findLaterPlace(full, ground.roots) !== undefined)
      remarks.push(risky(`it changes what runs later unasked (${shown})`));
  }
  return remarks;
}

/** What is moved away is gone from where it was. */
function judgeMove(command: SimpleCommand, ground: CommandGround): readonly Remark[] {
  const { operands, options } = readArguments(command.words, { short: "tS", long: ["target-directory", "suffix"] });
  const into = optionValues(options, "-t", "--target-directory");
  const sources = into.length > 0 ? operands : operands.slice(0, -1);
  const target = into[0] ?? operands.at(-1);
  const remarks: Remark[] = [];
  for (const source of sources) {
    const full = source.isDynamic ? undefined : resolveWord(source, command.folder, ground);
    const place = full === undefined ? "inside" : placeOf(withoutPattern(full).path, ground);
    const whole = WHOLE[place];
    if (whole !== undefined) remarks.push(destructive(`it moves away ${whole} (${JSON.stringify(source.value)})`));
    else if (place === "outside")
      remarks.push(risky(`it moves away what lies outside the workspace (${JSON.stringify(source.value)})`));
    else if (full !== undefined && findLaterPlace(full, ground.roots) !== undefined)
      remarks.push(risky(`it changes what runs later unasked (${JSON.stringify(source.value)})`));
  }
  if (target?.value === "/dev/null") remarks.push(destructive("it moves files to where nothing is kept"));
  return target === undefined ? remarks : [...remarks, ...judgeWrites(command, ground, [target])];
}

function judgeCopy(command: SimpleCommand, ground: CommandGround): readonly Remark[] {
  const { operands, options } = readArguments(command.words, {
    short: "tSmog",
    long: ["target-directory", "suffix", "mode", "owner", "group"],
  });
  const target =
    optionValues(options, "-t", "--target-directory")[0] ?? (operands.length > 1 ? operands.at(-1) : undefined);
  return target === undefined ? [] : judgeWrites(command, ground, [target]);
}

function judgeSync(command: SimpleCommand, ground: CommandGround): readonly Remark[] {
  const { operands, options } = readArguments(command.words, {
    short: "efBTM",
    long: ["rsh", "exclude", "include", "filter", "files-from"],
  });
  const target = operands.length > 1 ? operands.at(-1) : undefined;
  if (target === undefined || /^[^/]+:/.test(target.value)) return [];
  const remarks = judgeWrites(command, ground, [target]);
  if (!options.some(({ name }) => /^--(?:del|delete.*)$/.test(name))) return remarks;
  return [
    ...remarks,
    ...judgeDeleted(target, command, { ground, isDeep: true }),
    risky("it deletes what is not at the other place"),
  ];
}

function judgeLink(command: SimpleCommand, ground: CommandGround): readonly Remark[] {
  const { operands } = readArguments(command.words, { short: "tS", long: ["target-directory", "suffix"] });
  return judgeWrites(command, ground, operands.length > 1 ? operands.slice(-1) : []);
}

function judgeDd(command: SimpleCommand, ground: CommandGround): readonly Remark[] {
  const targets = command.words
    .filter(({ value }) => value.startsWith("of="))
    .map((word) => ({ ...word, value: word.value.slice(3) }));
  return judgeWrites(command, ground, targets);
}

function judgeInPlace(command: SimpleCommand, ground: CommandGround): readonly Remark[] {
  const { options, operands } = readArguments(command.words, { short: "efE", long: ["expression", "file"] });
  const isInPlace = command.words.some(
    ({ value }, index) => index > 0 && /^(?:-[a-zA-Z]*i|--in-place)/.test(value) && !/^-[eE]/.test(value),
  );
  return isInPlace && options.length > 0
    ? judgeWrites(
        command,
        ground,
        operands.filter(({ value }) => /^[./~\w-]+$/.test(value)),
      )
    : [];
}

function judgeOutput(
  command: SimpleCommand,
  ground: CommandGround,
  { names, ...table }: OptionTable & { readonly names: readonly string[] },
): readonly Remark[] {
  return judgeWrites(command, ground, optionValues(readArguments(command.words, table).options, ...names));
}

/** `git diff --output=…`, `git archive -o …` and `git clone … folder` write where they are told. */
function judgeGitOutput(command: SimpleCommand, ground: CommandGround): readonly Remark[] {
  return judgeWrites(
    command,
    ground,
    optionValues(readArguments(command.words, { long: ["output"] }).options, "--output"),
  );
}

function judgeRights(command: SimpleCommand, ground: CommandGround): readonly Remark[] {
  // `chmod -x file`: the mode looks like an option.
  const words = command.words.map((word, index) =>
    index > 0 && /^-[rwxXst]+$/.test(word.value) ? { ...word, value: `a${word.value}` } : word,
  );
  const { options, operands } = readArguments(words, { long: ["reference", "from"] });
  const isDeep = hasOption(options, "-R", "--recursive");
  const remarks: Remark[] = [];
  for (const word of operands.slice(1)) {
    const full = word.isDynamic ? undefined : resolveWord(word, command.folder, ground);
    if (full === undefined) continue;
    const place = placeOf(withoutPattern(full).path, ground);
    const isMachine = place === "machine" || place === "device" || (isDeep && /^(?:home|above)$/.test(place));
    if (isMachine)
      remarks.push(destructive(`it changes who may use a part of the machine (${JSON.stringify(word.value)})`));
    else if (/^(?:home|above|outside)$/.test(place))
      remarks.push(risky(`it changes rights outside the workspace (${JSON.stringify(word.value)})`));
  }
  // Everything loses its rights: nothing in the workspace can be used any more.
  if (isDeep && /^(?:0+|a?-[rwx]+|[ugo]*=)$/.test(operands[0]?.value ?? ""))
    remarks.push(risky("it takes rights from a whole folder"));
  return remarks;
}

/** `kill -9 -1` ends all; a number is some other process; `%1` and `$!` are the shell's own. */
function judgeKill({ words }: SimpleCommand): readonly Remark[] {
  const values = words.slice(1).map(({ value }) => value);
  const isSignal = (value: string): boolean => /^-(?:[A-Za-z]+\d*|\d+|s|n)$/.test(value);
  const targets = values.filter((value, index) => !(index === 0 && isSignal(value)) && value !== "--");
  if (values[0] === "-l" || values[0] === "-L" || values[0] === "-0") return [];
  if (targets.includes("-1") || (values.length === 1 && values[0] === "-1"))
    return [destructive("it ends every process")];
  if (targets.includes("1")) return [destructive("it ends the first process of the machine")];
  return targets.some((value) => /^-?\d+$/.test(value)) ? [risky("it ends another process")] : [];
}
