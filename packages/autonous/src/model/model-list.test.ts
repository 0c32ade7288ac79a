import { ToolError } from "@autonous/runtime";
import { expect, test } from "vitest";
import { createProvider } from "./choose.ts";
import { splitModels } from "./model-list.ts";

const KEY = "sk-test-Zx81kQmPw02Lr5Vt";
const LOCAL = "compatible:qwen3:8b@http://127.0.0.1:11434/v1";

// oxfmt-ignore
const LISTS = [
  { setting: "direct",                                          models: ["direct"] },
  { setting: "anthropic:claude-x",                              models: ["anthropic:claude-x"] },
  { setting: `anthropic:claude-x, openai:gpt-x, ${LOCAL}`,      models: ["anthropic:claude-x", "openai:gpt-x", LOCAL] },
  { setting: `${LOCAL},openai-chat:m,google:g`,                 models: [LOCAL, "openai-chat:m", "google:g"] },
  { setting: " anthropic:a ,\n\topenai:b  ",                    models: ["anthropic:a", "openai:b"] },
  { setting: "script:/tmp/a, b.json, script:/tmp/c,d.json",     models: ["script:/tmp/a, b.json", "script:/tmp/c,d.json"] },
  { setting: "script:a:b,c:d.json, openai:x",                   models: ["script:a:b,c:d.json", "openai:x"] },
  { setting: "compatible:m,1@http://h/a,b/v1, openai:x",        models: ["compatible:m,1@http://h/a,b/v1", "openai:x"] },
  { setting: "compatible:org/openai:m@http://h/v1,openai:x",    models: ["compatible:org/openai:m@http://h/v1", "openai:x"] },
  { setting: "compatible:m@http://h:1/v1,compatible-plain:m@http://h:1/v1", models: ["compatible:m@http://h:1/v1", "compatible-plain:m@http://h:1/v1"] },
] as const;

for (const { setting, models } of LISTS) {
  test(`${JSON.stringify(setting)} names ${models.length}`, () => expect(splitModels(setting)).toEqual(models));
}

// oxfmt-ignore
const REFUSED = [
  { setting: "anthropic:a,",                            says: /a comma has no model before or after it/ },
  { setting: ", anthropic:a",                           says: /a comma has no model before or after it/ },
  { setting: "anthropic:a,, openai:b",                  says: /a comma has no model before or after it/ },
  { setting: "anthropic:a, openai:b , ",                says: /a comma has no model before or after it/ },
  { setting: "anthropic:a,opnai:b",                     says: /"opnai:" is not a known kind of model/ },
  { setting: `${LOCAL}, llama3:8b@http://127.0.0.1:1`,  says: /"llama3:" is not a known kind of model/ },
  { setting: "anthropic:a, openai:b, anthropic:a",      says: /"anthropic:a" is listed twice/ },
  { setting: "anthropic:a, direct",                     says: /"direct" is not a model/ },
  { setting: "direct,openai:b",                         says: /"direct" is not a model/ },
  { setting: "anthropic:a, gpt-x",                      says: /Cannot use the model "anthropic:a, gpt-x".*separated by commas/ },
  { setting: "anthropic:a, openai:b, google:g",         says: /model 2 of 3, "openai:b": .*set OPENAI_API_KEY; model 3 of 3, "google:g": .*GEMINI_API_KEY/ },
  { setting: "anthropic:a, script:/nowhere/x.json",     says: /model 2 of 2, "script:\/nowhere\/x\.json": .*file not found/ },
  { setting: "anthropic:a, compatible:m@http://u:geheim42@h/v1",     says: /model 2 of 2, .*user name or password/ },
  { setting: "anthropic:a, compatible:m@http://h/v1?key=geheim42",   says: /model 2 of 2, .*part after/ },
] as const;

for (const { setting, says } of REFUSED) {
  test(`${setting} is refused: ${says.source}`, async () => {
    const error: unknown = await createProvider(setting, { ANTHROPIC_API_KEY: KEY }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ToolError);
    const { code, message, details } = error as ToolError;
    expect(code).toBe("InvalidArguments");
    expect(message).toMatch(says);
    expect(JSON.stringify([message, details])).not.toMatch(/geheim42|Zx81/);
  });
}

test("the first model of a list has the others as its fallbacks, each with its own protocol, window and settings", async () => {
  const setting = "anthropic:claude-x, compatible-plain:phi@http://127.0.0.1:1/v1, openai:gpt-6-sol";
  const settingsOf = (model: string) => (model.startsWith("compatible") ? { context_tokens: 8000 } : {});
  const first = await createProvider(setting, { ANTHROPIC_API_KEY: KEY, OPENAI_API_KEY: KEY }, settingsOf);
  expect([first, ...(first.fallbacks ?? [])]).toMatchObject([
    { name: "anthropic:claude-x", protocol: "native", context_tokens: 200_000 },
    { name: "compatible-plain:phi@http://127.0.0.1:1/v1", protocol: "plain", context_tokens: 8000 },
    { name: "openai:gpt-6-sol", protocol: "native", context_tokens: 272_000 },
  ]);
});
