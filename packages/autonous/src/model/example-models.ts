/**
 * The models named in documents, examples and help texts: current ones, by the alias that their provider maintains.
 * Change them here; a test finds every place that names a different one.
 */
export const EXAMPLE_MODELS = {
  anthropic: "claude-sonnet-5-5",
  openai: "gpt-6-sol",
  google: "gemini-3.8-flash",
} as const;
