import { inspect } from "node:util";
import { expect, test } from "vitest";
import { AttemptFailed } from "./model-failure.ts";
import { readFailure } from "./read-failure.ts";

const api = (statusCode: number, message: string, responseBody = ""): object => ({ statusCode, message, responseBody });
const withCause = (cause: unknown): Error => new Error("fetch failed", { cause });
const coded = (code: string): Error => Object.assign(new Error("it broke"), { code });

// oxfmt-ignore
const FAILURES = [
  { error: api(400, "prompt is too long: 300000 tokens > 200000 maximum"),                        reason: "context_length" },
  { error: api(400, "The input token count (9) exceeds the maximum number of tokens allowed (8)"), reason: "context_length" },
  { error: api(400, "Bad Request", '{"error":{"code":"context_length_exceeded"}}'),               reason: "context_length" },
  { error: api(400, "request (9 tokens) exceeds the available context size (8 tokens)"),          reason: "context_length" },
  { error: api(413, "Request Entity Too Large"),                                                  reason: "context_length" },
  { error: api(429, "too many tokens this minute"),                                               reason: "rate_limited" },
  { error: api(400, "Your credit balance is too low"),                                            reason: "quota" },
  { error: api(429, "You exceeded your current quota, please check your plan and billing details"), reason: "rate_limited" },
  { error: api(400, "API key not valid. Please pass a valid API key."),                           reason: "key_refused" },
  { error: api(402, "Payment Required"),                                                          reason: "quota" },
  { error: api(400, "messages: text content blocks must be non-empty"),                           reason: "bad_request" },
  { error: api(409, "Conflict"),                                                                  reason: "server_error" },
  { error: api(424, "Request failed during generation: Server error: CUDA out of memory"),         reason: "server_error" },
  { error: api(418, "I'm a teapot"),                                                              reason: "bad_request" },
  { error: api(422, "Unprocessable"),                                                             reason: "bad_request" },
  { error: api(501, "Not Implemented"),                                                           reason: "bad_request" },
  { error: api(529, "Overloaded"),                                                                reason: "server_error" },
  { error: { type: "overloaded_error", message: "Overloaded" },                                   reason: "server_error" },
  { error: { type: "rate_limit_error", message: "slow" },                                         reason: "rate_limited" },
  { error: { type: "invalid_request_error", message: "no" },                                      reason: "bad_request" },
  { error: { type: "error", error: { code: "server_error", message: "broke" } },                  reason: "server_error" },
  { error: { code: 503, message: "UNAVAILABLE" },                                                 reason: "server_error" },
  { error: { code: "insufficient_quota", message: "pay" },                                        reason: "quota" },
  { error: withCause(coded("ECONNRESET")),                                                        reason: "connection" },
  { error: withCause(withCause(coded("UND_ERR_SOCKET"))),                                         reason: "connection" },
  { error: withCause(coded("ENOTFOUND")),                                                         reason: "not_found" },
  { error: withCause(coded("DEPTH_ZERO_SELF_SIGNED_CERT")),                                       reason: "not_found" },
  { error: new TypeError("terminated"),                                                           reason: "cut_off" },
  { error: withCause(new AttemptFailed({ reason: "timeout", message: "late" })),                  reason: "timeout" },
  { error: "broken",                                                                              reason: "cut_off" },
  { error: undefined,                                                                             reason: "cut_off" },
  { error: null,                                                                                  reason: "cut_off" },
] as const;

for (const { error, reason } of FAILURES) {
  test(`${inspect(error, { breakLength: Infinity }).split("\n")[0]} is read as ${reason}`, () => {
    expect(readFailure(error, 0).reason).toBe(reason);
  });
}

test("a message is one line, and not longer than a person reads", () => {
  expect(readFailure(api(400, "a\n\n b"), 0).message).toBe("400 a b");
  expect(readFailure(api(400, "x".repeat(100_000)), 0).message.length).toBeLessThan(600);
  expect(readFailure({}, 0).message).toBe("the server gave an error without a message");
});
