/** Longer lines are truncated. */
const MAX_CHARACTERS = 8192;
/** Lines per second; of further lines only the number is reported. */
const MAX_LINES = 100;
const WINDOW_MS = 1000;

export interface OutputLinesOptions {
  readonly onLine: (line: string) => void;
  readonly clock?: () => number;
}

/** Splits the output of a process into lines, within bounds, so that endless output fills neither memory nor disk. */
export class OutputLines {
  readonly #options: OutputLinesOptions;
  #rest = "";
  #lost = 0;
  #windowAt = Number.NEGATIVE_INFINITY;
  #taken = 0;
  #dropped = 0;

  constructor(options: OutputLinesOptions) {
    this.#options = options;
  }

  take(text: string): void {
    let from = 0;
    for (;;) {
      const end = text.indexOf("\n", from);
      if (end < 0) break;
      this.#add(text.slice(from, end));
      this.#endLine();
      from = end + 1;
    }
    this.#add(text.slice(from));
  }

  /** The process has ended. */
  end(): void {
    this.#endLine();
    this.#tellDropped();
  }

  #add(text: string): void {
    const room = MAX_CHARACTERS - this.#rest.length;
    this.#rest += text.slice(0, room);
    this.#lost += Math.max(0, text.length - room);
  }

  #endLine(): void {
    const line = this.#lost === 0 ? this.#rest : `${this.#rest}… (${this.#lost} more characters)`;
    this.#rest = "";
    this.#lost = 0;
    if (line.trim() === "") return;
    const now = (this.#options.clock ?? Date.now)();
    if (now - this.#windowAt >= WINDOW_MS || now < this.#windowAt) {
      this.#tellDropped();
      this.#windowAt = now;
      this.#taken = 0;
    }
    if (this.#taken++ < MAX_LINES) this.#options.onLine(line);
    else this.#dropped++;
  }

  #tellDropped(): void {
    if (this.#dropped > 0) this.#options.onLine(`… and ${this.#dropped} more lines`);
    this.#dropped = 0;
  }
}
