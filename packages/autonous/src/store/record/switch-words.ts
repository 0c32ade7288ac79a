import type { RuntimeEvent } from "@autonous/runtime";

/** Problem of a model as text for people. The reasons are those of `model/failures/model-failure.ts`. */
// oxfmt-ignore
const WRONG: Readonly<Record<string, string>> = {
  quota:        "is out of credit",
  key_refused:  "refuses the key",
  not_found:    "was not found",
  rate_limited: "is rate-limited",
  server_error: "is down",
  connection:   "cannot be reached",
  proxy:        "cannot be reached through the proxy",
  timeout:      "does not answer in time",
  cut_off:      "cuts off its replies",
  redirected:   "redirects to another server",
  breaker_open: "failed repeatedly",
};

/** `Falling back to openai:x: anthropic:y is out of credit (400 …)`. */
export function switchWords({ from, to, reason, message }: RuntimeEvent["payload"]): string {
  const wrong = WRONG[String(reason)] ?? "did not answer";
  return `Falling back to ${shortName(to)}: ${shortName(from)} ${wrong} (${String(message)})`;
}

/** Shortens a server URL to its host: `compatible:m@127.0.0.1:11434`. */
function shortName(model: unknown): string {
  return String(model).replace(/@https?:\/\/([^/@]*)[^@]*$/i, "@$1");
}
