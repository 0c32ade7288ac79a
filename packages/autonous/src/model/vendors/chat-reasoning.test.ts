import { expect, test } from "vitest";
import { playRounds, replies, result, sentMessages } from "../../../../../test/support/chat-rounds.ts";
import type { Json } from "../../../../../test/support/chat-rounds.ts";
import { stream } from "../../../../../test/support/model-server.ts";
import type { Message } from "../provider.ts";

const TOLD = new Set(["reasoning_content", "reasoning", "reasoning_details"]);

/** The reasoning fields of each assistant message. */
function reasoningIn(messages: readonly Json[]): readonly Json[] {
  return messages
    .filter(({ role }) => role === "assistant")
    .map((message) => Object.fromEntries(Object.entries(message).filter(([name]) => TOLD.has(name))));
}

const content = { reasoning_content: "Hm." };
const plain = { reasoning: "Hm." };

/** A reply with reasoning and a call, one with a call alone, one with reasoning and words; then what came back of each. */
// oxfmt-ignore
const VENDORS = [
  { title: "DeepSeek gets it with every reply, empty where there was none",  path: "deepseek/v1",   model: "deepseek-reasoner", came: content, back: [content, { reasoning_content: "" }, content] },
  { title: "DeepSeek behind a gateway gets it so too",                       path: "v1",            model: "deepseek-v4-pro",   came: content, back: [content, { reasoning_content: "" }, content] },
  { title: "DeepSeek on vLLM gets it in the member in which it came",        path: "vllm/v1",       model: "deepseek-ai/DeepSeek-V3.2", came: plain, back: [plain, { reasoning_content: "" }, plain] },
  { title: "DeepSeek gets it in its member where it came as parts",          path: "deepseek/v1",   model: "deepseek-reasoner", came: { content: [{ type: "thinking", thinking: [{ type: "text", text: "Hm." }] }] }, back: [content, { reasoning_content: "" }, content] },
  { title: "Kimi gets it with every call, and something where there was none", path: "kimi/v1",     model: "kimi-k2-thinking",  came: content, back: [content, { reasoning_content: " " }, content] },
  { title: "z.ai gets it throughout",                                        path: "zai/v1",        model: "glm-4.7",           came: content, back: [content, {}, content] },
  { title: "MiniMax gets it throughout",                                     path: "minimax/v1",    model: "MiniMax-M2",        came: content, back: [content, {}, content] },
  { title: "DashScope gets none",                                            path: "qwen/v1",       model: "qwen3-max",         came: content, back: [{}, {}, {}] },
  { title: "Qwen elsewhere gets it with calls",                              path: "sglang/v1",     model: "Qwen/Qwen3-32B",    came: content, back: [content, {}, {}] },
  { title: "gpt-oss on Ollama gets it with calls, as reasoning",             path: "ollama/v1",     model: "gpt-oss:20b",       came: plain,   back: [plain, {}, {}] },
  { title: "gpt-oss on vLLM",                                                path: "vllm/v1",       model: "openai/gpt-oss-120b", came: plain, back: [plain, {}, {}] },
  { title: "vLLM that says it twice",                                        path: "vllm/v1",       model: "m",                 came: { ...plain, ...content }, back: [{ ...plain, ...content }, {}, {}] },
  { title: "Groq refuses members that it does not know",                     path: "groq/v1",       model: "m",                 came: content, back: [{}, {}, {}] },
  { title: "Groq takes reasoning",                                           path: "groq/v1",       model: "openai/gpt-oss-20b", came: plain,  back: [plain, {}, {}] },
  { title: "Mistral refuses members that it does not know",                  path: "mistral/v1",    model: "magistral-medium",  came: content, back: [{}, {}, {}] },
  { title: "OpenRouter gets it as reasoning without details",                path: "openrouter/v1", model: "deepseek/deepseek-v3.2", came: plain, back: [plain, {}, plain] },
  { title: "OpenRouter's Claude gets none without its signature",            path: "openrouter/v1", model: "anthropic/claude-sonnet-4.5", came: plain, back: [{}, {}, {}] },
  { title: "xAI gets none",                                                  path: "xai/v1",        model: "grok-4",            came: content, back: [{}, {}, {}] },
  { title: "Google's chat format gets none",                                 path: "google/v1",     model: "gemini-3-pro",      came: content, back: [{}, {}, {}] },
  { title: "any other server gets it with calls",                            path: "v1",            model: "m",                 came: content, back: [content, {}, {}] },
];

