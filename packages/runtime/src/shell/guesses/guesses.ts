import { parse } from "unbash";
import type { Function as FunctionNode, ParsedScript } from "unbash";
import { guessCarried, guessInCode } from "./guess.ts";
import type { Guess } from "./guess.ts";
import { tooCostly } from "../limits.ts";
import { namedCommands } from "./named-commands.ts";
import { isProgramName } from "../programs/program-names.ts";
import type { PlainCommand } from "../carriers/runner.ts";
import { joinText } from "../carriers/runner.ts";
import { addOpaque, childScope, NO_INPUT, openWalk, PER_READ, spend } from "../evaluation/scope.ts";
import type { Scope, Walk } from "../evaluation/scope.ts";

/** Functions of the walk, so that a carrier's text is walked like any other. */
export interface Walker {
  readonly walk: Walk;
  walkScript(script: ParsedScript, scope: Scope, walk: Walk): void;
  walkBody(body: FunctionNode["body"], scope: Scope, walk: Walk): void;
}

/** A walker that also runs words. */
export interface Prober extends Walker {
  run(command: PlainCommand, scope: Scope, walker: Walker): void;
}

/** Per guess, in addition to reading and running it. */
const PER_GUESS = 256;
/** At most one guess inside a guess: each position of a command is tried separately. */
const MAX_GUESSES = 2;

/** Commands that an unknown program may run: judged as if it did, separately from those that certainly run. */
export function tryGuesses(
  command: PlainCommand,
  scope: Scope,
  { readsCode, ...prober }: Prober & { readonly readsCode: boolean },
): void {
  const { walk } = prober;
  if (walk.guessDepth >= MAX_GUESSES) return;
  const { guesses, opaque } = guessCarried(command, scope, readsCode);
  for (const guess of guesses) probe(guess, scope, prober);
  if (opaque !== undefined) addOpaque(walk, opaque, joinText(command.words));
}

/** Commands that code, or a file just written, names without plainly running them. */
export function tryNamed(code: string, scope: Scope, prober: Prober): void {
  if (prober.walk.guessDepth >= MAX_GUESSES) return;
  spend(scope, PER_READ * code.length);
  for (const text of namedCommands(code)) probe({ kind: "named", text }, scope, prober);
}

/** A text that is most likely a command. */
export function tryText(text: string, scope: Scope, prober: Prober): void {
  if (prober.walk.guessDepth < MAX_GUESSES) probe({ kind: "likely", text }, scope, prober);
}

function probe(guess: Guess, scope: Scope, prober: Prober): void {
  const { walk } = prober;
  const { kind } = guess;
  spend(scope, PER_GUESS);
  const found = { ...openWalk(), guessDepth: walk.guessDepth + 1, steps: walk.steps, depth: walk.depth };
  const inner = childScope(scope, { isBash: false, input: NO_INPUT });
  if (guess.words !== undefined)
    prober.run({ words: guess.words, assignments: [], redirections: [] }, inner, { ...prober, walk: found });
  else if (guess.text !== undefined) readText(guess.text, inner, { ...prober, walk: found });
  walk.steps = found.steps;
  const names = found.commands.map(({ words }) => words[0]?.value ?? "");
  const isCommand = guess.words !== undefined || names.some(isProgramName);
  if (isCommand || kind === "likely") {
    walk.guessed.push(...found.commands.map((each) => ({ guess: kind, ...each })));
    walk.guessed.push(...(kind === "named" ? found.guessed.map((each) => ({ ...each, guess: kind })) : found.guessed));
  }
  if (kind === "named") return;
  if (isCommand) for (const { reason, text } of found.opaque) addOpaque(walk, reason, text);
  if (!isCommand && guess.text !== undefined) {
    for (const each of guessInCode(guess.text, scope)) probe(each, scope, prober);
    tryNamed(guess.text, scope, prober);
  }
}

/** A text that may be shell; otherwise it is ignored. */
function readText(text: string, scope: Scope, walker: Walker): void {
  spend(scope, PER_GUESS + PER_READ * text.length);
  if (tooCostly(text) !== undefined) addOpaque(walker.walk, "a text in it is too long to be examined", "");
  else walker.walkScript(parse(text), scope, walker.walk);
}
