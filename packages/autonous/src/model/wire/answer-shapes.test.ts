import { expect, test } from "vitest";
import { askOnce, connectTo, raw } from "../../../../../test/support/model-asking.ts";
import { startModelServer, stream } from "../../../../../test/support/model-server.ts";
import type { AiSdkOptions } from "../ai-sdk-provider.ts";

type Kind = AiSdkOptions["kind"];
type Call = readonly [name: string, input: string];

const chunk = (delta: unknown, finish_reason: unknown = null, more: object = {}): object => ({
  id: "c",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta, finish_reason }],
  ...more,
});
const piece = (call: object, finish?: unknown): object => chunk({ tool_calls: [call] }, finish);
const USAGE = { prompt_tokens: 40, completion_tokens: 7, total_tokens: 47 };
const named = (name: string, args: unknown): object => ({ function: { name, arguments: args } });
const READ_A: Call = ["read", '{"path":"a"}'];
const READ_B: Call = ["read", '{"path":"b"}'];

interface ChatCase {
  readonly title: string;
  readonly events: readonly unknown[];
  readonly text?: string;
  readonly calls?: readonly Call[];
  readonly finish?: "length";
}

// oxfmt-ignore
const CHAT: readonly ChatCase[] = [
  { title: "no finish reason but [DONE]",            events: [chunk({ content: "Hi" }), "[DONE]"], text: "Hi" },
  { title: "an empty finish reason",                 events: [chunk({ content: "Hi" }), chunk({}, ""), "[DONE]"], text: "Hi" },
  { title: "an unknown finish reason",               events: [chunk({ content: "Hi" }), chunk({}, "galaxy_end"), "[DONE]"], text: "Hi" },
  { title: "an unknown finish reason and no [DONE]", events: [chunk({ content: "Hi" }), chunk({}, "galaxy_end")], text: "Hi" },
  { title: "a number as finish reason",              events: [chunk({ content: "Hi" }), chunk({}, 3), "[DONE]"], text: "Hi" },
  { title: "a finish reason in every chunk",         events: [chunk({ content: "H" }, "stop"), chunk({ content: "i" }, "stop"), "[DONE]"], text: "Hi" },
  { title: "the finish reason beside the last text", events: [chunk({ content: "Hi" }, "stop"), "[DONE]"], text: "Hi" },
  { title: "Mistral's length",                       events: [chunk({ content: "Hi" }), chunk({}, "model_length"), "[DONE]"], text: "Hi", finish: "length" },
  { title: "a length in capitals",                   events: [chunk({ content: "Hi" }), chunk({}, "MAX_TOKENS"), "[DONE]"], text: "Hi", finish: "length" },
  { title: "null for everything",                    events: [chunk({ role: "assistant", content: null, tool_calls: null, refusal: null, reasoning_content: null }), chunk({ content: "Hi" }), chunk({ content: null }, "stop"), "[DONE]"], text: "Hi" },
  { title: "a role that no one knows",               events: [chunk({ role: "model", content: "Hi" }), chunk({}, "stop"), "[DONE]"], text: "Hi" },
  { title: "numbers as ids and text as dates",       events: [chunk({ content: "Hi" }, null, { id: 5, created: "now", model: null }), chunk({}, "stop"), "[DONE]"], text: "Hi" },
  { title: "chunks without choices",                 events: [{ id: "c", object: "ping" }, chunk({ content: "Hi" }), { choices: [] }, { choices: null }, chunk({}, "stop"), "[DONE]"], text: "Hi" },
  { title: "choices without delta",                  events: [{ choices: [{ index: 0 }] }, chunk({ content: "Hi" }), { choices: [{ index: 0, delta: null, finish_reason: "stop" }] }, "[DONE]"], text: "Hi" },
  { title: "content as parts",                       events: [chunk({ content: [{ type: "text", text: "H" }, { type: "thinking", thinking: [{ type: "text", text: "hm" }] }] }), chunk({ content: [{ type: "output_text", text: "i" }] }), chunk({}, "stop"), "[DONE]"], text: "Hi" },
  { title: "a message in place of a delta",          events: [{ choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }] }, "[DONE]"], text: "Hi" },
  { title: "the whole message after its pieces",     events: [chunk({ content: "H" }), chunk({ content: "i" }), { choices: [{ index: 0, message: { content: "Hi" }, finish_reason: "stop" }] }, "[DONE]"], text: "Hi" },
  { title: "text of old completions",                events: [{ choices: [{ index: 0, text: "Hi", finish_reason: "stop" }] }, "[DONE]"], text: "Hi" },
  { title: "arguments as an object",                 events: [piece({ index: 0, id: "1", type: "function", ...named("read", { path: "a" }) }), chunk({}, "tool_calls"), "[DONE]"], calls: [READ_A] },
  { title: "calls without index",                    events: [piece({ id: "1", ...named("read", '{"pa') }), piece(named("", 'th":"a"}')), piece({ id: "2", ...named("read", '{"path":"b"}') }), chunk({}, "tool_calls"), "[DONE]"], calls: [READ_A, READ_B] },
  { title: "calls without id and type",              events: [piece({ index: 0, ...named("read", '{"path":"a"}') }), piece({ index: 1, ...named("read", '{"path":"b"}') }), chunk({}, "tool_calls"), "[DONE]"], calls: [READ_A, READ_B] },
  { title: "calls with nothing but a function",      events: [chunk({ tool_calls: [named("read", '{"path":"a"}'), named("read", '{"path":"b"}')] }), chunk({}, "tool_calls"), "[DONE]"], calls: [READ_A, READ_B] },
  { title: "the same index for every call",          events: [piece({ index: 0, id: "1", ...named("read", '{"path":"a"}') }), piece({ index: 0, id: "2", ...named("read", '{"path":"b"}') }), chunk({}, "tool_calls"), "[DONE]"], calls: [READ_A, READ_B] },
  { title: "the id and name in every piece",         events: [piece({ index: 0, id: "1", ...named("read", '{"pa') }), piece({ index: 0, id: "1", ...named("read", 'th":"a"}') }), chunk({}, "tool_calls"), "[DONE]"], calls: [READ_A] },
  { title: "another id in every piece",              events: [piece({ index: 0, id: "x1", ...named("read", '{"pa') }), piece({ index: 0, id: "x2", ...named("read", 'th":"a"}') }), chunk({}, "tool_calls"), "[DONE]"], calls: [READ_A] },
  { title: "the name after the arguments",           events: [piece({ index: 0, id: "1", function: { arguments: '{"path":"a"}' } }), piece({ index: 0, function: { name: "read" } }), chunk({}, "tool_calls"), "[DONE]"], calls: [READ_A] },
  { title: "null for the arguments of a call",       events: [piece({ index: 0, id: "1", ...named("read", null) }), chunk({}, "tool_calls"), "[DONE]"], calls: [["read", "{}"]] },
  { title: "empty ids",                              events: [piece({ index: 0, id: "", ...named("read", '{"path":"a"}') }), piece({ index: 1, id: "", ...named("read", '{"path":"b"}') }), chunk({}, "tool_calls"), "[DONE]"], calls: [READ_A, READ_B] },
  { title: "the old function_call",                  events: [chunk({ function_call: { name: "read", arguments: "" } }), chunk({ function_call: { arguments: '{"path":' } }), chunk({ function_call: { arguments: '"a"}' } }), chunk({}, "function_call"), "[DONE]"], calls: [READ_A] },
  { title: "calls and the finish reason stop",       events: [piece({ index: 0, id: "1", ...named("read", '{"path":"a"}') }), chunk({}, "stop"), "[DONE]"], calls: [READ_A] },
  { title: "calls and no finish reason",             events: [piece({ index: 0, id: "1", ...named("read", '{"path":"a"}') }), "[DONE]"], calls: [READ_A] },
  { title: "text and calls in two choices",          events: [{ choices: [{ index: 0, delta: { content: "Hi" }, finish_reason: null }] }, { choices: [{ index: 1, delta: { tool_calls: [{ index: 0, id: "1", ...named("read", '{"path":"a"}') }] }, finish_reason: null }] }, { choices: [{ index: 0, delta: {}, finish_reason: "stop" }, { index: 1, delta: {}, finish_reason: "tool_calls" }] }, "[DONE]"], text: "Hi", calls: [READ_A] },
  { title: "calls of two choices with one index",    events: [{ choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id: "1", ...named("read", '{"path":"a"}') }] } }, { index: 1, delta: { tool_calls: [{ index: 0, id: "2", ...named("read", '{"path":"b"}') }] } }] }, chunk({}, "tool_calls"), "[DONE]"], calls: [READ_A, READ_B] },
];

