import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parseReply, readArguments } from "./json-reply.ts";

const CALL = '{"tool_calls":[{"name":"ls","arguments":{"path":"src"}}],"final_answer":""}';
const CALLS = [{ name: "ls", arguments: { path: "src" } }];
const DONE = '{"tool_calls":[],"final_answer":"All done"}';

// oxfmt-ignore
const ASKS_FOR_A_CALL = [
  { title: "a bare object",                       reply: CALL,                                                   text: "" },
  { title: "white space and a byte order mark",   reply: `\uFEFF \r\n\t${CALL}\n\n`,                             text: "" },
  { title: "a pretty-printed object",             reply: JSON.stringify(JSON.parse(CALL), null, 2),              text: "" },
  { title: "a fence with a language",             reply: `\`\`\`json\n${CALL}\n\`\`\``,                          text: "" },
  { title: "a fence without a language",          reply: `\`\`\`\n${CALL}\n\`\`\`\n`,                            text: "" },
  { title: "a fence of tildes",                   reply: `~~~~json\n${CALL}\n~~~~`,                              text: "" },
  { title: "a fence in Windows lines",            reply: `\`\`\`json\r\n${CALL}\r\n\`\`\`\r\n`,                  text: "" },
  { title: "a fence whose end sticks to it",      reply: `\`\`\`json\n${CALL}\`\`\``,                            text: "" },
  { title: "a fence that the text ends in",       reply: `\`\`\`json\n${CALL}\n`,                                text: "" },
  { title: "a reasoning block",                   reply: `<think>I could {"tool_calls":[]} or {</think>\n${CALL}`, text: "" },
  { title: "a reasoning block before a fence",    reply: `<think>\n\`\`\`\nx\n\`\`\`\n</think>\n\`\`\`json\n${CALL}\n\`\`\``, text: "" },
  { title: "an empty reasoning block",            reply: `<think></think>${CALL}`,                               text: "" },
  { title: "prose before",                        reply: `I will look first.\n${CALL}`,                          text: "I will look first." },
  { title: "prose after",                         reply: `${CALL}\n\nThat lists it.`,                            text: "That lists it." },
  { title: "prose around a fence",                reply: `First:\n\`\`\`json\n${CALL}\n\`\`\`\nThen more.`,      text: "First:\nThen more." },
  { title: "prose with a placeholder in braces",  reply: `Fill {name} and {0} and { x: 1 }: ${CALL} {done}`,     text: "Fill {name} and {0} and { x: 1 }:\n{done}" },
  { title: "prose with a lone closing brace",     reply: `So :} here: ${CALL}`,                                  text: "So :} here:" },
  { title: "prose with a link",                   reply: `See [the file](a.md): ${CALL}`,                        text: "See [the file](a.md):" },
  { title: "prose with code in a line",           reply: `Run \`\`\`ls\`\`\`: ${CALL}`,                          text: "Run ```ls```:" },
  { title: "prose with a fence of its own",       reply: `\`\`\`sh\nls\n\`\`\`\n${CALL}`,                        text: "```sh\nls\n```" },
  { title: "unknown fields beside them",          reply: CALL.replace("{", '{"thought":{"a":[1]},'),             text: "" },
  { title: "no final_answer",                     reply: CALL.replace(',"final_answer":""', ""),                 text: "" },
  { title: "null as final_answer",                reply: CALL.replace('""}', "null}"),                           text: "" },
  { title: "a final_answer beside the call",      reply: CALL.replace('""}', '"Looking"}'),                      text: "Looking" },
  { title: "all kinds of text beside the call",   reply: `One ${CALL.replace('""}', '"Two"}')} Three`,           text: "One\nTwo\nThree" },
  { title: "a field of the call that is unknown", reply: CALL.replace('"name"', '"id":"1","name"'),              text: "" },
] as const;

for (const { title, reply, text } of ASKS_FOR_A_CALL) {
  test(`a reply that is ${title} asks for its call`, () => {
    expect(parseReply(reply)).toEqual({ kind: "tool_calls", calls: CALLS, text });
  });
}

// oxfmt-ignore
const IS_FINAL = [
  { title: "no calls",           reply: DONE,                                               text: "All done" },
  { title: "no tool_calls",      reply: '{"final_answer":"All done"}',                      text: "All done" },
  { title: "null as tool_calls", reply: '{"tool_calls":null,"final_answer":"x"}',           text: "x" },
  { title: "prose around it",    reply: `Well. ${DONE} Bye.`,                               text: "All done" },
  { title: "braces in a string", reply: '{"final_answer":"}{ \\"{\\" ```\\n``` [\\\\"}',    text: '}{ "{" ```\n``` [\\' },
  { title: "half a character",   reply: '{"final_answer":"x\\ud83d"}',                      text: "x\uFFFD" },
] as const;

