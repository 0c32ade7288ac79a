import { forEachChild } from "unbash";
import type {
  AndOr,
  Case,
  Command,
  CompoundList,
  For,
  If,
  ParsedScript,
  PipelineNode,
  Redirection,
  Select,
  Statement,
  SyntaxNode,
  While,
} from "unbash";
import { assign, assignedValue, compoundInput, toRedirections } from "./assignments.ts";
import { expandWord } from "./expand.ts";
import { inputOf, outputOfCommand, stagesOf, wordsOf } from "./known-output.ts";
import { forgetAssigned, isEndless, waits } from "./loops.ts";
import { isForeign } from "./foreign.ts";
import type { Input } from "../parsed-shell.ts";
import { runCommand } from "../carriers/run-command.ts";
import {
  addOpaque,
  addUnreadable,
  copyScope,
  deeper,
  FOREIGN_INPUT,
  join,
  PER_NAME,
  reachedBy,
  spend,
  step,
  UNKNOWN_INPUT,
} from "./scope.ts";
import type { Scope, Values, Walk } from "./scope.ts";
import { checkText } from "./second-evaluation.ts";
import { noteWrites } from "./written-files.ts";

/** Loops over more words than this are walked once, with their variable unknown. */
const MAX_ROUNDS = 8;

/** Collects the commands that a script would run, in order. */
export function walkScript(script: ParsedScript, scope: Scope, walk: Walk): void {
  const error = script.errors?.[0];
  // Where the parser failed, the shell may read the text differently: the tree cannot be trusted.
  if (error !== undefined) {
    const add = scope.isBash ? addUnreadable : addOpaque;
    add(walk, `it cannot be parsed as bash: ${error.message}`, "");
    return;
  }
  walkStatements(script.commands, scope, walk);
}

function walkStatements(statements: readonly Statement[], scope: Scope, walk: Walk): void {
  for (const { command, background } of statements) {
    if (background === true) {
      walkNode(command, copyScope(scope, { isParallel: true, reached: [...scope.reached, "background"] }), walk);
      continue;
    }
    walkNode(command, scope, walk);
    // Without `&&` the next command runs whether or not `cd` succeeded.
    const { folder } = scope.where;
    if (folder.path !== ".") scope.where.folder = { ...folder, isCertain: false };
  }
}

function walkList({ commands }: CompoundList, scope: Scope, walk: Walk): void {
  walkStatements(commands, scope, walk);
}

function walkNode(node: PipelineNode | AndOr | CompoundList, scope: Scope, walk: Walk): void {
  deeper(walk, () => walkKind(node, scope, walk));
}

function walkKind(node: PipelineNode | AndOr | CompoundList, scope: Scope, walk: Walk): void {
  switch (node.type) {
    case "Command":
      return walkCommand(node, scope, walk);
    case "AndOr":
      return walkAndOr(node, scope, walk);
    case "Pipeline":
      return walkPipeline(stagesOf(node), scope, walk);
    case "Redirected":
      addRedirections(node.redirects, scope, walk);
      return walkNode(node.command, { ...scope, input: compoundInput(node.redirects, scope.input) }, walk);
    case "CompoundList":
      return walkList(node, scope, walk);
    case "BraceGroup":
      return walkList(node.body, scope, walk);
    case "Subshell":
      return walkList(node.body, copyScope(reachedBy(scope, "subshell")), walk);
    case "Function":
      return walkDefinition(node, scope, walk);
    case "Coproc":
      return walkNode(
        node.body,
        copyScope(reachedBy(scope, "coproc"), { isParallel: true, input: UNKNOWN_INPUT }),
        walk,
      );
    case "If":
      return walkIf(node, scope, walk);
    case "Case":
      return walkCase(node, scope, walk);
    case "For":
    case "Select":
      return walkFor(node, scope, walk);
    case "While":
      return walkWhile(node, scope, walk);
    case "ArithmeticFor":
      walkInner(node.initialize, scope, walk);
      walkInner(node.test, scope, walk);
      walkInner(node.update, scope, walk);
      return walkLoop([node.body], scope, { walk, isEndless: node.test === undefined });
    case "ArithmeticCommand":
    case "TestCommand":
      return walkInner(node, scope, walk);
  }
}

/** In `a && b || c`, changes by `b` are certain only for commands that follow it by `&&`. */
function walkAndOr({ commands, operators }: AndOr, scope: Scope, walk: Walk): void {
  const [first, ...rest] = commands;
  if (first !== undefined) walkNode(first, scope, walk);
  const inner = copyScope(scope);
  for (const [index, node] of rest.entries()) {
    if (operators[index] === "||") join(inner, scope);
    walkNode(node, inner, walk);
  }
  join(scope, inner);
}

function walkPipeline(stages: readonly PipelineNode[], scope: Scope, walk: Walk): void {
  const [only] = stages;
  if (stages.length === 1 && only !== undefined) return walkNode(only, scope, walk);
  let input: Input = scope.input;
  for (const node of stages) {
    const stage = copyScope(scope, { input, isParallel: true, reached: [...scope.reached, "pipe"] });
    const output = node.type === "Command" ? outputOfCommand(node, stage) : UNKNOWN_INPUT;
    walkNode(node, stage, walk);
    input = output.kind === "unknown" && (isForeignInput(input) || isForeign(node)) ? FOREIGN_INPUT : output;
  }
}

/** Foreign text stays foreign, whatever programs it passes through. */
function isForeignInput(input: Input): boolean {
  return input.kind === "unknown" && input.isForeign;
}

