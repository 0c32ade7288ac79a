import { parse } from "unbash";
import { hidesSomething } from "./hidden-text.ts";
import { outputOf } from "./evaluation/known-output.ts";
import { tooCostly } from "./limits.ts";
import type { ParsedShell } from "./parsed-shell.ts";
import { openScope, openWalk, PER_READ, spend, TooMuchError } from "./evaluation/scope.ts";
import { walkScript } from "./evaluation/walk.ts";

/** At most this much of a text is shown with a reason. */
const SHOWN = 200;

/**
 * The commands that a shell would run for a text: each simple command with its words, including those run by carriers
 * like `sudo` and `bash -c`, and the unknown parts. One parse for decision and display. Never throws, and takes bounded
 * time on any text: a text that would take longer is opaque.
 */
export function parseCommands(text: string): ParsedShell {
  const costly = tooCostly(text);
  if (costly !== undefined) return opaqueWhole(costly, text);
  const walk = openWalk();
  const scope = openScope(outputOf, text);
  try {
    spend(scope, PER_READ * text.length);
    walkScript(parse(text), scope, walk);
  } catch (error) {
    // RangeError: nested deeper than the stack. Anything else would be a parser bug: unknown too.
    return opaqueWhole(error instanceof TooMuchError ? error.message : "it cannot be parsed as bash", text);
  }
  const hidden = hidesSomething(text);
  const shown = text.slice(0, SHOWN);
  const opaque = walk.opaque.map((part) => (part.isUnreadable === true ? { ...part, text: part.text || shown } : part));
  if (hidden !== undefined) opaque.push({ reason: hidden, text: shown });
  if (walk.evaluates && walk.holdsSubstitution) {
    opaque.push({ reason: "quoted text may be evaluated a second time", text: shown });
  }
  return { commands: walk.commands, guessed: walk.guessed, opaque };
}

function opaqueWhole(reason: string, text: string): ParsedShell {
  return { commands: [], guessed: [], opaque: [{ reason, text: text.slice(0, SHOWN) }] };
}
