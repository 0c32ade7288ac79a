/** The marks that a terminal puts around pasted text in bracketed paste mode. */
const START = "\u001b[200~";
const END = "\u001b[201~";

/** Turns bracketed paste mode on and off. */
export const PASTE_ON = "\u001b[?2004h";
export const PASTE_OFF = "\u001b[?2004l";

export interface InputPiece {
  readonly kind: "typed" | "pasted";
  readonly text: string;
}

/** A key such as Escape begins like the mark: only a longer match is held back. */
const SHORTEST_HELD = 3;

/** Separates pasted text from typed keys. A paste is held back until it is complete. */
export class PasteReader {
  #held = "";
  #isPasting = false;
  readonly #most: number;
  #isCut = false;

  /** Longer pastes are truncated. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Whether the last paste was truncated. */
  get isCut(): boolean {
    return this.#isCut;
  }

  push(text: string): readonly InputPiece[] {
    const pieces: InputPiece[] = [];
    this.#held += text;
    for (;;) {
      const mark = this.#isPasting ? END : START;
      const at = this.#held.indexOf(mark);
      if (at < 0) break;
      const before = this.#held.slice(0, at);
      if (this.#isPasting) {
        this.#isCut ||= before.length > this.#most;
        pieces.push({ kind: "pasted", text: cleaned(before.slice(0, this.#most)) });
      } else {
        if (before !== "") pieces.push({ kind: "typed", text: before });
        this.#isCut = false;
      }
      this.#held = this.#held.slice(at + mark.length);
      this.#isPasting = !this.#isPasting;
    }
    if (this.#isPasting) this.#bound();
    else pieces.push(...this.#release());
    return pieces;
  }

  /** Bounds memory during an endless paste. Its last bytes may be the beginning of the end mark. */
  #bound(): void {
    if (this.#held.length <= this.#most + END.length) return;
    this.#isCut = true;
    this.#held = this.#held.slice(0, this.#most) + this.#held.slice(-END.length);
  }

  #release(): readonly InputPiece[] {
    const held = partOfStart(this.#held);
    const text = this.#held.slice(0, this.#held.length - held);
    this.#held = this.#held.slice(this.#held.length - held);
    return text === "" ? [] : [{ kind: "typed", text }];
  }
}

/** Number of characters at the end that may be the beginning of the mark. */
function partOfStart(text: string): number {
  for (let length = START.length - 1; length >= SHORTEST_HELD; length--)
    if (text.endsWith(START.slice(0, length))) return length;
  return 0;
}

/** Plain text: line ends become line feeds, terminal control characters are removed. */
function cleaned(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/\r\n?/g, "\n").replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
}
