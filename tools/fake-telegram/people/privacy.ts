/** What of a group a bot gets: with privacy mode, only what is meant for it. */
import type { World } from "../world.ts";

/** Marks of what the app writes by itself; every bot gets these. */
const SERVICE =
  /^(?:new_chat_|left_chat_member|delete_chat_photo|group_chat_created|supergroup_chat_created|migrate_|pinned_message|forum_topic_|general_forum_topic_|video_chat_|message_auto_delete)/;

interface GroupMessage {
  readonly chat?: { readonly type?: string };
  readonly text?: string;
  readonly caption?: string;
  readonly via_bot?: { readonly id?: number };
  readonly reply_to_message?: { readonly from?: { readonly id?: number }; readonly forum_topic_created?: object };
}

/** Whether the bot gets it: commands that name no other bot, its name, replies to it, what was sent by it inline. */
export function isForBot({ bot, privacy }: World, content: unknown): boolean {
  const message = (content ?? {}) as GroupMessage;
  const isGroup = message.chat?.type === "group" || message.chat?.type === "supergroup";
  if (!isGroup || !privacy.isOn) return true;
  if (Object.keys(message).some((name) => SERVICE.test(name))) return true;
  const text = (message.text ?? message.caption ?? "").toLowerCase();
  const name = bot.username.toLowerCase();
  const [, isCommand, named] = /^(\/\w+)(?:@(\w+))?/.exec(text) ?? [];
  if (isCommand !== undefined && (named === undefined || named === name)) return true;
  if (Array.from(text.matchAll(/(?<![\w/@])@(\w+)/g)).some(([, mentioned]) => mentioned === name)) return true;
  const { reply_to_message: replied, via_bot } = message;
  return via_bot?.id === bot.id || (replied?.from?.id === bot.id && replied.forum_topic_created === undefined);
}
