import type { IncomingMessage } from "node:http";
import type { EnvironmentProxy } from "@autonous/runtime/internal";
import { AttemptFailed } from "../failures/model-failure.ts";
import { post } from "./http-post.ts";
import type { Post } from "./http-post.ts";
import { readRefusal, UnusableReply } from "./error-in-answer.ts";
import { BodyTorn, readAnswer } from "./read-answer.ts";
import type { Body, ReadOptions, WireName } from "./read-answer.ts";

export interface ReplyTimes {
  /** From the request to the first byte of the body. */
  readonly first_byte_ms: number;
  /** Between bytes. Keep-alive data counts, because a model may think for long. */
  readonly idle_ms: number;
  /** The whole reply: a server that sends only keep-alive data is stuck too. */
  readonly whole_ms: number;
  /** How long to wait for the end of an answer that is already complete. */
  readonly quiet_ms?: number;
}

/** A local server may have to load its model first. */
export const REPLY_TIMES: ReplyTimes = { first_byte_ms: 240_000, idle_ms: 120_000, whole_ms: 3_600_000 };

const QUIET_MS = 2000;
/** How long to wait for the end of a complete body, so that its connection can be reused. */
const DRAIN_MS = 100;
/** Larger than any reply, to limit memory. */
const MAX_REPLY_BYTES = 64 * 1024 * 1024;
const MAX_ERROR_BYTES = 256 * 1024;
const MAX_REDIRECTS = 3;
/** Redirects that keep method and body. */
const FOLLOWED: ReadonlySet<number> = new Set([307, 308]);

export interface GuardedFetch {
  /** For the provider's library, which posts text and passes its headers as a record. */
  readonly fetch: typeof globalThis.fetch;
  /** Aborted when the caller gives up or the server takes too long. */
  readonly signal: AbortSignal;
  /** Must be called when the reply was read or abandoned. */
  close(): void;
}

export interface GuardOptions extends Pick<ReadOptions, "received" | "takesUnfinished" | "clock"> {
  readonly times: ReplyTimes;
  readonly wire: WireName;
  readonly proxy?: EnvironmentProxy;
}

/**
 * A `fetch` for one attempt: it enforces timeouts, limits the size, converts answers to the form that the library
 * expects, and never follows redirects to another host, since headers with the key would go along.
 */
export function createGuardedFetch(caller: AbortSignal, options: GuardOptions): GuardedFetch {
  const { times } = options;
  const controller = new AbortController();
  const give = (reason: unknown): void => controller.abort(reason);
  const fail = (message: string): void => give(new AttemptFailed({ reason: "timeout", message }));
  const onCaller = (): void => give(caller.reason);
  if (caller.aborted) onCaller();
  else caller.addEventListener("abort", onCaller, { once: true });
  const whole = setTimeout(fail, times.whole_ms, `the reply was not complete after ${inSeconds(times.whole_ms)}`);
  let next = setTimeout(fail, times.first_byte_ms, `no response within ${inSeconds(times.first_byte_ms)}`);
  const heard = (): void => {
    clearTimeout(next);
    if (controller.signal.aborted) return;
    next = setTimeout(fail, times.idle_ms, `no more data within ${inSeconds(times.idle_ms)}`);
  };
  const close = (): void => {
    clearTimeout(whole);
    clearTimeout(next);
    caller.removeEventListener("abort", onCaller);
  };
  const fetch = async (input: unknown, init: RequestInit = {}): Promise<Response> => {
    const headers = init.headers as Readonly<Record<string, string>>;
    const through = options.proxy === undefined ? {} : { proxy: options.proxy };
    const request: Post = { headers, body: init.body as string, signal: controller.signal, ...through };
    options.received.request_bytes = Buffer.byteLength(request.body);
    try {
      const answer = await follow(new URL(String(input)), request);
      return await asResponse(answer, { ...options, heard, signal: controller.signal });
    } catch (error) {
      // The library wraps some errors and not others.
      const isRead = error instanceof AttemptFailed || error instanceof UnusableReply;
      options.received.failure = isRead ? error : new RequestFailed(String(input), error);
      throw error;
    }
  };
  return { fetch, signal: controller.signal, close };
}

/** A failed connection, with its target. */
class RequestFailed extends Error {
  readonly url: string;

  constructor(url: string, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.url = url;
  }
}

async function follow(url: URL, request: Post, redirects = 0): Promise<IncomingMessage> {
  const answer = await post(url, request);
  const { statusCode: status = 0 } = answer;
  if (status < 300 || status > 399) return answer;
  answer.destroy();
  const { location = "" } = answer.headers;
  const target = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
  const isOurs = target?.origin === url.origin;
  if (target !== undefined && isOurs && FOLLOWED.has(status) && redirects < MAX_REDIRECTS)
    return await follow(target, request, redirects + 1);
  const where = target === undefined || isOurs ? "" : ` to ${target.origin}, where the key is not sent`;
  const message = `${status}: ${url.origin} redirects${where}`;
  throw new AttemptFailed({ reason: "redirected", message, status });
}

