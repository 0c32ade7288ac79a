import { recogniseContent } from "./kinds.ts";

export interface DecodedText {
  readonly text: string;
  /** The file begins with a byte order mark. It is not part of `text`. */
  readonly bom: boolean;
}

export interface Undecodable {
  readonly problem: "binary" | "utf-16" | "invalid_utf8";
}

const BOM = "\ufeff";
export const BOM_BYTES = 3;
const REPLACEMENT = "\ufffd";

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const lenient = new TextDecoder("utf-8", { ignoreBOM: true });

/** The text of a whole file, such that `encodeText` gives the same bytes again; or why there is none. */
export function decodeText(bytes: Uint8Array): DecodedText | Undecodable {
  const { kind } = recogniseContent(bytes);
  if (kind === "utf-16") return { problem: kind };
  if (kind !== "text") return { problem: "binary" };
  const text = decodeStrictly(bytes);
  if (text === undefined) return { problem: "invalid_utf8" };
  return text.startsWith(BOM) ? { text: text.slice(1), bom: true } : { text, bom: false };
}

export function encodeText({ text, bom }: DecodedText): Buffer {
  return Buffer.from(bom ? BOM + text : text, "utf8");
}

/** Bytes as text to look at: what is no UTF-8 stands as replacement marks. A byte order mark stays in it. */
export function decodeLeniently(bytes: Uint8Array): { readonly text: string; readonly valid: boolean } {
  const text = lenient.decode(bytes);
  // The mark may also stand in the file itself.
  return { text, valid: !text.includes(REPLACEMENT) || decodeStrictly(bytes) !== undefined };
}

export function startsWithBom(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

/** Undefined where the bytes are not valid UTF-8. */
function decodeStrictly(bytes: Uint8Array): string | undefined {
  try {
    return strict.decode(bytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_ENCODING_INVALID_ENCODED_DATA") return undefined;
    throw error;
  }
}
