/** The methods that change what was sent, and those that answer a press. */
import type { Formatted } from "../formatting/formatted.ts";
import { isTrue, objectOf, textOf } from "../parameters.ts";
import { badRequest } from "../refusal.ts";
import { messageOnWire } from "../wire.ts";
import { change, findChat, findMessage } from "../world.ts";
import type { Chat, Stored } from "../world.ts";
import { captionText, messageText } from "./asking.ts";
import type { Asking } from "./asking.ts";
import { readMarkup } from "./keyboard.ts";

const MAX_NOTE = 200;
const TWO_DAYS_S = 48 * 60 * 60;

function ownMessage({ world, parameters }: Asking): { chat: Chat; message: Stored } {
  const chat = findChat(world, parameters.values["chat_id"]);
  if (textOf(parameters, "message_id") === "") throw badRequest("message identifier is not specified");
  const message = findMessage(chat, parameters.values["message_id"]);
  if (message === undefined) throw badRequest("message to edit not found");
  if (message.by !== "bot") throw badRequest("message can't be edited");
  return { chat, message };
}

/** An edit that names no keyboard takes away the one that is there. */
export function editMessageText(asking: Asking): object {
  const formatted = messageText(asking.parameters);
  const { buttons } = readMarkup(objectOf(asking.parameters, "reply_markup"));
  const { chat, message } = ownMessage(asking);
  if (message.media !== undefined) throw badRequest("there is no text in the message to edit");
  return edit(asking, chat, message, { ...formatted, buttons });
}

export function editMessageCaption(asking: Asking): object {
  const caption = captionText(asking.parameters);
  const { buttons } = readMarkup(objectOf(asking.parameters, "reply_markup"));
  const { chat, message } = ownMessage(asking);
  if (message.media === undefined) throw badRequest("there is no caption in the message to edit");
  return edit(asking, chat, message, { ...caption, buttons });
}

export function editMessageReplyMarkup(asking: Asking): object {
  const { buttons } = readMarkup(objectOf(asking.parameters, "reply_markup"));
  const { chat, message } = ownMessage(asking);
  return edit(asking, chat, message, { text: message.text, entities: message.entities, buttons });
}

function edit({ world }: Asking, chat: Chat, message: Stored, next: Formatted & Pick<Stored, "buttons">): object {
  const seen = ({ text, entities, buttons }: typeof next): string => JSON.stringify([text, entities, buttons]);
  if (seen(message) === seen(next))
    throw badRequest(
      "message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message",
    );
  return messageOnWire(world, change(chat, message, { ...next, before: [...message.before, message.text] }));
}

export function deleteMessage({ world, parameters }: Asking): boolean {
  const chat = findChat(world, parameters.values["chat_id"]);
  const message = findMessage(chat, parameters.values["message_id"]);
  if (message === undefined) throw badRequest("message to delete not found");
  const isOld = message.date < world.now() / 1000 - TWO_DAYS_S;
  if (isOld || (message.by === "person" && chat.type !== "private")) throw badRequest("message can't be deleted");
  change(chat, message, { isDeleted: true });
  return true;
}

export function answerCallbackQuery({ world, parameters, query_ms }: Asking): boolean {
  const query = world.queries.get(textOf(parameters, "callback_query_id"));
  if (query === undefined || world.now() - query.asked_at_ms > query_ms)
    throw badRequest("query is too old and response timeout expired or query ID is invalid");
  const text = textOf(parameters, "text");
  if (text.length > MAX_NOTE) throw badRequest("MESSAGE_TOO_LONG");
  query.answer = { text, show_alert: isTrue(parameters, "show_alert") };
  return true;
}
