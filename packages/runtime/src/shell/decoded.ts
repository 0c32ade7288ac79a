import { isProgramName } from "./program-names.ts";

/** Words of code that make a text out of another one. */
const DECODERS =
  /b64|base64|decode|unhexlify|fromhex|from_?hex|atob|\bpack\b|unpack|\bchr\b|fromCharCode|fromCodePoint|rot_?13|decompress|inflate|gunzip|Buffer\.from|\bbytes\b|bytearray|reverse|\[::-1\]|\brev\b|\btr\//i;
const LITERAL = /"((?:[^"\\\n]|\\.){4,4000})"|'((?:[^'\\\n]|\\.){4,4000})'|\bq\w?[({[]([^)}\]\n]{4,4000})[)}\]]/g;
const NUMBERS = /(?:0x[0-9a-fA-F]{2}|\d{2,3})(?:\s*,\s*(?:0x[0-9a-fA-F]{2}|\d{2,3})){3,400}/g;
const MAX_DECODED = 16;

/**
 * What literals of a code stand for when they are decoded, in the ways that one-liners do it: base64, hexadecimal, rot13,
 * turned around, numbers of characters. Only what then begins with the name of a program, or is code that starts one, counts.
 */
export function decodedTexts(code: string): readonly string[] {
  if (!DECODERS.test(code)) return [];
  const found = new Set<string>();
  for (const [, one, two, three] of code.matchAll(LITERAL)) {
    const text = one ?? two ?? three ?? "";
    for (const decode of WAYS) {
      const made = decode(text);
      if (made !== undefined && startsProgram(made)) found.add(made);
    }
    if (found.size > MAX_DECODED) break;
  }
  for (const [list] of code.matchAll(NUMBERS)) {
    const text = String.fromCharCode(...list.split(",").map((each) => Number(each.trim())));
    if (startsProgram(text)) found.add(text);
  }
  return [...found].slice(0, MAX_DECODED);
}

/** Words that are used for nothing but to make one text out of another. */
const SURE_DECODERS =
  /b64decode|base64_decode|decode64|decode_base64|a85decode|unhexlify|fromhex|from_hex|hex2bin|\batob\b|\bunpack1?\b|\bpack\s*\(|\.pack\b|fromCharCode|fromCodePoint|\bchr\s*[(,]|\bchr\b\s+for|rot_?13|decompress|inflate|codecs\.decode|["'](?:base64|hex)["']\s*\)|\[::-1\]|\breverse\b/i;

export function isDecoding(code: string): boolean {
  return SURE_DECODERS.test(code);
}

const WAYS: readonly ((text: string) => string | undefined)[] = [fromBase64, fromHex, fromRot13, turned];

function startsProgram(text: string): boolean {
  if (!/^[\x20-\x7e\s]+$/.test(text)) return false;
  if (/\b(?:system|exec\w*|popen|spawn\w*|subprocess|rmtree|rmSync)\b/.test(text)) return true;
  return text.split(/[;&|\n({]+/).some((part) => isProgramName(/\S+/.exec(part)?.[0] ?? ""));
}

function fromBase64(text: string): string | undefined {
  if (!/^[A-Za-z0-9+/_-]+=*$/.test(text)) return undefined;
  try {
    return atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    // Not base64 after all: other ways are tried.
    return undefined;
  }
}

function fromHex(text: string): string | undefined {
  if (text.length % 2 === 1 || !/^[0-9a-fA-F]+$/.test(text)) return undefined;
  return text.replace(/../g, (pair) => String.fromCharCode(Number.parseInt(pair, 16)));
}

function fromRot13(text: string): string {
  return text.replace(/[a-zA-Z]/g, (letter) => {
    const base = letter <= "Z" ? 65 : 97;
    return String.fromCharCode(((letter.charCodeAt(0) - base + 13) % 26) + base);
  });
}

function turned(text: string): string {
  return Array.from(text).reverse().join("");
}
