import type { ToolCallResult } from "@autonous/runtime";
import fc from "fast-check";
import { expect, test } from "vitest";
import { makePrompt } from "./ai-sdk-prompt.ts";
import type { PromptOptions } from "./ai-sdk-prompt.ts";
import { makePlainPrompt } from "./plain-messages.ts";
import type { Message, ModelRequest } from "../provider.ts";

const TOOLS = [{ name: "read", description: "Read.", args_schema: { type: "object" } }] as const;
const OPTIONS: PromptOptions = { maker: "me", marksErrors: true };

const user = (text: string): Message => ({ role: "user", text });
const says = (text: string): Message => ({ role: "assistant", text });
const calls = (ids: readonly string[], text = "", provider_parts?: unknown): Message => ({
  role: "assistant",
  text,
  // "1" is our id alone, "1:x" ours and the provider's.
  calls: ids.map((id) => {
    const [tool_call_id = "", provider_call_id] = id.split(":");
    const given = provider_call_id === undefined ? {} : { provider_call_id };
    return { tool_call_id, ...given, name: "read", arguments: { path: tool_call_id } };
  }),
  provider_parts,
});
const result = (tool_call_id: string, text = "ok", ok = true): Message => ({
  role: "tool",
  tool_call_id,
  name: "read",
  text,
  result: { ok } as ToolCallResult,
});

function ask(messages: readonly Message[], rest: Partial<ModelRequest> = {}): ModelRequest {
  return { system: "", messages, rounds: 0, tools: TOOLS, ...rest };
}

/** A prompt in short: `user: a`, `assistant: text, call 1`, `tool: 1=ok, 2!failed`. */
function inShort(messages: readonly Message[], options = OPTIONS, rest: Partial<ModelRequest> = {}): readonly string[] {
  return makePrompt(ask(messages, rest), options).prompt.map((message) => {
    if (message.role === "system") return `system: ${message.content}`;
    const parts = message.content.map((part) => {
      if (part.type === "text" || part.type === "reasoning") return part.type === "text" ? part.text : `(${part.text})`;
      if (part.type === "tool-call") return `call ${part.toolCallId}`;
      if (part.type !== "tool-result" || !("value" in part.output)) return part.type;
      return `${part.toolCallId}${part.output.type === "text" ? "=" : "!"}${typeof part.output.value === "string" ? part.output.value : ""}`;
    });
    return `${message.role}: ${parts.join(", ")}`;
  });
}

const parts = (...all: readonly object[]): unknown => ({ maker: "me", parts: all });
const signed = { me: { signature: "s" } };

