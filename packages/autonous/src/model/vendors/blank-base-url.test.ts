import { afterEach, expect, test, vi } from "vitest";
import { KINDS } from "./ai-sdk-models.ts";
import { vendorsOf } from "./vendors.ts";

const base_url = "http://127.0.0.1:1/v1";
afterEach(() => vi.unstubAllEnvs());

// oxfmt-ignore
const BLANK = [
  { kind: "anthropic",   variable: "ANTHROPIC_BASE_URL", value: "" },
  { kind: "openai",      variable: "OPENAI_BASE_URL",    value: "  " },
  { kind: "openai-chat", variable: "OPENAI_BASE_URL",    value: "" },
] as const;

for (const { kind, variable, value } of BLANK) {
  test(`${variable} that is blank counts as not set for ${kind}`, async () => {
    vi.stubEnv(variable, value);
    const model = await KINDS[kind].create({
      model: "m",
      base_url,
      fetch,
      vendors: vendorsOf({ kind, model: "m", base_url }),
    });
    expect(model.modelId).toBe("m");
  });
}
