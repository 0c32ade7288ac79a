import { redact, REDACTION_MARKER } from "@autonous/runtime";
import { expect, test } from "vitest";
import { OutputTails } from "./output-feed.ts";

// oxfmt-ignore
const PRINTED = [
  { title: "whole lines",               chunks: ["one\n", "two\n"],              line: "two" },
  { title: "a line in two parts",       chunks: ["one\ntw", "o"],                line: "two" },
  { title: "a bar that is redrawn",     chunks: ["10 %\r", "20 %\r"],           line: "20 %" },
  { title: "empty lines at the end",    chunks: ["one\n\n", " \n"],             line: "one" },
  { title: "a secret in two parts",     chunks: ["key ghp_a1B2a1B2a1B2a1", "B2a1B2a1B2a1B2a1B2a1B2"], line: `key ${REDACTION_MARKER}` },
  { title: "a line without end",        chunks: ["x".repeat(10_000), "y"],      line: "x".repeat(300) },
] as const;

for (const { title, chunks, line } of PRINTED) {
  test(`the last line is told once: ${title}`, async () => {
    const told = await new Promise((resolve) => {
      const tails = new OutputTails({ tell: resolve, redact: (text) => redact(text).text, everyMs: 1 });
      for (const detail of chunks) tails.push({ tool_call_id: "c1", fraction: null, detail, output: "stdout" });
    });
    expect(told).toEqual({ tool_call_id: "c1", line });
  });
}
