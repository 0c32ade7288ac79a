import { expect, test } from "vitest";
import type { ModelDelta } from "../../model/provider.ts";
import { createPreview } from "./preview.ts";

const THOUGHT = "I should look at the file first.";

function collect(): { readonly seen: ModelDelta[]; readonly preview: ReturnType<typeof createPreview> } {
  const seen: ModelDelta[] = [];
  return { seen, preview: createPreview({ delta: (delta) => void seen.push(delta) }) };
}

function textOf(seen: readonly ModelDelta[], kind: ModelDelta["kind"]): string {
  return seen
    .filter((delta) => delta.kind === kind)
    .map(({ text }) => text)
    .join("");
}

test("reasoning is shown to its end before the first word of the answer", () => {
  const { seen, preview } = collect();
  for (const piece of THOUGHT.match(/.{1,5}/gs) ?? []) preview.push({ kind: "reasoning", text: piece });
  preview.push({ kind: "text", text: "It is a file.\n" });
  expect(textOf(seen, "reasoning")).toBe(THOUGHT);
  expect(seen.at(-1)).toEqual({ kind: "text", text: "It is a file.\n" });
  preview.push({ kind: "reasoning", text: "Too late.\n" });
  preview.end();
  expect(textOf(seen, "reasoning")).toBe(THOUGHT);
});

test("reasoning without an answer is shown to its end when the round is over, and the next round starts fresh", () => {
  const { seen, preview } = collect();
  preview.push({ kind: "reasoning", text: THOUGHT });
  preview.end();
  preview.push({ kind: "reasoning", text: "Next.\n" });
  preview.end();
  expect(textOf(seen, "reasoning")).toBe(`${THOUGHT}Next.\n`);
});

test("a secret at the end of the reasoning is redacted", () => {
  const { seen, preview } = collect();
  const token = ["gh", "p_", "a1B2".repeat(9)].join("");
  for (const piece of `The token is ${token}`.match(/.{1,7}/gs) ?? []) preview.push({ kind: "reasoning", text: piece });
  preview.end();
  expect(textOf(seen, "reasoning")).toBe("The token is ***REDACTED***");
});
