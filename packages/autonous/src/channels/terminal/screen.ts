import { styleText } from "node:util";
import { cutTo, widthOfPainted } from "../words/width.ts";

export type Style = "bold" | "dim" | "italic" | "underline" | "strikethrough" | "red" | "green" | "yellow" | "cyan";

/** The user's screen: permanent lines, and below them status lines that are redrawn in place. */
export interface Screen {
  /** The current width; undefined if the output goes to a file or a pipe. */
  readonly columns: number | undefined;
  readonly rows: number;
  /** Whether lines can be redrawn in place. */
  readonly rewrites: boolean;
  /** Colours visible text, if colours are on. */
  paint(style: Style, text: string): string;
  /** Whether colours are on. */
  readonly colours: boolean;
  /** Prints lines that fit and contain no terminal control characters. */
  print(lines: readonly string[]): void;
  /** Sets the lines below all others, until the next call; "" removes them. A coloured line must fit already. */
  status(lines: string | readonly string[]): void;
  /** Holds back other output until it is released, while the user is asked. */
  hold(): HeldScreen;
}

/** The screen for its holder. */
export interface HeldScreen {
  print(lines: readonly string[]): void;
  release(): void;
}

/** The part of a stream that a screen needs, such as `process.stderr`. */
export interface ScreenStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}

/** For terminals that do not report their size. */
const DEFAULT_ROWS = 24;
const DEFAULT_COLUMNS = 80;
/** Held lines beyond this number are only counted. */
const MAX_HELD = 1000;
/** Leaves the last column free, which would wrap, and room for a typed "^C". */
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
    const room = MAX_HELD - held.length;
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

/** A coloured line fits already. */
function fit(line: string, width: number): string {
  return line.includes("\u001b") ? line : cutTo(line, width);
}

function positive(size: number | undefined): number | undefined {
  return size !== undefined && size > 0 ? size : undefined;
}

/** Clears upwards from the last row, where the cursor is. A terminal that became narrower has wrapped the lines. */
function clearRows(lines: readonly string[], width: number): string {
  const taken = lines.map((line) => Math.max(1, Math.ceil(widthOfPainted(line) / width)));
  const rows = taken.reduce((sum, each) => sum + each, 0);
  return rows > 1 ? `\u001b[${rows - 1}A${CLEAR_BELOW}` : CLEAR_LINE;
}

/** https://no-color.org: the variable counts if it is set and not empty. FORCE_COLOR turns colours on without a terminal. */
function wantsColour(isTerminal: boolean, { NO_COLOR = "", FORCE_COLOR = "", TERM }: NodeJS.ProcessEnv): boolean {
  if (NO_COLOR !== "") return false;
  if (FORCE_COLOR !== "") return FORCE_COLOR !== "0";
  return isTerminal && TERM !== "dumb";
}
