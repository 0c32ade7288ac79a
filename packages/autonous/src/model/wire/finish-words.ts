/**
 * Meaning of a finish reason. `broken`: the server stopped by itself, and a retry may help. `malformed`: the model
 * wrote a call that the provider could not parse.
 */
export type FinishMeaning = "stop" | "calls" | "length" | "filtered" | "refused" | "broken" | "malformed" | "unknown";

/** In lower case with `_` between words: servers spell the same reason differently. */
// oxfmt-ignore
const WORDS: Readonly<Record<Exclude<FinishMeaning, "unknown">, readonly string[]>> = {
  stop:      ["stop", "eos", "eos_token", "end", "end_turn", "stop_sequence", "stop_token", "stopped", "complete", "completed", "done", "finished", "success", "pause_turn"],
  calls:     ["tool_calls", "tool_call", "tool_use", "function_call", "function_calls", "tooluse", "toolcalls"],
  length:    ["length", "max_tokens", "max_length", "max_output_tokens", "max_completion_tokens", "max_new_tokens", "model_length", "token_limit", "length_limit", "model_context_window_exceeded", "context_length", "limit"],
  filtered:  ["content_filter", "content_filtered", "safety", "recitation", "blocklist", "prohibited_content", "spii", "image_safety", "image_prohibited_content", "sensitive", "language", "guardrail_intervened", "guardrails", "blocked", "moderation", "violation"],
  refused:   ["refusal", "refused"],
  broken:    ["abort", "aborted", "cancel", "cancelled", "canceled", "error", "failed", "network_error", "internal_error", "server_error", "engine_error", "engine_overloaded", "insufficient_system_resource", "timeout", "interrupted", "disconnected"],
  malformed: ["malformed_function_call", "malformed_tool_call", "unexpected_tool_call", "invalid_tool_call", "invalid_function_call", "too_many_tool_calls", "malformed_response", "tool_call_error", "missing_thought_signature"],
};

const MEANINGS: ReadonlyMap<string, FinishMeaning> = new Map(
  Object.entries(WORDS).flatMap(([meaning, words]) => words.map((word) => [word, meaning as FinishMeaning])),
);

export function meaningOf(finish: string): FinishMeaning {
  const word = finish
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, "_")
    .replace(/^finish_reason_/, "");
  return MEANINGS.get(word) ?? "unknown";
}
