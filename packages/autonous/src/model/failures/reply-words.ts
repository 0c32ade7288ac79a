/** What is wrong with a reply, for a person: without the last clause, which tells the model what to do. */
export function problemOfReply(message: string): string {
  const problem = message.replace(/^Cannot use the reply: /, "");
  const end = problem.lastIndexOf("; ");
  // A server's own words stand in parentheses, and may hold such a clause themselves.
  return end <= 0 || problem.indexOf(")", end) >= 0 ? problem : problem.slice(0, end);
}
