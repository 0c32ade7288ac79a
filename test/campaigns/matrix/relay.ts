/** Stands between the service and a Bot API: sees what the API makes of each call, and plays a person where no one is there. */
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { PersonFile, SaidMessage } from "./stage.ts";

export interface RelayOptions {
  /** The Bot API that calls go to. */
  readonly api_root: string;
  readonly token: string;
  /** Updates are those that the relay makes up. The API is not asked for any, so that none of the bot's own are taken. */
  readonly plays: boolean;
}

interface Button {
  readonly text: string;
  readonly callback_data?: string;
}

export interface SeenMessage extends SaidMessage {
  readonly message_id: number;
  readonly buttons: readonly Button[];
}

interface Refused {
  readonly method: string;
  readonly status: number;
  readonly description: string;
}

/** What the service is given as its token: the one of the bot stays here. */
const OWN_TOKEN = "1:matrix-relay-of-the-Bot-API-on-loopback";
const NO_ANSWER = { ok: true, result: true };
/** What a bot does to the updates of all its pollers. */
const ABOUT_UPDATES: ReadonlySet<string> = new Set(["deleteWebhook", "setWebhook"]);

type Json = Readonly<Record<string, unknown>>;

export class Relay {
  readonly token = OWN_TOKEN;
  readonly refused: Refused[] = [];
  readonly #options: RelayOptions;
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  readonly #seen = new Map<number, SeenMessage[]>();
  readonly #updates: Json[] = [];
  readonly #answers = new Map<string, string>();
  /** What the person that is played has sent, by `file_id`. */
  readonly #files = new Map<string, Buffer>();
  #wake: (() => void)[] = [];
  #next = 1;
  isPolled = false;

  constructor(options: RelayOptions) {
    this.#options = { ...options, api_root: options.api_root.replace(/\/+$/, "") };
  }

  async open(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** What the API says stands in a chat: edits made, what was deleted gone. */
  messages(chat: number): readonly SeenMessage[] {
    return this.#seen.get(chat) ?? [];
  }

  say(user: number, text: string, file?: PersonFile): void {
    const said = file === undefined ? { text } : { caption: text, document: this.#keep(file) };
    const chat = { id: user, type: "private" };
    this.#update({ message: { message_id: this.#next, date: now(), chat, from: person(user), ...said } });
  }

  #keep({ name, content }: PersonFile): Json {
    const file_id = `matrix-file-${this.#files.size + 1}`;
    this.#files.set(file_id, Buffer.from(content));
    return { file_id, file_unique_id: file_id, file_name: name, file_size: Buffer.byteLength(content) };
  }

  /** Gives the id of the press, for `answerTo`. */
  press(user: number, { message_id, data }: { readonly message_id: number; readonly data: string }): string {
    const id = `matrix-${this.#next}`;
    const message = { message_id, date: now(), chat: { id: user, type: "private" } };
    this.#update({ callback_query: { id, from: person(user), chat_instance: "matrix", data, message } });
    return id;
  }

  /** What the person who pressed is shown; undefined before the bot has answered. */
  answerTo(press: string): string | undefined {
    return this.#answers.get(press);
  }

  #update(content: Json): void {
    this.#updates.push({ update_id: this.#next++, ...content });
    for (const wake of this.#wake.splice(0)) wake();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const method = /\/(\w+)(?:\?|$)/.exec(request.url ?? "")?.[1] ?? "";
    const [, path] = /^\/file\/bot[^/]+\/(.+)$/.exec(request.url ?? "") ?? [];
    try {
      if (path !== undefined) return await this.#give(path, response);
      const body = await buffer(request);
      const answer = await this.#answer({ method, body, type: request.headers["content-type"] ?? "" }, response);
      response.writeHead(answer.status, { "content-type": "application/json" }).end(answer.text);
    } catch {
      response.destroy(); // the API is away, or the service hung up: it sees a broken connection, as it would without us
    }
  }

  /** A file, of the person that is played or of the API. */
  async #give(path: string, response: ServerResponse): Promise<void> {
    const { api_root, token } = this.#options;
    const own = this.#files.get(path);
    if (own !== undefined) return void response.writeHead(200).end(own);
    const answer = await fetch(`${api_root}/file/bot${token}/${path}`, { redirect: "error" });
    response.writeHead(answer.status).end(Buffer.from(await answer.arrayBuffer()));
  }

