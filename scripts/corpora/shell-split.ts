import { parseCommands } from "../../packages/runtime/src/shell/parse-commands.ts";
import type { SimpleCommand } from "../../packages/runtime/src/shell/parsed-shell.ts";
import { nameOf } from "../../packages/runtime/src/shell/carriers/runner.ts";
import type { Verdict } from "./verdict.ts";

interface SplitCase {
  readonly fn: string;
  readonly platform: string;
  readonly input: readonly [string, ...string[]];
  readonly expected: unknown;
}

/** `shell-split.json`: the results of another project's functions for a command, compared with our parser's. Only bash is a shell here. */
export async function* runShellSplit(document: unknown): AsyncIterable<Verdict> {
  const { cases } = document as { readonly cases: readonly SplitCase[] };
  for (const [index, { fn, platform, input, expected }] of cases.entries()) {
    const question = platform === "bash" ? QUESTIONS[fn] : undefined;
    if (question === undefined) continue;
    const wanted = JSON.stringify(question.wanted(expected));
    const got = JSON.stringify(question.ask(input[0]));
    const id = `split-${String(index).padStart(3, "0")}`;
    const name = `${fn} ${JSON.stringify(input[0])}`;
    yield got === wanted ? { id, name } : { id, name, differs: { expected: wanted, got } };
  }
}

interface Question {
  /** The same answer in both words: ours and, from what the case expects, theirs. */
  ask(text: string): unknown;
  wanted(expected: unknown): unknown;
}

const asItIs = (expected: unknown): unknown => expected;
/** They list a substitution after the command that contains it, we list it before: the order does not matter. */
const inAnyOrder = (expected: unknown): unknown => (expected as readonly string[]).toSorted();

const QUESTIONS: Readonly<Record<string, Question>> = {
  // A text passed to a shell's `-c` runs the same commands as the text itself.
  stripShellWrapper: { ask: linesOf, wanted: (expected) => linesOf(expected as string) },
  detectCommandSubstitution: {
    ask: (text) => parseCommands(text).commands.some(({ reached }) => reached.includes("substitution")),
    wanted: asItIs,
  },
  getCommandRoots: { ask: (text) => unlessOpaque(text, ({ words }) => words[0]?.value ?? ""), wanted: inAnyOrder },
  // They return each command as written, we return its words.
  splitCommands: {
    ask: (text) => unlessOpaque(text, wordsOf),
    wanted: (expected) => (expected as readonly string[]).flatMap((text) => unlessOpaque(text, wordsOf)).toSorted(),
  },
  hasRedirection: {
    ask: (text) => parseCommands(text).commands.some(({ redirections }) => redirections.length > 0),
    wanted: asItIs,
  },
  normalizeCommand: { ask: (text) => plainNameOf(text), wanted: asItIs },
};

function linesOf(text: string): unknown {
  const { commands, opaque } = parseCommands(text);
  const own = commands.filter(({ isCarrier }) => !isCarrier);
  return [...own.map(({ words }) => words.map(({ value }) => value)), ...opaque.map(({ reason }) => reason)];
}

function wordsOf({ words }: SimpleCommand): string {
  return JSON.stringify(words.map(({ value }) => value));
}

/** They return nothing if a command cannot be parsed safely. */
function unlessOpaque(text: string, tell: (command: SimpleCommand) => string): readonly string[] {
  const { commands, opaque } = parseCommands(text);
  return opaque.length > 0 ? [] : commands.map(tell).toSorted();
}

/** The name of a program in the policy's tables. */
function plainNameOf(program: string): string {
  const { commands } = parseCommands(program);
  return nameOf(commands[0]?.words[0]);
}
