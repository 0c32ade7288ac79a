import { makeVisible } from "@autonous/runtime/internal";
import type { ToolCallResult } from "@autonous/runtime";
import type { Screen } from "./screen.ts";
import { cutTo, expandTabs, foldHard, widthOf, wrap } from "../words/width.ts";

/** Without a terminal, lines of output are truncated to this. */
const MAX_WIDTH = 500;
const MIN_COLUMNS = 20;
const INDENT = "    ";

/** Lines shown of a successful and of a failed command. Further ones are counted. */
const SHOWN = { stdout: 4, stderr: 2, alone: 5 } as const;
const SHOWN_FAILED = { stdout: 5, stderr: 20, alone: 20 } as const;
/** Rows of a long line of a command that failed. */
const ROWS_FAILED = 4;

// Colours and other terminal sequences are removed. Remaining control characters are made visible.
// oxlint-disable-next-line no-control-regex
const ORDERS = /\u001b(?:\[[0-?]{0,64}[ -/]{0,4}[@-~]|\][^\u0007\u001b\n]{0,2000}(?:\u0007|\u001b\\)|[()][0-9A-B])/g;

/** A line of output as a terminal would finally show it, without control characters. */
export function outputLine(line: string): string {
  const written = line.replaceAll(ORDERS, "").split("\r");
  // A carriage return overwrites the line, as progress bars do.
  const last = written.findLast((part) => part !== "") ?? "";
  return expandTabs(last.split("\t").map(makeVisible).join("\t"));
}

/** The lines of a text, without an empty one after the last line end. */
export function linesOf(text: string): readonly string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

/** `1 more line`, `4 more lines`. */
export function moreLines(count: number): string {
  return `${count} more line${count === 1 ? "" : "s"}`;
}

interface OutputOptions {
  readonly screen: Pick<Screen, "columns" | "paint">;
  readonly isFailed: boolean;
  /** Shows all output, whatever its length. */
  readonly all: boolean;
}

/** The last lines of a command's output, folded. Empty for calls that run no command. */
export function outputLines(result: ToolCallResult | undefined, options: OutputOptions): readonly string[] {
  const data: unknown = result?.payload?.data;
  const isCommand = typeof data === "object" && data !== null && ("exit_code" in data || "background_id" in data);
  if (result === undefined || result.payload === null || !isCommand) return [];
  const { stdout, stderr } = result.payload;
  const { stdout: ofBoth, stderr: ofErrors, alone } = options.isFailed ? SHOWN_FAILED : SHOWN;
  if (stdout === "" || stderr === "") return lastLines(`${stdout}${stderr}`, alone, options);
  return [...lastLines(stdout, ofBoth, options), ...lastLines(stderr, ofErrors, options)];
}

function lastLines(text: string, most: number, { screen, isFailed, all }: OutputOptions): readonly string[] {
  const lines = linesOf(text);
  // Instead of "1 more line", show that line.
  const shown = all || lines.length === most + 1 ? lines : lines.slice(-most);
  const width = Math.max(MIN_COLUMNS, (screen.columns ?? MAX_WIDTH + INDENT.length) - INDENT.length);
  const rows = shown.flatMap((line) => {
    const clean = outputLine(line);
    // Text far beyond the last visible row need not be measured.
    if (all) return foldHard(clean, width);
    return isFailed ? foldedTo(clean, width) : [cutTo(clean, width)];
  });
  const more = lines.length - shown.length + leftOut(text);
  const note = more === 0 || all ? [] : [`… ${moreLines(more)}`];
  return [...note, ...rows].map((row) => `${INDENT}${screen.paint("dim", row)}`);
}

function foldedTo(line: string, width: number): readonly string[] {
  if (widthOf(line.slice(0, width + 1)) <= width) return [line];
  const rows = wrap(line.slice(0, width * (ROWS_FAILED + 1)), width);
  if (rows.length <= ROWS_FAILED) return rows;
  return [...rows.slice(0, ROWS_FAILED - 1), cutTo(rows.slice(ROWS_FAILED - 1).join(" "), width)];
}

/** Number of lines that the output itself reports as left out in the middle. */
function leftOut(text: string): number {
  return Number(/^\[(\d{1,15}) lines, \d+ bytes left out; /m.exec(text)?.[1] ?? 0);
}
