import { expect, test } from "vitest";
import { choiceLines, readAnswer } from "./answers.ts";
import type { Answer, Choices } from "./answers.ts";
import { widthOf } from "./width.ts";

const OFFERS: Choices["offers"] = [
  { offer: "exact", words: "exactly this call again", pattern: { kind: "exact", call_digest: "00" } },
  {
    offer: "command",
    words: 'every command that begins with "git push"',
    pattern: { kind: "command", tool: "bash", command: "git push *", network: false },
  },
];
const ALL: Choices = { offers: OFFERS, scopes: ["run", "session"], canEdit: true };
const ONCE: Choices = { offers: OFFERS, scopes: [], canEdit: false };

const unclear: Answer = { kind: "unclear" };
// oxfmt-ignore
const CASES: readonly { readonly line: string; readonly choices?: Choices; readonly want: Answer }[] = [
  { line: "y",              want: { kind: "grant", scope: "call" } },
  { line: " YES ",          want: { kind: "grant", scope: "call" } },
  { line: "r",              want: { kind: "grant", scope: "run", offer: "exact" } },
  { line: "r1",             want: { kind: "grant", scope: "run", offer: "exact" } },
  { line: "r2",             want: { kind: "grant", scope: "run", offer: "command" } },
  { line: "run 2",          want: { kind: "grant", scope: "run", offer: "command" } },
  { line: "s",              want: { kind: "grant", scope: "session", offer: "exact" } },
  { line: "session",        want: { kind: "grant", scope: "session", offer: "exact" } },
  { line: "n",              want: { kind: "deny", reason: "" } },
  { line: "No",             want: { kind: "deny", reason: "" } },
  { line: "n use make",     want: { kind: "deny", reason: "use make" } },
  { line: "no, use make",   want: { kind: "deny", reason: "use make" } },
  { line: "e",              want: { kind: "edit" } },
  { line: "d",              want: { kind: "all" } },
  { line: "?",              want: { kind: "help" } },
  { line: "",               want: { kind: "nothing" } },
  { line: "   ",            want: { kind: "nothing" } },
  { line: "yeah",           want: unclear },
  { line: "y r",            want: unclear },
  { line: "yy",             want: unclear },
  { line: "r0",             want: unclear },
  { line: "r3",             want: unclear },
  { line: "r -1",           want: unclear },
  { line: "never",          want: unclear },
  { line: "y\u200b",        want: unclear },
  { line: "r",  choices: ONCE, want: unclear },
  { line: "s2", choices: ONCE, want: unclear },
  { line: "e",  choices: ONCE, want: unclear },
];

for (const { line, choices = ALL, want } of CASES) {
  test(`${JSON.stringify(line)}${choices === ONCE ? " where only a yes once is offered" : ""} means ${JSON.stringify(want)}`, () => {
    expect(readAnswer(line, choices)).toEqual(want);
  });
}

test("a reason is kept, up to what an answer may hold", () => {
  expect(readAnswer(`n ${"x".repeat(5000)}`, ALL)).toEqual({ kind: "deny", reason: "x".repeat(2000) });
});

test("each yes says in words how far it goes", () => {
  const plain = { columns: 80, paint: (_: string, text: string) => text };
  expect(choiceLines(ALL, plain)).toEqual([
    "  y   yes, this once",
    "  r   yes, and for the rest of this run: exactly this call again",
    '  r2  yes, and for the rest of this run: every command that begins with "git',
    '      push"',
    "  s   yes, and for the rest of this session: exactly this call again",
    '  s2  yes, and for the rest of this session: every command that begins with "git',
    '      push"',
    "  n   no; what you write after it is told to the model",
    "  e   edit the arguments, then yes",
    "  d   show all of it; ? explains",
  ]);
  expect(choiceLines(ONCE, { ...plain, columns: 40 }).filter((line) => widthOf(line) > 40)).toEqual([]);
});
