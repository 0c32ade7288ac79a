interface WindowRow {
  readonly model: RegExp;
  readonly tokens: number;
}

/** Context windows of well-known model families; the first matching row wins. Other models report an overflow. */
// oxfmt-ignore
const WINDOWS: readonly WindowRow[] = [
  { model: /^claude-/,             tokens: 200_000 },
  { model: /^gpt-4\.1/,            tokens: 1_000_000 },
  { model: /^(?:gpt-4o|chatgpt-)/, tokens: 128_000 },
  { model: /^gpt-[56]/,            tokens: 272_000 }, // above that, requests cost more
  { model: /^o[134](?:-|$)/,       tokens: 200_000 },
  { model: /^gemini-/,             tokens: 1_000_000 },
];

/** Context window of a model, if known. */
export function contextTokens(model: string): number | undefined {
  return WINDOWS.find((row) => row.model.test(model))?.tokens;
}
