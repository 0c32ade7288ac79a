import type { Assignment, Redirection } from "unbash";
import { expandWhole, expandWord } from "./expand.ts";
import type { Input, ShellRedirection, ShellWord } from "../parsed-shell.ts";
import { isForeign } from "./foreign.ts";
import { FOREIGN_INPUT, UNKNOWN_INPUT } from "./scope.ts";
import type { Scope, Values } from "./scope.ts";

export function assign(item: Assignment, scope: Scope): void {
  const isWhole = item.index === undefined && item.append !== true;
  scope.variables.set(item.name, isWhole ? valuesOf(item, scope) : undefined);
}

function valuesOf({ value }: Assignment, scope: Scope): Values {
  const words =
    value.type === "ArrayValue"
      ? value.elements.flatMap((word) => expandWord(word, scope))
      : [expandWhole(value, scope)];
  return words.some(({ isDynamic }) => isDynamic) ? undefined : words.map((word) => word.value);
}

export function assignedValue({ name, value, text }: Assignment, scope: Scope): ShellWord {
  if (value.type === "Word") return expandWhole(value, scope);
  return { value: "", text: text.slice(name.length + 1), isDynamic: true, canSplit: false, isPattern: false };
}

export function toRedirections(redirects: readonly Redirection[], scope: Scope): readonly ShellRedirection[] {
  const found: ShellRedirection[] = [];
  for (const redirect of redirects) {
    if (redirect.type !== "Redirect" || redirect.target === undefined) continue;
    found.push({ operator: redirect.operator, target: expandWhole(redirect.target, scope) });
  }
  return found;
}

export function compoundInput(redirects: readonly Redirection[], input: Input): Input {
  const taken = redirects.filter(({ operator }) => operator.startsWith("<"));
  if (taken.length === 0) return input;
  return taken.some(isForeign) ? FOREIGN_INPUT : UNKNOWN_INPUT;
}
