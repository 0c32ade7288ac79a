import type { ParameterExpansionPart, ParameterOperation, SimpleExpansionPart, Word } from "unbash";
import type { ShellWord } from "../parsed-shell.ts";
import { replaceEach } from "./replace-each.ts";
import { PER_WORD, spend } from "./scope.ts";
import type { Scope, Values } from "./scope.ts";

/** Values that are never assigned. The home folder is written `~` (see `ShellWord`). */
const GIVEN: Readonly<Record<string, readonly string[]>> = { HOME: ["~"], IFS: [" "] };

type ExpandWhole = (word: Word, scope: Scope) => ShellWord;

/** The expansion of a parameter as far as it is known: several values for `$@` and complete arrays. */
export function valueOf(
  part: SimpleExpansionPart | ParameterExpansionPart,
  scope: Scope,
  expandWhole: ExpandWhole,
): Values {
  if (part.type === "SimpleExpansion") return variable(part.text.slice(1), scope);
  const values = subscript(part, scope);
  if (part.prefix === "#") return undefined;
  if (part.prefix === "!") {
    const name = values?.length === 1 ? values[0] : undefined;
    return name === undefined || part.operation !== undefined ? undefined : variable(name, scope);
  }
  return part.operation === undefined
    ? values
    : applyOperation(values, part, (word) => literal(expandWhole(word, scope)), scope);
}

function subscript({ parameter, index }: ParameterExpansionPart, scope: Scope): Values {
  const values = variable(parameter, scope, index !== undefined);
  if (index === undefined || values === undefined) return values;
  if (index.value === "@" || index.value === "*") return values;
  if (!/^\d{1,4}$/.test(index.value)) return undefined;
  return [values[Number(index.value)] ?? ""];
}

function variable(name: string, scope: Scope, isWholeArray = false): Values {
  if (scope.variables.has(name)) {
    const values = scope.variables.get(name);
    return isWholeArray || values === undefined ? values : values.slice(0, 1);
  }
  if (name === "PWD") return scope.where.folder.path === undefined ? undefined : [scope.where.folder.path];
  if (/^[0-9@*]$/.test(name)) return positional(name, scope);
  return GIVEN[name];
}

function positional(name: string, scope: Scope): Values {
  const { positionals } = scope;
  if (positionals === undefined) return undefined;
  const chosen = /[@*]/.test(name) ? positionals.slice(1) : positionals.slice(Number(name), Number(name) + 1);
  spend(scope, PER_WORD * chosen.length);
  return chosen.some(({ isDynamic }) => isDynamic) ? undefined : chosen.map(({ value }) => value);
}

type Expand = (word: Word) => string | undefined;

function applyOperation(
  values: Values,
  { parameter, operation }: ParameterExpansionPart,
  expand: Expand,
  scope: Scope,
): Values {
  if (operation === undefined) return values;
  if (operation.type === "Default" && operation.operator.endsWith("=")) scope.variables.set(parameter, undefined);
  if (values === undefined || values.length > 1) return undefined;
  const value = values[0] ?? "";
  const changed = changeValue(value, operation, { expand, scope });
  return changed === undefined ? undefined : [changed];
}

/** Operations used to obfuscate names. Those with patterns are left unknown. */
function changeValue(
  value: string,
  operation: ParameterOperation,
  { expand, scope }: { readonly expand: Expand; readonly scope: Scope },
): string | undefined {
  switch (operation.type) {
    case "Default": {
      const operand = expand(operation.operand);
      const isSet = operation.operator.startsWith(":") ? value !== "" : true;
      if (operation.operator.endsWith("+")) return isSet ? operand : "";
      return isSet ? value : operand;
    }
    case "Slice": {
      const offset = Number(operation.offset.value);
      const length = operation.length === undefined ? Infinity : Number(operation.length.value);
      if (!Number.isInteger(offset) || Number.isNaN(length) || length < 0) return undefined;
      const start = offset < 0 ? Math.max(value.length + offset, 0) : offset;
      return value.slice(start, start + length);
    }
    case "CaseModification":
      if (operation.operand !== undefined) return undefined;
      return changeCase(value, operation.operator);
    case "Replace": {
      const pattern = expand(operation.pattern);
      const replacement = expand(operation.replacement);
      if (pattern === undefined || replacement === undefined || pattern === "" || /[*?[\\]/.test(pattern))
        return undefined;
      if (operation.operator === "//") return replaceEach(value, { part: pattern, by: replacement }, scope);
      return operation.operator === "/" ? value.replace(pattern, () => replacement) : undefined;
    }
    case "Remove":
    case "Transform":
    case "Names":
    case "Unknown":
      return undefined;
  }
}

function changeCase(value: string, operator: "^" | "^^" | "," | ",,"): string {
  if (operator === "^^") return value.toUpperCase();
  if (operator === ",,") return value.toLowerCase();
  const first = value.slice(0, 1);
  return (operator === "^" ? first.toUpperCase() : first.toLowerCase()) + value.slice(1);
}

function literal({ value, isDynamic }: { value: string; isDynamic: boolean }): string | undefined {
  return isDynamic ? undefined : value;
}
