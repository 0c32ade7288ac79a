import { hostname, userInfo } from "node:os";
import { boundActor } from "../protocol/audit.ts";
import type { Actor } from "../protocol/audit.ts";

/** The default actor: this process's user on this host, through the library. */
export function ownActor(given: Partial<Actor> = {}): Actor {
  return boundActor({
    user: given.user ?? processUser(),
    chat: given.chat ?? null,
    channel: given.channel ?? "library",
    model: given.model ?? null,
    host: given.host ?? hostname(),
  });
}

/** A user without a passwd entry (a container) has only a number. */
function processUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? "unknown"}`;
  }
}
