import { parseStrictJson } from "@autonous/runtime/internal";
import type { CallOptions, Runtime, ToolCallResult } from "@autonous/runtime";
import { resultText } from "../model/prompt/result-text.ts";

/** The part of a runtime that an adapter needs. */
export type ToolRuntime = Pick<Runtime, "tools" | "call" | "callAll">;

export interface OfferOptions {
  /** Offer only these tools. Default: all. */
  readonly tools?: readonly string[];
}

/** A tool in a neutral shape; each adapter renames the fields. */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly schema: Readonly<Record<string, unknown>>;
}

/** The available tools, each with the JSON Schema of its arguments. */
export function offeredTools(runtime: ToolRuntime, { tools: wanted }: OfferOptions = {}): readonly OfferedTool[] {
  const offered = runtime.tools().filter(({ name }) => wanted === undefined || wanted.includes(name));
  return offered.map(({ name, description, args_schema }) => {
    // Some servers reject "$schema", and none needs it.
    const { $schema: _, ...schema } = args_schema;
    return { name, description, schema };
  });
}

/** A call as the model requested it: arguments as an object, or as JSON text that may be invalid. */
export interface ModelToolCall {
  readonly name: string;
  readonly input: unknown;
}

/** The outcome of a call: text for the model, and the result for the program. */
export interface CallAnswer {
  readonly text: string;
  readonly isError: boolean;
  readonly result: ToolCallResult;
}

/**
 * Runs the calls of one reply through the gate, in parallel where allowed, and returns the answers in the order
 * requested. Never throws: a refused or failed call is an answer too. Provider ids are not used as call ids: not
 * every provider makes them unique within a run.
 */
export async function answerCalls(
  runtime: ToolRuntime,
  calls: readonly ModelToolCall[],
  options: CallOptions = {},
): Promise<readonly CallAnswer[]> {
  const requests = calls.map(({ name, input }) => ({ name, args: readInput(input) }));
  const results = await runtime.callAll(requests, options);
  return results.map(answerOf);
}

export async function answerCall(
  runtime: ToolRuntime,
  { name, input }: ModelToolCall,
  options: CallOptions = {},
): Promise<CallAnswer> {
  return answerOf(await runtime.call({ name, args: readInput(input) }, options));
}

function answerOf(result: ToolCallResult): CallAnswer {
  return { text: resultText(result), isError: !result.ok, result };
}

/** Invalid JSON and duplicate keys stay text: the gate rejects it, records that, and reports it to the model. */
function readInput(input: unknown): unknown {
  if (typeof input !== "string") return input ?? {};
  if (input.trim() === "") return {}; // some servers send "" for no arguments
  try {
    return parseStrictJson(input);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return input;
  }
}
