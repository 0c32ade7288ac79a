import fc from "fast-check";
import type { ToolCallResult } from "@autonous/runtime";
import { expect, test } from "vitest";
import { makePrompt } from "./ai-sdk-prompt.ts";
import type { Message, ModelRequest } from "../provider.ts";

const MARK = { anthropic: { cacheControl: { type: "ephemeral" } } };
const TOOLS = [{ name: "read", description: "", args_schema: {} }];
const RESULT = { ok: true, payload: null, error: null } as unknown as ToolCallResult;

/** A history whose rounds have this many calls each, with a user's note after the round where the number is negative. */
function history(rounds: readonly number[]): Message[] {
  const messages: Message[] = [{ role: "user", text: "The task" }];
  for (const [round, calls] of rounds.entries()) {
    const ids = Array.from({ length: Math.abs(calls) }, (_, at) => `${round}-${at}`);
    const asked = ids.map((tool_call_id) => ({ tool_call_id, name: "read", arguments: {} }));
    messages.push({ role: "assistant", text: `Round ${round}`, calls: asked });
    for (const tool_call_id of ids)
      messages.push({ role: "tool", tool_call_id, name: "read", text: "x", result: RESULT });
    if (calls < 0) messages.push({ role: "user", text: "A note" });
  }
  return messages;
}

function marksOf(request: Partial<ModelRequest>): { readonly places: readonly number[]; readonly tools: number } {
  const all = { system: "s", rounds: 0, tools: TOOLS, messages: [], ...request };
  const { prompt, tools } = makePrompt(all, { maker: "me", cacheMark: MARK });
  return {
    places: prompt.flatMap(({ providerOptions }, index) => (providerOptions === MARK ? [index] : [])),
    tools: tools.filter(({ providerOptions }) => providerOptions === MARK).length,
  };
}

const FOUR = history([1, 1, 1, 1]); // in the prompt: system, user, then two messages per round

// oxfmt-ignore
const CASES: readonly { readonly title: string; readonly request: Partial<ModelRequest>; readonly places: readonly number[]; readonly tools: number }[] = [
  { title: "without a boundary: tools, system, where the last request ended, the end", request: { messages: FOUR },                          places: [0, 7, 9],    tools: 1 },
  { title: "with a boundary, which the tools make room for",                           request: { messages: FOUR, stable_until: [3] },       places: [0, 3, 7, 9], tools: 0 },
  { title: "after a stride: where the window was stable before it and where it is now", request: { messages: FOUR, stable_until: [3, 5] },    places: [0, 3, 5, 9], tools: 0 },
  { title: "a boundary that is the end of the last request is one mark",               request: { messages: FOUR, stable_until: [7] },       places: [0, 7, 9],    tools: 1 },
  { title: "a boundary that is not between rounds is not marked",                      request: { messages: FOUR, stable_until: [2, 99] },   places: [0, 7, 9],    tools: 1 },
  { title: "the first request",                                                        request: { messages: FOUR.slice(0, 1) },              places: [0, 1],       tools: 1 },
  { title: "a summary, which is asked for once",                                       request: { messages: FOUR, purpose: "summary" },      places: [],           tools: 0 },
];

for (const { title, request, places, tools } of CASES)
  test(`marks for the cache: ${title}`, () => {
    expect(marksOf(request)).toEqual({ places, tools });
  });

test("at most four marks are set, one at the end and one at the end of the previous request", () => {
  const rounds = fc.array(fc.integer({ min: -3, max: 60 }), { minLength: 2, maxLength: 8 });
  fc.assert(
    fc.property(rounds, fc.nat(200), (calls, boundary) => {
      const whole = calls.map((each) => (each === 0 ? 1 : each));
      const messages = history(whole);
      const { places, tools } = marksOf({ messages, stable_until: [boundary] });
      expect(places.length + tools).toBeLessThanOrEqual(4);
      const before = marksOf({ messages: history(whole.slice(0, -1)) });
      expect(places).toContain(before.places.at(-1));
    }),
  );
});