for (const kind of ["compatible", "openai-chat"] as const) {
  for (const { title, events, text = "", calls = [], finish = "stop" } of CHAT) {
    test(`${kind}: an answer with ${title} is read as intended, with one request`, async () => {
      const server = await startModelServer([stream(events)]);
      const { reply, asked, error } = await askOnce(server, connectTo(server, kind));
      expect(error?.message).toBeUndefined();
      expect(asked).toBe(1);
      expect(reply).toMatchObject({ kind: "native", text, finish });
      expect(reply?.kind === "native" && reply.calls.map(({ name, input }) => [name, input])).toEqual(calls);
      expect(new Set(reply?.kind === "native" ? reply.calls.map(({ id }) => id) : []).size).toBe(calls.length);
    });
  }
}

const call = { id: "1", type: "function", ...named("read", '{"path":"a"}') };
const whole = (message: unknown, finish_reason: unknown = "stop"): object => ({
  choices: [{ index: 0, message, finish_reason }],
  usage: USAGE,
});
const message = (content: unknown, stop_reason: unknown): object => ({
  id: "m",
  type: "message",
  role: "assistant",
  content,
  stop_reason,
  usage: { input_tokens: 40, output_tokens: 7 },
});
const response = (output: unknown, more: object = {}): object => ({
  id: "r",
  object: "response",
  status: "completed",
  output,
  usage: { input_tokens: 40, output_tokens: 7 },
  ...more,
});
const gemini = (parts: unknown, finishReason: unknown = "STOP"): object => ({
  candidates: [{ content: { parts }, finishReason }],
  usageMetadata: { promptTokenCount: 40, candidatesTokenCount: 7 },
});

