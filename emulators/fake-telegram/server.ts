/** Telegram's Bot API on loopback, for tests of bots without Telegram. */
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { answerCall } from "./answer.ts";
import { serveControl } from "./control/control.ts";
import { checkFault } from "./faults.ts";
import type { FaultInput } from "./faults.ts";
import { MAX_FILE_BYTES } from "./methods/methods.ts";
import { answerDownload } from "./media/download.ts";
import type { People } from "./people/people.ts";
import { Refusal } from "./refusal.ts";
import { sendJson } from "./send.ts";
import { messagesOf, openState, setDown } from "./state.ts";
import type { FakeTelegramOptions, SeenCall, State } from "./state.ts";
import type { ChatMessage, World } from "./world.ts";

export { TELEGRAM_LIMITS } from "./limits.ts";
export { greyPng } from "./media/images.ts";
export { picture } from "./control/picture.ts";
export type { FakeTelegramOptions, SeenCall } from "./state.ts";
export type { ChatMessage, Query } from "./world.ts";

export interface FakeTelegram extends People {
  readonly url: string;
  readonly token: string;
  readonly calls: readonly SeenCall[];
  /** Updates that the bot has not confirmed. */
  readonly unconfirmed: number;
  /** The bot asks for updates and waits. */
  readonly isPolled: boolean;
  /** The list that the bot gave for the menu. */
  readonly commands: World["commands"]["list"];
  /** What is seen in a chat now: edits made, what was deleted gone. */
  messages(chat?: number): readonly ChatMessage[];
  /** The same without what people said. */
  answers(chat?: number): readonly ChatMessage[];
  fault(fault: FaultInput): void;
  clearFaults(): void;
  /** `refused`: nothing listens; `reset`: every connection is reset. Until `recover`. */
  outage(kind: "refused" | "reset"): Promise<void>;
  recover(): Promise<void>;
  /** Looks again whenever something happened, and gives what was found; throws when it takes too long. */
  until<Found>(look: () => Found | undefined | false | null, what: string, timeout_ms?: number): Promise<Found>;
  /** Ends what is under way too. */
  close(): Promise<void>;
}

/** A file and what goes with it. */
const MAX_BODY_BYTES = MAX_FILE_BYTES + 1024 * 1024;

export async function startFakeTelegram(options: FakeTelegramOptions = {}): Promise<FakeTelegram> {
  const stopping = new AbortController();
  const watchers = new Set<() => void>();
  const state = openState(options, stopping.signal, () => {
    for (const look of watchers) look();
  });
  const server = createServer((request, response) => {
    serve(state, request, response).catch((error: unknown) => {
      const problem =
        error instanceof Refusal
          ? error
          : new Refusal(500, `fake-telegram: ${error instanceof Error ? error.message : String(error)}`);
      if (response.headersSent) response.destroy();
      else sendJson(response, problem.status, problem.body);
    });
  });
  server.keepAliveTimeout = 60_000;
  await listen(server, options.port ?? 0);
  const { port } = server.address() as AddressInfo;
  return {
    ...state.people,
    url: `http://127.0.0.1:${port}`,
    token: state.token,
    calls: state.calls,
    get unconfirmed() {
      return state.updates.waiting;
    },
    get isPolled() {
      return state.updates.isPolled;
    },
    get commands() {
      return state.world.commands.list;
    },
    messages: (chat) => messagesOf(state.world, chat),
    answers: (chat) => messagesOf(state.world, chat).filter(({ by }) => by === "bot"),
    fault: (fault) => state.faults.add(checkFault(fault)),
    clearFaults: () => state.faults.clear(),
    async outage(kind) {
      setDown(state, kind === "reset");
      if (kind === "refused") await shut(server);
    },
    async recover() {
      setDown(state, false);
      if (!server.listening) await listen(server, port);
    },
    until: (look, what, timeout_ms = 30_000) => watch({ watchers, look, what, timeout_ms }),
    async close() {
      stopping.abort();
      server.closeAllConnections();
      if (server.listening) await shut(server);
    },
  };
}

async function listen(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      resolve();
    });
  });
}

async function shut(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}

interface Watch<Found> {
  readonly watchers: Set<() => void>;
  readonly look: () => Found | undefined | false | null;
  readonly what: string;
  readonly timeout_ms: number;
}

async function watch<Found>({ watchers, look, what, timeout_ms }: Watch<Found>): Promise<Found> {
  return await new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      watchers.delete(again);
      settle();
    };
    const again = (): void => {
      try {
        const found = look();
        if (found !== undefined && found !== false && found !== null) end(() => resolve(found));
      } catch (error) {
        end(() => reject(error));
      }
    };
    const timer = setTimeout(() => end(() => reject(new Error(`Timed out waiting for ${what}`))), timeout_ms);
    watchers.add(again);
    again();
  });
}

async function serve(state: State, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
  const [, file, token, method] = /^\/(file\/)?bot([^/]*)\/(.+?)\/?$/.exec(pathname) ?? [];
  if (token !== undefined && !state.sockets.has(request.socket)) {
    state.sockets.add(request.socket);
    request.socket.once("close", () => state.sockets.delete(request.socket));
  }
  if (state.isDown && token !== undefined) {
    request.socket.resetAndDestroy();
    return;
  }
  const body = await readBody(request);
  if (token === undefined || method === undefined)
    return serveControl(state, {
      path: pathname,
      query: searchParams,
      request,
      response,
      body: body ?? Buffer.alloc(0),
    });
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const signal = AbortSignal.any([gone.signal, state.stopping]);
  const asked = { token: decodeURIComponent(token), request, response, signal };
  if (file === undefined) await answerCall(state, { ...asked, method, query: searchParams, body });
  else await answerDownload(state, { ...asked, path: method });
  state.changed();
}

/** Undefined: more than is taken. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  return bytes > MAX_BODY_BYTES ? undefined : Buffer.concat(chunks);
}