for (const { title, path, model, came, back } of VENDORS) {
  test(`reasoning that goes back: ${title}`, async () => {
    const answers = [
      replies([came], ["call_1"]),
      replies([], ["call_2"]),
      replies([came, { content: "So." }]),
      replies([{ content: "Done." }]),
    ];
    const { asked } = await playRounds(answers, { path, model });
    expect(reasoningIn(sentMessages(asked[3]))).toEqual(back);
    // Earlier messages are sent unchanged; only cache marks move.
    const [before, now] = [asked[2], asked[3]].map((each) =>
      sentMessages(each).map((message) => JSON.stringify(message).replaceAll(/,"cache_control":\{[^}]*\}/g, "")),
    );
    expect(now?.slice(0, before?.length)).toEqual(before);
  });
}

const recorded = (maker?: string): readonly Message[] => [
  { role: "user", text: "Compare." },
  {
    role: "assistant",
    text: "",
    calls: [{ tool_call_id: "call_1", provider_call_id: "call_1", name: "read", arguments: {} }],
    ...(maker === undefined
      ? {}
      : { maker, provider_parts: { maker, parts: [{ type: "reasoning", text: "Other." }] } }),
  },
  result("call_1"),
];

const OLD = [
  { title: "DeepSeek, recorded by an earlier version", path: "deepseek/v1", model: "m", before: recorded(), back: "" },
  {
    title: "DeepSeek, made by another vendor",
    path: "deepseek/v1",
    model: "m",
    before: recorded("openai:gpt-5"),
    back: "",
  },
  { title: "Kimi, recorded by an earlier version", path: "kimi/v1", model: "m", before: recorded(), back: " " },
];

for (const { title, path, model, before, back } of OLD) {
  test(`a history without reasoning is accepted: ${title}`, async () => {
    const { asked } = await playRounds([replies([{ content: "." }])], { path, model, before });
    expect(reasoningIn(sentMessages(asked[0]))).toEqual([{ reasoning_content: back }]);
  });
}

const text = (piece: string, more: Json = {}): Json => ({
  type: "reasoning.text",
  text: piece,
  format: "anthropic-claude-v1",
  index: 0,
  ...more,
});
const hidden = (data: string, more: Json = {}): Json => ({ type: "reasoning.encrypted", data, index: 0, ...more });
const summary = (piece: string, more: Json = {}): Json => ({
  type: "reasoning.summary",
  summary: piece,
  index: 0,
  ...more,
});

// oxfmt-ignore
const DETAILS: readonly { title: string; came: readonly (readonly Json[])[]; back: readonly Json[] | undefined }[] = [
  { title: "pieces of a text with the signature at its end", came: [[text("Let ")], [text("me see.")], [text("", { signature: "sig" })]], back: [text("Let me see.", { signature: "sig" })] },
  { title: "a signature without a text of its own",          came: [[text("A", { signature: null })], [{ type: "reasoning.text", index: 0, signature: "sig", format: "anthropic-claude-v1" }]], back: [text("A", { signature: "sig" })] },
  { title: "two texts, each signed",                          came: [[text("A", { signature: "1" })], [text("B", { signature: "2" })]], back: [text("A", { signature: "1" }), text("B", { signature: "2" })] },
  { title: "texts by index, mixed",                           came: [[text("A"), text("X", { index: 1 })], [text("B", { signature: "1" }), text("Y", { index: 1, signature: "2" })]], back: [text("AB", { signature: "1" }), text("XY", { index: 1, signature: "2" })] },
  { title: "what is encrypted, several at one index",         came: [[hidden("aaa", { id: "1" })], [hidden("bbb", { id: "2" })]], back: [hidden("aaa", { id: "1" }), hidden("bbb", { id: "2" })] },
  { title: "a summary and what is encrypted",                 came: [[summary("So ", { id: "rs_1" })], [summary("it is.")], [hidden("zzz", { id: "rs_1" })]], back: [summary("So it is.", { id: "rs_1" }), hidden("zzz", { id: "rs_1" })] },
  { title: "unknown members",                                 came: [[{ type: "reasoning.new", blob: { a: [1] }, index: 3 }]], back: [{ type: "reasoning.new", blob: { a: [1] }, index: 3 }] },
  { title: "a text that was never signed is left out",        came: [[text("A")]], back: undefined },
  { title: "what is not a detail is left out",                came: [["x", null, 7, { no: "type" }] as unknown as readonly Json[]], back: undefined },
];

