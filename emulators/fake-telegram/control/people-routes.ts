/** What a person says and does by hand, by the addresses beside the Bot API. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { byHand, neededNumber, numberIn, numbersIn, textsIn } from "./query.ts";
import { isMediaKind, MEDIA_KINDS } from "../media/files.ts";
import type { MediaKind } from "../media/files.ts";
import { isThing, THINGS } from "../media/things.ts";
import { FORWARDED_AS, isForwardedAs } from "../origins.ts";
import { readParameters } from "../parameters.ts";
import { SOMEONE } from "../people/groups.ts";
import type { Where } from "../people/saying.ts";
import { badRequest } from "../refusal.ts";
import { sendJson } from "../send.ts";
import type { State } from "../state.ts";
import type { ChatMessage } from "../world.ts";

export interface Control {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: Buffer;
}

export type Route = (state: State, control: Control) => void;

/** `user`, `chat`, `thread`, `reply_to` and `quote`, which all that is sent takes. */
function whereOf(query: URLSearchParams): Where {
  const user = numberIn(query, "user") ?? SOMEONE;
  return { user, chat: user, ...numbersIn(query, ["chat", "thread", "reply_to"]), ...textsIn(query, ["quote"]) };
}

function sendIds(response: ServerResponse, messages: readonly ChatMessage[]): void {
  const message_ids = messages.map(({ message_id }) => message_id);
  sendJson(response, 200, { message_id: message_ids[0], ...(message_ids.length > 1 ? { message_ids } : {}) });
}

export const SPEAKING: Readonly<Record<string, Route>> = {
  "POST /say"({ people }, { query, body, response }) {
    const text = body.toString();
    if (text.trim() === "") throw badRequest("the body is what is said, and it is empty");
    sendIds(
      response,
      byHand(() => people.paste({ ...whereOf(query), text })),
    );
  },
  "POST /send"({ people }, { query, body, response }) {
    const kind = query.get("kind") ?? "document";
    const where = whereOf(query);
    if (isThing(kind)) return sendIds(response, [byHand(() => people.send({ ...where, kind }))]);
    if (!isMediaKind(kind))
      throw badRequest(`kind is one of ${[...Object.keys(MEDIA_KINDS), ...Object.keys(THINGS)].join(", ")}`);
    const { name, type, caption } = textsIn(query, ["name", "type", "caption"]);
    const item = {
      kind,
      ...(body.length === 0 ? {} : { content: body }),
      ...(name === undefined ? {} : { file_name: name }),
      ...(type === undefined ? {} : { mime_type: type }),
      ...(caption === undefined ? {} : { caption }),
    };
    sendIds(response, [byHand(() => people.send({ ...where, ...item }))]);
  },
  "POST /album"({ people }, { query, request, body, response }) {
    const { files } = readParameters(new URLSearchParams(), request.headers, body);
    if (files.size === 0) throw badRequest("an album is sent as a form with files: curl -F a=@one.png -F b=@two.png");
    const items = Array.from(files.values(), ({ name, type, content }) => ({
      kind: kindOf(type, query.get("kind")),
      file_name: name,
      mime_type: type,
      content,
    }));
    sendIds(
      response,
      byHand(() => people.album({ ...whereOf(query), ...textsIn(query, ["caption"]), items })),
    );
  },
  "POST /edit"({ people }, { query, body, response }) {
    const message_id = neededNumber(query, "message");
    const chat = numberIn(query, "chat") ?? SOMEONE;
    sendIds(response, [byHand(() => people.edit({ chat, message_id, text: body.toString() }))]);
  },
  "POST /forward"({ people }, { query, response }) {
    const user = numberIn(query, "user") ?? SOMEONE;
    const message_id = neededNumber(query, "message");
    const [chat, to] = [numberIn(query, "from") ?? user, numberIn(query, "to") ?? user];
    const as = query.get("as");
    if (as !== null && !isForwardedAs(as)) throw badRequest(`as is one of ${FORWARDED_AS.join(", ")}, not "${as}"`);
    const forwarding = { user, chat, message_id, to, ...numbersIn(query, ["thread"]), ...(as === null ? {} : { as }) };
    sendIds(response, [byHand(() => people.forward(forwarding))]);
  },
  "POST /press"({ people }, { query, response }) {
    const user = numberIn(query, "user") ?? SOMEONE;
    const message_id = neededNumber(query, "message");
    const which = textsIn(query, ["button", "data"]);
    if (Object.keys(which).length === 0) throw badRequest("a press says which button, or which data");
    const chat = numberIn(query, "chat") ?? user;
    const { id } = byHand(() => people.press({ user, chat, message_id, ...which, forged: query.has("forged") }));
    sendJson(response, 200, { callback_query_id: id });
  },
};

function kindOf(type: string, wanted: string | null): MediaKind {
  if (wanted !== null && isMediaKind(wanted)) return wanted;
  const [family] = type.split("/");
  return family === "image" ? "photo" : family === "video" || family === "audio" ? family : "document";
}

export const GROUPS: Readonly<Record<string, Route>> = {
  "POST /person"({ people }, { query, response }) {
    const id = numberIn(query, "user") ?? SOMEONE;
    people.introduce({ id, ...textsIn(query, ["first_name", "last_name", "username", "language_code"]) });
    sendJson(response, 200, { user: id });
  },
  "POST /invite"({ people }, { query, response }) {
    const chat = neededNumber(query, "chat");
    byHand(() => people.invite({ user: numberIn(query, "user") ?? SOMEONE, chat, ...textsIn(query, ["title"]) }));
    sendJson(response, 200, { chat });
  },
  "DELETE /invite"({ people }, { query, response }) {
    const chat = neededNumber(query, "chat");
    byHand(() => people.kick({ chat }));
    sendJson(response, 200, { chat });
  },
  "POST /topic"({ people }, { query, response }) {
    const [chat, old] = [neededNumber(query, "chat"), numberIn(query, "thread")];
    const thread = byHand(() => {
      if (old === undefined) return people.createTopic({ chat, ...textsIn(query, ["name"]) });
      people.reopenTopic({ chat, thread: old });
      return old;
    });
    sendJson(response, 200, { thread });
  },
  "DELETE /topic"({ people }, { query, response }) {
    const [chat, thread] = [neededNumber(query, "chat"), neededNumber(query, "thread")];
    byHand(() => people.closeTopic({ chat, thread }));
    sendJson(response, 200, { thread });
  },
  "POST /migrate"({ people }, { query, response }) {
    sendJson(response, 200, { chat: byHand(() => people.migrate({ chat: neededNumber(query, "chat") })) });
  },
  "POST /privacy"({ people }, { response }) {
    people.setPrivacy(true);
    sendJson(response, 200, { privacy: true });
  },
  "DELETE /privacy"({ people }, { response }) {
    people.setPrivacy(false);
    sendJson(response, 200, { privacy: false });
  },
  "POST /webhook"({ people }, { query, response }) {
    const { url } = textsIn(query, ["url"]);
    if (url === undefined || url === "") throw badRequest("url is missing: ?url=https://…");
    people.setWebhook(url);
    sendJson(response, 200, { webhook: url });
  },
  "DELETE /webhook"({ people }, { response }) {
    people.setWebhook("");
    sendJson(response, 200, { webhook: "" });
  },
  "POST /block"({ people }, { query, response }) {
    people.block(numberIn(query, "user") ?? SOMEONE);
    sendJson(response, 200, { blocked: true });
  },
  "DELETE /block"({ people }, { query, response }) {
    people.unblock(numberIn(query, "user") ?? SOMEONE);
    sendJson(response, 200, { blocked: false });
  },
};
