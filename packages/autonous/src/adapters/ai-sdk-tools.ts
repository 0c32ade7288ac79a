import type { CallOptions, ToolCallResult } from "@autonous/runtime";
import { resultText } from "../model/prompt/result-text.ts";
import { answerCall, offeredTools } from "./runtime-tools.ts";
import type { OfferOptions, ToolRuntime } from "./runtime-tools.ts";

/** Marks a JSON Schema for the AI SDK, in all of its versions. */
const SCHEMA = Symbol.for("vercel.ai.schema");

/** Accepts any arguments: the gate checks them and records the outcome. */
interface AnySchema {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: "autonous";
    readonly validate: (value: unknown) => { readonly value: unknown };
    readonly jsonSchema: { readonly input: () => JsonObject; readonly output: () => JsonObject };
  };
  readonly jsonSchema: JsonObject;
  readonly validate: undefined;
}

type JsonObject = Record<string, unknown>;

interface Execution {
  readonly toolCallId: string;
  readonly abortSignal?: AbortSignal | undefined;
}

/** A result as the model sees it. */
type ModelOutput = { type: "text"; value: string } | { type: "error-text"; value: string };

/** A member of `tools` of `generateText` and `streamText`. */
export interface AiSdkTool {
  readonly description: string;
  readonly inputSchema: AnySchema;
  /** Never throws: every outcome is a result. */
  readonly execute: (input: unknown, execution: Execution) => Promise<ToolCallResult>;
  /** Version 6 and later pass an object that contains the output, version 5 passes the output itself. */
  readonly toModelOutput: (given: { readonly output: ToolCallResult } | ToolCallResult) => ModelOutput;
}

/** The available tools, for `generateText({ tools })`. */
export function aiSdkTools(
  runtime: ToolRuntime,
  { tools, ...callOptions }: OfferOptions & Omit<CallOptions, "signal"> = {},
): Record<string, AiSdkTool> {
  const offered = offeredTools(runtime, tools === undefined ? {} : { tools });
  const entries = offered.map(({ name, description, schema }): [string, AiSdkTool] => [
    name,
    {
      description,
      inputSchema: schemaOf(schema),
      async execute(input, { abortSignal }) {
        const signal = abortSignal === undefined ? {} : { signal: abortSignal };
        return (await answerCall(runtime, { name, input }, { ...callOptions, ...signal })).result;
      },
      toModelOutput: (given) => outputOf("output" in given ? given.output : given),
    },
  ]);
  return Object.fromEntries(entries);
}

function schemaOf(schema: Readonly<JsonObject>): AnySchema {
  const jsonSchema = { ...schema };
  const known = {
    "~standard": {
      version: 1,
      vendor: "autonous",
      validate: (value: unknown) => ({ value }),
      jsonSchema: { input: () => jsonSchema, output: () => jsonSchema },
    },
    jsonSchema,
    validate: undefined,
  } as const;
  return Object.assign(known, { [SCHEMA]: true });
}

function outputOf(result: ToolCallResult): ModelOutput {
  return { type: result.ok ? "text" : "error-text", value: resultText(result) };
}

/** An entry of `tools` of `doGenerate` and `doStream`, for code that calls a provider package without the `ai` package. */
export interface AiSdkFunctionTool {
  type: "function";
  name: string;
  description: string;
  inputSchema: JsonObject;
}

/** The available tools, for `tools` of `doGenerate` and `doStream`. */
export function aiSdkFunctionTools(runtime: ToolRuntime, options: OfferOptions = {}): AiSdkFunctionTool[] {
  return offeredTools(runtime, options).map(({ name, description, schema }) => ({
    type: "function",
    name,
    description,
    inputSchema: { ...schema },
  }));
}

/** A part of type `tool-call`, as a provider returns it. */
export interface AiSdkToolCall {
  readonly toolCallId: string;
  readonly toolName: string;
  /** JSON text, as providers return it. */
  readonly input: unknown;
}

export interface AiSdkToolResult {
  type: "tool-result";
  toolCallId: string;
  toolName: string;
  output: ModelOutput;
}

/** Runs one call and returns the part that answers it in the next message of role `tool`. Never throws. */
export async function runAiSdkToolCall(
  runtime: ToolRuntime,
  { toolCallId, toolName, input }: AiSdkToolCall,
  options: CallOptions = {},
): Promise<AiSdkToolResult> {
  const { result } = await answerCall(runtime, { name: toolName, input }, options);
  return { type: "tool-result", toolCallId, toolName, output: outputOf(result) };
}
