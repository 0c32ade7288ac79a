import { hasOption, optionValues, readArguments } from "../../shell/programs/options.ts";
import type { OptionTable } from "../../shell/programs/options.ts";
import type { ShellWord, SimpleCommand } from "../../shell/parsed-shell.ts";
import { findLaterPlace } from "../paths/check-path.ts";
import {
  isRegenerated,
  isRegeneratedBelow,
  isOneFile,
  placeOf,
  resolveWord,
  withoutPattern,
} from "./command-places.ts";
import type { CommandGround } from "./command-places.ts";
import { destructive, judgeWrites, risky, undoable } from "./command-remarks.ts";
import type { Judge, Remark } from "./command-remarks.ts";

/** Commands that delete their operands, immediately or after storing them elsewhere. */
// oxfmt-ignore
export const DELETIONS: Readonly<Record<string, Judge>> = {
  rm:     judgeRemove,
  grm:    judgeRemove,
  srm:    judgeRemove,
  trash:  judgeRemove,
  del:    judgeRemove,
  rimraf: (command, ground) => judgeDeletion(command, ground, { isDeep: true }),
  unlink: (command, ground) => judgeDeletion(command, ground, { isDeep: false }),
  rmdir:  (command, ground) => judgeDeletion(command, ground, { isDeep: false }),
  shred:  judgeShred,
  wipe:   judgeShred,
  rsync:  judgeSync,
  tar:    judgeTar,
  gtar:   judgeTar,
  bsdtar: judgeTar,
  zip:    judgeZip,
  "7z":   judge7z,
  "7za":  judge7z,
  "7zr":  judge7z,
  "7zz":  judge7z,
  rar:    judgeRar,
};

const REMOVE: OptionTable = {};

function judgeRemove(command: SimpleCommand, ground: CommandGround): readonly Remark[] {
  const { options } = readArguments(command.words, REMOVE);
  if (hasOption(options, "--no-preserve-root")) return [destructive("it may delete the root of the file system")];
  return judgeDeletion(command, ground, { isDeep: hasOption(options, "-r", "-R", "--recursive", "-d") });
}

function judgeDeletion(
  command: SimpleCommand,
  ground: CommandGround,
  { isDeep }: { isDeep: boolean },
): readonly Remark[] {
  const facts = { ground, isDeep };
  const remarks: Remark[] = [];
  for (const word of readArguments(command.words).operands) {
    for (const remark of judgeDeleted(word, command, facts)) remarks.push(remark);
  }
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
  // Lazy: with thousands of words, most are never shown.
  const shown = (): string => JSON.stringify(word.value);
  if (full === undefined) return isDeep ? [risky(`it deletes ${shown()} in an unknown folder`)] : [];
  const { path, isContents } = withoutPattern(full);
  const place = placeOf(path, ground);
  if (place === "null") return [];
  const whole = WHOLE[place];
  const isWhole = whole !== undefined;
  if (isWhole && (isDeep || place === "machine" || place === "device"))
    return [destructive(`it deletes ${whole} (${shown()})`)];
  if (isWhole && isContents) return [risky(`it deletes every file in a folder (${shown()})`)];
  if (place === "outside" || isWhole) return [risky(`it deletes outside the workspace (${shown()})`)];
  if (findLaterPlace(path, ground) !== undefined) return [risky(`it deletes a file that runs later (${shown()})`)];
  if (!isDeep || (isOneFile(full) && !isContents)) return [];
  if (isRegeneratedBelow(ground.roots, path) && (folder.isCertain || !/^[.*/]*$/.test(word.value))) return [];
  if (place === "scratch" && !isContents) return [];
  // If a preceding `cd` failed, it would delete everything in the folder where the command began.
  const isSure = place !== "scratch" && (folder.isCertain || !/^[.*/]*$/.test(word.value));
  return [(isSure ? undoable : risky)(`it deletes a whole folder (${shown()})`)];
}

// oxfmt-ignore
export const WHOLE: Readonly<Record<string, string>> = {
  machine:    "a system path",
  home:       "a home folder",
  above:      "a folder that contains the workspace",
  root:       "the whole workspace",
  repository: "the history of the workspace",
  device:     "a device",
};

function judgeUnknownDeletion(word: ShellWord, isDeep: boolean): readonly Remark[] {
  if (!isDeep && !word.canSplit && !/^[/~]/.test(word.value)) return [];
  if (isRegenerated(word.value)) return [];
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
      ? risky("what it overwrites cannot be restored")
      : destructive("it permanently overwrites files outside the workspace"),
  ];
}

/** With these options, packed files are deleted afterwards. */
function judgePacked(command: SimpleCommand, ground: CommandGround, sources: readonly ShellWord[]): readonly Remark[] {
  return sources.flatMap((word) => judgeDeleted(word, command, { ground, isDeep: true }));
}

const TAR: OptionTable = {
  short: "fCIFTXbgKLNV",
  long: ["file", "directory", "exclude", "files-from", "exclude-from"],
};

function judgeTar(command: SimpleCommand, ground: CommandGround): readonly Remark[] {
  const { options, operands } = readArguments(command.words, TAR);
  const into = judgeWrites(command, ground, optionValues(options, "-C", "--directory"));
  if (!hasOption(options, "--remove-files")) return into;
  return [...into, ...judgePacked(command, ground, operands)];
}

function judgeZip(command: SimpleCommand, ground: CommandGround): readonly Remark[] {
  const { options, operands } = readArguments(command.words, { short: "bnPt", long: ["temp-path", "suffixes"] });
  return hasOption(options, "-m", "--move") ? judgePacked(command, ground, operands.slice(1)) : [];
}

function judge7z(command: SimpleCommand, ground: CommandGround): readonly Remark[] {
  const { operands } = readArguments(command.words);
  const isMove = command.words.some(({ value }) => /^-sdel$/i.test(value));
  const into = command.words
    .filter(({ value }) => /^-o./.test(value))
    .map((word) => ({ ...word, value: word.value.slice(2) }));
  return [...judgeWrites(command, ground, into), ...(isMove ? judgePacked(command, ground, operands.slice(2)) : [])];
}

function judgeRar(command: SimpleCommand, ground: CommandGround): readonly Remark[] {
  const { operands } = readArguments(command.words);
  const isMove =
    operands[0]?.value.startsWith("m") === true || command.words.some(({ value }) => /^-d[fw]$/i.test(value));
  return isMove ? judgePacked(command, ground, operands.slice(2)) : [];
}

function judgeSync(command: SimpleCommand, ground: CommandGround): readonly Remark[] {
  const { operands, options } = readArguments(command.words, {
    short: "efBTM",
    long: ["rsh", "exclude", "include", "filter", "files-from"],
  });
  const moved = hasOption(options, "--remove-source-files", "--remove-sent-files") ? operands.slice(0, -1) : [];
  const gone = judgePacked(
    command,
    ground,
    moved.filter(({ value }) => !/^[^/]+:/.test(value)),
  );
  const target = operands.length > 1 ? operands.at(-1) : undefined;
  if (target === undefined || /^[^/]+:/.test(target.value)) return gone;
  const remarks = [...gone, ...judgeWrites(command, ground, [target])];
  if (!options.some(({ name }) => /^--(?:del|delete.*)$/.test(name))) return remarks;
  return [
    ...remarks,
    ...judgeDeleted(target, command, { ground, isDeep: true }),
    undoable("it deletes files that the source does not have"),
  ];
}