interface WholeCase {
  readonly kind: Kind;
  readonly title: string;
  readonly body: unknown;
  readonly text?: string;
  readonly calls?: readonly Call[];
  readonly reasoning?: string;
  readonly finish?: "length";
}

// oxfmt-ignore
const WHOLE: readonly WholeCase[] = [
  { kind: "compatible",  title: "text",                       body: whole({ role: "assistant", content: "Hi" }), text: "Hi" },
  { kind: "openai-chat", title: "text",                       body: whole({ role: "assistant", content: "Hi" }), text: "Hi" },
  { kind: "compatible",  title: "text cut by length",         body: whole({ content: "Hi" }, "length"), text: "Hi", finish: "length" },
  { kind: "compatible",  title: "text without finish reason", body: whole({ content: "Hi" }, null), text: "Hi" },
  { kind: "compatible",  title: "reasoning, text and calls",  body: whole({ content: "Hi", reasoning_content: "Hm", tool_calls: [call] }, "tool_calls"), text: "Hi", calls: [READ_A], reasoning: "Hm" },
  { kind: "compatible",  title: "arguments as an object",     body: whole({ content: null, tool_calls: [{ function: { name: "read", arguments: { path: "a" } } }] }, "tool_calls"), calls: [READ_A] },
  { kind: "compatible",  title: "the old function_call",      body: whole({ content: null, function_call: { name: "read", arguments: '{"path":"a"}' } }, "function_call"), calls: [READ_A] },
  { kind: "compatible",  title: "text and calls apart",       body: { choices: [{ message: { content: "Hi" }, finish_reason: "stop" }, { message: { tool_calls: [call] }, finish_reason: "tool_calls" }], usage: USAGE }, text: "Hi", calls: [READ_A] },
  { kind: "compatible",  title: "content in parts",           body: whole({ content: [{ type: "text", text: "H" }, { type: "text", text: "i" }] }), text: "Hi" },
  { kind: "anthropic",   title: "text",                       body: message([{ type: "text", text: "Hi" }], "end_turn"), text: "Hi" },
  { kind: "anthropic",   title: "content as text",            body: message("Hi", "end_turn"), text: "Hi" },
  { kind: "anthropic",   title: "thinking, text and calls",   body: message([{ type: "thinking", thinking: "Hm", signature: "s" }, { type: "text", text: "Hi" }, { type: "tool_use", id: "t1", name: "read", input: { path: "a" } }], "tool_use"), text: "Hi", calls: [READ_A], reasoning: "Hm" },
  { kind: "anthropic",   title: "no stop reason",             body: message([{ type: "text", text: "Hi" }], null), text: "Hi" },
  { kind: "openai",      title: "text",                       body: response([{ type: "message", id: "m", content: [{ type: "output_text", text: "Hi" }] }]), text: "Hi" },
  { kind: "openai",      title: "text and calls",             body: response([{ type: "message", content: [{ type: "output_text", text: "Hi" }] }, { type: "function_call", id: "f", call_id: "c", name: "read", arguments: '{"path":"a"}' }]), text: "Hi", calls: [READ_A] },
  { kind: "openai",      title: "text cut by length",         body: response([{ type: "message", id: "m", content: [{ type: "output_text", text: "Hi" }] }], { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }), text: "Hi", finish: "length" },
  { kind: "google",      title: "one object",                 body: gemini([{ text: "Hi" }]), text: "Hi" },
  { kind: "google",      title: "a list",                     body: [gemini([{ text: "Hm", thought: true }], undefined), gemini([{ text: "H" }], undefined), gemini([{ text: "i" }])], text: "Hi", reasoning: "Hm" },
  { kind: "google",      title: "calls",                      body: gemini([{ functionCall: { name: "read", args: { path: "a" } } }]), calls: [READ_A] },
  { kind: "google",      title: "arguments as text",          body: gemini([{ functionCall: { name: "read", args: '{"path":"a"}' } }]), calls: [READ_A] },
  { kind: "google",      title: "a call without arguments",   body: gemini([{ functionCall: { name: "read" } }]), calls: [["read", "{}"]] },
  { kind: "google",      title: "no finish reason",           body: gemini([{ text: "Hi" }], undefined), text: "Hi" },
];

for (const { kind, title, body, text = "", calls = [], reasoning = "", finish = "stop" } of WHOLE) {
  for (const end of ["cleanly", "never"] as const) {
    test(`${kind}: one JSON with ${title} (ends ${end}) is the answer, with its usage`, async () => {
      const pieces = JSON.stringify(body, undefined, 2).split("");
      const server = await startModelServer([raw(pieces, { type: "application/json", end })]);
      const { reply, asked, error, shown } = await askOnce(server, connectTo(server, kind));
      expect(error?.message).toBeUndefined();
      expect(asked).toBe(1);
      expect(reply).toMatchObject({ kind: "native", text, finish, usage: { input_tokens: 40, output_tokens: 7 } });
      expect(reply?.kind === "native" && reply.calls.map(({ name, input }) => [name, input])).toEqual(calls);
      expect(shown).toBe(reasoning + text);
    });
  }
}
