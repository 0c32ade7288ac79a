import type { Ended } from "./cli.ts";

/** A line of `--json`: an event, or the last one, which says what the task came to. */
export interface Line extends Record<string, unknown> {
  readonly type?: string;
  readonly payload?: Readonly<Record<string, unknown>>;
}

export function linesOf({ stdout }: Pick<Ended, "stdout">): Line[] {
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
}
