import { expect, test } from "vitest";
import { makeWorld, openJournal, startRuntime } from "../../../../test/support/agent-world.ts";
import type { Death, World } from "../../../../test/support/agent-world.ts";
import { chunk, sentMessages } from "../../../../test/support/chat-rounds.ts";
import type { Json } from "../../../../test/support/chat-rounds.ts";
import { startModelServer, stream } from "../../../../test/support/model-server.ts";
import type { Answer, ModelServer } from "../../../../test/support/model-server.ts";
import { createProvider } from "../model/choose.ts";
import { runAgent } from "./loop.ts";

/** Answers by how far the conversation is: two rounds with calls, then the answer. */
const byRound =
  (replies: readonly (readonly Json[])[], usage?: Json): Answer =>
  (response, asked) => {
    const round = sentMessages(asked).filter(({ role }) => role === "assistant").length;
    const deltas = replies[Math.min(round, replies.length - 1)] ?? [];
    const isCall = deltas.some((delta) => "tool_calls" in delta);
    const used = usage === undefined ? [] : [{ ...chunk({}), choices: [], usage }];
    const end = chunk({}, isCall ? "tool_calls" : "stop");
    stream([...deltas.map((delta) => chunk(delta)), end, ...used, "[DONE]"])(response, asked);
  };

const look = (index: number, id: string): Json => ({
  tool_calls: [{ index, id, type: "function", function: { name: "look", arguments: `{"mark":"${id}"}` } }],
});

interface Life {
  readonly world: World;
  readonly server: ModelServer;
  readonly model: string;
  readonly text?: string;
  readonly death?: Death;
}

async function live({ world, server, model, text = "Do it", death }: Life): Promise<string | undefined> {
  const journal = openJournal(world, death);
  const runtime = await startRuntime(world, journal);
  const provider = await createProvider(`compatible:${model}`.replace("<server>", server.url), {});
  const task = { text, task_id: "task_1", trace_id: "trace_1" };
  const storedResult = async (id: string) => world.results.get(id);
  const running = runAgent({ runtime, provider, task, limits: { max_turns: 10 }, storedResult });
  const outcome = await Promise.race([running, journal.died.then(() => undefined)]);
  return outcome?.answer;
}

/** What the vendor made: its messages, and the ids of the results. */
function made(messages: readonly Json[]): readonly unknown[] {
  return messages
    .filter(({ role }) => role === "assistant" || role === "tool")
    .map((message) => (message["role"] === "tool" ? message["tool_call_id"] : message));
}

const thought = (text: string): Json => ({ reasoning_content: text });
const details = { reasoning_details: [{ type: "reasoning.text", text: "Hm.", signature: "s", index: 0 }] };

// oxfmt-ignore
const VENDORS = [
  { title: "Kimi",       model: "kimi-k2-thinking@<server>/kimi/v1",                      replies: [[thought("One."), look(0, "functions.look:0"), look(1, "functions.look:1")], [thought("Two."), look(0, "functions.look:2")], [{ content: "Done." }]] },
  { title: "DeepSeek",   model: "deepseek-reasoner@<server>/deepseek/v1",                 replies: [[thought("One."), look(0, "call_0")], [look(0, "call_0")], [{ content: "Done." }]] },
  { title: "OpenRouter", model: "anthropic/claude-sonnet-4.5@<server>/openrouter/api/v1", replies: [[details, look(0, "toolu_1")], [{ content: "Further." }, look(0, "toolu_2")], [{ content: "Done." }]] },
  { title: "MiniMax",    model: "MiniMax-M2@<server>/minimax/v1",                         replies: [[{ content: "<think>Hm.</think>\nI look." }, look(0, "call_1")], [look(0, "call_2")], [{ content: "Done." }]] },
  { title: "Mistral",    model: "mistral-large@<server>/mistral/v1",                      replies: [[look(0, "aB3dE6gH9")], [look(0, "aB3dE6gH1")], [{ content: "Done." }]] },
] as const;

for (const { title, model, replies } of VENDORS) {
  test(`${title} gets the same request, wherever the worker was killed`, async () => {
    const server = await startModelServer([byRound(replies)]);
    const first = await makeWorld();
    expect(await live({ world: first, server, model })).toBe("Done.");
    const wanted = made(sentMessages(server.asked.at(-1)));
    const count = first.events.length;
    expect(wanted.length).toBeGreaterThan(3);
    // Thinking that stands in its text stays there.
    if (title === "MiniMax") expect(wanted[0]).toMatchObject({ content: "<think>Hm.</think>\nI look." });
    for (let event = 2; event < count; event += 1) {
      const world = await makeWorld();
      await live({ world, server, model, death: { event, when: "after" } });
      const before = server.asked.length;
      expect(await live({ world, server, model })).toBe("Done.");
      if (server.asked.length > before) expect(made(sentMessages(server.asked.at(-1)))).toEqual(wanted);
    }
  });
}

// oxfmt-ignore
const CUT = [
  { title: "Ollama that reads 2048 tokens of a long request", model: "qwen3:8b@<server>/ollama/v1", tokens: 2048,   told: [/read 2048 tokens of a request of about .*OLLAMA_CONTEXT_LENGTH/] },
  { title: "another server that does so",                     model: "m@<server>/v1",               tokens: 4096,   told: [/read 4096 tokens/] },
  { title: "a server that reads all",                         model: "qwen3:8b@<server>/ollama/v1", tokens: 20_000, told: [] },
  { title: "a server that counts what was new to it",         model: "qwen3:8b@<server>/ollama/v1", tokens: 300,    told: [] },
  { title: "a vendor that cuts nothing",                      model: "m@<server>/groq/v1",          tokens: 2048,   told: [] },
] as const;

for (const { title, model, tokens, told } of CUT) {
  test(`the user is warned once that the prompt was truncated: ${title}`, async () => {
    const usage = { prompt_tokens: tokens, completion_tokens: 5, total_tokens: tokens + 5 };
    const replies = [[look(0, "call_1")], [look(0, "call_2")], [{ content: "Done." }]];
    const server = await startModelServer([byRound(replies, usage)]);
    const world = await makeWorld();
    await live({ world, server, model, text: "Compare these words. ".repeat(4000) });
    const shown = world.events.flatMap(({ type, payload }) => (type === "display" ? [String(payload["content"])] : []));
    expect(shown).toHaveLength(told.length);
    for (const [index, words] of told.entries()) expect(shown[index]).toMatch(words);
  });
}
