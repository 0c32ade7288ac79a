import type { Commander } from "../../queue/commander.ts";

/** HTTP's side of the outbox: sending is a no-op, because clients read replies from the task's recorded events. */
export const httpCommander: Commander = {
  channel: "http",
  send: () => Promise.resolve({}),
};
