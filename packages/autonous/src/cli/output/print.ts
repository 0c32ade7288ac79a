import { makeVisibleLines } from "@autonous/runtime";
import { noteLines } from "../../channels/terminal/note-lines.ts";

/** The two ways out: one for programs and results, one for remarks to people. */
export interface Print {
  readonly json: boolean;
  /** How wide the terminal is that `text` goes to; undefined where it goes to a file or a program. */
  readonly textWidth: number | undefined;
  /** The same for `note`. */
  readonly noteWidth: number | undefined;
  /** A result for people, on stdout; nothing with `--json`. Characters that could act on a terminal are made visible. */
  text(text: string): void;
  /** A remark for people, on stderr: at a terminal broken between words, with commands whole. */
  note(text: string): void;
  /** What a program printed, on stderr: not broken. */
  output(text: string): void;
  /** One JSON document, or one line of JSON Lines, on stdout. */
  document(value: unknown): void;
  /** Resolves when stdout has accepted everything, or never will: then the signal of the command is aborted. */
  flushed(): Promise<void>;
}

export function createPrint(json: boolean): Print {
  const output = (text: string): void => void process.stderr.write(endLine(text));
  return {
    json,
    textWidth: widthOf(process.stdout),
    noteWidth: widthOf(process.stderr),
    text: (text) => json || process.stdout.write(endLine(makeVisibleLines(text))),
    output: (text) => output(makeVisibleLines(text)),
    note(text) {
      const width = widthOf(process.stderr);
      const shown = makeVisibleLines(text);
      const lines = width === undefined ? shown : noteLines(shown, width).join("\n");
      output(lines === "" ? "\n" : lines); // an empty remark ends the line that was typed
    },
    document: (value) => process.stdout.write(`${JSON.stringify(value)}\n`),
    flushed: () => new Promise((resolve) => process.stdout.write("", () => resolve())),
  };
}

function widthOf({ isTTY, columns }: NodeJS.WriteStream): number | undefined {
  return isTTY && columns > 0 ? columns : undefined;
}

function endLine(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}
