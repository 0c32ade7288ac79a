import { ToolError } from "@autonous/runtime";
import { expect, test } from "vitest";
import { silence, startModelServer, stream } from "../../../../test/support/model-server.ts";
import { createProvider } from "./choose.ts";

const KEY = "sk-test-Zx81kQmPw02Lr5Vt";
const ALL = { ANTHROPIC_API_KEY: KEY, OPENAI_API_KEY: KEY, GEMINI_API_KEY: KEY };

// oxfmt-ignore
const SERVED = [
  { setting: "direct",                                              protocol: undefined },
  { setting: "anthropic:claude-sonnet-4-5",                         protocol: "native" },
  { setting: "openai:gpt-5",                                        protocol: "native" },
  { setting: "openai-chat:gpt-4o",                                  protocol: "native" },
  { setting: "google:gemini-2.5-flash",                             protocol: "native" },
  { setting: "compatible:qwen3:8b@http://127.0.0.1:11434/v1",       protocol: "native" },
  { setting: "compatible:@cf/meta/llama@3@https://example.com/api", protocol: "native" },
  { setting: "compatible-plain:phi@http://127.0.0.1:8000",          protocol: "plain" },
] as const;

for (const { setting, protocol } of SERVED) {
  test(`${setting} is served`, async () => {
    const provider = await createProvider(setting, ALL);
    expect(provider.name).toBe(setting);
    expect(provider.protocol).toBe(protocol);
  });
}

// oxfmt-ignore
const REFUSED = [
  { setting: "gpt-5",                                environment: ALL, says: /one of direct, script:<file>, anthropic:<model>/ },
  { setting: "anthropic:",                           environment: ALL, says: /AUTONOUS_MODEL is one of/ },
  { setting: "compatible:qwen",                      environment: ALL, says: /compatible:<model>@<url>/ },
  { setting: "compatible:qwen@ftp://h/",             environment: ALL, says: /AUTONOUS_MODEL is one of/ },
  { setting: "compatible:qwen",                      environment: ALL, says: /the server's address is missing/ },
  { setting: "compatible-plain:org/q@127.0.0.1:1/v1", environment: ALL, says: /must start with http:/ },
  { setting: "OpenAI:gpt-5",                         environment: ALL, says: /lower case/ },
  { setting: "claude-sonnet-4-5",                    environment: ALL, says: /the provider before the model's name is missing/ },
  { setting: "anthropic:a, gpt-5",                   environment: ALL, says: /the provider before the name after the last comma is missing/ },
  { setting: "anthropic:a openai:b",                 environment: ALL, says: /separate several models by commas; AUTONOUS_MODEL/ },
  { setting: "compatible:q@http://u:geheim42@h/v1",  environment: ALL, says: /contains a user name or password/ },
  { setting: "compatible:q@ http://u:geheim42@h/v1", environment: ALL, says: /AUTONOUS_MODEL is one of/ },
  { setting: "compatible:q@http://h/v1?key=geheim42", environment: ALL, says: /has a part after "\?"/ },
  { setting: "anthropic:m",                          environment: {}, says: /no API key is set; set ANTHROPIC_API_KEY$/ },
  { setting: "openai:m",                             environment: { OPENAI_API_KEY: " " }, says: /no API key is set; set OPENAI_API_KEY$/ },
  { setting: "openai-chat:m",                        environment: {}, says: /set OPENAI_API_KEY$/ },
  { setting: "google:m",                             environment: {}, says: /set GOOGLE_GENERATIVE_AI_API_KEY or GEMINI_API_KEY$/ },
  { setting: "anthropic:m",                          environment: { ANTHROPIC_API_KEY: "geheim42\nx" }, says: /Cannot use ANTHROPIC_API_KEY: it contains white space/ },
  { setting: "openai:m",                             environment: { ...ALL, OPENAI_BASE_URL: "geheim42" }, says: /OPENAI_BASE_URL names: it must be a full URL/ },
  { setting: "google:m",                             environment: { ...ALL, GOOGLE_BASE_URL: "file:///geheim42" }, says: /GOOGLE_BASE_URL names: it begins with file:/ },
] as const;

for (const { setting, environment, says } of REFUSED) {
  test(`${setting} with ${Object.keys(environment).join(", ") || "nothing set"} is refused: ${says.source}`, async () => {
    const error: unknown = await createProvider(setting, environment).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ToolError);
    const { code, message, details } = error as ToolError;
    expect(code).toBe("InvalidArguments");
    expect(message).toMatch(says);
    expect(JSON.stringify([message, details])).not.toMatch(/geheim42|Zx81/);
  });
}

// oxfmt-ignore
const TIMES = [
  { title: "for the first byte", settings: { model_first_byte_seconds: 1 }, answer: silence,                                                                  says: "no response within 1 s" },
  { title: "between bytes",      settings: { model_idle_seconds: 1 },       answer: stream([{ choices: [{ index: 0, delta: { content: "a" } }] }], { end: false }), says: "no more data within 1 s" },
] as const;

for (const { title, settings, answer, says } of TIMES) {
  test(`the timeout ${title} comes from the settings of the model`, async () => {
    const server = await startModelServer([answer]);
    const provider = await createProvider(`compatible:m@${server.url}/v1`, {}, () => settings);
    const request = { system: "", messages: [{ role: "user", text: "Hi." }], rounds: 0, tools: [] } as const;
    const asking = provider.complete(request, { signal: new AbortController().signal, patience_ms: 0 });
    await expect(asking).rejects.toThrow(says);
    expect(server.asked).toHaveLength(1);
  });
}
