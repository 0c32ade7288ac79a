import { expect, onTestFinished, test } from "vitest";
import type { FaultInput } from "./faults.ts";
import { startFakeTelegram } from "./server.ts";
import type { FakeTelegram } from "./server.ts";

async function open(faults: readonly FaultInput[] = []): Promise<FakeTelegram> {
  const telegram = await startFakeTelegram({ faults });
  onTestFinished(() => telegram.close());
  telegram.say({ text: "hello" });
  return telegram;
}

/** The status, or what the network said. */
async function send(telegram: FakeTelegram, chat_id = 42, method = "sendMessage"): Promise<number | string> {
  const body = new URLSearchParams({ chat_id: String(chat_id), text: "x" });
  const request = { method: "POST", body, signal: AbortSignal.timeout(2000) };
  try {
    const response = await fetch(`${telegram.url}/bot${telegram.token}/${method}`, request);
    await response.json().catch((error: unknown) => {
      if (response.status === 200) throw error;
    });
    return response.status;
  } catch (error) {
    const { cause, name } = error as Error & { cause?: { code?: string } };
    return cause?.code ?? name;
  }
}

// oxfmt-ignore
const CASES: readonly { fault: FaultInput; answer: number | string | RegExp; sent: number }[] = [
  { fault: { kind: "rate_limited", retry_after_s: 3 }, answer: 429,           sent: 0 },
  { fault: { kind: "server_error" },                   answer: 500,           sent: 0 },
  { fault: { kind: "bad_gateway" },                    answer: 502,           sent: 0 },
  { fault: { kind: "gateway_json" },                   answer: 503,           sent: 0 },
  { fault: { kind: "unauthorized" },                   answer: 401,           sent: 0 },
  { fault: { kind: "conflict" },                       answer: 409,           sent: 0 },
  { fault: { kind: "blocked" },                        answer: 403,           sent: 0 },
  { fault: { kind: "reset_before" },                   answer: "ECONNRESET",  sent: 0 },
  { fault: { kind: "reset_after" },                    answer: "ECONNRESET",  sent: 1 },
  { fault: { kind: "cut_answer" },                     answer: /UND_ERR_SOCKET|ECONNRESET/, sent: 1 },
  { fault: { kind: "slow", ms: 20 },                   answer: 200,           sent: 1 },
  { fault: { kind: "hang" },                           answer: "TimeoutError", sent: 0 },
  { fault: { kind: "hang_after" },                     answer: "TimeoutError", sent: 1 },
];

for (const { fault, answer, sent } of CASES) {
  test(`${fault.kind}: ${sent === 0 ? "nothing was" : "it was"} done, and the next one goes through`, async () => {
    const telegram = await open([fault]);
    const got = await send(telegram);
    if (answer instanceof RegExp) expect(got).toMatch(answer);
    else expect(got).toBe(answer);
    expect(telegram.answers()).toHaveLength(sent);
    expect(await send(telegram)).toBe(200);
    expect(telegram.calls.map((call) => call.fault)).toEqual([fault.kind, undefined]);
  });
}

test("a fault applies to the method and the chat that it names, as often as it says", async () => {
  const telegram = await open();
  telegram.say({ user: 7, text: "hello" });
  telegram.fault({ kind: "server_error", method: "sendmessage", chat: 7, times: 2 });
  telegram.fault({ kind: "blocked", method: "sendChatAction", times: "always" });
  expect([await send(telegram), await send(telegram, 7), await send(telegram, 7), await send(telegram, 7)]).toEqual([
    200, 500, 500, 200,
  ]);
  expect([await send(telegram, 42, "sendChatAction"), await send(telegram, 7, "sendChatAction")]).toEqual([403, 403]);
  telegram.clearFaults();
  expect(await send(telegram, 7)).toBe(200);
});

test("updates come twice, or the newest first", async () => {
  const telegram = await open();
  telegram.say({ text: "two" });
  const poll = async (offset: number): Promise<readonly { update_id: number }[]> => {
    const response = await fetch(`${telegram.url}/bot${telegram.token}/getUpdates?offset=${offset}`);
    return ((await response.json()) as { result: { update_id: number }[] }).result;
  };
  const [first, second] = await poll(0);
  telegram.fault({ kind: "out_of_order" });
  expect(await poll(0)).toEqual([second, first]);
  telegram.fault({ kind: "twice" });
  expect(await poll(second?.update_id ?? 0)).toEqual([first, second, second]);
});

test("in an outage nothing goes through, and afterwards all is as it was", async () => {
  const telegram = await open();
  const polling = send(telegram, 42, "getUpdates?timeout=50&offset=-1");
  for (const [kind, says] of [
    ["reset", "ECONNRESET"],
    ["refused", "ECONNREFUSED"],
  ] as const) {
    await telegram.outage(kind);
    expect(await send(telegram)).toBe(says);
    telegram.say({ text: "meanwhile" });
    await telegram.recover();
    expect(await send(telegram)).toBe(200);
  }
  await polling;
  expect(telegram.unconfirmed).toBeGreaterThan(1);
});

test("a fault that is not valid, or that its method never meets, is refused", async () => {
  const telegram = await open();
  const wrong = [
    { kind: "fire" },
    { kind: "slow", ms: "1" },
    { kind: "slow", times: 0 },
    { kind: "slow", colour: 1 },
    { kind: "link_expired", method: "sendMessage" },
    { kind: "twice", method: "sendMessage" },
    { kind: "out_of_order", method: "download" },
  ];
  for (const each of wrong) expect(() => telegram.fault(each as unknown as FaultInput)).toThrow(/fault/);
});