for (const { title, reply, text } of IS_FINAL) {
  test(`a reply with ${title} is the final answer`, () => {
    expect(parseReply(reply)).toEqual({ kind: "final", text });
  });
}

// oxfmt-ignore
const REFUSED = [
  { title: "nothing at all",                       reply: "",                                                    says: /no JSON object/ },
  { title: "white space",                          reply: " \n ",                                                says: /no JSON object/ },
  { title: "prose",                                reply: "I am done.",                                          says: /no JSON object/ },
  { title: "prose with placeholders",              reply: "Use {name} and {other}.",                             says: /no JSON object/ },
  { title: "a JSON string",                        reply: JSON.stringify(CALL),                                  says: /no JSON object/ },
  { title: "an array",                             reply: "[1,2]",                                               says: /no JSON object/ },
  { title: "single quotes",                        reply: "{'tool_calls':[],'final_answer':'x'}",                says: /no JSON object/ },
  { title: "a reply inside an array",              reply: `[${CALL}]`,                                           says: /other brackets/ },
  { title: "a reply in an array that is cut off",  reply: `[ ${CALL}`,                                           says: /other brackets/ },
  { title: "a reply inside braces of non-JSON",       reply: `{reply: ${CALL}}`,                                  says: /other brackets/ },
  { title: "a closing brace too many",             reply: `${DONE} }`,                                           says: /other brackets/ },
  { title: "a closing bracket too many",           reply: `${DONE}]`,                                            says: /other brackets/ },
  { title: "two objects",                          reply: `${CALL}\n${CALL}`,                                    says: /more than one JSON object/ },
  { title: "an empty object in the prose",         reply: `Like {}: ${CALL}`,                                    says: /more than one JSON object/ },
  { title: "a second object that is cut off",      reply: `${CALL} {"tool`,                                      says: /more than one JSON object/ },
  { title: "a second brace at the end",            reply: `${CALL} {\n`,                                         says: /more than one JSON object/ },
  { title: "a whole reply inside one cut off",     reply: `{"reply":${CALL}`,                                    says: /cut off/ },
  { title: "a cut-off string",                     reply: '{"final_answer":"All',                                says: /cut off/ },
  { title: "a string that ends in a backslash",    reply: '{"final_answer":"All\\',                              says: /cut off/ },
  { title: "an opening brace",                     reply: "{",                                                   says: /cut off/ },
  { title: "reasoning that never ends",            reply: `<think>Maybe ${CALL}`,                                says: /cut off inside <think>/ },
  { title: "two fences",                           reply: `\`\`\`sh\nls\n\`\`\`\n\`\`\`json\n${CALL}\n\`\`\``,   says: /more than one code fence/ },
  { title: "a fence after the fenced reply",       reply: `\`\`\`json\n${CALL}\n\`\`\`\n\`\`\`\nx\n\`\`\``,      says: /more than one code fence/ },
  { title: "an empty object",                      reply: "{}",                                                  says: /both empty/ },
  { title: "both parts empty",                     reply: '{"tool_calls":[],"final_answer":""}',                 says: /both empty/ },
  { title: "a blank answer",                       reply: '{"tool_calls":[],"final_answer":" \\n"}',             says: /both empty/ },
  { title: "another protocol's object",            reply: '{"name":"ls","arguments":{"path":"."}}',              says: /both empty/ },
  { title: "the fields on the prototype",          reply: '{"__proto__":{"final_answer":"x"}}',                  says: /both empty/ },
  { title: "a trailing comma",                     reply: '{"final_answer":"x",}',                               says: /JSON is broken/ },
  { title: "a comment",                            reply: '{"final_answer":"x" /* y */}',                        says: /JSON is broken/ },
  { title: "a key without quotes",                 reply: '{"tool_calls":[],final_answer:"x"}',                  says: /JSON is broken/ },
  { title: "a line end in a string",               reply: '{"final_answer":"x\ny"}',                             says: /JSON is broken/ },
  { title: "brackets that do not match",           reply: '{"final_answer":"x"]',                                says: /JSON is broken/ },
  { title: "NaN",                                  reply: '{"final_answer":"x","n":NaN}',                        says: /JSON is broken/ },
  { title: "a key given twice",                    reply: '{"final_answer":"x","final_answer":"y"}',             says: /"final_answer" twice/ },
  { title: "a key given twice in two spellings",   reply: '{"final_answer":"x","final\\u005fanswer":"y"}',       says: /"final_answer" twice/ },
  { title: "a call with two names",                reply: '{"tool_calls":[{"name":"a","name":"b","arguments":{}}]}', says: /"name" twice/ },
  { title: "tool_calls as an object",              reply: '{"tool_calls":{"name":"ls","arguments":{}}}',         says: /tool_calls is an object but must be an array/ },
  { title: "tool_calls as a string",               reply: '{"tool_calls":"ls"}',                                 says: /tool_calls is a string/ },
  { title: "final_answer as a number",             reply: '{"final_answer":42}',                                 says: /final_answer is a number/ },
  { title: "final_answer as false",                reply: '{"final_answer":false}',                              says: /final_answer is a boolean/ },
  { title: "a bad answer beside a good call",      reply: CALL.replace('""}', "[]}"),                            says: /final_answer is an array/ },
  { title: "a call that is a string",              reply: '{"tool_calls":["ls"]}',                               says: /tool_calls\[0\] is a string/ },
  { title: "a call that is null",                  reply: '{"tool_calls":[null]}',                               says: /tool_calls\[0\] is null/ },
  { title: "a call without a name",                reply: '{"tool_calls":[{"arguments":{}}]}',                   says: /tool_calls\[0\]\.name is missing/ },
  { title: "a call with an empty name",            reply: '{"tool_calls":[{"name":"","arguments":{}}]}',         says: /name is an empty string/ },
  { title: "a call without arguments",             reply: '{"tool_calls":[{"name":"ls"}]}',                      says: /arguments is missing/ },
  { title: "arguments as JSON in a string",        reply: '{"tool_calls":[{"name":"ls","arguments":"{}"}]}',     says: /arguments is a string/ },
  { title: "arguments as an array",                reply: '{"tool_calls":[{"name":"ls","arguments":[]}]}',       says: /arguments is an array/ },
  { title: "a good call before a bad one",         reply: '{"tool_calls":[{"name":"ls","arguments":{}},7]}',     says: /tool_calls\[1\] is a number/ },
  { title: "a number that no record can hold",     reply: '{"tool_calls":[{"name":"ls","arguments":{"a":[1e999]}}]}', says: /number that is too large/ },
  { title: "half a character in the arguments",    reply: '{"tool_calls":[{"name":"ls","arguments":{"a":"\\ud800"}}]}', says: /half a Unicode character/ },
] as const;

