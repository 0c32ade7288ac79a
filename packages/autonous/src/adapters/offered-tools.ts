import { parseStrictJson } from "@autonous/runtime";
import type { CallOptions, Runtime, ToolCallResult } from "@autonous/runtime";
import { resultText } from "../model/prompt/result-text.ts";

/** What an adapter has to have of a runtime. */
export type ToolRuntime = Pick<Runtime, "tools" | "call" | "callAll">;

export interface OfferOptions {
  /** Only these of the tools in force. Default: all of them. */
  readonly tools?: readonly string[];
}

/** A tool as every client wants to know it, under whatever names. */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly schema: Readonly<Record<string, unknown>>;
}

/** The tools in force, each with the JSON Schema of its arguments. */
export function offeredTools(runtime: ToolRuntime, { tools: wanted }: OfferOptions = {}): readonly OfferedTool[] {
  const offered = runtime.tools().filter(({ name }) => wanted === undefined || wanted.includes(name));
  return offered.map(({ name, description, args_schema }) => {
    // Which draft it is is known to whoever reads it, and some servers refuse to hear of it.
    const { $schema: _, ...schema } = args_schema;
    return { name, description, schema };
  });
}

/** A call as a model asked for it: the arguments as an object, or as JSON text that may be broken. */
export interface AskedCall {
  readonly name: string;
  readonly input: unknown;
}

/** What a call came to: the text for the model, and the result for the program. */
export interface CallAnswer {
  readonly text: string;
  readonly isError: boolean;
  readonly result: ToolCallResult;
}

/**
 * Makes the calls of one reply through the gate, side by side where that may be, and gives the answers in the order
 * asked. Never throws: a call that is refused or fails is an answer too. The ids of a provider stay the provider's: not
 * all of them are unique in a run.
 */
export async function answerCalls(
  runtime: ToolRuntime,
  calls: readonly AskedCall[],
  options: CallOptions = {},
): Promise<readonly CallAnswer[]> {
  const requests = calls.map(({ name, input }) => ({ name, args: readInput(input) }));
  const results = await runtime.callAll(requests, options);
  return results.map(answerOf);
}

export async function answerCall(
  runtime: ToolRuntime,
  { name, input }: AskedCall,
  options: CallOptions = {},
): Promise<CallAnswer> {
  return answerOf(await runtime.call({ name, args: readInput(input) }, options));
}

function answerOf(result: ToolCallResult): CallAnswer {
  return { text: resultText(result), isError: !result.ok, result };
}

/** Broken JSON, and an object that has a name twice, stays text: the gate refuses it, on record, and the model is told. */
function readInput(input: unknown): unknown {
  if (typeof input !== "string") return input ?? {};
  if (input.trim() === "") return {}; // how some servers say that there are none
  try {
    return parseStrictJson(input);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return input;
  }
}
