import type { SyntaxNode } from "unbash";
import { hidesSomething, misleads } from "../hidden-text.ts";
import { addOpaque, addUnreadable } from "./scope.ts";
import type { Walk } from "./scope.ts";

const SUBSTITUTION = /\$\(|`|\$\{[ |]/;
const ARITHMETIC_TEST = /^-(?:eq|ne|lt|le|gt|ge|v|R)$/;

/**
 * No parser sees the text that bash evaluates a second time: a quoted text with `$(…)` runs it when it is evaluated as
 * arithmetic, as a name with an index or as a prompt. Both halves are recorded here; together they make the script
 * opaque. Also finds text that displays differently from what it is.
 */
export function checkText(node: SyntaxNode, walk: Walk, isBash: boolean): void {
  const error = errorIn(node);
  if (error !== undefined) (isBash ? addUnreadable : addOpaque)(walk, `it cannot be parsed as bash: ${error}`, "");
  if (evaluatesAgain(node)) walk.evaluates = true;
  const held = literalOf(node);
  if (held !== undefined && SUBSTITUTION.test(held)) walk.holdsSubstitution = true;
  // A prompt has its own escapes: `\140` is a backtick there.
  if (node.type === "Transform" && node.operand.value === "P") addOpaque(walk, "it evaluates text as a prompt", "@P");
  if (node.type === "AnsiCQuoted") checkAnsiQuoted(node.text, node.value, walk);
  if (node.type !== "Word") return;
  if (node.parts === undefined) noteMisleading(node.text, walk);
  // Literal parts of a word are outside quotes.
  else for (const part of node.parts) if (part.type === "Literal") noteMisleading(part.text, walk);
}

/** Syntax that bash rejects and the parser accepts. */
function errorIn(node: SyntaxNode): string | undefined {
  if (node.type === "ParameterExpansion" && (node.operation?.type === "Unknown" || node.parameter === ""))
    return "bad substitution";
  if (node.type === "CommandExpansion" && /^\$\{[^]*[^}]$/.test(node.text)) return "unterminated substitution";
  if (node.type !== "HereDocDelimiter") return undefined;
  return /^(["'])(?:(?!\1)[^])*$/.test(node.text) ? "unterminated quote" : undefined;
}

/** The text of a node that the shell takes literally. */
function literalOf(node: SyntaxNode): string | undefined {
  if (node.type === "Literal" || node.type === "SingleQuoted" || node.type === "AnsiCQuoted") return node.value;
  if (node.type === "Word" || node.type === "ArithmeticWord") return node.parts === undefined ? node.value : undefined;
  return node.type === "HereDocBody" && node.parts === undefined ? node.text : undefined;
}

function evaluatesAgain(node: SyntaxNode): boolean {
  if (node.type === "ArithmeticWord") return /[^\d\s]/.test(node.value);
  if (node.type === "TestUnary" || node.type === "TestBinary") return ARITHMETIC_TEST.test(node.operator);
  if (node.type === "Assignment") return node.index !== undefined || node.name === "PS4";
  if (node.type !== "ParameterExpansion") return node.type === "Slice" || node.type === "Transform";
  return node.prefix === "!" || (node.index !== undefined && !/^(?:[@*]|\d+)$/.test(node.index.text));
}

function noteMisleading(text: string, walk: Walk): void {
  const reason = misleads(text);
  if (reason !== undefined) addOpaque(walk, reason, text);
}

function checkAnsiQuoted(text: string, value: string, walk: Walk): void {
  // bash keeps a backslash before a line break here; the parser does not.
  if (text.includes("\\\n")) addOpaque(walk, "its quoting is read differently by different shells", text);
  const reason = hidesSomething(value.replace(/[\r\u001b\u0007\u0008\u000b\u000c]/g, ""));
  if (reason !== undefined) addOpaque(walk, reason, text);
}
