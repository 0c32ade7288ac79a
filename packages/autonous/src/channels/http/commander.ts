import type { Commander } from "../../queue/commander.ts";

/** HTTP's side of the outbox: what is sent is taken by being on record, where every reader of the task's events finds it. */
export const httpCommander: Commander = {
  channel: "http",
  send: () => Promise.resolve({}),
};
