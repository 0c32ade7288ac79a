import { ERRORS } from "@autonous/runtime";
import type { ErrorCode } from "@autonous/runtime";
import { expect, test } from "vitest";
import { exitCodeOf } from "./exit-codes.ts";

// oxfmt-ignore
const BY_CLASS = { validation: 2, policy: 3, timeout: 124, tool_exec: 1, unknown: 1 } as const;
const OTHERWISE: Readonly<Partial<Record<ErrorCode, number>>> = { ApprovalRequired: 4, Cancelled: 130 };

test.each(Object.keys(ERRORS) as ErrorCode[])("%s ends the process with the code of its class, or its own", (code) => {
  expect(exitCodeOf(code)).toBe(OTHERWISE[code] ?? BY_CLASS[ERRORS[code].class]);
});
