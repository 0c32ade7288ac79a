/** What a person does by hand: the same server, beside the Bot API. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { checkFault } from "./faults.ts";
import { FORWARDED_AS, isForwardedAs } from "./origins.ts";
import { SOMEONE } from "./people/groups.ts";
import type { StoredFile } from "./media/files.ts";
import { badRequest, Refusal } from "./refusal.ts";
import { sendJson, sendText } from "./send.ts";
import { messagesOf, setDown } from "./state.ts";
import type { State } from "./state.ts";
import type { ChatMessage } from "./world.ts";

interface Control {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: Buffer;
}

type Route = (state: State, control: Control) => void;

export const CONTROL_HELP = `POST   /say?user=42&chat=42        says the body in the chat (reply_to=7 as a reply)
POST   /forward?message=7&from=7   forwards a message of another chat (to=42, user=42; as=hidden_user, chat, channel, old …)
POST   /press?message=7&button=Yes presses a button; the words on it, or the beginning of them (data=… for what it carries)
GET    /messages?chat=42           what is seen in the chat (/messages.json with all that is known)
GET    /documents/<file_id>        a file that was sent
GET    /calls                      what the bot has asked of Telegram, as lines of JSON
POST   /faults                     lets something go wrong: {"kind":"rate_limited","method":"sendMessage","retry_after_s":3}
DELETE /faults                     lets nothing go wrong any more
POST   /outage                     resets every connection of the bot, until DELETE /outage
POST   /block?user=42              blocks the bot, until DELETE /block?user=42
`;

const ROUTES: Readonly<Record<string, Route>> = {
  "GET /": (_, { response }) => sendText(response, 200, CONTROL_HELP),
  "POST /say"(state, { query, body, response }) {
    const user = numberIn(query, "user") ?? SOMEONE;
    const chat = numberIn(query, "chat") ?? user;
    const reply_to = numberIn(query, "reply_to");
    const saying = { user, chat, text: body.toString(), ...(reply_to === undefined ? {} : { reply_to }) };
    const { message_id } = byHand(() => state.people.say(saying));
    sendJson(response, 200, { message_id });
  },
  "POST /forward"(state, { query, response }) {
    const [user, message] = [numberIn(query, "user") ?? SOMEONE, numberIn(query, "message")];
    if (message === undefined) throw badRequest("a forward says which message, and from which chat");
    const [chat, to] = [numberIn(query, "from") ?? user, numberIn(query, "to") ?? user];
    const as = query.get("as");
    if (as !== null && !isForwardedAs(as)) throw badRequest(`as is one of ${FORWARDED_AS.join(", ")}, not "${as}"`);
    const { message_id } = byHand(() =>
      state.people.forward({ user, chat, message_id: message, to, ...(as === null ? {} : { as }) }),
    );
    sendJson(response, 200, { message_id });
  },
  "POST /press"(state, { query, response }) {
    const [user, message_id] = [numberIn(query, "user") ?? SOMEONE, numberIn(query, "message")];
    const [button, data] = [query.get("button"), query.get("data")];
    if (message_id === undefined || (button === null && data === null))
      throw badRequest("a press says which message, and which button or data");
    const chat = numberIn(query, "chat") ?? user;
    const pressing = {
      user,
      chat,
      message_id,
      ...(button === null ? {} : { button }),
      ...(data === null ? {} : { data }),
    };
    const { id } = byHand(() => state.people.press({ ...pressing, forged: query.has("forged") }));
    sendJson(response, 200, { callback_query_id: id });
  },
  "GET /messages"({ world }, { query, response }) {
    const chat = numberIn(query, "chat");
    sendText(response, 200, messagesOf(world, chat).map(picture).join("\n"));
  },
  "GET /messages.json"({ world }, { query, response }) {
    const messages = messagesOf(world, numberIn(query, "chat"));
    sendJson(
      response,
      200,
      messages.map(({ document: _document, photo: _photo, media, ...message }) => ({
        ...message,
        ...(media === undefined ? {} : { media: { kind: media.kind, ...inWords(media.file), ...media.about } }),
      })),
    );
  },
  "GET /calls"({ calls }, { response }) {
    sendText(response, 200, calls.map((call) => `${JSON.stringify(call)}\n`).join(""));
  },
  "POST /faults"({ faults }, { body, response }) {
    faults.add(checkFault(jsonOf(body)));
    sendJson(response, 200, { faults: faults.left });
  },
  "DELETE /faults"({ faults }, { response }) {
    faults.clear();
    sendJson(response, 200, { faults: [] });
  },
  "POST /outage": (state, { response }) => outage(state, true, response),
  "DELETE /outage": (state, { response }) => outage(state, false, response),
  "POST /block"({ people }, { query, response }) {
    people.block(numberIn(query, "user") ?? SOMEONE);
    sendJson(response, 200, { blocked: true });
  },
  "DELETE /block"({ people }, { query, response }) {
    people.unblock(numberIn(query, "user") ?? SOMEONE);
    sendJson(response, 200, { blocked: false });
  },
};

export function serveControl(state: State, control: Control): void {
  const { request, response, path } = control;
  const [, file] = /^\/documents\/([^/]+)$/.exec(path) ?? [];
  const document = state.world.files.byId.get(file ?? "")?.file;
  if (request.method === "GET" && document !== undefined) {
    response.writeHead(200, { "content-type": "application/octet-stream" }).end(document.content);
    return;
  }
  const route = ROUTES[`${request.method ?? "GET"} ${path}`];
  if (route === undefined) throw new Refusal(404, "Not Found");
  route(state, control);
}

function outage(state: State, isDown: boolean, response: ServerResponse): void {
  setDown(state, isDown, response.socket ?? undefined);
  sendJson(response, 200, { outage: isDown });
}

/** What cannot be done is told to whoever tried. */
function byHand<Result>(act: () => Result): Result {
  try {
    return act();
  } catch (error) {
    throw error instanceof Error && !(error instanceof Refusal) ? badRequest(error.message) : error;
  }
}

function numberIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  if (!/^-?\d+$/.test(text)) throw badRequest(`${name} is a number, not "${text}"`);
  return Number(text);
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString()) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) throw badRequest("the body is not JSON");
    throw error;
  }
}

function inWords({ content: _bytes, ...about }: StoredFile): object {
  return about;
}

/** `#7 bot: text`, with what can be pressed below it. */
function picture({ message_id, by, from, text, media, buttons, before }: ChatMessage): string {
  const file =
    media === undefined
      ? ""
      : `[${media.file.file_name || media.kind}, ${media.file.content.length} bytes, /documents/${media.file.file_id}] `;
  const rows = buttons.map((row) => `    ${row.map((button) => `[${button.text}]`).join(" ")}\n`);
  const edited = before.length === 0 ? "" : " (edited)";
  return `#${message_id} ${by === "bot" ? "bot" : from}${edited}: ${file}${text.replaceAll("\n", "\n    ")}\n${rows.join("")}`;
}
