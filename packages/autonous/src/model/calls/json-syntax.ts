/** What is wrong with a JSON text, without the piece of it that the engine shows: half a secret passes the redactor. */
export function syntaxReason(error: SyntaxError): string {
  return error.message.split(/, (?:\.\.\.)?"/, 1)[0] ?? "";
}
