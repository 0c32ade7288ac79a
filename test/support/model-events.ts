/** Streams as the four kinds of servers write them: some thinking, a word, two calls at once; and an answer. */

type Events = readonly unknown[];

export interface WireFormat {
  readonly setting: (url: string) => string;
  readonly environment: (url: string) => Readonly<Record<string, string>>;
  readonly path: string;
  readonly calls: Events;
  readonly answer: (text: string) => Events;
  readonly cutByLength: Events;
}

export const KEY = "sk-test-Zx81kQmPw02Lr5Vt";

const anthropicStart = (input: number): unknown => ({
  type: "message_start",
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: input, cache_read_input_tokens: 30, cache_creation_input_tokens: 5, output_tokens: 1 },
  },
});
const anthropicBlock = (index: number, content_block: unknown, deltas: Events): Events => [
  { type: "content_block_start", index, content_block },
  ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
  { type: "content_block_stop", index },
];
const anthropicEnd = (stop_reason: string): Events => [
  { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 9 } },
  { type: "message_stop" },
];
const anthropicCall = (index: number, id: string, path: string): Events =>
  anthropicBlock(index, { type: "tool_use", id, name: "read", input: {} }, [
    { type: "input_json_delta", partial_json: '{"pa' },
    { type: "input_json_delta", partial_json: `th":"${path}"}` },
  ]);

const chat = (delta: unknown, finish_reason: string | null = null): unknown => ({
  id: "c1",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta, finish_reason }],
});
const chatUsage = {
  id: "c1",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [],
  usage: { prompt_tokens: 45, completion_tokens: 9, total_tokens: 54, prompt_tokens_details: { cached_tokens: 30 } },
};
const chatCall = (index: number, id: string, path: string): Events => [
  chat({ tool_calls: [{ index, id, type: "function", function: { name: "read", arguments: "" } }] }),
  chat({ tool_calls: [{ index, function: { arguments: '{"pa' } }] }),
  chat({ tool_calls: [{ index, function: { arguments: `th":"${path}"}` } }] }),
];
const chatCalls = [
  chat({ content: "Let me look." }),
  ...chatCall(0, "call_a", "a.ts"),
  ...chatCall(1, "call_b", "b.ts"),
];
const chatEnd = (finish: string): Events => [chat({}, finish), chatUsage, "[DONE]"];
const chatAnswer = (text: string): Events => [
  chat({ role: "assistant", content: "" }),
  chat({ content: text }),
  ...chatEnd("stop"),
];

const responsesUsage = {
  input_tokens: 45,
  input_tokens_details: { cached_tokens: 30 },
  output_tokens: 9,
  output_tokens_details: { reasoning_tokens: 4 },
  total_tokens: 54,
};
const responsesStart = { type: "response.created", response: { id: "resp_1", created_at: 1, model: "m" } };
const responsesMessage = (output_index: number, text: string): Events => [
  { type: "response.output_item.added", output_index, item: { type: "message", id: "msg_1" } },
  { type: "response.output_text.delta", item_id: "msg_1", output_index, content_index: 0, delta: text },
  { type: "response.output_item.done", output_index, item: { type: "message", id: "msg_1" } },
];
const responsesCall = (output_index: number, call_id: string, path: string): Events => {
  const item = { type: "function_call", id: `fc_${call_id}`, call_id, name: "read" };
  const text = `{"path":"${path}"}`;
  return [
    { type: "response.output_item.added", output_index, item: { ...item, arguments: "" } },
    { type: "response.function_call_arguments.delta", item_id: item.id, output_index, delta: text },
    { type: "response.output_item.done", output_index, item: { ...item, arguments: text, status: "completed" } },
  ];
};
const responsesReasoning: Events = [
  {
    type: "response.output_item.added",
    output_index: 0,
    item: { type: "reasoning", id: "rs_1", encrypted_content: "e0" },
  },
  { type: "response.reasoning_summary_part.added", item_id: "rs_1", summary_index: 0 },
  { type: "response.reasoning_summary_text.delta", item_id: "rs_1", summary_index: 0, delta: "Hm." },
  { type: "response.reasoning_summary_part.done", item_id: "rs_1", summary_index: 0 },
  {
    type: "response.output_item.done",
    output_index: 0,
    item: { type: "reasoning", id: "rs_1", encrypted_content: "signed" },
  },
];
const responsesDone = { type: "response.completed", response: { usage: responsesUsage } };

