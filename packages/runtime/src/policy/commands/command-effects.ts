import { hasOption, optionValues, readArguments } from "../../shell/programs/options.ts";
import type { OptionTable } from "../../shell/programs/options.ts";
import type { SimpleCommand } from "../../shell/parsed-shell.ts";
import { findLaterPlace } from "../paths/check-path.ts";
import { DELETIONS, WHOLE } from "./command-deletions.ts";
import { placeOf, resolveWord, withoutPattern } from "./command-places.ts";
import type { CommandGround } from "./command-places.ts";
import { destructive, judgeWrites, risky, undoable } from "./command-remarks.ts";
import type { Judge, Remark } from "./command-remarks.ts";

/** Commands whose danger depends on their path arguments. */
// oxfmt-ignore
export const COMMAND_EFFECTS: Readonly<Record<string, Judge | undefined>> = {
  __proto__: null as never,
  ...DELETIONS,
  truncate:  (command, ground) => judgeWrites(command, ground, readArguments(command.words, { short: "sr", long: ["size", "reference"] }).operands),
  mv:        judgeMove,
  cp:        judgeCopy,
  install:   judgeCopy,
  ln:        judgeLink,
  dd:        judgeDd,
  tee:       (command, ground) => judgeWrites(command, ground, readArguments(command.words).operands),
  sponge:    (command, ground) => judgeWrites(command, ground, readArguments(command.words).operands),
  touch:     (command, ground) => judgeWrites(command, ground, readArguments(command.words, { short: "rdt", long: ["reference", "date"] }).operands),
  mkdir:     (command, ground) => judgeWrites(command, ground, readArguments(command.words, { short: "m", long: ["mode"] }).operands),
  mkfifo:    (command, ground) => judgeWrites(command, ground, readArguments(command.words, { short: "m" }).operands),
  mknod:     () => [risky("it creates a device")],
  sed:       judgeInPlace,
  gsed:      judgeInPlace,
  perl:      judgeInPlace,
  ruby:      judgeInPlace,
  curl:      (command, ground) => judgeOutput(command, ground, { short: "oAHbcDeEKmPQrtuUwxyYzCdFTX", long: ["output"], names: ["-o", "--output", "-D", "-c"] }),
  wget:      (command, ground) => judgeOutput(command, ground, { short: "OPo", long: ["output-document", "directory-prefix"], names: ["-O", "--output-document", "-P", "-o"] }),
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

/** Moving a file away removes it from its place. */
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
    if (whole !== undefined) remarks.push(destructive(`it moves ${whole} (${JSON.stringify(source.value)})`));
    else if (place === "outside")
      remarks.push(risky(`it moves files from outside the workspace (${JSON.stringify(source.value)})`));
    else if (full !== undefined && findLaterPlace(full, ground) !== undefined)
      remarks.push(risky(`it changes what runs later without approval (${JSON.stringify(source.value)})`));
  }
  if (target?.value === "/dev/null") remarks.push(destructive("it moves files to /dev/null"));
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

const PLAIN_PATH = /^[./~\w-]+$/;
/**
 * A path with unusual characters. A script in the place of a file has one of those excluded here, or begins like `s/`
 * or `/`.
 */
const ODD_PATH = /^(?![sy]?[/|#,;])[^,;{}|#\\()^&"'`<>\n]+$/;

function judgeInPlace(command: SimpleCommand, ground: CommandGround): readonly Remark[] {
  const isSed = command.words.some(({ value }, index) => index === 0 && value.endsWith("sed"));
  const table = { short: isSed ? "efl" : "efE", long: ["expression", "file", "line-length"] };
  const { options, operands } = readArguments(command.words, table);
  const isScript = isSed && !hasOption(options, "-e", "-f", "--expression", "--file");
  const isInPlace = command.words.some(
    ({ value }, index) => index > 0 && /^(?:-[a-zA-Z]*i|--in-place)/.test(value) && !/^-[eE]/.test(value),
  );
  return isInPlace && options.length > 0
    ? judgeWrites(
        command,
        ground,
        operands.slice(isScript ? 1 : 0).filter(({ value }) => PLAIN_PATH.test(value) || ODD_PATH.test(value)),
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

/** `git diff --output=…`, `git archive -o …` and `git clone … folder` write to the given path. */
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
    if (isMachine) remarks.push(destructive(`it changes permissions of a system path (${JSON.stringify(word.value)})`));
    else if (/^(?:home|above|outside)$/.test(place))
      remarks.push(risky(`it changes permissions outside the workspace (${JSON.stringify(word.value)})`));
  }
  // Everything loses its permissions, so the workspace becomes unusable.
  if (isDeep && /^(?:0+|a?-[rwx]+|[ugo]*=)$/.test(operands[0]?.value ?? "")) {
    const isWhole = operands.slice(1).some((word) => /^(?:\.\/?|\*)$/.test(word.value));
    remarks.push((isWhole ? risky : undoable)("it removes permissions from a whole folder"));
  }
  return remarks;
}

/** `kill -9 -1` kills everything; a number is some other process; `%1` and `$!` are the shell's own. */
function judgeKill({ words }: SimpleCommand): readonly Remark[] {
  const values = words.slice(1).map(({ value }) => value);
  const isSignal = (value: string): boolean => /^-(?:[A-Za-z]+\d*|\d+|s|n)$/.test(value);
  const targets = values.filter((value, index) => !(index === 0 && isSignal(value)) && value !== "--");
  if (values[0] === "-l" || values[0] === "-L" || values[0] === "-0") return [];
  if (targets.includes("-1") || (values.length === 1 && values[0] === "-1"))
    return [destructive("it kills every process")];
  if (targets.includes("1")) return [destructive("it kills process 1")];
  return targets.some((value) => /^-?\d+$/.test(value)) ? [risky("it kills another process")] : [];
}