/** The first condition always runs; each branch starts from the state after the conditions before it. */
function walkIf(node: If, scope: Scope, walk: Walk): void {
  walkList(node.clause, scope, walk);
  const rest = copyScope(scope);
  const ends: Scope[] = [rest];
  const walkBranch = (list: CompoundList): void => {
    const branch = copyScope(rest);
    walkList(list, branch, walk);
    ends.push(branch);
  };
  walkBranch(node.then);
  for (const branch of node.elif) {
    walkList(branch.clause, rest, walk);
    walkBranch(branch.then);
  }
  if (node.else !== undefined) walkList(node.else, rest, walk);
  for (const end of ends) join(scope, end);
}

/** A branch that does not end with `;;` may continue into the next one. */
function walkCase(node: Case, scope: Scope, walk: Walk): void {
  walkInner(node.word, scope, walk);
  for (const { pattern } of node.items) for (const word of pattern) walkInner(word, scope, walk);
  const inner = copyScope(scope);
  for (const { body } of node.items) {
    walkList(body, inner, walk);
    join(inner, scope);
  }
  join(scope, inner);
}

/** A short list of known words is walked word by word: `for d in / /home; do rm -rf $d; done`. */
function walkFor(node: For | Select, scope: Scope, walk: Walk): void {
  const name = node.name.value;
  const words = node.wordlist?.flatMap((word) => expandWord(word, scope)) ?? [];
  for (const word of node.wordlist ?? []) walkInner(word, scope, walk);
  const isKnown = node.wordlist !== undefined && words.every(({ isDynamic }) => !isDynamic);
  const rounds: Values[] = isKnown && words.length <= MAX_ROUNDS ? words.map(({ value }) => [value]) : [undefined];
  const inner = copyScope(reachedBy(scope, "loop"));
  for (const round of rounds) {
    inner.variables.set(name, round);
    spend(scope, PER_NAME * inner.variables.size);
    // A later iteration sees the changes of an earlier one.
    for (const [changed, values] of inner.variables.entries()) {
      if (changed !== name && values !== scope.variables.get(changed)) inner.variables.set(changed, undefined);
    }
    walkList(node.body, inner, walk);
  }
  join(scope, inner);
}

function walkWhile({ kind, clause, body }: While, scope: Scope, walk: Walk): void {
  walkLoop([clause, body], scope, { walk, isEndless: isEndless(kind, clause, scope) });
}

function walkLoop(
  lists: readonly CompoundList[],
  scope: Scope,
  { walk, isEndless }: { walk: Walk; isEndless: boolean },
): void {
  const inner = copyScope(reachedBy(scope, "loop"), { isEndless: isEndless && !lists.some(waits) });
  for (const list of lists) forgetAssigned(list, inner);
  for (const list of lists) walkList(list, inner, walk);
  join(scope, inner);
}

/** The body is walked where it is defined, with unknown arguments, and again where it is called. */
function walkDefinition(node: Extract<PipelineNode, { type: "Function" }>, scope: Scope, walk: Walk): void {
  const name = node.name.value;
  scope.functions.set(name, node);
  const inner = copyScope(reachedBy(scope, `function ${name}`), {
    positionals: undefined,
    within: [...scope.within, name],
    isParallel: false,
    input: UNKNOWN_INPUT,
  });
  inner.variables.clear();
  walkNode(node.body, inner, walk);
}

function walkCommand(node: Command, scope: Scope, walk: Walk): void {
  step(walk);
  walkInner(node, scope, walk);
  const words = wordsOf(node, scope);
  const assignments = node.prefix.filter((item) => item.type === "Assignment");
  const values = assignments.map((item) => ({ name: item.name, value: assignedValue(item, scope) }));
  const redirections = toRedirections(node.redirects, scope);
  const input = inputOf(node, scope);
  if (words.length === 0) for (const item of assignments) assign(item, scope);
  for (const item of node.suffix) if (item.type === "Assignment") assign(item, scope);
  runCommand(
    { words, assignments: values, redirections },
    { ...scope, input },
    { walk, walkScript, walkBody: walkNode },
  );
}

function addRedirections(redirects: readonly Redirection[], scope: Scope, walk: Walk): void {
  for (const redirect of redirects) walkInner(redirect, scope, walk);
  const redirections = toRedirections(redirects, scope);
  if (redirections.length === 0) return;
  const { reached } = scope;
  noteWrites({ words: [], assignments: [], redirections }, scope, walk);
  walk.commands.push({
    words: [],
    assignments: [],
    redirections,
    folder: scope.where.folder,
    reached,
    isCarrier: false,
    multiplies: false,
  });
}

/** Command and process substitutions inside a node that is not itself a command, and the effects of its text. */
function walkInner(node: SyntaxNode | undefined, scope: Scope, walk: Walk): void {
  if (node === undefined) return;
  checkText(node, walk, scope.isBash);
  if (node.type === "Word" && node.parts === undefined) return;
  if (
    node.type === "CommandExpansion" ||
    node.type === "ProcessSubstitution" ||
    node.type === "ArithmeticCommandExpansion"
  ) {
    const { script } = node;
    if (script === undefined) addOpaque(walk, "a substitution in it cannot be read", "text" in node ? node.text : "");
    else {
      const input = node.type === "ProcessSubstitution" && node.operator === ">" ? UNKNOWN_INPUT : scope.input;
      deeper(walk, () => walkScript(script, copyScope(reachedBy(scope, "substitution"), { input }), walk));
    }
    return;
  }
  forEachChild(node, (child) => walkInner(child, scope, walk));
}
