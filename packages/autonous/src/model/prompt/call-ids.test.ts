import { expect, test } from "vitest";
import { playRounds, replies, result, sentMessages } from "../../../../../test/support/chat-rounds.ts";
import type { Json } from "../../../../../test/support/chat-rounds.ts";
import { CallIds, idRule } from "./call-ids.ts";
import type { Message } from "../provider.ts";
import { vendorsOf } from "../vendors/vendors.ts";

/** Ids of calls and of results, message by message. */
function idsIn(messages: readonly Json[]): readonly string[] {
  return messages.flatMap(({ role, tool_calls = [], tool_call_id }) => {
    if (role === "tool") return [`=${String(tool_call_id)}`];
    return (tool_calls as readonly Json[]).map(({ id }) => String(id));
  });
}

// oxfmt-ignore
const OWN = [
  { title: "Kimi counts through the conversation",       path: "kimi/v1",    model: "kimi-k2",         rounds: [["functions.read:0", "functions.read:1"], ["functions.read:2"]] },
  { title: "Kimi behind a server of one's own",          path: "v1",         model: "moonshotai/Kimi-K2-Instruct", rounds: [["functions.read:0"], ["functions.read:1"]] },
  { title: "Kimi that begins again in each reply",       path: "vllm/v1",    model: "kimi-k2",         rounds: [["functions.read:0"], ["functions.read:0"]] },
  { title: "a server that counts from 0 in each reply",  path: "v1",         model: "m",               rounds: [["call_0", "call_1"], ["call_0", "call_1"]] },
  { title: "ids with any signs",                         path: "v1",         model: "m",               rounds: [["a/b|c d:e.f", "call 1 é"], ["x".repeat(100)]] },
  { title: "ids that are numbers",                       path: "ollama/v1",  model: "qwen3",           rounds: [["0"], ["1"]] },
  { title: "Mistral's nine signs",                       path: "mistral/v1", model: "devstral-small",  rounds: [["aB3dE6gH9"], ["zzzzzzzz1"]] },
];

for (const { title, path, model, rounds } of OWN) {
  test(`the maker gets its own ids back: ${title}`, async () => {
    const { asked } = await playRounds([...rounds.map((ids) => replies([], ids)), replies([{ content: "Done." }])], {
      path,
      model,
    });
    const sent = rounds.flatMap((ids) => [...ids, ...ids.map((id) => `=${id}`)]);
    expect(idsIn(sentMessages(asked.at(-1)))).toEqual(sent);
  });
}

test("a model of Mistral behind a server that makes other ids gets nine signs, always the same ones", async () => {
  const { asked } = await playRounds(
    [
      replies([], ["chatcmpl-tool-1", "chatcmpl-tool-2"]),
      replies([], ["chatcmpl-tool-1"]),
      replies([{ content: "." }]),
    ],
    { path: "llamacpp/v1", model: "mistral-nemo" },
  );
  const [second, third] = [idsIn(sentMessages(asked[1])), idsIn(sentMessages(asked[2]))];
  expect(third.slice(0, second.length)).toEqual(second);
  for (const id of third) expect(id.replace("=", "")).toMatch(/^[a-zA-Z0-9]{9}$/);
  expect(new Set(third.filter((id) => !id.startsWith("="))).size).toBe(3);
});

/** What another vendor made: calls with these ids. */
const history = (ids: readonly string[], maker?: string): readonly Message[] => [
  { role: "user", text: "Compare." },
  {
    role: "assistant",
    text: "",
    calls: ids.map((provider_call_id, index) => {
      const call = { provider_call_id, tool_call_id: `call_own${index}`, name: "read", arguments: {} };
      return call;
    }),
    ...(maker === undefined ? {} : { maker }),
  },
  ...ids.map((_, index) => result(`call_own${index}`)),
];

const LONG = `call_${"x".repeat(55)}`;
const KIMI = "compatible:kimi-k2@https://api.moonshot.ai/v1";

// oxfmt-ignore
const OTHERS = [
  { title: "Mistral gets nine signs",                    path: "mistral/v1", model: "mistral-large", ids: ["toolu_01ABCdef", "toolu_02"], maker: "anthropic:claude-sonnet-5", gives: [/^[a-zA-Z0-9]{9}$/, /^[a-zA-Z0-9]{9}$/] },
  { title: "another server gets no sign that only Kimi takes", path: "v1",   model: "m",             ids: ["functions.read:0"],           maker: KIMI,                        gives: [/^call_own0$/] },
  { title: "another server gets what it takes",          path: "v1",         model: "m",             ids: ["toolu_01ABCdef"],             maker: "anthropic:claude-sonnet-5", gives: [/^toolu_01ABCdef$/] },
  { title: "no server gets more than 40 signs",          path: "groq/v1",    model: "llama-3.3",     ids: [LONG],                         maker: "openai:gpt-5",              gives: [/^call_own0$/] },
  { title: "Kimi gets its own form",                     path: "kimi/v1",    model: "kimi-k2",       ids: ["call_a", "call_b"],           maker: "openai:gpt-5",              gives: [/^functions\.read:0$/, /^functions\.read:1$/] },
  { title: "Kimi elsewhere made them",                   path: "openrouter/api/v1", model: "moonshotai/kimi-k2-thinking", ids: ["functions.read:7"], maker: KIMI,             gives: [/^functions\.read:7$/] },
  { title: "their maker is not known",                   path: "v1",         model: "m",             ids: ["call_a", "a.b"],              maker: undefined,                   gives: [/^call_a$/, /^call_own1$/] },
];

for (const { title, path, model, ids, maker, gives } of OTHERS) {
  test(`ids from another vendor: ${title}`, async () => {
    const before = history(ids, maker);
    const { asked } = await playRounds([replies([{ content: "." }])], { path, model, before });
    const sent = idsIn(sentMessages(asked[0]));
    expect(sent).toHaveLength(2 * gives.length);
    for (const [index, form] of gives.entries()) {
      expect(sent[index]).toMatch(form);
      expect(sent[index + gives.length]).toBe(`=${sent[index]}`);
    }
  });
}

const KINDS = [
  { kind: "anthropic", model: "claude-sonnet-5", given: "functions.read:0", gives: "call_own0" },
  { kind: "anthropic", model: "claude-sonnet-5", given: LONG, gives: LONG },
  { kind: "openai-chat", model: "gpt-5", given: LONG, gives: "call_own0" },
  { kind: "openai-chat", model: "gpt-5", given: "toolu_1", gives: "toolu_1" },
];

for (const { kind, model, given, gives } of KINDS) {
  test(`${kind} gets ${gives} for ${given} of another vendor`, () => {
    const ids = new CallIds(idRule(kind, vendorsOf({ kind, model, base_url: "" })));
    const call = { provider_call_id: given, tool_call_id: "call_own0", name: "read", arguments: {} };
    expect(ids.give([call], false)).toEqual([gives]);
  });
}

test("if a vendor rejects duplicate ids, the second call gets our id", () => {
  const ids = new CallIds(idRule("anthropic", vendorsOf({ kind: "anthropic", model: "claude-x", base_url: "" })));
  const call = (own: string): Parameters<CallIds["give"]>[0][number] => ({
    provider_call_id: "toolu_1",
    tool_call_id: own,
    name: "read",
    arguments: {},
  });
  expect(ids.give([call("call_1"), call("call_2")], true)).toEqual(["toolu_1", "call_2"]);
  expect(ids.give([call("call_3")], true)).toEqual(["call_3"]);
});
