import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createAiSdkProvider } from "../ai-sdk-provider.ts";
import type { ModelRequest } from "../provider.ts";

const KEY = "a-key-of-no-known-shape-0123456789-abcdefghij";
const REQUEST: ModelRequest = { system: "", messages: [{ role: "user", text: "Do it" }], rounds: 0, tools: [] };

async function ask(body: string): Promise<{ readonly said: string; readonly usage?: unknown }> {
  const server = createServer((_, response) => response.writeHead(200).end(body));
  onTestFinished(() => void server.close());
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  const provider = createAiSdkProvider({
    name: "compatible:x",
    kind: "compatible",
    model: "x",
    access: { base_url: `http://127.0.0.1:${port}/v1`, key: KEY },
    retry: { max_attempts: 1, base_ms: 1, longest_ms: 1, total_ms: 1000 },
  });
  try {
    const { text, usage } = await provider.complete(REQUEST, { signal: new AbortController().signal });
    return { said: text, usage };
  } catch (error) {
    return { said: String(error) };
  }
}

function events(...values: readonly unknown[]): string {
  return [...values.map((each) => JSON.stringify(each)), "[DONE]"].map((each) => `data: ${each}\n\n`).join("");
}

test("no part of the key is shown, wherever it appears in a server's message", async () => {
  for (let before = 0; before < 520; before += 13) {
    const pad = "x".repeat(before);
    const told = [
      await ask(JSON.stringify({ unknown: pad + KEY })),
      await ask(events({ choices: [{ delta: {}, finish_reason: pad + KEY }] })),
      await ask(events({ error: { message: `x${" ".repeat(1500 + before)}${KEY}` } })),
    ];
    for (const { said } of told) expect(said).not.toContain(KEY.slice(0, 12));
  }
}, 60_000);

test.each([1e308, -1, 0.5, "1e9", 2e12, null])("a count of %s tokens is not believed", async (tokens) => {
  const usage = { prompt_tokens: tokens, completion_tokens: tokens };
  const reply = await ask(events({ choices: [{ delta: { content: "Hi" }, finish_reason: "stop" }], usage }));
  expect(reply.said).toBe("Hi");
  expect(JSON.stringify(reply.usage ?? {})).not.toMatch(/e\+|null|\.|-|\d{8}/);
});

test("a call with very many members is read in linear time", async () => {
  const pieces = Array.from({ length: 20_000 }, (_, index) => ({
    choices: [{ delta: { tool_calls: [{ index: 0, [`member${index}`]: 1 }] } }],
  }));
  const { said } = await ask(events(...pieces, { choices: [{ delta: { content: "Hi" }, finish_reason: "stop" }] }));
  expect(said).toBe("Hi");
}, 20_000);
