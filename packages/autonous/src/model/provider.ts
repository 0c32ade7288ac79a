import type { ToolCallResult } from "@autonous/runtime";

/** A call requested by the model, with the id for its result. */
export interface MessageCall {
  readonly tool_call_id: string;
  /** The provider's id, for sending it back unchanged. */
  readonly provider_call_id?: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** An image sent with the user's message. Not recorded: the text names it. */
export interface MessageImage {
  readonly media_type: string;
  /** Base64. */
  readonly data: string;
}

/** A message of the conversation. Everything in it is redacted. */
export type Message =
  | { readonly role: "user"; readonly text: string; readonly images?: readonly MessageImage[] }
  /** One finished model round. */
  | {
      readonly role: "assistant";
      /** The raw reply in the plain JSON protocol; otherwise the text next to the calls. */
      readonly text: string;
      /** The model that wrote it, by its name in `AUTONOUS_MODEL`. Missing in replies of earlier versions. */
      readonly maker?: string;
      /** The calls of a native reply. */
      readonly calls?: readonly MessageCall[];
      /** Data that the provider requires back unchanged, such as signed reasoning. Only that provider reads it. */
      readonly provider_parts?: unknown;
    }
  /** The result of a call of the previous reply: `text` for the model, `result` for programs. */
  | {
      readonly role: "tool";
      readonly tool_call_id: string;
      readonly name: string;
      readonly text: string;
      readonly result: ToolCallResult;
    };

/** A tool as described to the model. */
export interface ModelTool {
  readonly name: string;
  readonly description: string;
  readonly args_schema: Readonly<Record<string, unknown>>;
}

export interface ModelRequest {
  /** The next round of a task (default), a verdict on one call, or a summary of the conversation. */
  readonly purpose?: "round" | "reverse_thinking" | "summary";
  readonly system: string;
  readonly messages: readonly Message[];
  /**
   * Counts of leading messages that stay unchanged for longer than the rest, ascending: positions for marks of a
   * provider's cache.
   */
  readonly stable_until?: readonly number[];
  /** Model rounds of this task so far, including failed ones, which left no message. */
  readonly rounds: number;
  readonly tools: readonly ModelTool[];
}

export interface ModelUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Part of the input that was read from the provider's cache. */
  readonly cached_input_tokens?: number;
  /** Part of the input that was written to the provider's cache, which some providers charge more for. */
  readonly cache_write_tokens?: number;
}

/** Billed tokens of an attempt. `estimated`: the provider did not report them. */
export type SpentUsage = ModelUsage & { readonly estimated?: true };

/** A call in a native reply. `input` is JSON text as the model wrote it: it may be broken. */
export interface NativeCall {
  readonly id: string;
  readonly name: string;
  readonly input: string;
}

/**
 * A model's reply. `plain`: text in the plain JSON protocol. `native`: the provider's function calling; without calls,
 * the text is the answer (spec 1, Model replies). `length`: the reply was truncated, and none of its calls may run.
 */
export type ModelReply = {
  readonly finish: "stop" | "length";
  readonly usage?: ModelUsage;
  /** The finish reason announced calls. If the reply has none, it is not an answer. */
  readonly wants_calls?: true;
  /** A clause: why the provider declared the reply unusable. None of its calls may run; the model is told once. */
  readonly problem?: string;
} & (
  | { readonly kind: "plain"; readonly text: string }
  | {
      readonly kind: "native";
      readonly text: string;
      readonly calls: readonly NativeCall[];
      /** The model that wrote it, by its name in `AUTONOUS_MODEL`. */
      readonly maker?: string;
      readonly provider_parts?: unknown;
    }
);

/** A piece of a streamed reply, for live views. */
export interface ModelDelta {
  readonly kind: "text" | "reasoning";
  readonly text: string;
}

export interface CompleteOptions {
  readonly signal: AbortSignal;
  readonly onDelta?: (delta: ModelDelta) => void;
  /**
   * Called with the billed tokens of an attempt without a reply. The provider awaits it before the next attempt, so
   * that the usage is recorded. If it throws (a limit is reached), the error ends the request.
   */
  readonly onSpent?: (usage: SpentUsage) => Promise<void>;
  /**
   * No attempt starts later than this after the first one, because another model can be asked instead. Default: the
   * provider's.
   */
  readonly patience_ms?: number;
  /** Called before a failed attempt is retried. */
  readonly onRetry?: (retry: { readonly attempt: number; readonly wait_ms: number; readonly reason: string }) => void;
}

/**
 * Messages in, reply out. Throws `ModelFailed` if no reply was received, with `context_length: true` in its details if
 * the request was too long for the model; stops when `signal` is aborted.
 */
export interface ModelProvider {
  /** Its name in `AUTONOUS_MODEL`, without secrets. */
  readonly name: string;
  /** How tools are described: by native function calling, or (default) in the system text (spec 1). */
  readonly protocol?: "native" | "plain";
  /** Context window in tokens, if known. */
  readonly context_tokens?: number;
  /** Requested maximum reply length, if set. */
  readonly max_output_tokens?: number;
  /** Images of messages are sent; otherwise they are left out. */
  readonly takes_images?: true;
  /** Every request contains all tools: this provider has no token cost. */
  readonly wants_all_tools?: true;
  /** Models to ask, in this order, if this one is down or out of credit. */
  readonly fallbacks?: readonly ModelProvider[];
  complete(request: ModelRequest, options: CompleteOptions): Promise<ModelReply>;
}
