import { expect, test } from "vitest";
import { ERRORS } from "./errors.ts";

/** Callers decide by these names what they do next: none of them is renamed. */
// oxfmt-ignore
const RELIED_ON = {
  ToolNotAllowed:       "policy",
  ApprovalRequired:     "policy",
  ApprovalDenied:       "policy",
  PathTraversalBlocked: "policy",
  FileTooLarge:         "tool_exec",
  Timeout:              "timeout",
  ExitNonZero:          "tool_exec",
  IOError:              "tool_exec",
} as const;

test.each(Object.entries(RELIED_ON))("%s is an error of the class %s", (code, errorClass) => {
  expect(ERRORS).toHaveProperty([code, "class"], errorClass);
});

test("every error says what the caller can do next", () => {
  expect(Object.entries(ERRORS).filter(([, { hint }]) => !/^\S.*\.$/.test(hint))).toEqual([]);
});
