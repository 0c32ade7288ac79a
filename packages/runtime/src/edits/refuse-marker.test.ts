import { expect, test } from "vitest";
import { ToolError } from "../protocol/errors.ts";
import { refuseMarker } from "./refuse-marker.ts";
import { replaceText } from "./replace.ts";

function problemOf(run: () => unknown): ToolError | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    if (error instanceof ToolError) return error;
    throw error;
  }
}

// oxfmt-ignore
const LOCATED = [
  { title: "a value in a line",        text: "a\nKEY=s3cret\nb\n",          find: "KEY=***REDACTED***",                    lines: { start_line: 2, end_line: 2 } },
  { title: "lines around a value",     text: "a\r\nKEY=s3cret\r\nb\r\n",    find: "a\nKEY=***REDACTED***\nb",              lines: { start_line: 1, end_line: 3 } },
  { title: "a value of many lines",    text: "x\n-BEGIN-\n1\n2\n3\n-END-\n", find: "-BEGIN-\n***REDACTED***\n-END-",       lines: { start_line: 2, end_line: 6 } },
  { title: "two values",               text: "u: a\np: b\nq: c\n",          find: "p: ***REDACTED***\nq: ***REDACTED***",  lines: { start_line: 2, end_line: 3 } },
  { title: "the second of two alike",  text: "p: a\nx\np: b\ny\n",          find: "p: ***REDACTED***\ny",                  lines: { start_line: 1, end_line: 4 } },
];

for (const { title, text, find, lines } of LOCATED) {
  test(`text that was redacted when it was shown is named so, and located: ${title}`, () => {
    const error = problemOf(() => replaceText(text, [{ find, replace: "" }], { path: "env" }));
    expect(error).toMatchObject({ code: "NoMatch", details: { path: "env", ...lines } });
    expect(error?.message).toMatch(/redacted when the text was shown/);
    expect(error?.hint).toMatch(/before or after the secret \(lines? \d/);
  });
}

test("a marker alone is named as one, without a place", () => {
  const error = problemOf(() => replaceText("a\n", [{ find: "***REDACTED***", replace: "" }], { path: "env" }));
  expect(error).toMatchObject({ code: "NoMatch" });
  expect(error?.details).not.toHaveProperty("start_line");
});

test("a marker that the file literally holds is text like any other", () => {
  const edits = [{ find: "x = ***REDACTED***", replace: "y = ***REDACTED***" }];
  expect(replaceText("x = ***REDACTED***\n", edits, { path: "log" }).text).toBe("y = ***REDACTED***\n");
});

// oxfmt-ignore
const WRITTEN = [
  { title: "into a new file",                     before: undefined,                 after: "a\nk=***REDACTED***\n",                refused: /line 2 / },
  { title: "into a file without it",              before: "k=1\nl=2\n",              after: "k=***REDACTED***\nl=***REDACTED***\n", refused: /lines 1, 2 / },
  { title: "into a file that holds it",           before: "a ***REDACTED***\n",      after: "a ***REDACTED***\nb ***REDACTED***\n", refused: undefined },
  { title: "nowhere",                             before: "a\n",                     after: "b\n",                                  refused: undefined },
];

for (const { title, before, after, refused } of WRITTEN) {
  test(`redacted text goes ${title}: ${refused === undefined ? "let through" : "refused"}`, () => {
    const error = problemOf(() => refuseMarker(before, after, "env"));
    if (refused === undefined) expect(error).toBeUndefined();
    else expect(error).toMatchObject({ code: "InvalidArguments", message: expect.stringMatching(refused) as unknown });
  });
}
