import type { OutboxSender } from "../../queue/outbox-sender.ts";

/** HTTP's side of the outbox: sending is a no-op, because clients read replies from the task's recorded events. */
export const httpSender: OutboxSender = {
  channel: "http",
  send: () => Promise.resolve({}),
};
