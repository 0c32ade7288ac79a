import { closeSync, readSync } from "node:fs";

const BLOCK = 131_072; // twice the largest comparison
const UTF8_BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * The bytes of an open file as ripgrep counts them: without a byte order mark, and UTF-16 as UTF-8. Reads must be in
 * ascending order. Holds one block, whatever the file size.
 */
export class FileContent {
  readonly #fd: number;
  readonly #block: Buffer;
  /** Offset in the file where rg starts counting. */
  readonly #shift: number;
  readonly #decoded: DecodedContent | undefined;
  #start = 0;
  #end = 0;

  /** `block` can be reused after `close`, which also closes the descriptor. */
  constructor(fd: number, block: Buffer) {
    this.#fd = fd;
    this.#block = block;
    this.#end = readSync(fd, block, 0, BLOCK, 0);
    this.#shift = UTF8_BOM.equals(block.subarray(0, Math.min(3, this.#end))) ? UTF8_BOM.length : 0;
    const encoding = this.#end < 2 ? undefined : encodingOf(block);
    this.#decoded = encoding === undefined ? undefined : new DecodedContent(fd, encoding);
  }

  static makeBlock(): Buffer {
    return Buffer.allocUnsafeSlow(BLOCK);
  }

  /** Whether the beginning contains a NUL: ripgrep then treats the file as binary. */
  get isBinary(): boolean {
    return this.#decoded === undefined && this.#start === 0 && this.#block.subarray(0, this.#end).includes(0);
  }

  /** Bytes from `offset` on; fewer at the end of the file. Valid until the next call. */
  read(offset: number, length: number): Buffer {
    return this.#decoded?.read(offset, length) ?? this.#readRaw(offset + this.#shift, length);
  }

  close(): void {
    closeSync(this.#fd);
  }

  #readRaw(from: number, length: number): Buffer {
    if (from < this.#start || from + length > this.#end) {
      this.#start = from;
      this.#end = from + readSync(this.#fd, this.#block, 0, BLOCK, from);
    }
    return this.#block.subarray(from - this.#start, Math.min(from - this.#start + length, this.#end - this.#start));
  }
}

function encodingOf(block: Buffer): "utf-16le" | "utf-16be" | undefined {
  if (block[0] === 0xff && block[1] === 0xfe) return "utf-16le";
  return block[0] === 0xfe && block[1] === 0xff ? "utf-16be" : undefined;
}

/** A sliding window on decoded text; a read before the window restarts from the beginning. */
class DecodedContent {
  readonly #fd: number;
  readonly #encoding: string;
  readonly #block = FileContent.makeBlock();
  #decoder: InstanceType<typeof TextDecoder>;
  #position = 0;
  #window = Buffer.alloc(0);
  #start = 0;

  constructor(fd: number, encoding: string) {
    this.#fd = fd;
    this.#encoding = encoding;
    this.#decoder = new TextDecoder(encoding);
  }

  read(offset: number, length: number): Buffer {
    if (offset < this.#start) this.#restart();
    while (offset + length > this.#start + this.#window.length && this.#advance(offset));
    return this.#window.subarray(offset - this.#start, offset - this.#start + length);
  }

  #restart(): void {
    this.#decoder = new TextDecoder(this.#encoding);
    this.#position = 0;
    this.#window = Buffer.alloc(0);
    this.#start = 0;
  }

  /** Decodes one more block and drops the text before `offset`. False at the end of the file. */
  #advance(offset: number): boolean {
    const got = readSync(this.#fd, this.#block, 0, BLOCK, this.#position);
    if (got === 0) return false;
    this.#position += got;
    const more = Buffer.from(this.#decoder.decode(this.#block.subarray(0, got), { stream: true }));
    const gone = Math.min(Math.max(0, offset - this.#start), this.#window.length);
    this.#window = Buffer.concat([this.#window.subarray(gone), more]);
    this.#start += gone;
    return true;
  }
}
