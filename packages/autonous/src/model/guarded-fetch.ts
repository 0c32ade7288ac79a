import type { IncomingMessage } from "node:http";
import { AttemptFailed } from "./failure.ts";
import { post } from "./http-post.ts";
import type { Post } from "./http-post.ts";

export interface ReplyTimes {
  /** From the request to the first byte of the body. */
  readonly first_byte_ms: number;
  /** Between bytes. Signs of life count, for a model may think for long. */
  readonly idle_ms: number;
  /** The whole reply: a server that only ever gives signs of life is stuck too. */
  readonly whole_ms: number;
}

/** A local server may have to load its model first. */
export const REPLY_TIMES: ReplyTimes = { first_byte_ms: 240_000, idle_ms: 120_000, whole_ms: 3_600_000 };

/** Far beyond any reply: what is longer would only fill the memory. */
const LARGEST_REPLY_BYTES = 64 * 1024 * 1024;
const LARGEST_ERROR_BYTES = 256 * 1024;
const MOST_REDIRECTS = 3;
/** Those that keep method and body. */
const FOLLOWED: ReadonlySet<number> = new Set([307, 308]);

export interface GuardedFetch {
  /** For the provider's library, which posts text and gives its headers as a record. */
  readonly fetch: typeof globalThis.fetch;
  /** Aborted when the caller gives up or the server takes too long. */
  readonly signal: AbortSignal;
  /** Has to be called when the reply is read or given up. */
  close(): void;
}

/**
 * A `fetch` for one attempt: it keeps the times, bounds what is read, and never follows to another host, for the key
 * would go along in headers that nobody knows for a secret.
 */
export function createGuardedFetch(caller: AbortSignal, times: ReplyTimes): GuardedFetch {
  const controller = new AbortController();
  const give = (reason: unknown): void => controller.abort(reason);
  const fail = (message: string): void => give(new AttemptFailed({ reason: "timeout", message }));
  const onCaller = (): void => give(caller.reason);
  if (caller.aborted) onCaller();
  else caller.addEventListener("abort", onCaller, { once: true });
  const whole = setTimeout(fail, times.whole_ms, `the reply was not whole after ${inSeconds(times.whole_ms)}`);
  let next = setTimeout(fail, times.first_byte_ms, `nothing came within ${inSeconds(times.first_byte_ms)}`);
  const heard = (): void => {
    clearTimeout(next);
    if (controller.signal.aborted) return;
    next = setTimeout(fail, times.idle_ms, `nothing more came within ${inSeconds(times.idle_ms)}`);
  };
  const close = (): void => {
    clearTimeout(whole);
    clearTimeout(next);
    caller.removeEventListener("abort", onCaller);
  };
  const fetch = async (input: unknown, init: RequestInit = {}): Promise<Response> => {
    const headers = init.headers as Readonly<Record<string, string>>;
    const request: Post = { headers, body: init.body as string, signal: controller.signal };
    return asResponse(await follow(new URL(String(input)), request), heard);
  };
  return { fetch, signal: controller.signal, close };
}

async function follow(url: URL, request: Post, redirects = 0): Promise<IncomingMessage> {
  const answer = await post(url, request);
  const { statusCode: status = 0 } = answer;
  if (status < 300 || status > 399) return answer;
  answer.destroy();
  const { location = "" } = answer.headers;
  const target = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
  const isOurs = target?.origin === url.origin;
  if (target !== undefined && isOurs && FOLLOWED.has(status) && redirects < MOST_REDIRECTS)
    return await follow(target, request, redirects + 1);
  const where = target === undefined || isOurs ? "" : ` to ${target.origin}, where the key is not sent`;
  const message = `${status}: ${url.origin} redirects${where}`;
  throw new AttemptFailed({ reason: "redirected", message, status });
}

/** As much of a `Response` as the library looks at. */
function asResponse(answer: IncomingMessage, heard: () => void): Response {
  const { statusCode: status = 0, statusMessage: statusText = "" } = answer;
  const headers = new Map(Object.entries(answer.headers).map(([name, value]) => [name, String(value)]));
  const ok = status >= 200 && status <= 299;
  const body = readBody(answer, { ok, heard });
  return { ok, status, statusText, headers, body } as unknown as Response;
}

function readBody(
  answer: IncomingMessage,
  { ok, heard }: { readonly ok: boolean; readonly heard: () => void },
): ReadableStream<Uint8Array> {
  const largest = ok ? LARGEST_REPLY_BYTES : LARGEST_ERROR_BYTES;
  const chunks = answer[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let bytes = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done === true) return controller.close();
      heard();
      bytes += value.length;
      if (bytes <= largest) return controller.enqueue(value);
      answer.destroy();
      // Of an error the beginning says enough; a reply that is not whole is none.
      if (!ok) return controller.close();
      const message = `the reply is larger than ${largest / 1024 / 1024} MiB`;
      controller.error(new AttemptFailed({ reason: "bad_request", message }));
    },
    cancel: () => void answer.destroy(),
  });
}

function inSeconds(ms: number): string {
  return `${ms / 1000} s`;
}
