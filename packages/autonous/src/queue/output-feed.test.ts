import { redact } from "@autonous/runtime";
import { REDACTION_MARKER } from "@autonous/runtime/internal";
import { expect, onTestFinished, test, vi } from "vitest";
import { OutputTails } from "./output-feed.ts";

function openTails(): { readonly lines: object[]; readonly push: (tool_call_id: string, detail: string) => void } {
  const lines: object[] = [];
  const tails = new OutputTails({
    tell: (output) => void lines.push(output),
    redact: (text) => redact(text).text,
    everyMs: 1,
  });
  onTestFinished(() => tails.close());
  return {
    lines,
    push: (tool_call_id, detail) => tails.push({ tool_call_id, fraction: null, detail, output: "stdout" }),
  };
}

// oxfmt-ignore
const PRINTED = [
  { title: "complete lines",            chunks: ["one\n", "two\n"],              line: "two" },
  { title: "a line in two parts",       chunks: ["one\ntw", "o"],                line: "two" },
  { title: "a bar that is redrawn",     chunks: ["10 %\r", "20 %\r"],           line: "20 %" },
  { title: "empty lines at the end",    chunks: ["one\n\n", " \n"],             line: "one" },
  { title: "a secret in two parts",     chunks: ["key ghp_a1B2a1B2a1B2a1", "B2a1B2a1B2a1B2a1B2a1B2"], line: `key ${REDACTION_MARKER}` },
  { title: "a line without end",        chunks: ["x".repeat(10_000), "y"],      line: "x".repeat(300) },
] as const;

for (const { title, chunks, line } of PRINTED) {
  test(`the last line is reported once: ${title}`, async () => {
    const { lines, push } = openTails();
    for (const detail of chunks) push("c1", detail);
    push("c2", "end");
    await vi.waitUntil(() => lines.length > 1);
    expect(lines).toEqual([
      { tool_call_id: "c1", line },
      { tool_call_id: "c2", line: "end" },
    ]);
  });
}

test("a task with many calls keeps only the latest ones", async () => {
  const { lines, push } = openTails();
  for (let call = 1; call <= 1000; call++) push(`c${call}`, "x");
  await vi.waitUntil(() => lines.length > 0);
  expect(lines.length).toBeLessThanOrEqual(50);
  expect(lines.at(-1)).toEqual({ tool_call_id: "c1000", line: "x" });
});