for (const { title, reply, says } of REFUSED) {
  test(`a reply that is ${title} is invalid`, () => {
    const parsed = parseReply(reply);
    expect(parsed.kind).toBe("invalid");
    expect(parsed.kind === "invalid" && parsed.message).toMatch(says);
  });
}

test("the message about broken JSON quotes nothing of the reply", () => {
  const parsed = parseReply('{"final_answer":"x", sk-live-1234567890}');
  expect(JSON.stringify(parsed)).not.toContain("live");
});

test("a __proto__ in the arguments comes through as data and changes no prototype", () => {
  const parsed = parseReply('{"tool_calls":[{"name":"ls","arguments":{"__proto__":{"polluted":true},"path":"a"}}]}');
  const args = parsed.kind === "tool_calls" ? parsed.calls[0]?.arguments : undefined;
  expect(Object.getOwnPropertyNames(args)).toEqual(["__proto__", "path"]);
  expect(args?.["polluted"]).toBeUndefined();
  expect(Object.getPrototypeOf(args)).toBe(Object.prototype);
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
});

const FIVE_MB = 5_000_000;
// oxfmt-ignore
const HUGE = [
  { title: "opening braces",           text: "{".repeat(FIVE_MB) },
  { title: "opening objects",          text: '{"a":'.repeat(FIVE_MB / 5) },
  { title: "empty objects",            text: "{}".repeat(FIVE_MB / 2) },
  { title: "opening braces and space", text: "{ ".repeat(FIVE_MB / 2) },
  { title: "nested arrays, all closed", text: `{"a":${"[".repeat(FIVE_MB / 2)}${"]".repeat(FIVE_MB / 2)}}` },
  { title: "backslashes",              text: `{"a":"${"\\".repeat(FIVE_MB)}` },
  { title: "back ticks",               text: "`".repeat(FIVE_MB) + CALL },
  { title: "fences",                   text: "```\n".repeat(FIVE_MB / 4) + CALL },
  { title: "white space",              text: "{" + " ".repeat(FIVE_MB) + "x" },
  { title: "reasoning marks",          text: "<think>".repeat(FIVE_MB / 7) },
] as const;

for (const { title, text } of HUGE) {
  test(`five megabytes of ${title} are answered`, () => {
    const parsed = parseReply(text);
    expect(parsed.kind).toBe(title === "back ticks" ? "tool_calls" : "invalid");
    if (parsed.kind === "invalid") expect(parsed.message.length).toBeLessThan(300);
  });
}

test("a long answer is returned complete", () => {
  const text = 'a"b\\c\n{'.repeat(FIVE_MB / 8);
  expect(parseReply(JSON.stringify({ final_answer: text }))).toEqual({ kind: "final", text });
});

