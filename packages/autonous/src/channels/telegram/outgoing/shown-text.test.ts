import { expect, test } from "vitest";
import type { Outgoing, OutboxRow } from "../../../store/store.ts";
import { countJoined, shownText } from "./shown-text.ts";

// oxfmt-ignore
const TEXTS = [
  { title: "level and content",            shown: { level: "info", content: "half way" },                                    text: "Info: half way" },
  { title: "level, title and content",     shown: { level: "warning", title: "Audit", content: "two risks" },                text: "Warning: Audit\ntwo risks" },
  { title: "success",                      shown: { level: "success", title: "Tests", content: "12 pass" },                  text: "Done: Tests\n12 pass" },
  { title: "sources",             shown: { level: "error", content: "fails", evidence: ["a.ts:1", "b.ts:2"] },      text: "Error: fails\n- a.ts:1\n- b.ts:2" },
  { title: "several lines",                shown: { level: "progress", content: "a\nb\n" },                                 text: "Progress: a\nb" },
  { title: "an empty title",               shown: { level: "info", title: " ", content: "x" },                               text: "Info: x" },
  { title: "characters that hide others",  shown: { level: "info", title: "a\u202eb", content: "c\u200bd", evidence: ["\u001b[1m"] }, text: /^Info: a[^\u202e]+b\nc[^\u200b]+d\n- [^\u001b]+$/u },
  { title: "a level of a later version",   shown: { level: "constructor", content: "x" },                                    text: "constructor: x" },
] as const;

for (const { title, shown, text } of TEXTS) {
  test(`${title}: ${JSON.stringify(text)}`, () => {
    const { text: written, entities } = shownText({ kind: "display", ...shown });
    expect(entities[0]).toMatchObject({ type: "bold", offset: 0 }); // level and title
    if (typeof text === "string") expect(written).toBe(text);
    else expect(written).toMatch(text);
  });
}

test("what is shown is Markdown, and what stands on lines of its own begins one", () => {
  const { text, entities } = shownText({ kind: "display", level: "info", content: "```sh\nls\n```\n**a** b" });
  expect(text).toBe("Info:\nls\na b");
  expect(entities).toEqual([
    { type: "bold", offset: 0, length: 5 },
    { type: "pre", language: "sh", offset: 6, length: 2 },
    { type: "bold", offset: 9, length: 1 },
  ]);
});

const show = (content: string): Outgoing => ({ kind: "display", level: "info", content });
const text: Outgoing = { kind: "text", text: "the answer" };
const rowsOf = (contents: readonly Outgoing[]): readonly OutboxRow[] =>
  contents.map((content, id) => ({
    id,
    task_id: "tsk_1",
    run_id: "run_1",
    channel: "telegram",
    chat: "telegram:42",
    content,
    attempts: 0,
    created_at: 0,
  }));

// oxfmt-ignore
const JOINED = [
  { title: "all that waits",               contents: [show("a"), show("b"), show("c")],             count: 3 },
  { title: "what stands before an answer", contents: [show("a"), show("b"), text, show("c")],       count: 2 },
  { title: "as much as one message takes", contents: [show("a".repeat(4000)), show("b".repeat(200))], count: 1 },
  { title: "one that is too long, alone",  contents: [show("a".repeat(9000)), show("b")],           count: 1 },
  { title: "an answer, alone",             contents: [text, show("a")],                             count: 1 },
] as const;

for (const { title, contents, count } of JOINED) {
  test(`one message has ${title}`, () => {
    expect(countJoined(rowsOf(contents))).toBe(count);
  });
}
