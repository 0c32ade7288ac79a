import { isForeignProgram } from "./foreign.ts";
import { outputOfWords } from "./known-output.ts";
import { optionValues, readArguments } from "../programs/options.ts";
import type { Input, ShellWord } from "../parsed-shell.ts";
import { isPlainProgram, plainName } from "../programs/program-names.ts";
import type { PlainCommand, Runner } from "../carriers/runner.ts";
import { nameOf } from "../carriers/runner.ts";
import { FOREIGN_INPUT, UNKNOWN_INPUT } from "./scope.ts";
import type { Scope, Walk } from "./scope.ts";

/** A file by its path relative to the start, however it is written. */
function fileKey(value: string, { where }: Scope): string {
  const path = /^[/~]/.test(value) ? value : `${where.folder.path ?? "?"}/${value}`;
  const names: string[] = [];
  for (const name of path.split("/")) {
    if (name === ".." && names.length > 0 && names.at(-1) !== "..") names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  }
  return (path.startsWith("/") ? "/" : "") + names.join("/");
}

/** Records the files that a command writes, with their content as far as it is known: running one runs that content. */
export function noteWrites(command: PlainCommand, scope: Scope, walk: Walk): void {
  const { words, redirections } = command;
  const targets = redirections.filter(({ operator, target }) => /^(?:&?>>?|>\||<>)$/.test(operator) && isNamed(target));
  const write = WRITERS[nameOf(words[0])];
  if (targets.length === 0 && write === undefined) return;
  const output = targets.length === 0 ? UNKNOWN_INPUT : outputWithOrigin(words, scope);
  for (const { operator, target } of targets)
    add(walk, fileKey(target.value, scope), { input: output, isMore: operator.endsWith(">>") });
  for (const { file, input } of write?.(command, scope, walk) ?? [])
    if (isNamed(file)) add(walk, fileKey(file.value, scope), { input, isMore: false });
}

function outputWithOrigin(words: readonly ShellWord[], scope: Scope): Input {
  const output = outputOfWords(words, scope);
  const { input } = scope;
  const isForeign = isForeignProgram(nameOf(words[0])) || (input.kind === "unknown" && input.isForeign);
  return output.kind === "unknown" && isForeign ? FOREIGN_INPUT : output;
}

function isNamed({ value, isDynamic }: ShellWord): boolean {
  return !isDynamic && value !== "" && !/^\/dev\/|^\d+-?$|^-$/.test(value);
}

function add(walk: Walk, key: string, { input, isMore }: { readonly input: Input; readonly isMore: boolean }): void {
  const before = isMore ? walk.written.get(key) : undefined;
  const isJoined = before?.kind === "known" && input.kind === "known";
  const held = isJoined ? { kind: "known" as const, text: before.text + input.text } : (before ?? input);
  walk.written.set(key, isJoined || before === undefined ? held : UNKNOWN_INPUT);
  if (input.kind === "known") walk.unread.push(input.text);
}

interface Write {
  readonly file: ShellWord;
  readonly input: Input;
}

type Writer = (command: PlainCommand, scope: Scope, walk: Walk) => readonly Write[];

/** Programs that write their input, or downloads, to files named in their words. */
// oxfmt-ignore
const WRITERS: Readonly<Record<string, Writer | undefined>> = {
  __proto__: null as never,
  tee:     ({ words }, { input }) => readArguments(words).operands.map((file) => ({ file, input: heldBy(input) })),
  sponge:  ({ words }, { input }) => readArguments(words).operands.map((file) => ({ file, input: heldBy(input) })),
  dd:      ({ words }, { input }) => words.flatMap((word) => (word.value.startsWith("of=") ? [{ file: { ...word, value: word.value.slice(3) }, input: heldBy(input) }] : [])),
  cp:      copied,
  mv:      copied,
  ln:      copied,
  install: copied,
  curl:    fetched,
  wget:    fetched,
};

function heldBy(input: Input): Input {
  return input.kind === "none" ? UNKNOWN_INPUT : input;
}

/** A copy has the content of a file written before; the content of a workspace file is unknown. */
function copied({ words }: PlainCommand, scope: Scope, { written }: Walk): readonly Write[] {
  const { operands } = readArguments(words, { short: "tSmog", long: ["suffix", "mode", "owner", "group"] });
  const [source, target] = operands;
  if (source === undefined || target === undefined || operands.length > 2) return [];
  const input = source.value === "/dev/stdin" ? heldBy(scope.input) : written.get(fileKey(source.value, scope));
  if (input === undefined) return [];
  const inside = { ...target, value: `${target.value}/${nameOf(source)}` };
  return [
    { file: target, input },
    { file: inside, input },
  ];
}

function fetched({ words }: PlainCommand): readonly Write[] {
  const { options, operands } = readArguments(words, {
    short: "oOPAHbcDeEKmQrtuUwxyYzCdFTX".replace(nameOf(words[0]) === "curl" ? "O" : "o", ""),
    long: ["output", "output-document", "directory-prefix", "header", "user-agent", "request", "user"],
  });
  const named = optionValues(options, nameOf(words[0]) === "curl" ? "-o" : "-O", "--output", "--output-document");
  const isNamedByAddress =
    nameOf(words[0]) === "wget" || options.some(({ name }) => /^(?:-O|--remote-name)/.test(name));
  const last = isNamedByAddress
    ? operands.map((word) => ({ ...word, value: nameOf(word).replace(/[?#].*$/, "") }))
    : [];
  return [...named, ...last].map((file) => ({ file, input: FOREIGN_INPUT }));
}

/** The content of a file written before in the same text. */
export function writtenTo(word: ShellWord, { walk, scope }: Pick<Runner, "walk" | "scope">): Input | undefined {
  return word.isDynamic || walk.written.size === 0 ? undefined : walk.written.get(fileKey(word.value, scope));
}

/** A program that may run its input, with a file that was downloaded or decoded before. */
export function givenForeign({ words }: PlainCommand, scope: Scope, walk: Walk): string | undefined {
  if (walk.written.size === 0 || isPlainProgram(plainName(nameOf(words[0])))) return undefined;
  const found = words.slice(1).find((word) => {
    const input = writtenTo(word, { walk, scope });
    return input?.kind === "unknown" && input.isForeign;
  });
  return found === undefined ? undefined : `${nameOf(words[0])} receives a downloaded or decoded file`;
}
