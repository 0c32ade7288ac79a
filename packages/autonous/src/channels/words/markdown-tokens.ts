import { Lexer } from "marked";
import type { Token } from "marked";

/**
 * The cost of parsing emphasis grows quadratically: marks of emphasis times characters. So does the cost of words that
 * may be mail addresses. No block that a person or a model writes comes near these limits; longer ones are shown
 * unformatted.
 */
const BLOCK_COST = 4_000_000;
const TEXT_COST = 20_000_000;

/**
 * Markdown (CommonMark with GitHub's tables, task lists and strikethrough) as tokens. Undefined if parsing would lose
 * text: nested thousands deep, or with parts that the parser drops (a second definition of a link). Takes bounded time
 * for any text.
 */
export function readMarkdown(text: string): readonly Token[] | undefined {
  const lexer = new Lexer({ gfm: true });
  try {
    const source = text.replaceAll(/\r\n|\r/g, "\n");
    lexer.blockTokens(source, lexer.tokens);
    readInline(lexer);
    return withoutBlanks(lexer.tokens.map(({ raw }) => raw).join("")) === withoutBlanks(source)
      ? lexer.tokens
      : undefined;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error; // stack overflow
    return undefined;
  }
}

function readInline(lexer: Lexer): void {
  let spent = 0;
  for (const { src, tokens } of lexer.inlineQueue) {
    const cost = src.length * (src.match(/[*_~]/g)?.length ?? 0) + addressCost(src);
    const isCheap = cost <= BLOCK_COST && spent + cost <= TEXT_COST;
    if (isCheap) spent += cost;
    if (isCheap) lexer.inlineTokens(src, tokens);
    else tokens.push({ type: "text", raw: src, text: src });
  }
  lexer.inlineQueue = [];
}

/** The parser looks for a mail address at each character of a word: quadratic in its length. */
function addressCost(src: string): number {
  if (!src.includes("@")) return 0;
  return (src.match(/[\w.+-]{1000,}/g) ?? []).reduce((sum, { length }) => sum + length * length, 0);
}

function withoutBlanks(text: string): string {
  return text.replaceAll(/\s+/g, "");
}
