import type { KeptOutput } from "../../contract/processes.ts";

/** Keeps the beginning and the end of a stream of any length in bounded memory. */
export class HeadTail {
  readonly #limits: { readonly head_bytes: number; readonly tail_bytes: number };
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  /** A ring: the next byte goes to `#next`. Made when the head is full. */
  #ring: Buffer | undefined;
  #next = 0;
  #bytes = 0;

  constructor(limits: { readonly head_bytes: number; readonly tail_bytes: number }) {
    this.#limits = limits;
  }

  add(piece: Uint8Array): void {
    this.#bytes += piece.length;
    const toHead = Math.min(piece.length, this.#limits.head_bytes - this.#headBytes);
    if (toHead > 0) {
      this.#head.push(Buffer.from(piece.subarray(0, toHead))); // a copy: the piece may be part of a larger buffer
      this.#headBytes += toHead;
    }
    if (toHead < piece.length) this.#addToTail(piece.subarray(toHead));
  }

  kept(): KeptOutput {
    const head = Buffer.concat(this.#head);
    const tail = this.#tail();
    return { head, tail, bytes: this.#bytes, left_out: this.#bytes - head.length - tail.length };
  }

  #addToTail(piece: Uint8Array): void {
    const { tail_bytes } = this.#limits;
    const ring = (this.#ring ??= Buffer.alloc(tail_bytes));
    const rest = piece.subarray(Math.max(0, piece.length - tail_bytes));
    const skipped = piece.length - rest.length;
    const at = tail_bytes === 0 ? 0 : (this.#next + skipped) % tail_bytes;
    const first = rest.subarray(0, tail_bytes - at);
    ring.set(first, at);
    ring.set(rest.subarray(first.length), 0);
    this.#next = tail_bytes === 0 ? 0 : (at + rest.length) % tail_bytes;
  }

  #tail(): Buffer {
    if (this.#ring === undefined) return Buffer.alloc(0);
    const inTail = this.#bytes - this.#headBytes;
    if (inTail < this.#ring.length) return Buffer.from(this.#ring.subarray(0, inTail));
    return Buffer.concat([this.#ring.subarray(this.#next), this.#ring.subarray(0, this.#next)]);
  }
}
