/** The methods of the Bot API that are there, each with what it refuses. */
import { readFormatted } from "./entities.ts";
import type { Formatted } from "./formatted.ts";
import { readKeyboard } from "./keyboard.ts";
import { isTrue, numberOf, objectOf, textOf } from "./parameters.ts";
import type { Parameters } from "./parameters.ts";
import { badRequest, Refusal } from "./refusal.ts";
import type { Updates } from "./updates.ts";
import { botOnWire, change, chatOnWire, findChat, findMessage, messageOnWire, post } from "./world.ts";
import type { Chat, Stored, World } from "./world.ts";

const MAX_TEXT = 4096;
const MAX_CAPTION = 1024;
const MAX_NOTE = 200;
/** What a bot may send as a file through the servers of Telegram itself. */
export const MAX_FILE_BYTES = 50 * 1024 * 1024;
const MAX_TIMEOUT_S = 50;
const TWO_DAYS_S = 48 * 60 * 60;

interface Asking {
  readonly world: World;
  readonly updates: Updates;
  readonly parameters: Parameters;
  /** How long a pressed button waits for its answer. */
  readonly query_ms: number;
  readonly max_file_bytes: number;
  readonly signal: AbortSignal;
}

type Method = (asking: Asking) => unknown;

/** By their names as documented; they are found in any case, as on the real server. */
export const METHODS: Readonly<Record<string, Method>> = {
  getMe: ({ world }) => ({
    ...botOnWire(world),
    can_join_groups: true,
    can_read_all_group_messages: false,
    supports_inline_queries: false,
    can_connect_to_business: false,
    has_main_web_app: false,
  }),
  getUpdates,
  getChat: ({ world, parameters }) => chatOnWire(world, findChat(world, parameters.values["chat_id"])),
  getMyCommands: ({ world }) => world.commands.list,
  setMyCommands,
  deleteMyCommands({ world }) {
    world.commands.list = [];
    return true;
  },
  getWebhookInfo: ({ world, updates }) => ({
    url: world.webhook.url,
    has_custom_certificate: false,
    pending_update_count: updates.waiting,
  }),
  setWebhook({ world, parameters }) {
    world.webhook.url = textOf(parameters, "url");
    return true;
  },
  deleteWebhook({ world, updates, parameters }) {
    world.webhook.url = "";
    if (isTrue(parameters, "drop_pending_updates")) updates.drop();
    return true;
  },
  sendMessage,
  sendDocument,
  sendChatAction,
  editMessageText,
  editMessageReplyMarkup,
  deleteMessage,
  answerCallbackQuery,
};

/** Those that Telegram counts when it says that it is too much. */
export const COUNTED: ReadonlySet<string> = new Set([
  "sendMessage",
  "sendDocument",
  "editMessageText",
  "editMessageReplyMarkup",
]);

const ACTIONS: ReadonlySet<string> = new Set([
  "typing",
  "upload_photo",
  "record_video",
  "upload_video",
  "record_voice",
  "upload_voice",
  "upload_document",
  "choose_sticker",
  "find_location",
  "record_video_note",
  "upload_video_note",
]);

async function getUpdates({ world, updates, parameters, signal }: Asking): Promise<unknown> {
  if (world.webhook.url !== "")
    throw new Refusal(
      409,
      "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
    );
  const allowed = objectOf(parameters, "allowed_updates");
  return await updates.take({
    offset: numberOf(parameters, "offset", 0),
    limit: Math.min(100, Math.max(1, numberOf(parameters, "limit", 100))),
    timeout_s: Math.min(MAX_TIMEOUT_S, Math.max(0, numberOf(parameters, "timeout", 0))),
    ...(Array.isArray(allowed) ? { allowed: allowed.map(String) } : {}),
    signal,
  });
}

