import fc from "fast-check";
import { expect, test } from "vitest";
import { withoutThinking } from "./thinking.ts";

// oxfmt-ignore
const STRIPPED = [
  { title: "a block",                             text: "<think>Is it?\nIt is.</think>\n\nIt is <think>.",                  answer: "It is <think>." },
  { title: "two blocks",                          text: "<think>a</think>\n<think>b</think>\nDone.",                        answer: "Done." },
  { title: "an end without a beginning",          text: "Okay, the user wants x.\n</think>\n\nDone.",                       answer: "Done." },
  { title: "an end right behind a sentence",      text: "Okay.</think>Done.",                                               answer: "Done." },
  { title: "an end at the beginning",             text: "</think>\n\nDone.",                                                answer: "Done." },
  { title: "thinking",                            text: "<thinking>Hm</thinking>Done.",                                     answer: "Done." },
  { title: "reasoning",                           text: "\n<reasoning>\nHm\n</reasoning>\nDone.",                           answer: "Done." },
  { title: "a block closed by another mark",      text: "<thinking>Hm</think>\nDone.",                                      answer: "Done." },
  { title: "Mistral's marks",                     text: "[THINK]Hm[/THINK]Done.",                                           answer: "Done." },
  { title: "Mistral's end alone",                 text: "Hm.[/THINK]Done.",                                                 answer: "Done." },
  { title: "Seed's marks",                        text: "<seed:think>Hm</seed:think>Done.",                                 answer: "Done." },
  { title: "Gemma's marks",                       text: "<|channel>thought\nHm<channel|>Done.",                             answer: "Done." },
  { title: "Kimi's marks",                        text: "◁think▷Hm◁/think▷Done.",                                           answer: "Done." },
  { title: "the channels of gpt-oss",             text: "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>final<|message|>Done.<|return|>", answer: "Done." },
  { title: "the final channel alone",             text: "<|channel|>final <|constrain|>text<|message|>Done.",               answer: "Done." },
  { title: "an analysis and bare words",          text: "<|channel|>analysis<|message|>Hm<|end|>Done.",                     answer: "Done." },
  { title: "channels without their marks",        text: "analysisThe user wants x.assistantfinalDone.",                     answer: "Done." },
  { title: "the end of a turn",                   text: "Done.<|im_end|>",                                                  answer: "Done." },
  { title: "two ends of a turn",                  text: "Done.<|eot_id|></s>\n",                                            answer: "Done." },
] as const;

for (const { title, text, answer } of STRIPPED) {
  test(`${title} is not a part of the answer`, () => {
    expect(withoutThinking(text)).toEqual({ text: answer });
  });
}

// oxfmt-ignore
const KEPT = [
  "Done.",
  "The `</think>` tag ends the thinking.",
  "The </think> tag ends the thinking.",
  "Write:\n```\nHm.\n</think>\n```\nand go on.",
  "It opens with <think> and\n</think>\ncloses it.",
  "analysis of the file: it is fine.",
  "Analysis\nIt is fine.",
  "See <reasoning> in the docs.",
  "a < b and c |> d",
] as const;

for (const text of KEPT) {
  test(`${JSON.stringify(text)} is an answer as it is`, () => {
    expect(withoutThinking(text)).toEqual({ text });
  });
}

// oxfmt-ignore
const UNCLOSED = ["<think>I should", "<think>", "  <thinking>\nlong", "[THINK]Hm", "<|channel|>analysis<|message|>Hm", "<think>a</think><think>b"] as const;

for (const text of UNCLOSED) {
  test(`${JSON.stringify(text)} contains no answer`, () => {
    expect(withoutThinking(text)).toMatchObject({ text: "", unclosed: expect.anything() as string });
  });
}

test("text without marks is only trimmed, and no text makes it throw", () => {
  fc.assert(fc.property(fc.lorem({ maxCount: 30 }), (text) => withoutThinking(text).text === text.trim()));
  const piece = fc.constantFrom(
    "<think>",
    "</think>",
    "[THINK]",
    "<|channel|>",
    "analysis",
    "final",
    "<|message|>",
    "`",
    "\n",
    "a",
    " ",
  );
  fc.assert(fc.property(fc.array(piece), (pieces) => void withoutThinking(pieces.join(""))));
});

for (const piece of ["<think></think>", "</think>", "`</think>", "<|im_end|>", "<thinking>", "```\n</think>\n", " "]) {
  test(`a megabyte of ${JSON.stringify(piece)} is read to its end`, () => {
    expect(typeof withoutThinking(piece.repeat(Math.ceil(1_000_000 / piece.length))).text).toBe("string");
  });
}
