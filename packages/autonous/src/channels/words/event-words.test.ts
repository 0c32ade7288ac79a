import { expect, test } from "vitest";
import { argumentsOf, callText, callWords } from "./event-words.ts";

const LINES = 'a "quoted" line\n'.repeat(300);

/** How an event stores arguments of more than 4 kB. */
function stored(args: unknown): Readonly<Record<string, unknown>> {
  return { excerpt: JSON.stringify(args).slice(0, 4096), storage_ref: "artifacts/x.json", sha256: "0" };
}

// oxfmt-ignore
const CALLS = [
  { name: "ls",    args: { path: "src" },                                        words: "ls src" },
  { name: "bash",  args: { cmd: "npm test", network: false },                    words: "bash npm test" },
  { name: "bash",  args: { cmd: "cat <<E\none\nE\n" },                           words: "bash cat <<E… (3 lines, 14 characters)" },
  { name: "edit",  args: { path: "a.ts", find: "80", replace: "8080" },          words: 'edit a.ts find="80" replace="8080"' },
  { name: "write", args: { path: "a.txt", content: LINES },                      words: "write a.txt content=(300 lines, 4800 characters)" },
  { name: "write", args: stored({ path: "a.txt", content: LINES }),              words: /^write a\.txt content=\(over 2\d\d lines, \d+ characters\)$/ },
  { name: "call",  args: { list: ["x".repeat(500), { deep: LINES }] },           words: /^call list=\["x{60}… \(500 characters\)",\{"deep":"a \\"quoted\\" line… \(300 lines, 4800 characters\)"\}\]$/ },
  { name: "call",  args: Object.fromEntries(Array.from({ length: 999 }, (_, i) => [`key${i}`, i])), words: /^.{600}…$/ },
  { name: "call",  args: undefined,                                              words: "call" },
];

for (const { name, args, words } of CALLS) {
  test(`a call of ${name} is shown as ${String(words)}`, () => {
    const payload = { tool_name: name, arguments: args };
    const shown = callWords(payload);
    if (typeof words === "string") expect(shown).toBe(words);
    else expect(shown).toMatch(words);
    expect(callText(payload).length).toBeLessThan(700);
    expect(callText({ tool_name: name, audit: { params: args } })).toBe(callText(payload));
  });
}

test("truncated arguments are read up to the cut", () => {
  const json = JSON.stringify({ path: "a.txt", content: 'x\u0001\n"é" \ud83d\ude42', more: [1, "two"], n: 12 });
  for (let cut = 1; cut < json.length; cut++) {
    const args = argumentsOf({ arguments: { excerpt: json.slice(0, cut), storage_ref: "a", sha256: "0" } });
    if (cut > 20) expect(args).toMatchObject({ path: "a.txt" });
  }
});
