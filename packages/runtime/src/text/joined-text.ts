/**
 * Where invisible characters are a legitimate part of the text: inside emoji (👩‍💻, ❤️, 1️⃣, 🏴󠁧󠁢󠁥󠁮󠁧󠁿) and
 * between letters of scripts that join (Persian می‌خواهم, Sinhala ශ්‍රී). Between Latin letters they only make two
 * words look alike, and count as hidden.
 */
// oxfmt-ignore
const JOINING_SCRIPTS = [
  "Adlm", "Arab", "Beng", "Deva", "Gujr", "Guru", "Java", "Khmr", "Knda", "Mand", "Mlym", "Mong", "Mymr", "Nkoo", "Orya",
  "Phag", "Rohg", "Sinh", "Sogd", "Syrc", "Taml", "Telu", "Tibt",
] as const;
const LETTER = String.raw`[[\p{L}\p{M}]&&[${JOINING_SCRIPTS.map((script) => String.raw`\p{scx=${script}}`).join("")}]]`;
const BETWEEN_LETTERS = String.raw`(?<=${LETTER})[\u200c\u200d](?=${LETTER})`;

const PICTURE = String.raw`\p{Extended_Pictographic}(?:[\u{1f3fb}-\u{1f3ff}]|[\ufe0e\ufe0f])?`;
const SEQUENCE = String.raw`${PICTURE}(?:\u200d${PICTURE})*`;
const KEYCAP = String.raw`[0-9#*]\ufe0f\u20e3`;
/** England, Scotland and Wales: the only flags with tag characters. All other tags hide text. */
const FLAG = ["gbeng", "gbsct", "gbwls"]
  .map(
    (region) =>
      `\\u{1f3f4}${Array.from(region, (letter) => `\\u{e00${letter.charCodeAt(0).toString(16)}}`).join("")}\\u{e007f}`,
  )
  .join("|");

/** Matches text whose invisible characters are legitimate. For regular expressions with the flag `v`. */
export const JOINED_TEXT = `${FLAG}|${KEYCAP}|${SEQUENCE}|${BETWEEN_LETTERS}`;
