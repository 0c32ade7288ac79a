import { makeVisibleLines } from "@autonous/runtime";

/** The two ways out: one for programs and results, one for remarks to people. */
export interface Print {
  readonly json: boolean;
  /** A result for people, on stdout; nothing with `--json`. Characters that could act on a terminal are made visible. */
  text(text: string): void;
  /** A remark for people, on stderr. */
  note(text: string): void;
  /** One JSON document, or one line of JSON Lines, on stdout. */
  document(value: unknown): void;
}

export function createPrint(json: boolean): Print {
  return {
    json,
    text: (text) => json || process.stdout.write(endLine(makeVisibleLines(text))),
    note: (text) => process.stderr.write(endLine(makeVisibleLines(text))),
    document: (value) => process.stdout.write(`${JSON.stringify(value)}\n`),
  };
}

function endLine(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}

/** Columns of text, as wide as their widest cell; the last one is not padded. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, i) => (widths[i] = Math.max(widths[i] ?? 0, cell.length)));
  return rows
    .map((row) =>
      row
        .map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i] ?? 0)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
