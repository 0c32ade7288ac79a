import { makeVisibleLines } from "@autonous/runtime/internal";
import { noteLines } from "../../channels/terminal/note-lines.ts";

/** Output: results and documents on stdout, notes for people on stderr. */
export interface Print {
  readonly json: boolean;
  /** The width of the terminal that `text` goes to; undefined for a file or pipe. */
  readonly textWidth: number | undefined;
  /** The same for `note`. */
  readonly noteWidth: number | undefined;
  /** A result for people, on stdout; nothing with `--json`. Terminal control characters are escaped. */
  text(text: string): void;
  /** A note for people, on stderr: wrapped between words at a terminal; commands are never split. */
  note(text: string): void;
  /** Output of a program, on stderr: not wrapped. */
  output(text: string): void;
  /** One JSON document, or one line of JSON Lines, on stdout. */
  document(value: unknown): void;
  /** Resolves when stdout has accepted everything, or has failed: then the signal of the command is aborted. */
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
      output(lines === "" ? "\n" : lines); // an empty note ends the typed line
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