const gemini = (parts: Events, finishReason?: string): unknown => ({
  candidates: [
    { content: { role: "model", parts }, ...(finishReason === undefined ? {} : { finishReason }), index: 0 },
  ],
  usageMetadata: { promptTokenCount: 45, cachedContentTokenCount: 30, candidatesTokenCount: 9, totalTokenCount: 54 },
});

export const FORMATS: Readonly<Record<string, WireFormat>> = {
  anthropic: {
    setting: () => "anthropic:claude-sonnet-4-5",
    environment: (url) => ({ ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: url }),
    path: "/v1/messages",
    calls: [
      anthropicStart(10),
      { type: "ping" },
      ...anthropicBlock(0, { type: "thinking", thinking: "", signature: "" }, [
        { type: "thinking_delta", thinking: "Hm." },
        { type: "signature_delta", signature: "signed" },
      ]),
      ...anthropicBlock(1, { type: "text", text: "" }, [{ type: "text_delta", text: "Let me look." }]),
      ...anthropicCall(2, "toolu_a", "a.ts"),
      ...anthropicCall(3, "toolu_b", "b.ts"),
      ...anthropicEnd("tool_use"),
    ],
    answer: (text) => [
      anthropicStart(10),
      ...anthropicBlock(0, { type: "text", text: "" }, [{ type: "text_delta", text }]),
      ...anthropicEnd("end_turn"),
    ],
    cutByLength: [anthropicStart(10), ...anthropicCall(0, "toolu_a", "a.ts"), ...anthropicEnd("max_tokens")],
  },
  openai: {
    setting: () => "openai:gpt-5",
    environment: (url) => ({ OPENAI_API_KEY: KEY, OPENAI_BASE_URL: url }),
    path: "/v1/responses",
    calls: [
      responsesStart,
      ...responsesReasoning,
      ...responsesMessage(1, "Let me look."),
      ...responsesCall(2, "call_a", "a.ts"),
      ...responsesCall(3, "call_b", "b.ts"),
      responsesDone,
    ],
    answer: (text) => [responsesStart, ...responsesMessage(0, text), responsesDone],
    cutByLength: [
      responsesStart,
      ...responsesCall(0, "call_a", "a.ts"),
      {
        type: "response.incomplete",
        response: { usage: responsesUsage, incomplete_details: { reason: "max_output_tokens" } },
      },
    ],
  },
  "openai-chat": {
    setting: () => "openai-chat:gpt-4o",
    environment: (url) => ({ OPENAI_API_KEY: KEY, OPENAI_BASE_URL: url }),
    path: "/v1/chat/completions",
    calls: [...chatCalls, ...chatEnd("tool_calls")],
    answer: chatAnswer,
    cutByLength: [...chatCall(0, "call_a", "a.ts"), ...chatEnd("length")],
  },
  google: {
    setting: () => "google:gemini-2.5-flash",
    environment: (url) => ({ GEMINI_API_KEY: KEY, GOOGLE_BASE_URL: url }),
    path: "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
    calls: [
      gemini([{ text: "Hm.", thought: true }]),
      gemini([{ text: "Let me look." }]),
      gemini([
        { functionCall: { name: "read", args: { path: "a.ts" } }, thoughtSignature: "signed" },
        { functionCall: { name: "read", args: { path: "b.ts" } } },
      ]),
      gemini([], "STOP"),
    ],
    answer: (text) => [gemini([{ text }]), gemini([], "STOP")],
    cutByLength: [gemini([{ functionCall: { name: "read", args: { path: "a.ts" } } }]), gemini([], "MAX_TOKENS")],
  },
  compatible: {
    setting: (url) => `compatible:qwen@${url}`,
    environment: () => ({ AUTONOUS_COMPATIBLE_API_KEY: KEY }),
    path: "/v1/chat/completions",
    calls: [chat({ reasoning_content: "Hm." }), ...chatCalls, ...chatEnd("tool_calls")],
    answer: chatAnswer,
    cutByLength: [...chatCall(0, "call_a", "a.ts"), ...chatEnd("length")],
  },
};
