import { makeVisible } from "@autonous/runtime/internal";

/** On one line, with hidden characters made visible. */
export function oneLine(text: string): string {
  return makeVisible(text.replaceAll(/\s+/g, " ").trim());
}

/** At most this long, with a sign that there was more. */
export function cut(text: string, length: number): string {
  return (text.length <= length ? text : `${text.slice(0, length - 1)}…`).toWellFormed();
}
