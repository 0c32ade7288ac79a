import type { ToolCallResult } from "@autonous/runtime";

/** What was said so far, oldest first. Everything in it has passed the redactor. */
export type Message =
  | { readonly role: "user"; readonly text: string }
  /** One finished model round: the reply as it came. */
  | { readonly role: "assistant"; readonly text: string }
  /** What a call of the reply above gave: `text` is for a model to read, `result` for a program. */
  | {
      readonly role: "tool";
      readonly tool_call_id: string;
      readonly name: string;
      readonly text: string;
      readonly result: ToolCallResult;
    };

/** A tool as the model gets to know it. */
export interface ModelTool {
  readonly name: string;
  readonly description: string;
  readonly args_schema: Readonly<Record<string, unknown>>;
}

export interface ModelRequest {
  /** What is asked: the next round of a task (the default), or a verdict on one call. */
  readonly purpose?: "round" | "reverse_thinking";
  readonly system: string;
  readonly messages: readonly Message[];
  /** Model rounds of this task so far. Those that failed count too, though they left no message. */
  readonly rounds: number;
  readonly tools: readonly ModelTool[];
}

interface ModelUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
}

export interface ModelReply {
  /** In the plain JSON protocol (spec 1, Model replies). */
  readonly text: string;
  /** `length`: the reply was cut off, and none of its calls may run. */
  readonly finish: "stop" | "length";
  readonly usage?: ModelUsage;
}

/** Messages in, reply out. Throws `ModelFailed` when there is no reply; gives up when `signal` is aborted. */
export interface ModelProvider {
  readonly name: string;
  complete(request: ModelRequest, options: { readonly signal: AbortSignal }): Promise<ModelReply>;
}
