import type { CommandBounds } from "../../protocol/approval.ts";
import { isInside } from "../../paths/inside.ts";
import { readArguments } from "../../shell/programs/options.ts";
import type { ShellWord, SimpleCommand } from "../../shell/parsed-shell.ts";
import { optionsOf } from "../../shell/programs/program-options.ts";
import { judgePlace } from "../paths/check-path.ts";
import type { NamedCommand, Places } from "../facts.ts";
import { harmlessWords } from "../commands/harmless-options.ts";

type BoundWord = CommandBounds["words"][number];
type Slot = NonNullable<BoundWord["slot"]>;

/** Programs that only read the paths among their operands, unless an option makes them do more. */
// oxfmt-ignore
const READERS = new Set([
  "cat", "head", "tail", "wc", "nl", "tac", "rev", "od", "hexdump", "strings", "stat", "file", "ls", "dir", "du", "tree", "diff", "cmp", "comm", "cksum",
  "md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "base64",
  "eslint", "prettier", "tsc", "jest", "vitest", "mocha", "pytest", "mypy", "ruff", "flake8", "oxlint", "biome", "gofmt",
  "shellcheck", "rubocop",
]);
/** The first operand is the search pattern. */
const SEARCHERS = new Set(["grep", "egrep", "fgrep", "rg"]);
/** They change their operands, so only the folder of the approved command is covered. */
const WRITERS = new Set(["touch", "mkdir", "cp", "tee", "black", "rustfmt"]);
/** The first operand is a subcommand, so it must match exactly. */
const WITH_SUBCOMMAND = new Set(["vitest", "ruff", "biome"]);

/** Which operands of a command may differ. The rest must match exactly. */
function slotOf(program: string, operand: string, index: number): Slot | undefined {
  if (program === "curl") return /^https?:/i.test(operand) ? "address" : undefined;
  if (index === 0 && WITH_SUBCOMMAND.has(program)) return undefined;
  if (SEARCHERS.has(program)) return index === 0 ? "text" : "path";
  return READERS.has(program) || WRITERS.has(program) ? "path" : undefined;
}

/** A command prepared for comparison: its words in order, with words that may differ replaced by slots. */
interface Shape {
  readonly program: string;
  readonly words: readonly BoundWord[];
  /** The words in each kind of slot. */
  readonly given: Readonly<Record<Slot, readonly ShellWord[]>>;
}

/** Words that can be compared: plain ones, of a program that is found by its name. */
function isComparable({ words, assignments, redirections, folder, isCarrier }: SimpleCommand): boolean {
  const [name] = words;
  if (name === undefined || isCarrier || assignments.length + redirections.length > 0 || folder.path !== ".")
    return false;
  return !name.value.includes("/") && words.every(({ isDynamic, isPattern }) => !isDynamic && !isPattern);
}

/**
 * With `isOpen`, words may be slots. Not next to options that are not harmless: their values would look like operands.
 */
function shapeOf(command: SimpleCommand, isOpen: boolean): Shape | undefined {
  if (!isComparable(command)) return undefined;
  const [program = "", ...rest] = command.words.map(({ value }) => value);
  const kept = keptWords(command.words);
  const hasOptions = kept.some(({ isOption }) => isOption);
  const isOpenTo = (slot: Slot): boolean => (slot === "address" ? !isNamedByAddress(rest) : !hasOptions);
  const words: BoundWord[] = [{ word: program }];
  const given: Record<Slot, ShellWord[]> = { path: [], address: [], text: [] };
  let operands = 0;
  for (const { at, isOption } of kept) {
    const word = command.words[at] as ShellWord;
    const slot = isOption || !isOpen ? undefined : slotOf(program, word.value, operands++);
    if (slot === undefined || !isOpenTo(slot)) {
      words.push({ word: word.value });
      continue;
    }
    given[slot].push(word);
    // Any number of them.
    if (words.at(-1)?.slot !== slot) words.push({ slot });
  }
  return { program, words, given };
}

/** A download is stored under the last name of its URL, so another URL writes another file. */
function isNamedByAddress(rest: readonly string[]): boolean {
  return rest.some((value) => /^-[a-zA-Z]*[OJ]|^--remote/.test(value));
}

