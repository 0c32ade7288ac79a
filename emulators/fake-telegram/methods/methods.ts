/** The methods of the Bot API that are there, each with what it refuses. */
import { fileOnWire } from "../media/files.ts";
import { isTrue, numberOf, objectOf, textOf } from "../parameters.ts";
import { badRequest, Refusal } from "../refusal.ts";
import { botOnWire, chatOnWire } from "../wire.ts";
import { findChat } from "../world.ts";
import type { Asking, Method } from "./asking.ts";
import {
  answerCallbackQuery,
  deleteMessage,
  editMessageCaption,
  editMessageReplyMarkup,
  editMessageText,
} from "./editing.ts";
import { sendChatAction, sendDocument, sendMediaGroup, sendMessage, sendPhoto } from "./sending.ts";

/** What a bot may send as a file through the servers of Telegram itself. */
export const MAX_FILE_BYTES = 50 * 1024 * 1024;
const MAX_TIMEOUT_S = 50;

/** By their names as documented; they are found in any case, as on the real server. */
export const METHODS: Readonly<Record<string, Method>> = {
  getMe: ({ world }) => ({
    ...botOnWire(world),
    can_join_groups: true,
    can_read_all_group_messages: !world.privacy.isOn,
    supports_inline_queries: false,
    can_connect_to_business: false,
    has_main_web_app: false,
  }),
  getUpdates,
  getChat: ({ world, parameters }) => chatOnWire(world, findChat(world, parameters.values["chat_id"], "read")),
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
    ...(world.webhook.url === "" ? {} : { max_connections: 40, ip_address: "<unknown>" }),
  }),
  setWebhook({ world, updates, parameters }) {
    const url = textOf(parameters, "url");
    if (url !== "" && !/^https:\/\/[^/]/i.test(url))
      throw badRequest("bad webhook: An HTTPS URL must be provided for webhook");
    if (isTrue(parameters, "drop_pending_updates")) updates.drop();
    if (url !== "") updates.endPoll("Conflict: terminated by setWebhook request");
    world.webhook.url = url;
    return true;
  },
  deleteWebhook({ world, updates, parameters }) {
    world.webhook.url = "";
    if (isTrue(parameters, "drop_pending_updates")) updates.drop();
    return true;
  },
  getFile,
  sendMessage,
  sendDocument,
  sendPhoto,
  sendMediaGroup,
  sendChatAction,
  editMessageText,
  editMessageCaption,
  editMessageReplyMarkup,
  deleteMessage,
  answerCallbackQuery,
};

/** Those that Telegram counts when it says that it is too much. */
export const COUNTED: ReadonlySet<string> = new Set([
  "sendMessage",
  "sendDocument",
  "sendPhoto",
  "sendMediaGroup",
  "editMessageText",
  "editMessageCaption",
  "editMessageReplyMarkup",
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

/** What Telegram's own servers give to bots. */
const MAX_DOWNLOAD_BYTES = 20 * 1024 * 1024;

/** Where a bot may fetch a file that was sent. */
function getFile({ world, parameters, link_ms }: Asking): object {
  const file_id = textOf(parameters, "file_id");
  if (file_id === "") throw badRequest("file_id not specified");
  const media = world.files.byId.get(file_id);
  if (media === undefined)
    throw badRequest(
      /^[\w-]{20,}$/.test(file_id) ? "wrong file_id or the file is temporarily unavailable" : "invalid file_id",
    );
  const file = [media.file, ...media.sizes.map((size) => size.file)].find((each) => each.file_id === file_id);
  if (file === undefined) throw new Error(`No size of the photo has the file_id ${file_id}`);
  if (file.file_size > MAX_DOWNLOAD_BYTES) throw badRequest("file is too big");
  world.files.links.set(file.path, { file, until_ms: world.now() + link_ms });
  return { ...fileOnWire(file), file_path: file.path };
}