/** The lists of Telegram: small letters, digits and underscores, and something that says what it does. */
function setMyCommands({ world, parameters }: Asking): boolean {
  const given = objectOf(parameters, "commands");
  if (!Array.isArray(given)) throw badRequest("can't parse list of bot commands");
  if (given.length > 100) throw badRequest("BOT_COMMANDS_TOO_MUCH");
  world.commands.list = given.map((each: unknown) => {
    const { command, description } = (each ?? {}) as { command?: unknown; description?: unknown };
    if (typeof command !== "string" || !/^\/?[a-z0-9_]{1,32}$/.test(command)) throw badRequest("BOT_COMMAND_INVALID");
    if (typeof description !== "string" || description.trim() === "" || description.length > 256)
      throw badRequest("BOT_COMMAND_DESCRIPTION_INVALID");
    return { command: command.replace(/^\//, ""), description };
  });
  return true;
}

function formattedOf(parameters: Parameters, name: "text" | "caption"): Formatted {
  const entities = objectOf(parameters, name === "text" ? "entities" : "caption_entities");
  return readFormatted(textOf(parameters, name), textOf(parameters, "parse_mode"), entities);
}

function messageText(parameters: Parameters): Formatted {
  const formatted = formattedOf(parameters, "text");
  if (formatted.text === "") throw badRequest("message text is empty");
  if (formatted.text.length > MAX_TEXT) throw badRequest("message is too long");
  return formatted;
}

function replyOf(chat: Chat, parameters: Parameters): { reply_to?: number } {
  const given = objectOf(parameters, "reply_parameters") as
    | { message_id?: unknown; allow_sending_without_reply?: unknown }
    | undefined;
  const message_id = given?.message_id ?? (textOf(parameters, "reply_to_message_id") || undefined);
  if (message_id === undefined) return {};
  const replied = findMessage(chat, message_id);
  if (replied !== undefined) return { reply_to: replied.message_id };
  if (given?.allow_sending_without_reply === true || isTrue(parameters, "allow_sending_without_reply")) return {};
  throw badRequest("message to be replied not found");
}

function sendMessage({ world, parameters }: Asking): object {
  const formatted = messageText(parameters);
  const buttons = readKeyboard(objectOf(parameters, "reply_markup"));
  const chat = findChat(world, parameters.values["chat_id"]);
  const is_silent = isTrue(parameters, "disable_notification");
  const draft = {
    from: world.bot.id,
    by: "bot",
    ...formatted,
    buttons,
    is_silent,
    ...replyOf(chat, parameters),
  } as const;
  return messageOnWire(world, post(world, chat, draft));
}

function sendDocument({ world, parameters, max_file_bytes }: Asking): object {
  const named = textOf(parameters, "document");
  const file = parameters.files.get(named.startsWith("attach://") ? named.slice("attach://".length) : "document");
  const known = world.documents.get(named);
  if (file === undefined && known === undefined)
    throw badRequest(named === "" ? "there is no document in the request" : "wrong file identifier/HTTP URL specified");
  const caption = formattedOf(parameters, "caption");
  if (caption.text.length > MAX_CAPTION) throw badRequest("message caption is too long");
  const content = file?.content ?? known?.content ?? Buffer.alloc(0);
  if (content.length === 0) throw badRequest("file must be non-empty");
  if (content.length > max_file_bytes) throw new Refusal(413, "Request Entity Too Large");
  const buttons = readKeyboard(objectOf(parameters, "reply_markup"));
  const chat = findChat(world, parameters.values["chat_id"]);
  const reply = replyOf(chat, parameters);
  const document = known ?? {
    file_id: `file-${world.documents.size + 1}`,
    file_name: file?.name ?? "",
    mime_type: file?.type ?? "",
    content,
  };
  world.documents.set(document.file_id, document);
  const is_silent = isTrue(parameters, "disable_notification");
  const draft = { from: world.bot.id, by: "bot", ...caption, buttons, is_silent, document, ...reply } as const;
  return messageOnWire(world, post(world, chat, draft));
}

function sendChatAction({ world, parameters }: Asking): boolean {
  findChat(world, parameters.values["chat_id"]);
  if (!ACTIONS.has(textOf(parameters, "action"))) throw badRequest("wrong parameter action in request");
  return true;
}

function ownMessage({ world, parameters }: Asking, to: "edit"): { chat: Chat; message: Stored } {
  const chat = findChat(world, parameters.values["chat_id"]);
  if (textOf(parameters, "message_id") === "") throw badRequest("message identifier is not specified");
  const message = findMessage(chat, parameters.values["message_id"]);
  if (message === undefined) throw badRequest(`message to ${to} not found`);
  if (message.by !== "bot") throw badRequest("message can't be edited");
  return { chat, message };
}

/** An edit that names no keyboard takes away the one that is there. */
function editMessageText(asking: Asking): object {
  const formatted = messageText(asking.parameters);
  const buttons = readKeyboard(objectOf(asking.parameters, "reply_markup"));
  const { chat, message } = ownMessage(asking, "edit");
  if (message.document !== undefined) throw badRequest("there is no text in the message to edit");
  return edit(asking, chat, message, { ...formatted, buttons });
}

function editMessageReplyMarkup(asking: Asking): object {
  const buttons = readKeyboard(objectOf(asking.parameters, "reply_markup"));
  const { chat, message } = ownMessage(asking, "edit");
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

function deleteMessage({ world, parameters }: Asking): boolean {
  const chat = findChat(world, parameters.values["chat_id"]);
  const message = findMessage(chat, parameters.values["message_id"]);
  if (message === undefined) throw badRequest("message to delete not found");
  const isOld = message.date < world.now() / 1000 - TWO_DAYS_S;
  if (isOld || (message.by === "person" && chat.type !== "private")) throw badRequest("message can't be deleted");
  change(chat, message, { isDeleted: true });
  return true;
}

function answerCallbackQuery({ world, parameters, query_ms }: Asking): boolean {
  const query = world.queries.get(textOf(parameters, "callback_query_id"));
  if (query === undefined || world.now() - query.asked_at_ms > query_ms)
    throw badRequest("query is too old and response timeout expired or query ID is invalid");
  const text = textOf(parameters, "text");
  if (text.length > MAX_NOTE) throw badRequest("MESSAGE_TOO_LONG");
  query.answer = { text, show_alert: isTrue(parameters, "show_alert") };
  return true;
}