/** The indexes of the words after the program, without harmless options. */
function keptWords(words: readonly ShellWord[]): readonly { readonly at: number; readonly isOption: boolean }[] {
  const [program = "", ...rest] = words.map(({ value }) => value);
  const { operands } = readArguments(words, optionsOf(program), { stopsEarly: true });
  const subcommand = operands[0]?.value ?? "";
  const end = rest.indexOf("--");
  const kept: { at: number; isOption: boolean }[] = [];
  let next = 0;
  for (const [at, value] of rest.entries()) {
    if (at < next) continue; // the value of a harmless option
    // After `--` nothing is an option.
    const isOption = value.startsWith("-") && value !== "-" && (end < 0 || at <= end);
    const skipped = isOption ? harmlessWords([value, rest[at + 1]], [program, subcommand]) : 0;
    if (skipped > 0) next = at + skipped;
    else kept.push({ at: at + 1, isOption });
  }
  return kept;
}

/**
 * What a lasting approval of a command is bound to: the program, its subcommands, operands and options, exactly. Only
 * options that change nothing but the output, paths in one folder, addresses on one host and the search text may
 * differ. Undefined if that cannot be determined.
 */
export function boundsOf(command: SimpleCommand, named: NamedCommand, workspace: Places): CommandBounds | undefined {
  const shape = shapeOf(command, named.verdict.findings.length === 0);
  if (shape === undefined) return undefined;
  const { path, address } = shape.given;
  const bounds = { folder: named.folder, words: [...shape.words] };
  if (address.length > 0) {
    const [origin, ...others] = new Set(address.map(({ value }) => originOf(value)));
    return origin === undefined || others.length > 0 ? undefined : { ...bounds, origin };
  }
  if (path.length === 0) return bounds;
  const reals = realsOf(path, command, named);
  const isChanged = WRITERS.has(shape.program);
  const holds = (root: string): boolean => reals.every((real) => isInside(root, real));
  const below = isChanged ? commonParent(reals) : workspace.roots.find(holds);
  return below !== undefined && areOpen(reals, below, workspace) ? { ...bounds, below } : undefined;
}

/** Whether a command stays within the bounds of an approval. */
export function isWithin(bounds: CommandBounds, named: NamedCommand, workspace: Places): boolean {
  const [command, ...others] = named.parsed.commands;
  if (command === undefined || others.length > 0 || named.parsed.opaque.length > 0) return false;
  const isOpen = bounds.words.some(({ slot }) => slot !== undefined);
  const shape = shapeOf(command, isOpen);
  if (shape === undefined || named.folder !== bounds.folder) return false;
  if (JSON.stringify(shape.words) !== JSON.stringify(bounds.words)) return false;
  const { path, address } = shape.given;
  const { below, origin } = bounds;
  if (path.length > 0 && (below === undefined || !areOpen(realsOf(path, command, named), below, workspace)))
    return false;
  return address.every(({ value }) => origin !== undefined && originOf(value) === origin);
}

function realsOf(words: readonly ShellWord[], command: SimpleCommand, { places }: NamedCommand): readonly string[] {
  const texts = new Set(words.map(({ text }) => text));
  return places.filter((each) => each.command === command && texts.has(each.shown)).map(({ real }) => real);
}

/** Below the folder, in the roots, and not closed to tools. */
function areOpen(reals: readonly string[], below: string, workspace: Places): boolean {
  return reals.every((real) => isInside(below, real) && judgePlace(real, workspace) === undefined);
}

/** The innermost folder that contains all of them. */
function commonParent(reals: readonly string[]): string | undefined {
  const [first = [], ...rest] = reals.map((real) => real.split("/").slice(0, -1));
  const end = first.findIndex((name, at) => rest.some((names) => names[at] !== name));
  const folder = (end < 0 ? first : first.slice(0, end)).join("/");
  return folder === "" ? undefined : folder;
}

/** `https://example.com` for a plain address: programs expand some characters that have no meaning in a URL. */
function originOf(address: string): string | undefined {
  if (!/^https?:\/\/[\w.-]+(?::\d+)?(?:[/?][\w./?&=%~+:,;!'()*$-]*)?$/i.test(address)) return undefined;
  return URL.canParse(address) ? new URL(address).origin : undefined;
}

/** For people: `cat <paths below /work>`, `curl -L <addresses of https://example.com>`. */
export function describeBounds({ words, below, origin, folder }: CommandBounds): string {
  const shown = words.map(({ word, slot }) => {
    if (slot === "path") return `<paths below ${below}>`;
    if (slot === "address") return `<addresses of ${origin}>`;
    return slot === "text" ? "<any text>" : quoteWord(String(word));
  });
  return `\`${shown.join(" ")}\` in \`${folder}\``;
}

function quoteWord(word: string): string {
  return /^[\w./:@%+=,-]+$/.test(word) ? word : JSON.stringify(word);
}