// oxfmt-ignore
const PROMPTS: readonly { title: string; messages: readonly Message[]; prompt: readonly string[] }[] = [
  { title: "nothing but what the user says",             messages: [user("a")],                                                          prompt: ["user: a"] },
  { title: "nothing at all",                             messages: [],                                                                   prompt: ["user: Continue."] },
  { title: "what the user says in a row",                messages: [user("a"), user("b")],                                               prompt: ["user: a\n\nb"] },
  { title: "words that are none",                        messages: [user("a"), says("  \n"), user(" "), user("b")],                      prompt: ["user: a\n\nb"] },
  { title: "a reply at the end",                         messages: [user("a"), says("b")],                                               prompt: ["user: a", "assistant: b", "user: Continue."] },
  { title: "a reply at the beginning",                   messages: [says("b"), user("a")],                                               prompt: ["user: Continue.", "assistant: b", "user: a"] },
  { title: "two replies in a row",                       messages: [user("a"), says("b"), says("c"), user("d")],                         prompt: ["user: a", "assistant: b", "user: Continue.", "assistant: c", "user: d"] },
  { title: "calls and their results",                    messages: [user("a"), calls(["1", "2"], "t"), result("1"), result("2")],        prompt: ["user: a", "assistant: t, call 1, call 2", "tool: 1=ok, 2=ok"] },
  { title: "results in another order",                   messages: [user("a"), calls(["1", "2"]), result("2", "b"), result("1", "a")],   prompt: ["user: a", "assistant: call 1, call 2", "tool: 1=a, 2=b"] },
  { title: "a call without a result",                    messages: [user("a"), calls(["1", "2"]), result("1")],                          prompt: ["user: a", "assistant: call 1, call 2", "tool: 1=ok, 2!No result: the call was not made"] },
  { title: "a result that is empty",                     messages: [user("a"), calls(["1"]), result("1", "")],                           prompt: ["user: a", "assistant: call 1", "tool: 1=(no output)"] },
  { title: "a result that failed",                       messages: [user("a"), calls(["1"]), result("1", "no", false)],                  prompt: ["user: a", "assistant: call 1", "tool: 1!no"] },
  { title: "a result of no call",                        messages: [user("a"), result("9", "x")],                                        prompt: ["user: a\n\nResult of read:\nx"] },
  { title: "a result of no call among others",           messages: [user("a"), calls(["1"]), result("9", "x"), result("1")],             prompt: ["user: a", "assistant: call 1", "tool: 1=ok", "user: Result of read:\nx"] },
  { title: "a reply of the plain protocol",              messages: [user("a"), says('{"tool_calls":[]}'), result("1", "x")],             prompt: ["user: a", 'assistant: {"tool_calls":[]}', "user: Result of read:\nx"] },
  { title: "a correction after results",                 messages: [user("a"), calls(["1"]), result("1"), says(""), user("c")],          prompt: ["user: a", "assistant: call 1", "tool: 1=ok", "user: c"] },
  { title: "rounds one after another",                   messages: [user("a"), calls(["1"]), result("1"), calls(["2"]), result("2")],    prompt: ["user: a", "assistant: call 1", "tool: 1=ok", "assistant: call 2", "tool: 2=ok"] },
  { title: "signed reasoning, in its place",             messages: [user("a"), calls(["1:x"], "t", parts({ type: "reasoning", text: "r", options: signed }, { type: "text", chars: 1 }, { type: "call" })), result("1")], prompt: ["user: a", "assistant: (r), t, call x", "tool: x=ok"] },
  { title: "reasoning between calls",                    messages: [user("a"), calls(["1:x", "2:y"], "", parts({ type: "call" }, { type: "reasoning", text: "r" }, { type: "call" })), result("1"), result("2")], prompt: ["user: a", "assistant: call x, (r), call y", "tool: x=ok, y=ok"] },
  { title: "parts of a text that was changed since",     messages: [user("a"), calls(["1:x"], "***", parts({ type: "text", chars: 9 }, { type: "reasoning", text: "r" }, { type: "call" })), result("1")], prompt: ["user: a", "assistant: (r), ***, call x", "tool: x=ok"] },
  { title: "parts with fewer calls",                     messages: [user("a"), calls(["1:x", "2"], "", parts({ type: "call" })), result("1"), result("2")], prompt: ["user: a", "assistant: call x, call 2", "tool: x=ok, 2=ok"] },
  { title: "parts that another provider made",           messages: [user("a"), calls(["1"], "t", { maker: "you", parts: [{ type: "reasoning", text: "r" }, { type: "call" }] }), result("1")], prompt: ["user: a", "assistant: t, call 1", "tool: 1=ok"] },
  { title: "an id that the provider gives twice",        messages: [user("a"), calls(["1:x"]), result("1"), calls(["2:x"]), result("2")], prompt: ["user: a", "assistant: call x", "tool: x=ok", "assistant: call 2", "tool: 2=ok"] },
  { title: "an id that not every provider takes",        messages: [user("a"), calls(["1:a.b"]), result("1")],                           prompt: ["user: a", "assistant: call 1", "tool: 1=ok"] },
  { title: "reasoning and nothing else",                 messages: [user("a"), { role: "assistant", text: "", provider_parts: parts({ type: "reasoning", text: "r" }) }, user("b")], prompt: ["user: a\n\nb"] },
  { title: "parts that are nonsense",                    messages: [user("a"), { role: "assistant", text: "t", provider_parts: "x" }, user("b")], prompt: ["user: a", "assistant: t", "user: b"] },
];

for (const { title, messages, prompt } of PROMPTS) {
  test(`a prompt of ${title}`, () => {
    expect(inShort(messages)).toEqual(prompt);
  });
}

test("the system text comes first, if it exists", () => {
  expect(inShort([user("a")], OPTIONS, { system: "s" })).toEqual(["system: s", "user: a"]);
  expect(inShort([user("a")], OPTIONS, { system: " " })).toEqual(["user: a"]);
});

