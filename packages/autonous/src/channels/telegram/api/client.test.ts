import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { ADA, scratchPlace } from "../../../../../../test/support/telegram-channel.ts";
import type { Place } from "../../../../../../test/support/telegram-channel.ts";
import { fileMs, TelegramClient } from "./client.ts";
import { TelegramFailure } from "./telegram-failure.ts";

const HOUR = 3_600_000;

afterEach(() => vi.restoreAllMocks());

function setBack(): void {
  const { now } = Date;
  vi.spyOn(Date, "now").mockImplementation(() => now() - HOUR);
}

async function connect(): Promise<{ readonly client: TelegramClient } & Pick<Place, "telegram">> {
  const { telegram } = await scratchPlace();
  telegram.say({ text: "hello" }); // who has never written cannot be written to
  const client = new TelegramClient({ token: telegram.token, api_root: telegram.url, log: () => undefined });
  return { telegram, client };
}

const send = (client: TelegramClient, text: string): Promise<unknown> =>
  client.send(ADA, (api, signal) => api.sendMessage(ADA, text, {}, signal));

test("a machine whose clock is set back sends on", async () => {
  const { telegram, client } = await connect();
  await send(client, "one");
  setBack();
  await send(client, "two");
  expect(telegram.answers().map(({ text }) => text)).toEqual(["one", "two"]);
});

test("an outage before the clock was set back is over when it is over", async () => {
  const { telegram, client } = await connect();
  telegram.fault({ kind: "reset_before", method: "sendMessage", times: 2 });
  await expect(send(client, "one")).rejects.toThrow(TelegramFailure);
  setBack();
  const error = (await send(client, "one").catch((problem: unknown) => problem)) as TelegramFailure;
  const waitMs = error.retryAfterMs ?? 0; // on a slow machine the wait may be over
  expect(waitMs).toBeLessThanOrEqual(1000);
  expect(waitMs).toSatisfy(Number.isInteger); // the record stores integer times
});

test("a wait for one method that goes to no chat holds neither other methods nor chats", async () => {
  const { telegram, client } = await connect();
  telegram.fault({ kind: "rate_limited", method: "getMe", retry_after_s: 60 });
  const getMe = (): Promise<unknown> => client.call((api, signal) => api.getMe(signal));
  await expect(getMe()).rejects.toMatchObject({ kind: "busy", retryAfterMs: 60_000 });
  await expect(getMe()).rejects.toMatchObject({ kind: "busy" });
  expect(telegram.calls.filter(({ method }) => method === "getMe")).toHaveLength(1);
  await client.call((api, signal) => api.getUpdates({}, signal));
  await send(client, "one");
});

// oxfmt-ignore
const NOT_TELEGRAM = [
  { status: 200, body: "null" },
  { status: 200, body: "[]" },
  { status: 200, body: '{"ok":"yes"}' },
  { status: 403, body: '"blocked"' },
  { status: 404, body: '{"message":"no such route"}' },
  { status: 503, body: "Service Unavailable" },
] as const;

for (const { status, body } of NOT_TELEGRAM) {
  test(`${status} ${body} is not Telegram's answer, so it is tried again`, async () => {
    const server = createServer((request, response) => {
      request.resume();
      response.writeHead(status, { "content-type": "application/json" }).end(body);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const client = new TelegramClient({
      token: "1:secret",
      api_root: `http://127.0.0.1:${port}`,
      log: () => undefined,
    });
    await expect(send(client, "one")).rejects.toMatchObject({
      kind: "unreachable",
      message: "Telegram cannot be reached for sendMessage (not a response from Telegram)",
    });
  });
}

test("a file may take the longer, the larger it is", () => {
  expect([0, 1_000_000, 50_000_000].map(fileMs)).toEqual([60_000, 80_000, 1_060_000]);
});
