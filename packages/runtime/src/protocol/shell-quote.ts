const PLAIN_WORD = /^[\w@%+=:,./-]+$/;

/** One word of a POSIX shell. Quotes only if the text needs it. */
export function quoteForShell(text: string): string {
  return PLAIN_WORD.test(text) ? text : inSingleQuotes(text);
}

/** One word of a POSIX shell, always in single quotes. */
export function inSingleQuotes(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