test("without tools, calls and results are written as text, because providers reject them", () => {
  expect(inShort([user("a"), calls(["1"], "t"), result("1", "x")], OPTIONS, { tools: [] })).toEqual([
    "user: a",
    'assistant: {"tool_calls":[{"name":"read","arguments":{"path":"1"}}],"final_answer":"t"}',
    "user: Result of read:\nx",
  ]);
});

test("if failures cannot be marked, their text is sent unchanged", () => {
  expect(inShort([user("a"), calls(["1"]), result("1", "no", false)], { maker: "me" }).at(-1)).toBe("tool: 1=no");
});

test("cache marks are at the tools, the system text, the end and the end of the previous request, at most four", () => {
  const mark = { cache: { here: true } };
  const messages = [
    user("a"),
    calls(["1"]),
    result("1"),
    calls(["2"]),
    result("2"),
    calls(["3"]),
    result("3"),
    user("b"),
  ];
  const tools = [...TOOLS, { ...TOOLS[0], name: "ls" }];
  const wire = makePrompt(ask(messages, { system: "s", tools }), { maker: "me", cacheMark: mark });
  const marked = wire.prompt.flatMap(({ providerOptions }, index) => (providerOptions === mark ? [index] : []));
  expect(wire.prompt.map(({ role }) => role[0]).join("")).toBe("suatatatu");
  expect(marked).toEqual([0, 5, 8]);
  expect(wire.tools.map(({ providerOptions }) => providerOptions)).toEqual([undefined, mark]);
});

const text = fc.constantFrom("", " ", "a", "b\n");
const id = fc.constantFrom("1", "2", "3");
const message: fc.Arbitrary<Message> = fc.oneof(
  text.map(user),
  text.map(says),
  fc.tuple(fc.uniqueArray(id, { maxLength: 3 }), text).map(([ids, said]) => calls(ids, said)),
  fc.tuple(id, text, fc.boolean()).map(([which, said, ok]) => result(which, said, ok)),
);

test("in any conversation every call is directly followed by its result, nothing is empty, and the user starts and ends", () => {
  fc.assert(
    fc.property(fc.array(message, { maxLength: 12 }), (messages) => {
      const { prompt } = makePrompt(ask(messages), OPTIONS);
      expect(prompt[0]?.role).toBe("user");
      expect(prompt.at(-1)?.role).not.toBe("assistant");
      for (const [index, each] of prompt.entries()) {
        expect(each.content.length).toBeGreaterThan(0);
        if (each.role === "user" || each.role === "assistant") expect(prompt[index + 1]?.role).not.toBe(each.role);
        const asked =
          each.role === "assistant"
            ? each.content.flatMap((part) => (part.type === "tool-call" ? [part.toolCallId] : []))
            : [];
        const next = prompt[index + 1];
        const given =
          next?.role === "tool"
            ? next.content.flatMap((part) => (part.type === "tool-result" ? [part.toolCallId] : []))
            : [];
        if (each.role === "assistant") expect(given).toEqual(asked);
      }
    }),
  );
});

test("as plain text the roles alternate, and the user starts and ends", () => {
  fc.assert(
    fc.property(fc.array(message, { maxLength: 12 }), (messages) => {
      const roles = makePlainPrompt(ask(messages)).map(({ role }) => role);
      expect(roles).toEqual(roles.map((_, index) => (index % 2 === 0 ? "user" : "assistant")));
      expect(roles.length % 2).toBe(1);
    }),
  );
});

test("images come before the text of their message, for models that accept them", () => {
  const image = { media_type: "image/png", data: "aGk=" };
  const shown: Message = { role: "user", text: "what is it?", images: [image] };
  const content = (options: PromptOptions): unknown =>
    makePrompt(ask([user("look"), shown, user("well?")]), options).prompt[0]?.content;
  const text = { type: "text", text: "look\n\nwhat is it?\n\nwell?" };
  expect(content(OPTIONS)).toEqual([text]);
  const file = { type: "file", mediaType: "image/png", data: { type: "data", data: "aGk=" } };
  expect(content({ ...OPTIONS, takesImages: true })).toEqual([file, text]);
});
