/**
 * The models that documents, examples and help texts name: current ones, each by the alias that its provider keeps. Change
 * them here; a test finds every place that names another.
 */
export const EXAMPLE_MODELS = {
  anthropic: "claude-sonnet-5-5",
  openai: "gpt-6-sol",
  google: "gemini-3.8-flash",
} as const;
