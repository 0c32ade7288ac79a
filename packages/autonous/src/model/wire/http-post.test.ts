import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { post } from "./http-post.ts";

async function serve(answer: RequestListener): Promise<URL> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
}

const WHOLE = "words ".repeat(1000);

test("answers arrive unchanged, repeatedly over the same connection", async () => {
  const url = await serve((request, response) => {
    void text(request).then((body) => response.end(`${request.method} ${body}`));
  });
  for (const body of ["one", "zwei €", ""]) {
    const answer = await post(url, { headers: {}, body, signal: new AbortController().signal });
    expect(await text(answer)).toBe(`POST ${body}`);
  }
});

/** When the reader stops the answer. It has been received completely by then. */
const STOPS: Readonly<Record<string, (answer: IncomingMessage, stop: () => void) => Promise<unknown>>> = {
  "before anything of it is read": async (_, stop) => await pause(50).then(stop),
  "when some of it was read": async (answer, stop) => {
    await once(answer, "readable");
    answer.read(1);
    await pause(50);
    stop();
  },
  "while it is given on": async (answer, stop) => {
    answer.once("data", stop);
    await once(answer, "close");
  },
  "after its last byte": async (answer, stop) => {
    for await (const _ of answer) await pause(1).then(stop);
  },
};

for (const [when, read] of Object.entries(STOPS))
  test(`stopping a complete answer ${when} causes no error`, async () => {
    const url = await serve((_, response) => response.end(WHOLE));
    const stop = new AbortController();
    const answer = await post(url, { headers: {}, body: "x", signal: stop.signal });
    await read(answer, () => stop.abort()).catch(() => "cut off");
    await text(answer).catch(() => "cut off");
    await pause(50); // an unhandled error would end this process

    const next = await post(url, { headers: {}, body: "x", signal: new AbortController().signal });
    expect(await text(next)).toBe(WHOLE);
  });

test("stopping in the middle of an answer ends the reading", async () => {
  const url = await serve((_, response) => void response.write("some"));
  const stop = new AbortController();
  const answer = await post(url, { headers: {}, body: "x", signal: stop.signal });
  setTimeout(() => stop.abort(), 20);
  await expect(text(answer)).rejects.toThrow();
});

test("stopping before the answer ends the wait with the reason, and nothing is sent again", async () => {
  let asked = 0;
  const url = await serve(() => void asked++);
  const stop = new AbortController();
  const reason = new Error("enough");
  const waiting = post(url, { headers: {}, body: "x", signal: stop.signal });
  setTimeout(() => stop.abort(reason), 50);
  await expect(waiting).rejects.toBe(reason);
  await pause(50);
  expect(asked).toBe(1);
  await expect(post(url, { headers: {}, body: "x", signal: stop.signal })).rejects.toBe(reason);
  expect(asked).toBe(1);
});
