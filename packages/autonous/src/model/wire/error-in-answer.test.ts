import { expect, test } from "vitest";
import { askOnce, connectTo, raw } from "../../../../../test/support/model-asking.ts";
import { FORMATS, KEY } from "../../../../../test/support/model-events.ts";
import { refuse, startModelServer, stream } from "../../../../../test/support/model-server.ts";
import type { Answer } from "../../../../../test/support/model-server.ts";
import type { AiSdkOptions } from "../ai-sdk-provider.ts";

type Kind = AiSdkOptions["kind"];
const KINDS = Object.keys(FORMATS) as Kind[];

const json = (body: unknown): Answer => raw(JSON.stringify(body), { type: "application/json" });
const event = (body: unknown, name = ""): Answer =>
  raw(`${name === "" ? "" : `event: ${name}\n`}data: ${typeof body === "string" ? body : JSON.stringify(body)}\n\n`);

interface ErrorCase {
  readonly title: string;
  readonly answer: Answer;
  readonly reason: string;
  /** How often it is asked where it stays so; 5 is as often as anything is. */
  readonly asked: number;
  readonly says: RegExp;
}

// oxfmt-ignore
const IN_200: readonly ErrorCase[] = [
  { title: "an error as text",                      answer: json({ error: "model is warming its feet" }),                                            reason: "server_error", asked: 2, says: /model is warming its feet/ },
  { title: "an error of its own kind",              answer: json({ error: { message: "flux", type: "strange" } }),                                   reason: "server_error", asked: 2, says: /flux/ },
  { title: "an invalid request",                    answer: json({ error: { message: "no field x", type: "invalid_request_error" } }),               reason: "bad_request",  asked: 1, says: /no field x/ },
  { title: "an invalid request by code",            answer: json({ error: { message: "no field x", code: 400 } }),                                   reason: "bad_request",  asked: 1, says: /400 no field x/ },
  { title: "a wrong key",                           answer: json({ error: { message: "who are you", code: "401" } }),                                reason: "key_refused",  asked: 1, says: /who are you/ },
  { title: "a rate limit",                          answer: json({ error: { message: "slow down", code: 429 } }),                                    reason: "rate_limited", asked: 5, says: /slow down/ },
  { title: "a rate limit by type",                  answer: event({ error: { message: "slow down", type: "rate_limit_error" } }),                    reason: "rate_limited", asked: 5, says: /slow down/ },
  { title: "an overload by type",                   answer: event({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }, "error"), reason: "server_error", asked: 5, says: /Overloaded/ },
  { title: "an error event in plain words",         answer: event("the engine is gone", "error"),                                                    reason: "server_error", asked: 2, says: /the engine is gone/ },
  { title: "MiniMax's balance",                     answer: json({ base_resp: { status_code: 1008, status_msg: "insufficient balance" } }),          reason: "quota",        asked: 1, says: /insufficient balance/ },
  { title: "MiniMax's code alone",                  answer: json({ choices: null, base_resp: { status_code: 1002, status_msg: "wait" } }),           reason: "rate_limited", asked: 5, says: /wait/ },
  { title: "MiniMax's invalid parameter",           answer: json({ base_resp: { status_code: 2013, status_msg: "no such field" } }),                 reason: "bad_request",  asked: 1, says: /no such field/ },
  { title: "Z.ai's arrears",                        answer: json({ error: { code: "1113", message: "Your account is in arrears" } }),                reason: "quota",        asked: 1, says: /in arrears/ },
  { title: "vLLM's error object",                   answer: json({ object: "error", message: "no such parameter", type: "BadRequestError", code: 400 }), reason: "bad_request", asked: 1, says: /no such parameter/ },
  { title: "a message and nothing else",            answer: json({ message: "under construction" }),                                                 reason: "server_error", asked: 2, says: /under construction/ },
  { title: "details of a validator",                answer: json({ detail: [{ loc: ["body", "tools", 0], msg: "field required" }] }),                reason: "server_error", asked: 2, says: /body\.tools\.0: field required/ },
  { title: "a full context",                        answer: json({ error: { message: "This model's maximum context length is 8 tokens" } }),         reason: "context_length", asked: 1, says: /maximum context/ },
  { title: "an account without credit",             answer: event({ error: { message: "Insufficient credits", code: 402 } }),                        reason: "quota",        asked: 1, says: /Insufficient credits/ },
  { title: "a web page",                            answer: raw("<!doctype html><html><head><title>Sign in</title><style>a{}</style></head><body><p>Use your badge &amp; smile</p></body></html>", { type: "text/html" }), reason: "server_error", asked: 2, says: /a web page: Sign in: Use your badge & smile/ },
  { title: "plain words",                           answer: raw("upstream connect error", { type: "text/plain" }),                                   reason: "cut_off",      asked: 5, says: /upstream connect error/ },
  { title: "JSON that is something else",           answer: json({ hello: "world" }),                                                                reason: "cut_off",      asked: 2, says: /something other than a reply: \{"hello":"world"\}/ },
];

