import { reverseThinking } from "@autonous/runtime";
import type { OnReverseThinking } from "@autonous/runtime";
import { readJsonObject } from "../model/json-reply.ts";
import type { ModelProvider } from "../model/provider.ts";

interface ThinkerOptions {
  readonly provider: ModelProvider;
  /** What the model is shown has passed it. */
  readonly redactValue: (value: unknown) => { readonly value: unknown };
  readonly signal: AbortSignal;
}

const INSTRUCTIONS = `You review one action before it is taken. Assume that it went wrong, and work out why.
Answer with one JSON object and nothing else:
{"hidden_assumptions":["what has to be true and was not checked"],"failure_scenarios":["how it goes wrong, and what that would cost"],"verdict":"proceed","verdict_reason":"one sentence"}
"verdict" is "proceed" where the action is sound, "revise" where it should be done otherwise, "abort" where it should not be done.`;

/**
 * Challenges calls by asking the model about each, apart from what was said in the task. A model that gives no usable
 * verdict stops the call: the gate takes nothing else for one.
 */
export function createReverseThinker({ provider, redactValue, signal }: ThinkerOptions): OnReverseThinking {
  return async ({ tool, version, args }) => {
    const text = JSON.stringify({ tool, version, arguments: redactValue(args).value });
    const { text: reply, finish } = await provider.complete(
      {
        purpose: "reverse_thinking",
        system: INSTRUCTIONS,
        messages: [{ role: "user", text: `The action: ${text}` }],
        rounds: 0,
        tools: [],
      },
      { signal },
    );
    if (finish === "length") throw new Error("The model's verdict was cut off");
    return reverseThinking.parse(readJsonObject(reply));
  };
}
