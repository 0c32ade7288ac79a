/** What a person does by hand: the same server, beside the Bot API. */
import type { ServerResponse } from "node:http";
import { GROUPS, SPEAKING } from "./people-routes.ts";
import type { Control, Route } from "./people-routes.ts";
import { numberIn } from "./query.ts";
import { checkFault } from "../faults.ts";
import type { StoredFile } from "../media/files.ts";
import { picture } from "./picture.ts";
import { badRequest, Refusal } from "../refusal.ts";
import { sendJson, sendText } from "../send.ts";
import { messagesOf, setDown } from "../state.ts";
import type { State } from "../state.ts";

export const CONTROL_HELP = `POST   /say?user=42&chat=42        says the body (thread=5 in a topic, reply_to=7 as a reply, quote=… with words of it)
POST   /send?kind=photo&caption=…  sends the body as a photo, document (name=a.pdf), voice, audio, video, video_note, animation,
                                   sticker; or a dice, story, poll, location, venue, contact, game, checklist, giveaway
POST   /album?caption=…            sends the files of a form at once: curl -F a=@one.png -F b=@two.png
POST   /edit?message=7             changes what a person said to the body
POST   /forward?message=7&from=7   forwards a message of another chat (to=42, user=42; as=hidden_user, chat, channel, old …)
POST   /press?message=7&button=Yes presses a button; the words on it, or the beginning of them (data=… for what it carries)
GET    /messages?chat=42           what is seen in the chat (/messages.json with all that is known)
GET    /documents/<file_id>        a file that was sent
POST   /person?user=42             names a person: first_name, last_name, username, language_code
POST   /invite?chat=-100&title=…   adds the bot to a group, until DELETE /invite?chat=-100
POST   /topic?chat=-100…&name=…    opens a topic in a supergroup; DELETE /topic?chat=-100…&thread=5 closes it, POST opens it again
POST   /migrate?chat=-100          makes a group a supergroup, and gives its new id
POST   /privacy                    gives the bot only what is meant for it in groups, until DELETE /privacy
POST   /webhook?url=https://…      sets a webhook, as another program of the bot would, until DELETE /webhook
POST   /block?user=42              blocks the bot, until DELETE /block?user=42
GET    /calls                      the calls of the bot, as lines of JSON
POST   /faults                     adds a fault: {"kind":"rate_limited","method":"sendMessage","retry_after_s":3}
DELETE /faults                     removes all faults
POST   /outage                     resets every connection of the bot, until DELETE /outage
`;

const ROUTES: Readonly<Record<string, Route>> = {
  "GET /": (_, { response }) => sendText(response, 200, CONTROL_HELP),
  ...SPEAKING,
  ...GROUPS,
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
