import { GrammyError, HttpError } from "grammy";
import { expect, test } from "vitest";
import { failureOf } from "./telegram-failure.ts";

// oxfmt-ignore
const REFUSALS = [
  { code: 401, description: "Unauthorized",                                  kind: "bad_token" },
  { code: 404, description: "Not Found",                                     kind: "bad_token" },
  { code: 403, description: "Forbidden: bot was blocked by the user",        kind: "gone" },
  { code: 400, description: "Bad Request: chat not found",                   kind: "gone" },
  { code: 400, description: "Bad Request: message is not modified",          kind: "refused" },
  { code: 413, description: "Request Entity Too Large",                      kind: "refused" },
  { code: 409, description: "Conflict: terminated by other getUpdates",      kind: "conflict" },
  { code: 408, description: "Request Timeout",                               kind: "unreachable" },
  { code: undefined, description: "no code at all",                          kind: "unreachable" },
  { code: "ERR",     description: "a code that is none",                     kind: "unreachable" },
  { code: 302, description: "Found",                                         kind: "unreachable" },
  { code: 500, description: "Internal Server Error",                         kind: "unreachable" },
  { code: 502, description: "Bad Gateway",                                   kind: "unreachable" },
] as const;

for (const { code, description, kind } of REFUSALS) {
  test(`${code} ${description} means ${kind}`, () => {
    const error_code = code as number; // what comes over the wire is what it says only as far as it was checked
    const error = new GrammyError("", { ok: false, error_code, description }, "sendMessage", {});
    expect(failureOf(error)).toMatchObject({
      kind,
      message: `Telegram rejected sendMessage (${code}: ${description})`,
    });
  });
}

test("how long to wait is a fact of the failure", () => {
  const failureWith = (error_code: number, parameters: object) =>
    failureOf(new GrammyError("", { ok: false, error_code, description: "", parameters }, "sendMessage", {}));
  expect(failureWith(429, { retry_after: 3 })).toMatchObject({ kind: "busy", retryAfterMs: 3000 });
  expect(failureWith(429, {})).toMatchObject({ kind: "busy", retryAfterMs: 5000 });
});

test("a network failure is told by its code and never by its message, which has the address", () => {
  const refused = Object.assign(new Error("connect to https://x/bot1:secret/getMe"), { code: "ECONNREFUSED" });
  const failure = failureOf(
    new HttpError("Network request for 'getMe' failed!", new TypeError("fetch failed", { cause: refused })),
  );
  expect(failure).toMatchObject({
    kind: "unreachable",
    message: "Telegram cannot be reached for getMe (ECONNREFUSED)",
  });
  expect(JSON.stringify(failure, Object.getOwnPropertyNames(failure))).not.toContain("secret");
});

test("a mistake of our own is not taken for Telegram's", () => {
  expect(() => failureOf(new TypeError("x is not a function"))).toThrow(TypeError);
});
