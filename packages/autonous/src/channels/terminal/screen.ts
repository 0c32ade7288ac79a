import { styleText } from "node:util";
import { cutTo } from "./width.ts";

type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

/** Where people look: lines that stay, and one below them that is written anew in place. */
export interface Screen {
  /** How wide it is by now; undefined where the lines go to a file or a program. */
  readonly columns: number | undefined;
  readonly rows: number;
  /** Whether a line can be written anew in place. */
  readonly rewrites: boolean;
  /** Colours what was made visible before, where colours are wanted. */
  paint(style: Style, text: string): string;
  /** Lines that nothing in can act on a terminal, and that fit it. */
  print(lines: readonly string[]): void;
  /** The line below all others, until the next one or "". */
  status(line: string): void;
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
const CLEAR_LINE = "\r\u001b[K";

export function createScreen(stream: ScreenStream, env: NodeJS.ProcessEnv): Screen {
  const isTerminal = stream.isTTY === true;
  const colour = wantsColour(isTerminal, env);
  const rewrites = isTerminal && env["TERM"] !== "dumb";
  const held: string[] = [];
  let leftOut = 0;
  let holders = 0;
  let status = "";

  function widthNow(): number {
    return stream.columns !== undefined && stream.columns > 0 ? stream.columns : DEFAULT_COLUMNS;
  }
  function draw(line: string): void {
    if (line !== "" || status !== "") stream.write(`${CLEAR_LINE}${line}`);
    status = line;
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
    draw("");
    stream.write(`${lines.join("\n")}\n`);
    draw(below);
  }
  return {
    get columns() {
      return isTerminal && stream.columns !== undefined && stream.columns > 0 ? stream.columns : undefined;
    },
    get rows() {
      return stream.rows !== undefined && stream.rows > 0 ? stream.rows : DEFAULT_ROWS;
    },
    rewrites,
    paint: (style, text) => (colour && text !== "" ? styleText(style, text, { validateStream: false }) : text),
    print,
    status(line) {
      if (rewrites && holders === 0) draw(line === "" ? "" : cutTo(line, widthNow() - 1)); // the last column would wrap
    },
    hold() {
      draw("");
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

/** https://no-color.org: a variable that is set and not empty counts. FORCE_COLOR is for what only looks like no terminal. */
function wantsColour(isTerminal: boolean, { NO_COLOR = "", FORCE_COLOR = "", TERM }: NodeJS.ProcessEnv): boolean {
  if (NO_COLOR !== "") return false;
  if (FORCE_COLOR !== "") return FORCE_COLOR !== "0";
  return isTerminal && TERM !== "dumb";
}