for (const kind of KINDS) {
  for (const { title, answer, reason, asked, says } of IN_200) {
    test(`${kind}: ${title} instead of an answer is an immediate error with the server's meaning`, async () => {
      const server = await startModelServer([answer]);
      const outcome = await askOnce(server, connectTo(server, kind));
      expect(outcome.error?.message).toMatch(says);
      expect(outcome.error?.details).toMatchObject({ reason });
      expect([outcome.asked, outcome.spent]).toEqual([asked, []]);
    });
  }

  test(`${kind}: an error in the middle of a stream is reported, with the usage so far`, async () => {
    const format = FORMATS[kind];
    const begun =
      format
        ?.answer("Hello.")
        .slice(0, 3)
        .filter((each) => !/STOP|message_delta|completed|"stop"/.test(JSON.stringify(each))) ?? [];
    const broken = stream([...begun, { error: { message: "the node went away", code: 503 } }]);
    const server = await startModelServer([broken, stream(format?.answer("All.") ?? [])]);
    const { reply, asked, spent } = await askOnce(server, connectTo(server, kind));
    expect([reply?.text, asked, spent.length]).toEqual(["All.", 2, 1]);
  });
}

// oxfmt-ignore
const SAID = [
  { title: "an error as text",           body: { error: "no such thing" },                                           says: "400 no such thing" },
  { title: "a message in an error",      body: { error: { message: "no such thing", type: "x" } },                   says: "400 no such thing" },
  { title: "detail as text",             body: { detail: "no such thing" },                                          says: "400 no such thing" },
  { title: "detail as a list",           body: { detail: [{ loc: ["body", "model"], msg: "too short", type: "v" }, { loc: ["body", "n"], msg: "missing" }] }, says: "400 body.model: too short; body.n: missing" },
  { title: "a message",                  body: { message: "no such thing", statusCode: 400 },                        says: "400 no such thing" },
  { title: "error and message",          body: { statusCode: 400, error: "Bad Request", message: "no such thing" },  says: "400 Bad Request: no such thing" },
  { title: "errors",                     body: { errors: [{ message: "one" }, "two"] },                              says: "400 one; two" },
  { title: "msg",                        body: { code: 20012, msg: "no such thing" },                                says: "400 no such thing" },
  { title: "error_msg",                  body: { error_code: 336003, error_msg: "no such thing" },                   says: "400 no such thing" },
  { title: "plain text",                 body: "no such\n\n thing",                                                  says: "400 no such thing" },
  { title: "text that begins like JSON", body: "{no such thing}",                                                    says: "400 {no such thing}" },
  { title: "a page",                     body: "<html><head><title>400 Bad Request</title></head><body><center>nginx</center></body></html>", says: "400 a web page: 400 Bad Request: nginx" },
  { title: "words in brackets",          body: { error: { message: "<400> InternalError.Algo: no such thing" } },    says: "400 <400> InternalError.Algo: no such thing" },
  { title: "JSON inside of text",        body: { error: { message: '{"error":{"message":"no such thing"}}' } },      says: "400 no such thing" },
  { title: "OpenRouter's raw words",     body: { error: { message: "Provider returned error", code: 400, metadata: { raw: '{"error":{"message":"no such thing"}}', provider_name: "Azure" } } }, says: "400 Provider returned error (Azure: no such thing)" },
  { title: "OpenRouter's raw text",      body: { error: { message: "Provider returned error", code: 400, metadata: { raw: "no such thing", provider_name: "X" } } }, says: "400 Provider returned error (X: no such thing)" },
  { title: "a code alone",               body: { error: { code: "no_such_thing" } },                                 says: "400 no_such_thing" },
  { title: "nothing",                    body: "",                                                                   says: "400 with an empty body" },
  { title: "an empty object",            body: {},                                                                   says: "400 Bad Request" },
  { title: "a list around it",           body: [{ error: { code: 400, message: "no such thing", status: "INVALID_ARGUMENT" } }], says: "400 no such thing" },
] as const;

