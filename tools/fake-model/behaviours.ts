/** What a fake model says without a script. */
import type { Conversation } from "./formats/format.ts";
import type { Round } from "./script.ts";

/** Undefined: it has nothing more to say, and refuses. */
export type Responder = (conversation: Conversation) => Round | undefined | Promise<Round | undefined>;

export const BEHAVIOURS = ["echo", "read-loop"] as const;
export type Behaviour = (typeof BEHAVIOURS)[number];

export interface ReadLoop {
  /** How often it asks before it answers. */
  readonly times: number;
  readonly path: string;
}

/** Says what was said to it last. */
export function echo({ messages }: Conversation): Round {
  const said = messages.findLast((each) => each.role === "user")?.text ?? "";
  return { text: said === "" ? "(nothing was said)" : said };
}

/** Asks for the same file again and again, then answers. The lines differ, so that no two calls are the same one. */
export function readLoop({ times, path }: ReadLoop): Responder {
  return ({ messages }) => {
    const since = messages.findLastIndex((each) => each.role === "user");
    const asked = messages.slice(since + 1).filter((each) => each.role === "assistant").length;
    if (asked >= times) return { text: `Read "${path}" ${asked} times.` };
    return { calls: [{ name: "read", arguments: { path, offset: asked + 1 } }] };
  };
}
