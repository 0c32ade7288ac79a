import { recogniseContent } from "./kinds.ts";

export interface DecodedText {
  readonly text: string;
  /** The file starts with a byte order mark. It is not part of `text`. */
  readonly bom: boolean;
}

export interface DecodingProblem {
  readonly problem: "binary" | "utf-16" | "invalid_utf8";
}

const BOM = "\ufeff";
export const BOM_BYTES = 3;
const REPLACEMENT = "\ufffd";

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const lenient = new TextDecoder("utf-8", { ignoreBOM: true });

/** The text of an entire file, such that `encodeText` returns the same bytes; or why it cannot be decoded. */
export function decodeText(bytes: Uint8Array): DecodedText | DecodingProblem {
  const { kind } = recogniseContent(bytes);
  if (kind === "utf-16") return { problem: kind };
  const text = decodeStrictly(bytes);
  if (text === undefined) return { problem: kind === "text" ? "invalid_utf8" : "binary" };
  // A few NUL bytes are still text; many mean UTF-16 without a mark, or binary data.
  if (kind !== "text" && countNuls(bytes) * MANY_NULS > bytes.length) return { problem: "binary" };
  return text.startsWith(BOM) ? { text: text.slice(1), bom: true } : { text, bom: false };
}

const MANY_NULS = 4;

function countNuls(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(0); at >= 0; at = bytes.indexOf(0, at + 1)) count++;
  return count;
}

export function encodeText({ text, bom }: DecodedText): Buffer {
  return Buffer.from(bom ? BOM + text : text, "utf8");
}

/** Bytes as text for display: invalid UTF-8 becomes replacement characters. A byte order mark is kept. */
export function decodeLeniently(bytes: Uint8Array): { readonly text: string; readonly valid: boolean } {
  const text = lenient.decode(bytes);
  // The file itself may contain the replacement character.
  return { text, valid: !text.includes(REPLACEMENT) || decodeStrictly(bytes) !== undefined };
}

export function startsWithBom(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

/** Undefined if the bytes are not valid UTF-8. */
function decodeStrictly(bytes: Uint8Array): string | undefined {
  try {
    return strict.decode(bytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_ENCODING_INVALID_ENCODED_DATA") return undefined;
    throw error;
  }
}