for (const kind of KINDS) {
  for (const { title, body, says } of SAID) {
    test(`${kind}: a refusal with ${title} is shown in the server's words`, async () => {
      const server = await startModelServer([refuse(400, body)]);
      const { error, asked } = await askOnce(server, connectTo(server, kind));
      expect([error?.message, asked]).toEqual([says, 1]);
    });
  }
}

test("a server's message is truncated only after redaction", async () => {
  const server = await startModelServer([refuse(400, { error: `${"x".repeat(490)} ${KEY} ${"y".repeat(100_000)}` })]);
  const { error } = await askOnce(server, connectTo(server, "compatible"));
  expect(error?.message.length).toBeLessThan(520);
  expect(error?.message).not.toContain(KEY.slice(0, 8));
});

// oxfmt-ignore
const WORDS = [
  { status: 402, says: "Insufficient Balance",                                                                        reason: "quota" },
  { status: 402, says: "This request requires more credits, or fewer max_tokens. You requested up to 9 tokens, but can only afford 1", reason: "quota" },
  { status: 403, says: "Your newly created team doesn't have any credits yet. You can purchase those on https://console.x.ai", reason: "quota" },
  { status: 429, says: "Your team has either used all available credits or reached its monthly spending limit.",        reason: "quota" },
  { status: 429, says: { error: { type: "exceeded_current_quota_error", message: "Your account is suspended, please check your plan and billing details" } }, reason: "quota" },
  { status: 400, says: { code: "Arrearage", message: "Access denied, please make sure your account is in good standing." }, reason: "quota" },
  { status: 429, says: { error: { code: "1113", message: "余额不足或无可用资源包,请充值。" } },                               reason: "quota" },
  { status: 400, says: "Your credit balance is too low to access the Anthropic API.",                                  reason: "quota" },
  { status: 400, says: { error: { message: "Invalid API key provided" } },                                             reason: "key_refused" },
  { status: 500, says: { error: "Authentication failed" },                                                             reason: "key_refused" },
  { status: 400, says: "Model Not Exist",                                                                              reason: "not_found" },
  { status: 400, says: { error: { message: "gpt-9 is not a valid model ID", code: 400 } },                             reason: "not_found" },
  { status: 400, says: { error: { code: "model_not_found", message: "The model `x` does not exist" } },                reason: "not_found" },
  { status: 400, says: "Content Exists Risk",                                                                          reason: "content_filter" },
  { status: 400, says: { code: "DataInspectionFailed", message: "Output data may contain inappropriate content." },    reason: "content_filter" },
  { status: 400, says: "messages: text content blocks must be non-empty",                                              reason: "bad_request" },
  { status: 400, says: "registry.ollama.ai/library/x does not support tools",                                          reason: "bad_request" },
] as const;

for (const { status, says, reason } of WORDS) {
  test(`${status} with ${JSON.stringify(says).slice(0, 90)} is read as ${reason}`, async () => {
    const server = await startModelServer([refuse(status, says)]);
    const { error, asked } = await askOnce(server, connectTo(server, "compatible"));
    expect([error?.details?.["reason"], asked]).toEqual([reason, 1]);
  });
}
