import { once } from "node:events";
import { createServer } from "node:http";
import type { RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { TelegramClient } from "./client.ts";
import { downloadFile, NoSuchFileError, ShortFileError, TooLargeError } from "./download.ts";
import { TelegramFailure } from "./telegram-failure.ts";

/** Servers that do what Telegram's own never would. */

const TOKEN = "1:secret";
const LIMIT = 20_000;

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface DownloadCase {
  /** What getFile says. */
  readonly file: object;
  readonly give: RequestListener;
}

/** Gives what was written, or throws what `downloadFile` did. */
async function download({ file, give }: DownloadCase): Promise<string> {
  const api_root = await listen((request, response) => {
    if (request.url?.startsWith("/file/") === true) give(request, response);
    else response.end(JSON.stringify({ ok: true, result: { file_id: "a", file_unique_id: "a", ...file } }));
  });
  const client = new TelegramClient({ token: TOKEN, api_root, log: () => undefined });
  const pieces: Uint8Array[] = [];
  const write = (piece: Uint8Array): void => void pieces.push(piece);
  const stopped = new AbortController().signal;
  await downloadFile(client, "a", { limit_bytes: LIMIT, stopped, write });
  return Buffer.concat(pieces).toString();
}

test.each([301, 302, 303, 307, 308])("a redirect (%s) is not followed, wherever it leads", async (status) => {
  const seen: (string | undefined)[] = [];
  const elsewhere = await listen((request, response) => {
    seen.push(request.url);
    response.end("from elsewhere");
  });
  const location = `${elsewhere}/latest/meta-data`;
  const give: RequestListener = (_, response) => void response.writeHead(status, { location }).end("moved");
  const failure = await download({ file: { file_path: "a.txt" }, give }).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(TelegramFailure);
  expect(failure).toMatchObject({ kind: "unreachable" });
  expect((failure as Error).message).not.toContain(TOKEN);
  expect(seen).toEqual([]);
});

test("a file that has no end is read as far as is taken, whatever size was announced", async () => {
  let given = 0;
  const give: RequestListener = (_, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(10_000))) given += 10_000;
      response.once("drain", more);
    };
    more();
  };
  await expect(download({ file: { file_path: "a.bin", file_size: 1000 }, give })).rejects.toThrow(TooLargeError);
  expect(given).toBeLessThan(100_000_000); // what the system buffers, and no more
});

test("a file that is shorter than announced is not taken for the file", async () => {
  const give: RequestListener = (_, response) => void response.end("half");
  const failed = download({ file: { file_path: "a.txt", file_size: 8 }, give });
  await expect(failed).rejects.toThrow(ShortFileError);
  await expect(failed).rejects.toThrow("Telegram sent 4 of 8 bytes; send it again");
});

test("a file whose size is not announced, or was announced too small, is taken", async () => {
  const give: RequestListener = (_, response) => void response.end("all of it");
  expect(await download({ file: { file_path: "a.txt" }, give })).toBe("all of it");
  expect(await download({ file: { file_path: "a.txt", file_size: 3 }, give })).toBe("all of it");
});

test.each(["/etc/passwd", undefined])("the address %j does not lead to a file", async (file_path) => {
  const give: RequestListener = (_, response) => void response.end("x");
  const file = file_path === undefined ? {} : { file_path };
  await expect(download({ file, give })).rejects.toThrow(NoSuchFileError);
});
