import type { Command } from "./command.ts";

/** Commands about access to the bot and its webhook. */
export const TELEGRAM_COMMANDS: readonly Command[] = [
  {
    name: "telegram pair",
    summary: "Let someone use the bot: print a code for them",
    options: [{ name: "--no-wait", meaning: "print the code and exit, instead of waiting until it is used" }],
    workspace: true,
    example: "autonous telegram pair",
    notes: [
      "The person sends the code to the bot in a private chat, or opens the link.",
      "The service may be running or not. A code works once, for 10 minutes. A person",
      "who uses it becomes an owner: they can let others in with a button.",
    ],
    load: async () => (await import("./commands/telegram.ts")).pair,
  },
  {
    name: "telegram users",
    summary: "List the people who have access to the bot",
    workspace: true,
    example: "autonous telegram users",
    load: async () => (await import("./commands/telegram.ts")).users,
  },
  {
    name: "telegram remove",
    summary: "Revoke access, or unblock a person",
    args: [{ name: "<id>", meaning: "the person's Telegram id, as telegram users lists it" }],
    workspace: true,
    example: "autonous telegram remove 123456789",
    load: async () => (await import("./commands/telegram.ts")).remove,
  },
  {
    name: "telegram webhook",
    summary: "Show the bot's webhook, or delete it",
    options: [{ name: "--delete", meaning: "delete the webhook, so that this service receives the messages" }],
    workspace: true,
    example: "autonous telegram webhook --delete",
    load: async () => (await import("./commands/telegram-webhook.ts")).webhook,
  },
];
