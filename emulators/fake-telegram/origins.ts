/** How the Bot API marks a message that its sender did not write. */

/** Kinds of `forward_origin`; the same as they were marked before there was one; a channel's post in its group. */
export const FORWARDED_AS = [
  "user",
  "hidden_user",
  "chat",
  "channel",
  "old_user",
  "old_hidden_user",
  "old_channel",
  "automatic",
] as const;
export type ForwardedAs = (typeof FORWARDED_AS)[number];

export function isForwardedAs(name: string): name is ForwardedAs {
  return (FORWARDED_AS as readonly string[]).includes(name);
}

interface Source {
  readonly sender: object;
  readonly chat: object;
  readonly message_id: number;
  readonly date: number;
}

export function forwardOnWire({ sender, chat, message_id, date }: Source, as: ForwardedAs = "user"): object {
  const { first_name: sender_user_name = "" } = sender as { readonly first_name?: string };
  const channel = { ...chat, type: "channel" };
  const origin = (about: object): object => ({ forward_origin: { date, ...about } });
  // oxfmt-ignore
  const marks: Readonly<Record<ForwardedAs, object>> = {
    user:            origin({ type: "user", sender_user: sender }),
    hidden_user:     origin({ type: "hidden_user", sender_user_name }),
    chat:            origin({ type: "chat", sender_chat: { ...chat, type: "supergroup" }, author_signature: sender_user_name }),
    channel:         origin({ type: "channel", chat: channel, message_id, author_signature: sender_user_name }),
    old_user:        { forward_from: sender, forward_date: date },
    old_hidden_user: { forward_sender_name: sender_user_name, forward_date: date },
    old_channel:     { forward_from_chat: channel, forward_from_message_id: message_id, forward_signature: sender_user_name, forward_date: date },
    automatic:       { ...origin({ type: "channel", chat: channel, message_id }), is_automatic_forward: true },
  };
  return marks[as];
}

/** Accounts that Telegram names where the sender is a group or a channel. Their ids are fixed. */
// oxfmt-ignore
const PLACEHOLDERS = {
  group:     { id: 1_087_968_824, is_bot: true,  first_name: "Group",    username: "GroupAnonymousBot" },
  channel:   { id: 136_817_688,   is_bot: true,  first_name: "Channel",  username: "Channel_Bot" },
  automatic: { id: 777_000,       is_bot: false, first_name: "Telegram" },
} as const;

/** Who seems to have written it, and in whose name it was. */
export function placeholderOf(as: keyof typeof PLACEHOLDERS, place: object): object {
  const named = { id: -1_000_000_000_777, type: "channel", title: "A channel" };
  return {
    from: PLACEHOLDERS[as],
    sender_chat: as === "group" ? place : as === "channel" ? named : { ...place, type: "channel" },
  };
}
