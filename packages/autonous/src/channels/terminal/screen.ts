import { styleText } from "node:util";
import { cutTo, widthOfPainted } from "../words/width.ts";

export type Style = "bold" | "dim" | "italic" | "underline" | "strikethrough" | "red" | "green" | "yellow" | "cyan";

/** Where people look: lines that stay, and below them some that are redrawn in place. */
export interface Screen {
  /** How wide it is by now; undefined where the lines go to a file or a program. */
  readonly columns: number | undefined;
  readonly rows: number;
  /** Whether a line can be redrawn in place. */
  readonly rewrites: boolean;
  /** Colours what was made visible before, where colours are wanted. */
  paint(style: Style, text: string): string;
  /** Whether colours are wanted. */
  readonly colours: boolean;
  /** Lines that nothing in can act on a terminal, and that fit it. */
  print(lines: readonly string[]): void;
  /** The lines below all others, until the next ones or "". A line with colours in it fits already. */
  status(lines: string | readonly string[]): void;
  /** Keeps back what others print until it is released: somebody is being asked. */
  hold(): HeldScreen;
}

/** The screen of who holds it. */
export interface HeldScreen {
  print(lines: readonly string[]): void;
  release(): void;
}

/** What a screen has to have of a stream: `process.stderr` has it. */
export interface ScreenStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}

/** Terminals that say nothing of their size are taken to be of this one. */
const DEFAULT_ROWS = 24;
const DEFAULT_COLUMNS = 80;
/** What is kept back beyond this many lines is only counted. */
const MOST_HELD = 1000;
/** The last column would wrap, and so would a "^C" that is typed behind it. */
const ROOM_BEHIND = 3;
const CLEAR_LINE = "\r\u001b[K";
const CLEAR_BELOW = "\r\u001b[J";

export function createScreen(stream: ScreenStream, env: NodeJS.ProcessEnv): Screen {
  const isTerminal = stream.isTTY === true;
  const colour = wantsColour(isTerminal, env);
  const rewrites = isTerminal && env["TERM"] !== "dumb";
  const held: string[] = [];
  let leftOut = 0;
  let holders = 0;
  let status: readonly string[] = [];

  const widthNow = (): number => positive(stream.columns) ?? DEFAULT_COLUMNS;
  function draw(lines: readonly string[]): void {
    if (lines.length > 0 || status.length > 0) stream.write(`${clearRows(status, widthNow())}${lines.join("\n")}`);
    status = lines;
  }
  function keep(lines: readonly string[]): void {
    const room = MOST_HELD - held.length;
    held.push(...lines.slice(0, room));
    leftOut += Math.max(0, lines.length - room);
  }
  function print(lines: readonly string[]): void {
    if (lines.length === 0) return;
    if (holders > 0) return keep(lines);
    const below = status;
    draw([]);
    stream.write(`${lines.join("\n")}\n`);
    draw(below);
  }
  return {
    get columns() {
      return isTerminal ? positive(stream.columns) : undefined;
    },
    get rows() {
      return positive(stream.rows) ?? DEFAULT_ROWS;
    },
    rewrites,
    colours: colour,
    paint: (style, text) => (colour && text !== "" ? styleText(style, text, { validateStream: false }) : text),
    print,
    status(lines) {
      if (!rewrites || holders > 0) return;
      const all = typeof lines === "string" ? [lines] : lines;
      draw(lines === "" ? [] : all.map((line) => fit(line, Math.max(1, widthNow() - ROOM_BEHIND))));
    },
    hold() {
      draw([]);
      holders++;
      let isHeld = true;
      return {
        print: (lines) => void stream.write(lines.map((line) => `${line}\n`).join("")),
        release() {
          if (!isHeld) return;
          isHeld = false;
          if (--holders > 0) return;
          print(leftOut === 0 ? held.splice(0) : [...held.splice(0), `… ${leftOut} more lines`]);
          leftOut = 0;
        },
      };
    },
  };
}

/** A line with colours in it fits already. */
function fit(line: string, width: number): string {
  return line.includes("\u001b") ? line : cutTo(line, width);
}

function positive(size: number | undefined): number | undefined {
  return size !== undefined && size > 0 ? size : undefined;
}

/** From their last row, where the cursor is. A terminal that became narrower has broken lines. */
function clearRows(lines: readonly string[], width: number): string {
  const taken = lines.map((line) => Math.max(1, Math.ceil(widthOfPainted(line) / width)));
  const rows = taken.reduce((sum, each) => sum + each, 0);
  return rows > 1 ? `\u001b[${rows - 1}A${CLEAR_BELOW}` : CLEAR_LINE;
}

/** https://no-color.org: a variable that is set and not empty counts. FORCE_COLOR is for what only looks like no terminal. */
function wantsColour(isTerminal: boolean, { NO_COLOR = "", FORCE_COLOR = "", TERM }: NodeJS.ProcessEnv): boolean {
  if (NO_COLOR !== "") return false;
  if (FORCE_COLOR !== "") return FORCE_COLOR !== "0";
  return isTerminal && TERM !== "dumb";
}
