/** The syntax error without the excerpt that the engine quotes: the redactor would not recognise half a secret. */
export function syntaxReason(error: SyntaxError): string {
  return error.message.split(/, (?:\.\.\.)?"/, 1)[0] ?? "";
}
