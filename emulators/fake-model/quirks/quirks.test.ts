import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { FormatName } from "../formats/format.ts";
import { startFakeModel } from "../server.ts";
import { VENDOR_NAMES } from "../vendors/vendors.ts";
import { QUIRK_NAMES, QUIRKS, quirksOf } from "./quirks.ts";
import type { QuirkName } from "./quirks.ts";

const SCHEMA = {
  type: "object",
  properties: {
    path: { type: "string" },
    text: { type: "string" },
    limit: { type: "integer" },
    offset: { type: "integer" },
  },
  required: ["path"],
};

// oxfmt-ignore
const FORMATS: readonly { readonly format: FormatName; readonly path: string; readonly body: object }[] = [
  { format: "openai-chat", path: "/vllm/v1/chat/completions", body: { model: "m", stream: true, messages: [{ role: "user", content: "hi" }], tools: [{ type: "function", function: { name: "read", parameters: SCHEMA } }] } },
  { format: "openai-responses", path: "/openai/v1/responses", body: { model: "m", stream: true, input: "hi", tools: [{ type: "function", name: "read", parameters: SCHEMA }] } },
  { format: "anthropic", path: "/anthropic/v1/messages", body: { model: "m", stream: true, max_tokens: 9, messages: [{ role: "user", content: "hi" }], tools: [{ name: "read", input_schema: SCHEMA }] } },
  { format: "gemini", path: "/google/v1beta/models/gemini-3:streamGenerateContent?alt=sse", body: { contents: [{ parts: [{ text: "hi" }] }], tools: [{ functionDeclarations: [{ name: "read", parameters: SCHEMA }] }] } },
];

const HEADERS = {
  authorization: "Bearer k",
  "x-api-key": "k",
  "x-goog-api-key": "k",
  "anthropic-version": "2023-06-01",
};
const ROUND = { text: "Here.", calls: [{ name: "read", arguments: { path: "a.ts", text: "one\ntwo", limit: 10 } }] };

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  readonly rounds: number;
  readonly billed: number;
}

/** Asked twice: a quirk that gives a reply spends its round, and another does not. */
async function ask({ path, body }: (typeof FORMATS)[number], quirk: QuirkName): Promise<Answer> {
  const model = await startFakeModel({
    script: { rounds: [ROUND, { text: "next" }] },
    faults: [{ kind: quirk, round: 1 }],
  });
  onTestFinished(() => model.close());
  const post = (): Promise<Response> =>
    fetch(model.url + path, { method: "POST", headers: HEADERS, body: JSON.stringify(body) });
  const response = await post();
  const text = quirk === "held_open" ? await untilQuiet(response) : await response.text();
  const billed = model.billed.input_tokens;
  await (await post()).text();
  expect(model.requests[0]?.fault).toBe(quirk);
  return {
    status: response.status,
    type: response.headers.get("content-type") ?? "",
    text,
    rounds: model.requests[1]?.round ?? 0,
    billed,
  };
}

/** Reads up to the last event: the end never comes. */
async function untilQuiet({ body }: Response): Promise<string> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!/\[DONE\]|message_stop|response\.completed|finishReason/.test(text)) {
    const { value = "", done } = (await reader?.read()) ?? { done: true };
    text += value;
    if (done) throw new Error("it was closed");
  }
  await reader?.cancel();
  return text;
}

/** What is to be found on the wire, as it was sent in a stream of one piece. */
// oxfmt-ignore
const SAYS: Readonly<Partial<Record<QuirkName, RegExp>>> = {
  finish_null: /"(?:finish_reason|stop_reason|finishReason)":null(?!.*"(?:finish_reason|stop_reason|finishReason)":"[a-zA-Z])/s,
  finish_unknown: /done_and_dusted/, refusal: /refusal|SAFETY/, malformed_function_call: /MALFORMED_FUNCTION_CALL/, name_functions: /functions\.read/,
  name_default_api: /default_api:read/, name_channel: /read<\|channel\|>commentary/, error_base_resp: /"status_code":1008/, tool_use_failed: /failed_generation/,
  throttled_like_overflow: /Throttling: too many tokens/, error_detail_list: /Field required/, error_openrouter_raw: /"raw":/, arguments_object: /"arguments":\{"path"/,
};

for (const target of FORMATS) {
  test.each(quirksOf(target.format))(`${target.format}: %s`, async (name) => {
    const { answer, change, wire, billed: isBilled = false } = QUIRKS[name];
    const { status, type, text, rounds, billed } = await ask(target, name);
    expect(text).not.toContain("fake-model:");
    expect(text).toMatch(SAYS[name] ?? /^/);
    expect(rounds).toBe(answer === undefined ? 2 : 1);
    if (answer === undefined) expect([status, billed > 0]).toEqual([200, true]);
    else expect(billed > 0).toBe(isBilled);
    if (wire === "json") expect([type, text[0]]).toEqual(["application/json", "{"]);
    if (wire === "json_as_events") expect([type.split(";")[0], text[0]]).toEqual(["text/event-stream", "{"]);
    if (name.startsWith("text_call_") && change !== undefined) {
      expect(text).not.toMatch(/"tool_calls":\[|"tool_use"|"function_call"|"functionCall":/);
    }
  });
}

test("the document lists every vendor and every quirk", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/fake-model.md"), "utf8");
  expect([...VENDOR_NAMES, ...QUIRK_NAMES].filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test("every quirk says what it is, and a quirk of another format is refused aloud", async () => {
  for (const name of QUIRK_NAMES) expect(QUIRKS[name].about.length).toBeGreaterThan(10);
  const { text, status } = await ask(FORMATS[2] as (typeof FORMATS)[number], "tool_use_failed");
  expect([status, text]).toEqual([500, expect.stringMatching(/the quirk \\"tool_use_failed\\" is one of openai-chat/)]);
});
