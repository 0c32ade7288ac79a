import { expect, test } from "vitest";
import { loadConfiguration } from "../../config/load.ts";
import { checkModel } from "./check-model.ts";
import type { Workplace } from "../../workplace/workplace.ts";

const OLLAMA = "compatible:qwen3:8b@http://127.0.0.1:11434/v1";
const SAYS = /OLLAMA_CONTEXT_LENGTH=32768.*AUTONOUS_CONTEXT_TOKENS/;

// oxfmt-ignore
const CASES = [
  { title: "Ollama",                              environment: { AUTONOUS_MODEL: OLLAMA },                                    outcome: "warning", isTold: true },
  { title: "Ollama behind a gateway",             environment: { AUTONOUS_MODEL: "compatible:m@https://gw.example/ollama/v1" }, outcome: "warning", isTold: true },
  { title: "Ollama with a window set by the user", environment: { AUTONOUS_MODEL: OLLAMA, AUTONOUS_CONTEXT_TOKENS: "32768" }, outcome: "ok",      isTold: false },
  { title: "another server",                      environment: { AUTONOUS_MODEL: "compatible:m@http://127.0.0.1:8000/v1" },   outcome: "ok",      isTold: false },
  { title: "no model",                            environment: { AUTONOUS_MODEL: "direct" },                                  outcome: "ok",      isTold: false },
] as const;

for (const { title, environment, outcome, isTold } of CASES) {
  test(`doctor ${isTold ? "warns" : "does not warn"} about Ollama's small context window: ${title}`, async () => {
    const configuration = loadConfiguration(environment, "/nonexistent/config.json");
    const place = { configuration, state_dir: "/nonexistent/state" } as unknown as Workplace;
    const result = await checkModel(place);
    expect(result.outcome).toBe(outcome);
    expect(SAYS.test(result.message)).toBe(isTold);
  });
}
