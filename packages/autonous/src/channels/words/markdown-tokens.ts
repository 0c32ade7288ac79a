import { Lexer } from "marked";
import type { Token } from "marked";

/**
 * What emphasis costs to read grows with the square of a block: marks of emphasis times characters. So do words that may
 * be addresses of mail. No block that a
 * person or a model writes comes near these; what is beyond them is shown as it is.
 */
const BLOCK_COST = 4_000_000;
const TEXT_COST = 20_000_000;

/**
 * Markdown (CommonMark with GitHub's tables, task lists and strikethrough) as tokens. Undefined where it cannot be read
 * as such without losing something: nested thousands deep, or with parts that the reader drops (a second definition of
 * a link). Takes a bounded time for any text.
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
    if (!(error instanceof RangeError)) throw error; // the stack is full
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

/** Where an address of mail may begin is looked for at each character of a word: the square of its length. */
function addressCost(src: string): number {
  if (!src.includes("@")) return 0;
  return (src.match(/[\w.+-]{1000,}/g) ?? []).reduce((sum, { length }) => sum + length * length, 0);
}

function withoutBlanks(text: string): string {
  return text.replaceAll(/\s+/g, "");
}
