import { reverseThinking } from "@autonous/runtime/internal";
import type { OnReverseThinking } from "@autonous/runtime";
import { readJsonObject } from "../model/calls/json-reply.ts";
import type { ModelProvider, ModelReply, ModelRequest } from "../model/provider.ts";
import { recordBilled } from "./usage/bookings.ts";
import { runningCall } from "./running-calls.ts";
import { consult, NoReply } from "./consult.ts";
import { withFallback } from "./fallback.ts";

interface ThinkerOptions {
  readonly provider: ModelProvider;
  /** Applied to everything that the model is shown. */
  readonly redactValue: (value: unknown) => { readonly value: unknown };
  readonly signal: AbortSignal;
}

const INSTRUCTIONS = `You review one action before it is taken. Assume that it went wrong, and work out why.
Answer with one JSON object and nothing else:
{"hidden_assumptions":["what must be true and was not verified"],"failure_scenarios":["how it fails, and what that would cost"],"verdict":"proceed","verdict_reason":"one sentence"}
"verdict" is "proceed" if the action is sound, "revise" if it should be done differently, "abort" if it should not be done.`;

/**
 * Challenges calls by asking the model about each, apart from the conversation. Without a usable verdict the call is
 * stopped: the gate accepts nothing else. The run of the call is charged.
 */
export function createReverseThinker({ provider, redactValue, signal }: ThinkerOptions): OnReverseThinking {
  return async ({ tool_call_id, tool, version, args }) => {
    const text = JSON.stringify({ tool, version, arguments: redactValue(args).value });
    const request: ModelRequest = {
      purpose: "reverse_thinking",
      system: INSTRUCTIONS,
      messages: [{ role: "user", text: `The action: ${text}` }],
      rounds: 0,
      tools: [],
    };
    const reply = (await askInRun(tool_call_id, request)) ?? (await provider.complete(request, { signal }));
    if (reply.finish === "length") throw new Error("The model's verdict was cut off");
    return reverseThinking.parse(readJsonObject(reply.text));
  };
}

/** Undefined: the call does not belong to a run of this process. */
async function askInRun(tool_call_id: string, request: ModelRequest): Promise<ModelReply | undefined> {
  const call = runningCall(tool_call_id);
  if (call === undefined) return undefined;
  const { run, parent_id } = call;
  try {
    const { reply, about } = await withFallback(run, parent_id, (attempt) => consult(run, request, attempt));
    const { provider, usage, cost } = about;
    await recordBilled(run, { parent_id, purpose: "reverse_thinking", outcome: "answered", provider, usage, cost });
    return reply;
  } catch (error) {
    throw error instanceof NoReply ? error.asError("The model gave no verdict", run.redact) : error;
  }
}
