import { expect, test } from "vitest";
import { choiceLines, helpLines, keysOf, readAnswer } from "./answers.ts";
import type { Answer, Choices } from "./answers.ts";
import { widthOf } from "../words/width.ts";

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
  { line: "a",              want: { kind: "grant", scope: "session", offer: "command" } },
  { line: " Always ",       want: { kind: "grant", scope: "session", offer: "command" } },
  { line: "all",            want: { kind: "all" } },
  { line: "a2",             want: unclear },
  { line: "a y",            want: unclear },
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
  { line: "a",  choices: ONCE, want: unclear },
  { line: "r",  choices: ONCE, want: unclear },
  { line: "s2", choices: ONCE, want: unclear },
  { line: "e",  choices: ONCE, want: unclear },
];

for (const { line, choices = ALL, want } of CASES) {
  test(`${JSON.stringify(line)}${choices === ONCE ? " where only a yes once is offered" : ""} means ${JSON.stringify(want)}`, () => {
    expect(readAnswer(line, choices)).toEqual(want);
  });
}

test("a reason is recorded, up to the maximum length of an answer", () => {
  expect(readAnswer(`n ${"x".repeat(5000)}`, ALL)).toEqual({ kind: "deny", reason: "x".repeat(2000) });
});

const plain = { columns: 80, paint: (_: string, text: string) => text };

test("each approval key states its scope, and a selects the widest one", () => {
  expect(choiceLines(ALL, plain)).toEqual([
    "  y   yes, this once",
    '  a   yes, and for the rest of this session: every command that begins with "git',
    '      push"',
    "  n   no; text after it goes to the model as the reason",
    "  e   edit the arguments, then yes",
    "  d   show the full request",
    "  ?   help and all choices",
  ]);
  expect(choiceLines({ ...ALL, scopes: ["run"] }, { ...plain, columns: 200 })[1]).toBe(
    '  a   yes, and for the rest of this run: every command that begins with "git push"',
  );
  expect(choiceLines(ONCE, plain).join("\n")).not.toContain("  a ");
  expect(choiceLines(ONCE, { ...plain, columns: 40 }).filter((line) => widthOf(line) > 40)).toEqual([]);
});

// oxfmt-ignore
const UNEXPLAINED = [
  { title: "too long to be read", words: `any \`write\` below \`${"x/".repeat(200)}\`` },
  { title: "redacted",            words: "any `write` on `***REDACTED***`" },
];

for (const { title, words } of UNEXPLAINED) {
  test(`an offer whose words are ${title} is not what a takes; ? lists it`, () => {
    const wide = { offer: "folder", words, pattern: { kind: "path", tool: "write", path: "x/**" } } as const;
    const choices: Choices = { ...ALL, offers: [...OFFERS, wide] };
    expect(readAnswer("a", choices)).toEqual({ kind: "grant", scope: "session", offer: "command" });
    expect(readAnswer("s3", choices)).toEqual({ kind: "grant", scope: "session", offer: "folder" });
    expect(helpLines(choices, "d".repeat(64), plain).join("\n")).toContain("  s3  yes");
    expect(readAnswer("a", { ...choices, offers: [wide] })).toEqual(unclear);
  });
}

for (const columns of [40, 80, 200]) {
  test(`? lists every choice and the whole digest within ${columns} columns`, () => {
    const lines = helpLines(ALL, "d".repeat(64), { ...plain, columns });
    expect(lines.filter((line) => widthOf(line) > columns)).toEqual([]);
    for (const key of ["r", "r2", "s", "s2"]) {
      expect(lines.filter((line) => line.startsWith(`  ${key.padEnd(3)} yes, and for`))).toHaveLength(1);
    }
    expect(lines.join("")).toContain(`digest ${"d".repeat(64)}`);
    expect(keysOf(ALL)).toBe("y, a, r, r2, s, s2, n, e, d, ?");
    expect(keysOf(ONCE)).toBe("y, n, d, ?");
  });
}
