import { makeVisibleLines } from "@autonous/runtime/internal";
import type { Token, Tokens } from "marked";
import { joinRich, markAll, plainText } from "./rich-text.ts";
import type { RichText } from "./rich-text.ts";

/** Words, emphasis, code and links of one block. */
export function inlineRich(tokens: readonly Token[]): RichText {
  return joinRich(
    tokens.map((token, at) => {
      const around = { before: lastCharacter(tokens[at - 1]?.raw), after: tokens[at + 1]?.raw.charAt(0) ?? "" };
      return INLINES[token.type]?.(token as never, around) ?? visible(token.raw);
    }),
  );
}

/** The characters that touch a token; empty at the ends of what it stands in. */
interface Around {
  readonly before: string;
  readonly after: string;
}

function lastCharacter(raw = ""): string {
  return raw.charAt(raw.length - 1);
}

function visible(text: string): RichText {
  return plainText(makeVisibleLines(text));
}

// oxfmt-ignore
const INLINES: Readonly<Record<string, (token: never, around: Around) => RichText>> = {
  text:     ({ text, tokens }: Tokens.Text) => (tokens === undefined ? visible(text) : inlineRich(tokens)),
  escape:   ({ text }: Tokens.Escape) => visible(text),
  strong:   ({ raw, tokens }: Tokens.Strong, around) => isOperator(around, "both") || DUNDER.test(raw) ? spelt(raw, tokens, 2) : markAll(inlineRich(tokens), { type: "bold" }),
  em:       ({ raw, tokens }: Tokens.Em, around) => isOperator(around, "either") ? spelt(raw, tokens, 1) : markAll(inlineRich(tokens), { type: "italic" }),
  del:      ({ raw, tokens }: Tokens.Del) => (raw.startsWith("~~") ? markAll(inlineRich(tokens), { type: "strikethrough" }) : spelt(raw, tokens, 1)),
  codespan: ({ text }: Tokens.Codespan) => markAll(visible(text), { type: "code" }),
  br:       () => plainText("\n"),
  link:     ({ tokens, text, href, title }: Tokens.Link) => linkRich(inlineRich(tokens), { text, href, title }),
  image:    ({ text, href, title }: Tokens.Image) => linkRich(visible(text === "" ? "image" : text), { text, href, title }),
};

const SLASH = /[/\\]/;
const LATIN = /[A-Za-z0-9_)\]]/;

// `2*3*4`, `2**3**4` and `src/**/x/**` are formulas and paths, whatever CommonMark says: the stars belong to the words.
// Chinese has no blanks between words, so a letter of another script beside the stars says nothing.
function isOperator({ before, after }: Around, sides: "both" | "either"): boolean {
  if (SLASH.test(before) || SLASH.test(after)) return true;
  const [isBefore, isAfter] = [LATIN.test(before), /[A-Za-z0-9_([]/.test(after)];
  return sides === "both" ? isBefore && isAfter : isBefore || isAfter;
}

/** A name of Python's, such as `__init__`. */
const DUNDER = /^__\w+__$/;

/** With its marks as they were written. */
function spelt(raw: string, tokens: readonly Token[], length: number): RichText {
  return joinRich([visible(raw.slice(0, length)), inlineRich(tokens), visible(raw.slice(-length))]);
}

interface Link {
  /** As it was written, without its formatting. */
  readonly text: string;
  readonly href: string;
  readonly title?: string | null | undefined;
}

/**
 * Only an address of the web is a link, and only behind words that do not look like another address. Everything else
 * shows where it leads: a person sees what they would open.
 */
function linkRich(shown: RichText, { text, href, title }: Link): RichText {
  const words =
    title === undefined || title === null || title === "" ? shown : joinRich([shown, visible(` (${title})`)]);
  if (isSame(text, href)) return words;
  if (isWeb(href) && shown.text.trim() !== "" && !looksLikeAddress(shown.text)) {
    return joinRich([
      markAll(shown, { type: "text_link", url: href }),
      ...(words === shown ? [] : [visible(` (${title})`)]),
    ]);
  }
  return joinRich([words, visible(href === "" ? "" : ` (${href})`)]);
}

/** Telegram makes a link of it by itself. */
function isSame(text: string, href: string): boolean {
  return [href, href.replace(/^(?:mailto:|https?:\/\/)/, "")].includes(text);
}

function isWeb(href: string): boolean {
  // Telegram accepts such an address. One with blanks or hidden characters cannot be checked by the reader.
  if (!/^https?:\/\/[^\s/?#@\\]+(?:[/?#]\S*)?$/i.test(href) || makeVisibleLines(href) !== href) return false;
  return URL.canParse(href);
}

function looksLikeAddress(text: string): boolean {
  return /:\/\/|\bwww\.|\b(?:mailto|tg):|(?:^|[^\p{L}\p{N}])@\w|[\p{L}\p{N}]\.[\p{L}]{2,}(?![\p{L}])/iu.test(text);
}
