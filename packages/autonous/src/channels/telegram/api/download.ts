import { HttpError } from "grammy";
import type { TelegramClient } from "./client.ts";
import { fileMs } from "./client.ts";
import { TelegramFailure } from "./telegram-failure.ts";
import { openFetch } from "./open-fetch.ts";

export interface DownloadOptions {
  readonly limit_bytes: number;
  readonly stopped: AbortSignal;
  /** Takes the file piece by piece. */
  readonly write: (piece: Uint8Array) => void;
}

/** The file is larger than is taken. */
export class TooLargeError extends Error {}

/** The address that Telegram gave for a file does not lead to it any more, or does not lead there at all. */
export class NoSuchFileError extends Error {}

/** What came is shorter than the file that Telegram announced. */
export class ShortFileError extends Error {}

/**
 * Gets a file that a person sent. Throws `TelegramFailure`, `TooLargeError`, `NoSuchFileError`, `ShortFileError`, and what
 * `write` throws.
 */
export async function downloadFile(client: TelegramClient, file_id: string, options: DownloadOptions): Promise<void> {
  const { limit_bytes, stopped, write } = options;
  const { file_path, file_size = 0 } = await client.call((api, signal) => api.getFile(file_id, signal), { stopped });
  if (file_size > limit_bytes) throw new TooLargeError();
  // A server of one's own may give the path of a file on its disk instead, which is not ours to read.
  if (file_path === undefined || file_path.startsWith("/")) throw new NoSuchFileError();
  const path = file_path.split("/").map(encodeURIComponent).join("/");
  await client.call(
    async (api, signal) => {
      const url = `${api.options?.apiRoot ?? ""}/file/bot${api.token}/${path}`;
      let bytes = 0;
      for await (const piece of fetchPieces(url, signal as unknown as AbortSignal)) {
        bytes += piece.length;
        if (bytes > limit_bytes) throw new TooLargeError();
        write(piece);
      }
      if (bytes < file_size) throw new ShortFileError(`Telegram sent ${bytes} of ${file_size} bytes; send it again`);
    },
    { stopped, timeoutMs: fileMs(Math.min(Math.max(file_size, 1), limit_bytes)) },
  );
}

/** What goes wrong on the way is told without the address, which has the token in it. */
async function* fetchPieces(url: string, signal: AbortSignal): AsyncIterable<Uint8Array> {
  const body = await onTheWay(async () => {
    const response = await openFetch(url, { signal });
    if (!response.ok || response.body === null) {
      await response.body?.cancel();
      if (response.status === 404) throw new NoSuchFileError();
      const why = `Telegram rejected the download (${response.status})`;
      throw new TelegramFailure(why, { kind: response.status === 429 ? "busy" : "unreachable" });
    }
    return response.body.getReader();
  });
  try {
    for (;;) {
      const { done, value } = await onTheWay(() => body.read());
      if (done) return;
      yield value;
    }
  } finally {
    await body.cancel().catch(() => undefined); // ended already, or broken: nothing is left to end
  }
}

async function onTheWay<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NoSuchFileError || error instanceof TelegramFailure) throw error;
    throw new HttpError("Network request for 'download' failed!", error);
  }
}
