import { expect, test } from "vitest";
import { widthOf } from "../../channels/words/width.ts";
import { statusLine } from "./status-line.ts";

const used = {
  model: "anthropic:claude-x",
  profile: "guarded",
  usage: { input_tokens: 12_345, output_tokens: 678, cost: 0.0123 },
  context: { tokens: 12_000, limit: 100_000 },
  isEstimated: false,
};

// oxfmt-ignore
const CASES = [
  { title: "everything is known",       more: {},                                            line: "claude-x | guarded | 12.3k in, 678 out | cost 0.0123 | context 12%" },
  { title: "a model without a price",   more: { usage: { ...used.usage, cost: null } },      line: "claude-x | guarded | 12.3k in, 678 out | cost unknown | context 12%" },
  { title: "tokens counted here",       more: { isEstimated: true },                         line: "claude-x | guarded | about 12.3k in, 678 out | cost 0.0123 | context 12%" },
  { title: "almost nothing used",       more: { context: { tokens: 3, limit: 100_000 } },    line: "claude-x | guarded | 12.3k in, 678 out | cost 0.0123 | context under 1%" },
  { title: "a server of one's own",     more: { model: "compatible:m@http://127.0.0.1:1/v1" }, line: "m | guarded | 12.3k in, 678 out | cost 0.0123 | context 12%" },
  { title: "nothing used yet",           more: { usage: { input_tokens: 0, output_tokens: 0, cost: 0 } }, line: "claude-x | guarded | 0 in, 0 out | context 12%" },
  { title: "a million",                 more: { usage: { input_tokens: 1_240_000, output_tokens: 999, cost: 2 } }, line: "claude-x | guarded | 1.2M in, 999 out | cost 2.0000 | context 12%" },
] as const;

for (const { title, more, line } of CASES)
  test(`the status line: ${title}`, () => expect(statusLine({ ...used, ...more }, 200)).toBe(line));

const NAMES = [
  "x".repeat(300),
  "模型".repeat(80),
  "a\u001b[31mb",
  "compatible:org/very-long-name-of-a-model-7b-instruct@https://models.example.com/v1",
];

for (const model of NAMES)
  test(`the status line with ${JSON.stringify(model.slice(0, 20))} is one line of at most 80 columns, or less`, () => {
    const most = { input_tokens: 999_949, output_tokens: 999_949, cost: 1234.5678 };
    for (const width of [undefined, 200, 80, 40, 10]) {
      const line = statusLine({ ...used, model, usage: most, isEstimated: true, profile: "autonomous" }, width);
      expect(widthOf(line)).toBeLessThanOrEqual(Math.min(80, width ?? 80));
      // oxlint-disable-next-line no-control-regex
      expect(line).not.toMatch(/[\u0000-\u001f]/);
    }
  });