  async #answer(call: Call, response: ServerResponse): Promise<{ status: number; text: string }> {
    const { method } = call;
    const parameters = jsonOf(call.body);
    if (method === "getUpdates") this.isPolled = true;
    const local = this.#options.plays ? await this.#play(method, parameters, response) : undefined;
    if (local !== undefined) return { status: 200, text: JSON.stringify(local) };
    const { status, text } = await this.#forward(call, response);
    const { ok, result, description = "" } = jsonOf(Buffer.from(text));
    if (ok === true) this.#see(method, parameters, result);
    else this.refused.push({ method, status, description: String(description) });
    return { status, text };
  }

  async #forward({ method, body, type }: Call, response: ServerResponse): Promise<{ status: number; text: string }> {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const { api_root, token } = this.#options;
    const answer = await fetch(`${api_root}/bot${token}/${method}`, {
      method: "POST",
      redirect: "error",
      signal: gone.signal,
      ...(body.length === 0 ? {} : { body: new Uint8Array(body), headers: { "content-type": type } }),
    });
    return { status: answer.status, text: await answer.text() };
  }

  /** What concerns the person that is played; undefined for all that goes to the API. */
  async #play(method: string, parameters: Json, response: ServerResponse): Promise<Json | undefined> {
    if (method === "getUpdates") return { ok: true, result: await this.#updatesFor(parameters, response) };
    if (ABOUT_UPDATES.has(method)) return NO_ANSWER;
    const { file_id } = parameters;
    if (method === "getFile" && this.#files.has(textOf(file_id)))
      return { ok: true, result: { file_id, file_unique_id: file_id, file_path: file_id } };
    if (method !== "answerCallbackQuery") return undefined;
    this.#answers.set(textOf(parameters["callback_query_id"]), textOf(parameters["text"]));
    return NO_ANSWER;
  }

  async #updatesFor({ offset = 0, timeout = 0 }: Json, response: ServerResponse): Promise<readonly Json[]> {
    const wanted = (): readonly Json[] => this.#updates.filter(({ update_id }) => Number(update_id) >= Number(offset));
    if (wanted().length > 0 || timeout === 0) return wanted();
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      timer = setTimeout(resolve, Number(timeout) * 1000);
      this.#wake.push(resolve);
      response.once("close", resolve);
    });
    clearTimeout(timer);
    return wanted();
  }

  #see(method: string, parameters: Json, result: unknown): void {
    if (method === "deleteMessage")
      return this.#forget(Number(parameters["chat_id"]), Number(parameters["message_id"]));
    const { message_id, chat, text, caption, document, photo, reply_markup } = Object(result) as Json;
    if (typeof message_id !== "number") return;
    const { file_name, file_size } = Object(document) as Json;
    const { inline_keyboard = [] } = Object(reply_markup) as {
      readonly inline_keyboard?: readonly (readonly Button[])[];
    };
    const message = {
      message_id,
      text: textOf(text ?? caption),
      buttons: inline_keyboard.flat(),
      ...(document === undefined ? {} : { document: { name: String(file_name), bytes: Number(file_size) } }),
      ...(photo === undefined ? {} : { photo: true as const }),
    };
    const { id } = Object(chat) as Json;
    const there = this.#seen.get(Number(id)) ?? [];
    const at = there.findIndex((each) => each.message_id === message_id);
    this.#seen.set(Number(id), at === -1 ? [...there, message] : there.with(at, message));
  }

  #forget(chat: number, message_id: number): void {
    this.#seen.set(
      chat,
      this.messages(chat).filter((each) => each.message_id !== message_id),
    );
  }
}

interface Call {
  readonly method: string;
  readonly body: Buffer;
  readonly type: string;
}

function person(id: number): Json {
  return { id, is_bot: false, first_name: "Matrix" };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function now(): number {
  return Math.floor(Date.now() / 1000);
}

/** An object, or nothing that anyone needs here: files come as forms. */
function jsonOf(body: Buffer): Json {
  try {
    return Object(JSON.parse(body.toString())) as Json;
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}
