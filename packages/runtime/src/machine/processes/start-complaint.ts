const BEGINNING = Buffer.from("bwrap: ");
const HELD_BYTES = 4_096;

/**
 * An error of bubblewrap while it sets up the sandbox is not output of the command. So standard error that begins like
 * one is held back until its source is known.
 */
export class StartComplaint {
  readonly #pass: (piece: Buffer) => void;
  #held: Buffer | undefined = Buffer.alloc(0);

  /** `pass` receives the command's own output. */
  constructor(pass: (piece: Buffer) => void) {
    this.#pass = pass;
  }

  push(piece: Buffer): void {
    if (this.#held === undefined) return this.#pass(piece);
    this.#held = Buffer.concat([this.#held, piece]);
    const length = Math.min(this.#held.length, BEGINNING.length);
    const isLikeIt = this.#held.subarray(0, length).equals(BEGINNING.subarray(0, length));
    if (!isLikeIt || this.#held.length > HELD_BYTES) this.release();
  }

  /** The command has started, so the output is its own. */
  release(): void {
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined && held.length > 0) this.#pass(held);
  }
}
