import { makeId } from "@autonous/runtime";
import type { ErrorCode, RuntimeEvent } from "@autonous/runtime";
import { parseReply } from "../model/json-reply.ts";
import type { ModelReply } from "../model/provider.ts";
import { writeInstructions } from "./instructions.ts";
import type { Run } from "./run.ts";

/** A call as a reply asked for it. */
export interface AskedCall {
  readonly tool_call_id: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The record has other arguments than the model gave: something in them was secret. */
  readonly redacted: boolean;
}

/** What a model round came to. Its event holds the same, so that the round need not be asked again. */
export type Round =
  | {
      readonly kind: "tool_calls";
      readonly text: string;
      readonly calls: readonly AskedCall[];
      readonly progress: string;
    }
  | { readonly kind: "final"; readonly text: string; readonly answer: string }
  | { readonly kind: "invalid"; readonly text: string; readonly message: string }
  | { readonly kind: "failed"; readonly code: ErrorCode; readonly message: string };

/** A round that is on record. Our own events: they were written by `askModel`, and the chain says that they are unchanged. */
export function recordedRound({ payload }: RuntimeEvent): Round {
  return payload as unknown as Round;
}

/** Asks the model, and records what it said before anything is made of it. */
export async function askModel(run: Run, parent_id: string): Promise<Round> {
  const { provider, runtime } = run.options;
  await run.enter("model_round");
  const tools = runtime.tools();
  const askedMs = run.now();
  let reply: ModelReply;
  try {
    run.signal.throwIfAborted();
    const request = { system: writeInstructions(tools), messages: [...run.messages], rounds: run.rounds, tools };
    reply = await provider.complete(request, { signal: run.signal });
  } catch (error) {
    const failure = failedRound(run, error);
    await run.write({ type: "model.failed", parent_id, payload: { ...failure, latency_ms: run.now() - askedMs } });
    return failure;
  }
  const latency_ms = run.now() - askedMs;
  const { round, payload } = readReply(run, reply);
  const { finish, usage = null } = reply;
  await run.write({ type: "model.completed", parent_id, payload: { ...payload, finish, usage, latency_ms } });
  return round;
}

function failedRound(run: Run, error: unknown): Round & { kind: "failed" } {
  if (run.signal.aborted) {
    return { kind: "failed", code: "Cancelled", message: "The run was cancelled while the model was asked" };
  }
  const reason = error instanceof Error ? error.message : String(error);
  const message = run.redact(`The model "${run.options.provider.name}" did not answer: ${reason}`);
  return { kind: "failed", code: "ModelFailed", message };
}

interface ReadReply {
  /** With the arguments as the model gave them: these are what is run. */
  readonly round: Round;
  /** The same as it is recorded, with nothing secret in it. */
  readonly payload: Readonly<Record<string, unknown>>;
}

function readReply(run: Run, reply: ModelReply): ReadReply {
  const text = run.redact(reply.text);
  const isRedacted = text !== reply.text.toWellFormed();
  const parsed = reply.finish === "length" ? CUT_OFF : parseReply(reply.text);
  if (parsed.kind === "invalid") {
    return both({ kind: "invalid", text, message: run.redact(parsed.message) }, isRedacted);
  }
  if (parsed.kind === "final") return both({ kind: "final", text, answer: run.redact(parsed.text) }, isRedacted);
  const calls: AskedCall[] = [];
  const recorded: AskedCall[] = [];
  for (const call of parsed.calls) {
    const tool_call_id = makeId("call", run.now());
    const { value, redacted: isChanged } = run.options.runtime.redactValue(call.arguments);
    const name = run.redact(call.name);
    const redacted = isChanged || name !== call.name;
    calls.push({ tool_call_id, ...call, redacted });
    recorded.push({ tool_call_id, name, arguments: value as AskedCall["arguments"], redacted });
  }
  const said = { kind: "tool_calls", text, progress: run.redact(parsed.text) } as const;
  return {
    round: { ...said, calls },
    payload: { ...said, calls: recorded, redacted: isRedacted || calls.some((call) => call.redacted) },
  };
}

/** Its calls may be whole by chance; what was to follow them is not known (spec 1, Model replies). */
const CUT_OFF = {
  kind: "invalid",
  message: "Cannot use the reply: it was cut off by the length limit, so nothing of it was run; send a shorter one",
} as const;

function both(round: Round, redacted: boolean): ReadReply {
  return { round, payload: { ...round, redacted } };
}
