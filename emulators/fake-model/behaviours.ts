/** Replies without a script. */
import type { Conversation } from "./formats/format.ts";
import type { Round } from "./script.ts";

/** Undefined: no reply is left, and the request is rejected. */
export type Responder = (conversation: Conversation) => Round | undefined | Promise<Round | undefined>;

export const BEHAVIOURS = ["echo", "read-loop"] as const;
export type Behaviour = (typeof BEHAVIOURS)[number];

export interface ReadLoop {
  /** Number of reads before it answers. */
  readonly times: number;
  readonly path: string;
}

/** Repeats the last message. */
export function echo({ messages }: Conversation): Round {
  const said = messages.findLast((each) => each.role === "user")?.text ?? "";
  return { text: said === "" ? "(nothing was said)" : said };
}

/** Reads the same file repeatedly, then answers. The line ranges differ, so that no two calls are equal. */
export function readLoop({ times, path }: ReadLoop): Responder {
  return ({ messages }) => {
    const since = messages.findLastIndex((each) => each.role === "user");
    const asked = messages.slice(since + 1).filter((each) => each.role === "assistant").length;
    if (asked >= times) return { text: `Read "${path}" ${asked} times.` };
    return { calls: [{ name: "read", arguments: { path, offset: asked + 1 } }] };
  };
}
