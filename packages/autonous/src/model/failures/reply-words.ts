/** The problem of a reply for people: without the last clause, which is an instruction for the model. */
export function problemOfReply(message: string): string {
  const problem = message.replace(/^Cannot use the reply: /, "");
  const end = problem.lastIndexOf("; ");
  // The server's message is in parentheses and may contain such a clause too.
  return end <= 0 || problem.indexOf(")", end) >= 0 ? problem : problem.slice(0, end);
}
