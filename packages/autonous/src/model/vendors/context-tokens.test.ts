import { expect, test } from "vitest";
import { contextTokens } from "./context-tokens.ts";

// oxfmt-ignore
const WINDOWS = [
  { model: "claude-sonnet-4-5", tokens: 200_000 },
  { model: "gpt-4.1-mini",      tokens: 1_000_000 },
  { model: "gpt-4o",            tokens: 128_000 },
  { model: "gpt-5-mini",        tokens: 272_000 },
  { model: "o3",                tokens: 200_000 },
  { model: "o3-mini",           tokens: 200_000 },
  { model: "gemini-2.5-flash",  tokens: 1_000_000 },
  { model: "qwen3:8b",          tokens: undefined },
  { model: "olmo",              tokens: undefined },
] as const;

test.each(WINDOWS)("$model takes in $tokens tokens", ({ model, tokens }) => {
  expect(contextTokens(model)).toBe(tokens);
});
