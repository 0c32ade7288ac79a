import { expect, test } from "vitest";
import { makeWorld, recording, startRuntime } from "../../../../../test/support/agent-world.ts";
import type { ModelProvider } from "../../model/provider.ts";
import { RepetitionDetector, isRepetitive } from "./repetition-detector.ts";
import { runAgent } from "../loop.ts";

const SENTENCE = "I will now look at the file again to see what is in it. ";
const prose = (count: number): string =>
  Array.from({ length: count }, (_, index) => `Step ${index} does something else with part ${index * 7}. `).join("");

// oxfmt-ignore
const CASES = [
  { title: "a sentence twelve times",         text: SENTENCE.repeat(12),                          repeats: true },
  { title: "a sentence nine times",           text: SENTENCE.repeat(9),                           repeats: false },
  { title: "a sentence over and over, later", text: prose(20) + SENTENCE.repeat(12),              repeats: true },
  { title: "a word over and over",            text: "no ".repeat(200),                            repeats: true },
  { title: "a word some times",               text: "no ".repeat(20),                             repeats: false },
  { title: "prose that is alike",             text: prose(100),                                   repeats: false },
  { title: "a line of dashes",                text: "-".repeat(3000),                             repeats: false },
  { title: "a list",                          text: "- the same item\n".repeat(60),               repeats: false },
  { title: "a table",                         text: "| a | b |\n".repeat(100),                    repeats: false },
  { title: "code",                            text: `\`\`\`\n${"x = x + 1\n".repeat(100)}\`\`\`\n`, repeats: false },
  { title: "a file that a reply writes",      text: `{"tool_calls":[{"name":"write","arguments":{"content":"${String.raw`zero, zero\n`.repeat(200)}"}}]}`, repeats: false },
  { title: "the same over several lines",     text: `<think>So.</think>{\n  "content":\n    "${String.raw`zero, zero\n`.repeat(200)}"\n}`, repeats: false },
  { title: "prose after an object",           text: `{"a":\n1}\n${SENTENCE.repeat(12)}`,          repeats: true },
  { title: "prose with a brace in it",        text: `It is {\n${SENTENCE.repeat(12)}`,            repeats: true },
  { title: "prose after code",                text: `\`\`\`\nx\n\`\`\`\n${SENTENCE.repeat(12)}`,  repeats: true },
] as const;

for (const { title, text, repeats } of CASES) {
  test(`${title} is ${repeats ? "repetition" : "not repetition"}, however it is split`, () => {
    for (const size of [7, 64, 5000]) {
      const watch = new RepetitionDetector();
      const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
        text.slice(at * size, (at + 1) * size),
      );
      expect(pieces.some((piece) => watch.push(piece))).toBe(repeats);
    }
  });
}

test("ten repetitions are detected, nine are not", () => {
  expect([9, 10].map((count) => isRepetitive(SENTENCE.repeat(count)))).toEqual([false, true]);
});

test("a reply that repeats itself is stopped, corrected once, and stored only in part", async () => {
  const world = await makeWorld();
  let wasStopped = false;
  const provider: ModelProvider = {
    name: "test:repeating",
    protocol: "native",
    complete: async ({ rounds }, { signal, onDelta }) => {
      if (rounds > 0) return { kind: "native", text: "Sorry. It is done", calls: [], finish: "stop" };
      for (let count = 0; count < 10_000; count++) {
        onDelta?.({ kind: "text", text: SENTENCE });
        wasStopped = signal.aborted;
        signal.throwIfAborted();
      }
      throw new Error("It was not stopped");
    },
  };
  const asked = recording(provider);
  const outcome = await runAgent({
    runtime: await startRuntime(world),
    provider: asked,
    task: { text: "x" },
    limits: { max_turns: 5 },
  });
  expect(wasStopped).toBe(true);
  expect(outcome).toMatchObject({ outcome: "completed", answer: "Sorry. It is done", turns: 2 });
  const [, said, correction] = asked.requests[1]?.messages ?? [];
  expect(said?.text.length).toBeLessThanOrEqual(500);
  expect(correction?.text).toMatch(/it repeated itself/);
});
