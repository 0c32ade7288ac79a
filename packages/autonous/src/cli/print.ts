import { makeVisibleLines } from "@autonous/runtime";
import { layOut } from "./table.ts";
import type { Row, TableOptions } from "./table.ts";

/** The two ways out: one for programs and results, one for remarks to people. */
export interface Print {
  readonly json: boolean;
  /** A result for people, on stdout; nothing with `--json`. Characters that could act on a terminal are made visible. */
  text(text: string): void;
  /** The same as columns, made to fit where stdout is a terminal. */
  table(rows: readonly Row[], options?: Omit<TableOptions, "width">): void;
  /** A remark for people, on stderr. */
  note(text: string): void;
  /** A remark of one line, cut where the terminal ends. */
  noteLine(text: string): void;
  /** One JSON document, or one line of JSON Lines, on stdout. */
  document(value: unknown): void;
}

export function createPrint(json: boolean): Print {
  const text = (value: string): unknown => json || process.stdout.write(endLine(makeVisibleLines(value)));
  const note = (value: string): unknown => process.stderr.write(endLine(makeVisibleLines(value)));
  return {
    json,
    text,
    table: (rows, options = {}) => text(layOut(rows, { ...options, width: widthOf(process.stdout) })),
    note,
    noteLine: (value) => note(cut(makeVisible(value), widthOf(process.stderr))),
    document: (value) => process.stdout.write(`${JSON.stringify(value)}\n`),
  };
}