for (const { title, came, back } of DETAILS) {
  for (const path of ["openrouter/api/v1", "v1"]) {
    test(`reasoning_details go back to ${path} as they came: ${title}`, async () => {
      const deltas = came.map((reasoning_details) => ({ reasoning_details }));
      const { asked } = await playRounds([replies(deltas, ["toolu_1"]), replies([{ content: "." }])], {
        path,
        model: "anthropic/claude-sonnet-4.5",
      });
      expect(reasoningIn(sentMessages(asked[1]))).toEqual([back === undefined ? {} : { reasoning_details: back }]);
    });
  }
}

test("a detail with a repeated id is sent once, because ids must be unique", async () => {
  const same = { reasoning_details: [hidden("aaa", { id: "rs_1" })] };
  const { asked } = await playRounds(
    [replies([same], ["call_1"]), replies([same], ["call_2"]), replies([{ content: "." }])],
    {
      path: "openrouter/api/v1",
      model: "openai/gpt-5",
    },
  );
  expect(reasoningIn(sentMessages(asked[2]))).toEqual([same, {}]);
});

test("the thinking of Magistral goes back as pieces of the content", async () => {
  const thinking = { type: "thinking", thinking: [{ type: "text", text: "Hm." }] };
  const { asked } = await playRounds(
    [replies([{ content: [thinking] }, { content: "So." }], ["abcdefgh1"]), replies([{ content: "." }])],
    { path: "mistral/v1", model: "magistral-medium" },
  );
  const said = sentMessages(asked[1]).find(({ role }) => role === "assistant");
  expect(said?.["content"]).toEqual([thinking, { type: "text", text: "So." }]);
});

test("thinking that MiniMax writes into its text stays there", async () => {
  const said = "<think>Hm.</think>\nSo.";
  const { asked } = await playRounds([replies([{ content: said }], ["call_1"]), replies([{ content: "." }])], {
    path: "minimax/v1",
    model: "MiniMax-M2",
  });
  expect(sentMessages(asked[1]).find(({ role }) => role === "assistant")?.["content"]).toBe(said);
});

const thinking = (deltas: readonly Json[]): readonly Json[] => [
  { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
  ...deltas.map((delta) => ({ type: "content_block_delta", index: 0, delta })),
  { type: "content_block_stop", index: 0 },
];
const start = {
  type: "message_start",
  message: {
    id: "m",
    type: "message",
    role: "assistant",
    model: "m",
    content: [],
    usage: { input_tokens: 1, output_tokens: 1 },
  },
};
const toolUse = [
  { type: "content_block_start", index: 1, content_block: { type: "tool_use", id: "read:0", name: "read", input: {} } },
  { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: "{}" } },
  { type: "content_block_stop", index: 1 },
];
const end = (stop_reason: string): readonly Json[] => [
  { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 9 } },
  { type: "message_stop" },
];
const thought = { type: "thinking_delta", thinking: "Hm." };

/** Behind `ANTHROPIC_BASE_URL`: the first block of each of two replies with calls, as it goes back. */
// oxfmt-ignore
const DOORS = [
  { title: "DeepSeek, signed",             path: "deepseek/anthropic", model: "deepseek-v4-pro", deltas: [thought, { type: "signature_delta", signature: "sig" }], back: ["Hm./sig", "/"] },
  { title: "DeepSeek, unsigned",           path: "deepseek/anthropic", model: "deepseek-v4-pro", deltas: [thought], back: ["Hm./", "/"] },
  { title: "Kimi, unsigned",               path: "kimi/anthropic",     model: "kimi-k2.6",       deltas: [thought], back: ["Hm./", " /"] },
  { title: "MiniMax, unsigned",            path: "minimax/anthropic",  model: "MiniMax-M2",      deltas: [thought], back: ["Hm./", undefined] },
  { title: "Claude, which signs all",      path: "v1",                 model: "claude-sonnet-4-5", deltas: [thought, { type: "signature_delta", signature: "sig" }], back: ["Hm./sig", undefined] },
];

for (const { title, path, model, deltas, back } of DOORS) {
  test(`thinking goes back in Anthropic's format: ${title}`, async () => {
    const answers = [
      stream([start, ...thinking(deltas), ...toolUse, ...end("tool_use")]),
      stream([start, ...toolUse, ...end("tool_use")]),
      stream([start, ...end("end_turn")]),
    ];
    const environment = (url: string): NodeJS.ProcessEnv => ({ ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: url });
    const { asked } = await playRounds(answers, { path, kind: "anthropic", model, environment });
    const firsts = sentMessages(asked[2])
      .filter(({ role }) => role === "assistant")
      .map(({ content }) => (content as readonly Json[])[0])
      .map((block) =>
        block?.["type"] === "thinking" ? `${String(block["thinking"])}/${String(block["signature"])}` : undefined,
      );
    expect(firsts).toEqual(back);
  });
}
