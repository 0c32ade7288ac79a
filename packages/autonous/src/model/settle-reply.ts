import { AttemptFailed } from "./failures/model-failure.ts";
import type { ModelProvider, ModelReply } from "./provider.ts";
import type { UnusableReply } from "./wire/error-in-answer.ts";
import { MAX_CHARACTERS } from "./wire/received.ts";
import type { ReplyMeter } from "./wire/received.ts";

/** Excerpt of an unused reply: enough to recognise it. */
const MAX_TAIL_CHARACTERS = 4096;
const MAX_REFUSAL = 4000;

/**
 * Completes a reply: its usage, whether calls were intended, whether it can be used. Throws if the model refused: a
 * refusal is not an answer, and another attempt would be billed again.
 */
export function settleReply(reply: ModelReply, received: ReplyMeter): ModelReply {
  const { meaning } = received;
  const usage = received.isTooLong ? received.spent : received.usage;
  const counted = usage === undefined ? reply : { ...reply, usage };
  if (received.isTooLong) {
    return withProblem(counted, `it is longer than ${MAX_CHARACTERS} characters, and the rest was not read`);
  }
  const refusal = received.refusal.trim() || (meaning === "refused" ? reply.text.trim() : undefined);
  if (refusal !== undefined && (refusal !== "" || meaning === "refused")) throw refused(refusal);
  if (meaning === "malformed") {
    const said = [received.finish, received.detail.slice(0, 1000)].filter((each) => each !== "").join(": ");
    return withProblem(counted, `the provider could not read its tool call (${said})`);
  }
  return meaning === "calls" ? { ...counted, wants_calls: true } : counted;
}

function refused(text: string): AttemptFailed {
  const said = text.slice(0, MAX_REFUSAL).replaceAll(/\s+/g, " ");
  return new AttemptFailed({ reason: "refused", message: `it refused${said === "" ? "" : `: ${said}`}` });
}

/** None of its calls may run. */
function withProblem(reply: ModelReply, problem: string): ModelReply {
  const text = reply.text.slice(0, MAX_TAIL_CHARACTERS).toWellFormed();
  const { provider_parts: _, ...rest } = { provider_parts: undefined, ...reply };
  return rest.kind === "native" ? { ...rest, text, calls: [], problem } : { ...rest, text, problem };
}

/** The server sent an error about the model's output instead of the reply. */
export function unusableReply(
  { message }: UnusableReply,
  protocol: NonNullable<ModelProvider["protocol"]>,
): ModelReply {
  const about = { text: "", finish: "stop", problem: message } as const;
  return protocol === "native" ? { kind: "native", calls: [], ...about } : { kind: "plain", ...about };
}
