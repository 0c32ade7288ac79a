import { forEachChild } from "unbash";
import type { CompoundList, SyntaxNode, WhileKind } from "unbash";
import { wordsOf } from "./known-output.ts";
import type { Scope } from "./scope.ts";

/** Whether a condition is always true. */
export function isEndless(kind: WhileKind, clause: CompoundList, scope: Scope): boolean {
  const only = clause.commands.length === 1 ? clause.commands[0]?.command : undefined;
  const condition =
    only?.type === "Command"
      ? wordsOf(only, scope)
          .map(({ value }) => value)
          .join(" ")
      : "";
  if (only?.type === "ArithmeticCommand") return kind === "while" && only.body.trim() === "1";
  return kind === "while" ? /^(?::|true|\[ 1 \]|test 1)$/.test(condition) : condition === "false";
}

/** Whether a loop ends or waits, so that it does not start more and more processes. */
export function waits(list: CompoundList): boolean {
  return list.commands.some(({ command, background }) => {
    if (background === true) return false;
    const nodes = command.type === "AndOr" ? command.commands : [command];
    return nodes.some(
      (node) => node.type === "Command" && /^(?:break|exit|return|wait|sleep|read)$/.test(node.name?.value ?? ""),
    );
  });
}

/** Variables that the body of a loop assigns may have any iteration's value. */
export function forgetAssigned(node: SyntaxNode, scope: Scope): void {
  if (node.type === "Assignment") scope.variables.set(node.name, undefined);
  forEachChild(node, (child) => forgetAssigned(child, scope));
}
