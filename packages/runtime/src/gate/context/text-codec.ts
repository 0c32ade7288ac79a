import type { AttachmentStart } from "../../contract/context.ts";

interface TextCodec {
  /** The complete characters so far. */
  decode(piece: Uint8Array): string;
  end(): string;
  /** Trailing bytes that are not a complete character. */
  rest(): Uint8Array;
  encode(text: string): Buffer;
}

const NOTHING = new Uint8Array(0);

/** Converts bytes to text and back; unchanged text gives the same bytes, wherever the chunks were cut. */
const CODECS = {
  utf8: () => {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    return {
      decode: (piece) => decoder.decode(piece, { stream: true }),
      end: () => decoder.decode(),
      rest: () => NOTHING,
      encode: (text) => Buffer.from(text, "utf8"),
    };
  },
  latin1: () => ({
    decode: (piece) => viewOf(piece).toString("latin1"),
    end: () => "",
    rest: () => NOTHING,
    encode: (text) => Buffer.from(text, "latin1"),
  }),
  utf16le: () => wideCodec((bytes) => bytes),
  utf16be: () => wideCodec((bytes) => bytes.swap16()),
} as const satisfies Record<NonNullable<AttachmentStart["encoding"]>, () => TextCodec>;

export function codecOf(encoding: keyof typeof CODECS): TextCodec {
  return CODECS[encoding]();
}

/** Two bytes per unit. The halves of a surrogate pair may arrive separately; they are joined in the text. */
function wideCodec(inOrder: (bytes: Buffer) => Buffer): TextCodec {
  let odd = Buffer.alloc(0);
  return {
    decode(piece) {
      const bytes = Buffer.concat([odd, piece]); // a copy, because byte swapping changes it
      const whole = bytes.length - (bytes.length % 2);
      odd = Buffer.from(bytes.subarray(whole));
      return inOrder(bytes.subarray(0, whole)).toString("utf16le");
    },
    end: () => "",
    rest: () => odd, // half a unit
    encode: (text) => inOrder(Buffer.from(text, "utf16le")),
  };
}

function viewOf(piece: Uint8Array): Buffer {
  return Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
}
