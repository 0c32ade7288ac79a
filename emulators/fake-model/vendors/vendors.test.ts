import { describe, expect, onTestFinished, test } from "vitest";
import { startFakeModel } from "../server.ts";
import type { FakeModel, FakeModelOptions } from "../server.ts";
import type { Round } from "../script.ts";
import { makeVendor, VENDOR_NAMES } from "./vendors.ts";
import type { VendorName } from "./vendors.ts";

type Body = Record<string, unknown>;

const PARAMETERS = {
  type: "object",
  properties: { path: { type: "string" }, limit: { type: "integer" } },
  required: ["path"],
};
const TOOLS = [{ type: "function", function: { name: "read", description: "Reads", parameters: PARAMETERS } }];
const USER = { role: "user", content: "Look at it" };

async function open(options: FakeModelOptions): Promise<FakeModel> {
  const model = await startFakeModel(options);
  onTestFinished(() => model.close());
  return model;
}

async function post(url: string, body: Body): Promise<{ status: number; body: Body; text: string }> {
  const headers = { authorization: "Bearer k", "x-api-key": "k", "anthropic-version": "2023-06-01" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await response.text();
  return { status: response.status, text, body: text.startsWith("{") ? (JSON.parse(text) as Body) : {} };
}

const chatUrl = (model: FakeModel, vendor: VendorName): string => `${model.url}/${vendor}/v1/chat/completions`;
const CHATTING = VENDOR_NAMES.filter((name) => makeVendor(name).formats.some((each) => each.name === "openai-chat"));

function messageOf(body: Body): Body {
  return ((body["choices"] as Body[])[0] as Body)["message"] as Body;
}

function idsOf(message: Body): string[] {
  return (message["tool_calls"] as Body[]).map(({ id }) => String(id));
}

// oxfmt-ignore
const IDS: Readonly<Partial<Record<VendorName, RegExp>>> = {
  deepseek: /^call_00_\w+$/, kimi: /^functions\.read:0$/, qwen: /^call_[0-9a-f]{24}$/, mistral: /^[A-Za-z0-9]{9}$/, xai: /^call_\d{8}$/,
  zai: /^call_-\d+$/, minimax: /^call_function_\w{12}_1$/, openrouter: /^toolu_01/, vllm: /^chatcmpl-tool-[0-9a-f]{32}$/, ollama: /^call_\w{8}$/,
  lmstudio: /^\d{9}$/, llamacpp: /^\w{32}$/, tgi: /^0$/,
};

/** Where each vendor returns thinking. */
// oxfmt-ignore
const THOUGHTS: Readonly<Partial<Record<VendorName, string>>> = {
  deepseek: "reasoning_content", kimi: "reasoning_content", qwen: "reasoning_content", xai: "reasoning_content", zai: "reasoning_content",
  openrouter: "reasoning_details", together: "reasoning", groq: "reasoning", fireworks: "reasoning_content", copilot: "reasoning_text",
  ollama: "reasoning", vllm: "reasoning_content", sglang: "reasoning_content", lmstudio: "reasoning_content", llamacpp: "reasoning_content",
};

const CALLING: Round = { reasoning: "I look.", calls: [{ name: "read", arguments: { path: "a" } }] };

describe.each(CHATTING)("%s", (vendor) => {
  const { model: name } = makeVendor(vendor);

  test("gives its ids and its thoughts, and accepts its own reply as input", async () => {
    const model = await open({ script: { rounds: [CALLING, CALLING, { text: "done" }] } });
    const messages: Body[] = [USER];
    for (const expected of ["read", "read", "done"]) {
      const { status, body } = await post(chatUrl(model, vendor), { model: name, messages, tools: TOOLS });
      expect(status).toBe(200);
      const { refusal: _, ...message } = messageOf(body);
      if (expected === "done") expect(String(message["content"])).toMatch(/done$/);
      else if (messages.length === 1) {
        expect(idsOf(message)[0]).toMatch(IDS[vendor] ?? /./);
        expect(message).toHaveProperty(THOUGHTS[vendor] ?? "content");
      }
      messages.push(message);
      if (expected === "read")
        messages.push(...idsOf(message).map((id) => ({ role: "tool", tool_call_id: id, content: "text" })));
    }
    expect(model.requests.flatMap(({ violations }) => violations)).toEqual([]);
    expect(model.requests.every((each) => each.vendor === vendor)).toBe(true);
  });

  test("says the same in a stream", async () => {
    const model = await open({ script: { rounds: [CALLING] } });
    const asked = {
      model: name,
      messages: [USER],
      tools: TOOLS,
      stream: true,
      stream_options: { include_usage: true },
    };
    const { text } = await post(chatUrl(model, vendor), asked);
    expect(text.trimEnd().endsWith("data: [DONE]")).toBe(true);
    expect(text).toMatch(/"prompt_tokens":\d+/);
    expect(model.billed).toMatchObject({ output_tokens: 6 });
  });

  test("refuses a call without its result, a wrong key and an overlong prompt in its own words", async () => {
    const model = await open({ key: "right", context_tokens: 10 });
    const asked = { model: name, messages: [USER] };
    const wrong = await post(chatUrl(model, vendor), asked);
    expect(wrong.status).toBeGreaterThanOrEqual(400);
    const long = await open({ context_tokens: 10 });
    const { status, text } = await post(chatUrl(long, vendor), asked);
    if (vendor === "ollama") expect(status).toBe(200);
    else expect([status, text]).toEqual([expect.any(Number), expect.stringMatching(/10\b|length|limit|long/)]);
    const call = { id: "abcdefghi", type: "function", function: { name: "read", arguments: "{}" } };
    const said = { role: "assistant", content: "", tool_calls: [call] };
    const open1 = await open({});
    const unpaired = await post(chatUrl(open1, vendor), { model: name, messages: [USER, said, USER], tools: TOOLS });
    expect(unpaired.status).toBeGreaterThanOrEqual(400);
    expect(open1.requests[0]?.violations).not.toEqual([]);
    expect(open1.billed.input_tokens).toBe(0);
  });
});

function call(id: string, given = "{}"): Body {
  return { id, type: "function", function: { name: "read", arguments: given } };
}
const result = (tool_call_id: string): Body => ({ role: "tool", tool_call_id, content: "text" });
const said = (fields: Body): Body => ({ role: "assistant", content: "", ...fields });

interface RuleCase {
  readonly vendor: VendorName;
  readonly title: string;
  readonly messages: readonly Body[];
  /** Default: accepted. */
  readonly says?: RegExp;
  readonly fields?: Body;
}

// oxfmt-ignore
const RULES: readonly RuleCase[] = [
  { vendor: "deepseek", title: "calls without what was thought", messages: [USER, said({ tool_calls: [call("c1")] }), result("c1")], says: /`reasoning_content` in the thinking mode must be passed back/ },
  { vendor: "deepseek", title: "an answer after calls without what was thought", messages: [USER, said({ tool_calls: [call("c1")], reasoning_content: "" }), result("c1"), said({ content: "ok" }), USER], says: /must be passed back/ },
  { vendor: "deepseek", title: "calls after an empty thought", messages: [USER, said({ tool_calls: [call("c1")], reasoning_content: "" }), result("c1")] },
  { vendor: "deepseek", title: "an answer without calls", messages: [USER, said({ content: "ok" }), USER] },
  { vendor: "deepseek", title: "calls with thinking off", messages: [USER, said({ tool_calls: [call("c1")] }), result("c1")], fields: { thinking: { type: "disabled" } } },
  { vendor: "kimi", title: "calls without what was thought", messages: [USER, said({ tool_calls: [call("read:0")] }), result("read:0")], says: /reasoning_content is missing in assistant tool call message at index 1/ },
  { vendor: "kimi", title: "an empty answer", messages: [USER, said({}), USER], says: /must not be empty/ },
  { vendor: "mistral", title: "ids of another shape", messages: [USER, said({ tool_calls: [call("functions.read:0")] }), result("functions.read:0")], says: /must be a-z, A-Z, 0-9, with a length of 9/ },
  { vendor: "mistral", title: "a user after a result", messages: [USER, said({ tool_calls: [call("abcdefgh1")] }), result("abcdefgh1"), USER], says: /Unexpected role 'user' after role 'tool'/ },
  { vendor: "mistral", title: "a field that it does not know", messages: [USER, said({ content: "ok", reasoning_content: "x" }), USER], says: /Extra inputs/ },
  { vendor: "mistral", title: "an assistant at the end", messages: [USER, said({ content: "ok" })], says: /Expected last role/ },
  { vendor: "groq", title: "a field that it does not know", messages: [USER, said({ content: "ok", reasoning_content: "x" }), USER], says: /property 'reasoning_content' is unsupported/ },
  { vendor: "xai", title: "an empty message", messages: [USER, said({}), USER], says: /at least one content element/ },
  { vendor: "minimax", title: "broken arguments", messages: [USER, said({ tool_calls: [call("c1", '{"path":')] }), result("c1")], says: /invalid function arguments json string, tool_call_id: c1 \(2013\)/ },
  { vendor: "qwen", title: "broken arguments", messages: [USER, said({ tool_calls: [call("c1", "nonsense")] }), result("c1")], says: /must be in JSON format/ },
  { vendor: "llamacpp", title: "broken arguments", messages: [USER, said({ tool_calls: [call("c1", "[1]")] }), result("c1")], says: /Failed to parse tool call arguments/ },
  { vendor: "vllm", title: "a system text in the middle", messages: [USER, { role: "system", content: "x" }, USER], says: /must be at the beginning/ },
  { vendor: "vllm", title: "two of the user's in a row for a strict template", messages: [USER, USER], fields: { model: "mistralai/Mistral-7B" }, says: /must alternate/ },
  { vendor: "vllm", title: "two of the user's in a row for another template", messages: [USER, USER] },
  { vendor: "openrouter", title: "a thought that was altered", messages: [USER, said({ tool_calls: [call("c1")], reasoning_details: [{ type: "reasoning.text", text: "x", signature: "y" }] }), result("c1")], says: /Invalid `signature`/ },
];

for (const { vendor, title, messages, says, fields } of RULES) {
  test(`${vendor} ${says === undefined ? "takes" : "refuses"} ${title}`, async () => {
    const model = await open({});
    const asked = { model: makeVendor(vendor).model, messages, tools: TOOLS, ...fields };
    const { status, text } = await post(chatUrl(model, vendor), asked);
    if (says === undefined) expect([status, model.requests[0]?.violations]).toEqual([200, []]);
    else {
      expect(status).toBeGreaterThanOrEqual(400);
      expect(JSON.stringify(JSON.parse(text)).replaceAll("\\", "")).toMatch(says);
      expect(String(model.requests[0]?.violations)).toMatch(says);
    }
  });
}

test("kimi stops calling when an id comes back rewritten, and openrouter refuses a lost thought", async () => {
  const model = await open({ script: { rounds: [CALLING], repeat: true } });
  const ask = (vendor: VendorName, messages: readonly Body[]): ReturnType<typeof post> =>
    post(chatUrl(model, vendor), { model: makeVendor(vendor).model, messages, tools: TOOLS });
  const first = messageOf((await ask("kimi", [USER])).body);
  const rewritten = { ...first, tool_calls: [{ ...(first["tool_calls"] as Body[])[0], id: "functions_read_0" }] };
  const { body } = await ask("kimi", [USER, rewritten, result("functions_read_0")]);
  expect(messageOf(body)).not.toHaveProperty("tool_calls");
  expect(model.requests.at(-1)?.violations).toEqual([expect.stringMatching(/came back as "functions_read_0"/)]);

  const { reasoning_details: _, ...without } = messageOf((await ask("openrouter", [USER])).body);
  const lost = await ask("openrouter", [USER, without, result(idsOf(without)[0] ?? "")]);
  expect(lost.text).toContain("must start with a thinking block");
});

const DOORS = VENDOR_NAMES.filter((name) => makeVendor(name).formats.some((each) => each.name === "anthropic"));

test.each(DOORS)("%s answers in Anthropic's format, and accepts its own reply as input", async (vendor) => {
  const model = await open({ script: { rounds: [CALLING, { text: "done" }] } });
  const ask = (messages: readonly Body[]): ReturnType<typeof post> =>
    post(`${model.url}/${vendor}/anthropic/v1/messages`, {
      model: makeVendor(vendor).model,
      max_tokens: 1000,
      messages,
      tools: [{ name: "read", input_schema: PARAMETERS }],
    });
  const { body } = await ask([USER]);
  const content = body["content"] as Body[];
  const id = content.find(({ type }) => type === "tool_use")?.["id"];
  if (vendor === "kimi") expect(id).toBe("read:0");
  const results = [{ type: "tool_result", tool_use_id: id, content: "text" }];
  const second = await ask([USER, { role: "assistant", content }, { role: "user", content: results }]);
  expect([second.status, model.requests.flatMap(({ violations }) => violations)]).toEqual([200, []]);
});
