import { hostname, userInfo } from "node:os";
import { boundActor } from "./protocol/audit.ts";
import type { Actor } from "./protocol/audit.ts";

/** The actor of calls that name none: this process's user on this host, by way of a library. */
export function ownActor(given: Partial<Actor> = {}): Actor {
  return boundActor({
    user: given.user ?? processUser(),
    chat: given.chat ?? null,
    channel: given.channel ?? "library",
    model: given.model ?? null,
    host: given.host ?? hostname(),
  });
}

/** A user without an entry in the system's table (a container) has a number only. */
function processUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? "unknown"}`;
  }
}
