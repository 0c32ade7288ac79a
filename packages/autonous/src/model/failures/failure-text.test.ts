import { expect, test } from "vitest";
import { failureText } from "./failure-text.ts";

const SERVER = { base_url: "http://127.0.0.1:1/v1" };

// oxfmt-ignore
const CLAUSES = [
  { title: "a refusal alone",              failure: { reason: "bad_request", message: "400 No." },        stop: "",                 access: SERVER, says: "400 No." },
  { title: "a sentence before a count",    failure: { reason: "rate_limited", message: "429 Wait. " },    stop: "after 5 attempts", access: SERVER, says: "429 Wait, after 5 attempts" },
  { title: "a clause before a count",      failure: { reason: "server_error", message: "503" },           stop: "after 5 attempts", access: SERVER, says: "503, after 5 attempts" },
  { title: "the variable of a wrong key",  failure: { reason: "key_refused", message: "401 bad key" },    stop: "",                 access: { ...SERVER, variable: "GEMINI_API_KEY", key: "k" }, says: "401 bad key (the key is from GEMINI_API_KEY)" },
  { title: "the variable of a missing key", failure: { reason: "key_refused", message: "401 bad key" },   stop: "",                 access: { ...SERVER, variable: "AUTONOUS_COMPATIBLE_API_KEY" }, says: "401 bad key (no key was sent: AUTONOUS_COMPATIBLE_API_KEY is not set)" },
  { title: "no variable for other failures", failure: { reason: "quota", message: "402 empty" },          stop: "",                 access: { ...SERVER, variable: "OPENAI_API_KEY", key: "k" }, says: "402 empty" },
] as const;

for (const { title, failure, stop, access, says } of CLAUSES) {
  test(`tells ${title}`, () => expect(failureText(failure, { stop, access })).toBe(says));
}