const callArbitrary = fc.record({
  name: fc.string({ minLength: 1, unit: "grapheme" }),
  arguments: fc
    .dictionary(fc.string({ unit: "binary" }), fc.jsonValue({ maxDepth: 4 }))
    .map((value) => JSON.parse(JSON.stringify(value)) as object),
});
/** Prose without braces, fences, brackets at its edges and reasoning blocks. */
const prose = fc.string({ unit: "binary" }).map((text) => text.replaceAll(/[{}[\]`~<]/g, "").trim());
const space = fc.string({ unit: fc.constantFrom(" ", "\n", "\t", "\r\n") });
const reasoning = fc.option(fc.string({ unit: fc.constantFrom("{", '"', "}", "`", "a", "\n") }), { nil: undefined });

test("whatever surrounds a reply, its calls are read unchanged", () => {
  const wrapping = fc.record({
    before: prose,
    after: prose,
    space,
    reasoning,
    isFenced: fc.boolean(),
    indent: fc.integer({ min: 0, max: 3 }),
  });
  fc.assert(
    fc.property(fc.array(callArbitrary, { minLength: 1, maxLength: 4 }), wrapping, (calls, wrap) => {
      const object = JSON.stringify({ tool_calls: calls, final_answer: "" }, null, wrap.indent);
      const fenced = wrap.isFenced ? `\n\`\`\`json\n${object}\n\`\`\`\n` : object;
      const thought = wrap.reasoning === undefined ? "" : `<think>${wrap.reasoning}</think>`;
      const reply = `${thought}${wrap.space}${wrap.before}${wrap.space}${fenced}${wrap.space}${wrap.after}`;
      const text = [wrap.before, wrap.after].filter((part) => part !== "").join("\n");
      expect(parseReply(reply)).toEqual({ kind: "tool_calls", calls, text });
    }),
    { numRuns: 1000 },
  );
});

test("an answer is returned unchanged, and no truncated reply is accepted", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.nat(), (answer, cut) => {
      const text = `${answer}.`;
      const reply = JSON.stringify({ tool_calls: [], final_answer: text });
      expect(parseReply(reply)).toEqual({ kind: "final", text });
      expect(parseReply(reply.slice(0, cut % reply.length)).kind).toBe("invalid");
    }),
    { numRuns: 1000 },
  );
});

test("no text makes it throw, and accepted replies are well-formed", () => {
  const pieces = fc.constantFrom(
    "{",
    "}",
    '"',
    "\\",
    "[",
    "]",
    ",",
    ":",
    "`",
    "```\n",
    "<think>",
    "</think>",
    " ",
    "\n",
    '"tool_calls"',
    '"final_answer"',
    '"name"',
    '"arguments"',
    "x",
    "\ud800",
    "{}",
  );
  const text = fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: pieces, maxLength: 60 }));
  fc.assert(
    fc.property(text, (reply) => {
      const parsed = parseReply(reply);
      if (parsed.kind === "final") expect(parsed.text.trim()).not.toBe("");
      if (parsed.kind === "tool_calls") expect(parsed.calls.length).toBeGreaterThan(0);
    }),
    { numRuns: 5000 },
  );
});

test("the arguments of a native call can be any JSON object, and nothing else", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })), (given) => {
      const text = JSON.stringify(given);
      const read = readArguments(` ${text}\n`);
      if (text.isWellFormed() && !/\\ud[89a-f]/.test(text))
        expect(read).toEqual({ arguments: JSON.parse(text) as unknown });
    }),
  );
  fc.assert(fc.property(fc.string(), (text) => void readArguments(text)));
  expect(readArguments("  ")).toEqual({ arguments: {} });
});

// oxfmt-ignore
const MARKED = [
  { title: "the end of thinking within a string",          text: '{"final_answer":"Okay.</think> is how it ends"}',               answer: "Okay.</think> is how it ends" },
  { title: "the same on a line of its own",                text: JSON.stringify({ final_answer: "a\n</think>\nb" }),              answer: "a\n</think>\nb" },
  { title: "the same behind thinking",                     text: '<think>Hm</think>{"final_answer":"Hm.</think>"}',               answer: "Hm.</think>" },
  { title: "the end of thinking without its beginning",    text: 'I answer.\n</think>\n\n{"final_answer":"Done"}',                answer: "Done" },
  { title: "thinking in other marks",                      text: '[THINK]{"a":1}[/THINK]{"final_answer":"Done"}',                  answer: "Done" },
] as const;

for (const { title, text, answer } of MARKED) {
  test(`${title} does not change the answer`, () => {
    expect(parseReply(text)).toEqual({ kind: "final", text: answer });
  });
}
