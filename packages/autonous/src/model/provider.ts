import type { ToolCallResult } from "@autonous/runtime";

/** A call as the model asked for it, with the id by which its result is told. */
export interface MessageCall {
  readonly tool_call_id: string;
  /** The id that the provider gave it, for what it wants back unchanged. */
  readonly provider_call_id?: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** A picture that goes along with what the user says. It is not recorded: the text names it. */
export interface MessageImage {
  readonly media_type: string;
  /** Base64. */
  readonly data: string;
}

/** What was said so far, oldest first. Everything in it has passed the redactor. */
export type Message =
  | { readonly role: "user"; readonly text: string; readonly images?: readonly MessageImage[] }
  /** One finished model round. */
  | {
      readonly role: "assistant";
      /** The reply as it came where it was in the plain JSON protocol; else what was said beside the calls. */
      readonly text: string;
      /** The model that made it, as `AUTONOUS_MODEL` names it. Replies of earlier versions do not say. */
      readonly maker?: string;
      /** Of a native reply: the calls in it. */
      readonly calls?: readonly MessageCall[];
      /** What the provider wants back with it unchanged, such as signed reasoning. Only its maker reads it. */
      readonly provider_parts?: unknown;
    }
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
  /** What is asked: the next round of a task (the default), a verdict on one call, or what was said in short. */
  readonly purpose?: "round" | "reverse_thinking" | "summary";
  readonly system: string;
  readonly messages: readonly Message[];
  /**
   * Numbers of messages from the beginning that stay as they are for longer than what follows them, in ascending order:
   * where a provider's cache is worth a mark.
   */
  readonly stable_until?: readonly number[];
  /** Model rounds of this task so far. Those that failed count too, though they left no message. */
  readonly rounds: number;
  readonly tools: readonly ModelTool[];
}

export interface ModelUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Of the input: read from the provider's cache. */
  readonly cached_input_tokens?: number;
  /** Of the input: put into the provider's cache, which some charge more for. */
  readonly cache_write_tokens?: number;
}

/** What an attempt was billed. `estimated`: the provider did not say. */
export type SpentUsage = ModelUsage & { readonly estimated?: true };

/** A call in a native reply. `input` is JSON text as the model wrote it: it may be broken. */
export interface NativeCall {
  readonly id: string;
  readonly name: string;
  readonly input: string;
}

/**
 * What a model answered. `plain`: text in the plain JSON protocol. `native`: calls by the provider's own function calling;
 * without any, the text is the answer (spec 1, Model replies). `length`: it was cut off, and none of its calls may run.
 */
export type ModelReply = {
  readonly finish: "stop" | "length";
  readonly usage?: ModelUsage;
  /** The provider ended the reply as one with calls. Without any in it, it is not an answer. */
  readonly wants_calls?: true;
  /** A clause: why the provider itself calls the reply unusable. Nothing of it may run; the model is told once. */
  readonly problem?: string;
} & (
  | { readonly kind: "plain"; readonly text: string }
  | {
      readonly kind: "native";
      readonly text: string;
      readonly calls: readonly NativeCall[];
      /** The model that made it, as `AUTONOUS_MODEL` names it. */
      readonly maker?: string;
      readonly provider_parts?: unknown;
    }
);

/** A piece of a reply as it comes, for live views. */
export interface ModelDelta {
  readonly kind: "text" | "reasoning";
  readonly text: string;
}

export interface CompleteOptions {
  readonly signal: AbortSignal;
  readonly onDelta?: (delta: ModelDelta) => void;
  /**
   * Told what an attempt that gave no reply was billed. The provider waits for it before the next attempt, so that the
   * booking is on record; what it throws ends the asking and is thrown on: a limit is reached.
   */
  readonly onSpent?: (usage: SpentUsage) => Promise<void>;
  /** No attempt begins later than this after the first one: another model can be asked instead. Default: the provider's own. */
  readonly patience_ms?: number;
  /** Told before a failed attempt is tried again. */
  readonly onRetry?: (retry: { readonly attempt: number; readonly wait_ms: number; readonly reason: string }) => void;
}

/**
 * Messages in, reply out. Throws `ModelFailed` when there is no reply, with `context_length: true` in its details where
 * the request was too long for the model; gives up when `signal` is aborted.
 */
export interface ModelProvider {
  /** As `AUTONOUS_MODEL` names it, without anything secret. */
  readonly name: string;
  /** How it is told of its tools: by its own function calling, or (the default) in the system text, spec 1. */
  readonly protocol?: "native" | "plain";
  /** How many tokens fit, where that is known. */
  readonly context_tokens?: number;
  /** The longest reply that it is asked for, where that is set. */
  readonly max_output_tokens?: number;
  /** Images of messages are given to it; without this they are left out. */
  readonly takes_images?: true;
  /** Every tool is to be in every request, whatever it costs: nobody pays for them. */
  readonly wants_all_tools?: true;
  /** Models to ask in this order where this one is down or out of credit. */
  readonly fallbacks?: readonly ModelProvider[];
  complete(request: ModelRequest, options: CompleteOptions): Promise<ModelReply>;
}