interface Line extends GuardOptions {
  readonly heard: () => void;
  readonly signal: AbortSignal;
}

/**
 * The parts of a `Response` that the library uses. Error bodies are read here, because the library drops most of them.
 */
async function asResponse(answer: IncomingMessage, line: Line): Promise<Response> {
  const { statusCode: status = 0, statusMessage = "" } = answer;
  const headers = new Map(Object.entries(answer.headers).map(([name, value]) => [name, String(value)]));
  if (status >= 200 && status <= 299) {
    const body = asStream(new AnswerBody(answer, line), line);
    return { ok: true, status, statusText: statusMessage, headers, body } as unknown as Response;
  }
  const body = await readErrorBody(new AnswerBody(answer, line, MAX_ERROR_BYTES));
  const error = { status, words: "", message: statusMessage, body, headers: Object.fromEntries(headers) };
  throw readRefusal(error, line.clock());
}

/** The start of an error body is enough, also if the connection broke. */
async function readErrorBody(body: Body): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (let piece = await body.next(); piece instanceof Uint8Array; piece = await body.next())
      text += decoder.decode(piece, { stream: true });
  } catch (error) {
    if (!(error instanceof BodyTorn) && !(error instanceof AttemptFailed)) throw error;
  } finally {
    await body.close(false);
  }
  return text;
}

function asStream(body: Body, { wire, times, ...options }: Line): ReadableStream<Uint8Array> {
  const quiet_ms = times.quiet_ms ?? QUIET_MS;
  const events = readAnswer(body, wire, { ...options, quiet_ms });
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await events.next();
        if (done === true) return controller.close();
        controller.enqueue(encoder.encode(`data: ${JSON.stringify(value)}\n\n`));
      } catch (error) {
        options.received.failure = error;
        controller.error(error);
      }
    },
    cancel: async () => await body.close(false),
  });
}

/** The bytes of an answer, limited in size. */
class AnswerBody implements Body {
  readonly #answer: IncomingMessage;
  readonly #line: Line;
  readonly #largest: number;
  readonly #chunks: AsyncIterator<Buffer>;
  #pending: Promise<IteratorResult<Buffer>> | undefined;
  #bytes = 0;

  constructor(answer: IncomingMessage, line: Line, largest = MAX_REPLY_BYTES) {
    this.#answer = answer;
    this.#line = line;
    this.#largest = largest;
    this.#chunks = answer[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  async next(quietMs?: number): Promise<Uint8Array | "end" | "quiet"> {
    this.#pending ??= this.#chunks.next();
    const result =
      quietMs === undefined ? await this.#read(this.#pending) : await this.#readFor(quietMs, this.#pending);
    if (result === "quiet") return "quiet";
    this.#pending = undefined;
    if (result.done === true) return "end";
    this.#line.heard();
    this.#bytes += result.value.length;
    if (this.#bytes <= this.#largest) return result.value;
    this.#answer.destroy();
    const message = `the reply is larger than ${this.#largest / 1024 / 1024} MiB`;
    throw new AttemptFailed({ reason: "bad_request", message });
  }

  async #read(pending: Promise<IteratorResult<Buffer>>): Promise<IteratorResult<Buffer>> {
    try {
      return await pending;
    } catch (error) {
      this.#line.signal.throwIfAborted();
      throw new BodyTorn("The connection broke", { cause: error });
    }
  }

  async #readFor(ms: number, pending: Promise<IteratorResult<Buffer>>): Promise<IteratorResult<Buffer> | "quiet"> {
    let timer: NodeJS.Timeout | undefined;
    const quiet = new Promise<"quiet">((resolve) => (timer = setTimeout(resolve, ms, "quiet")));
    try {
      return await Promise.race([this.#read(pending), quiet]);
    } finally {
      clearTimeout(timer);
    }
  }

  async close(isWhole: boolean): Promise<void> {
    if (!isWhole) this.#answer.destroy();
    const timer = setTimeout(() => this.#answer.destroy(), DRAIN_MS);
    try {
      let result = await (this.#pending ?? this.#chunks.next());
      while (result.done !== true) result = await this.#chunks.next();
    } catch {
      this.#answer.destroy(); // the rest is not used, so errors do not matter
    } finally {
      clearTimeout(timer);
    }
  }
}

function inSeconds(ms: number): string {
  return `${ms / 1000} s`;
}
