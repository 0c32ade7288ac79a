import type { Failure } from "./model-failure.ts";
import type { Access } from "../keys.ts";

interface GiveUpContext {
  /** Why the request is not retried; empty if the failure says it. */
  readonly stop: string;
  readonly access: Access;
}

/** Why a round failed, as one clause: the server's message, the number of attempts, the key's variable. */
export function failureText({ reason, message }: Failure, { stop, access }: GiveUpContext): string {
  const said = stop === "" ? message : `${message.replace(/[.\s]+$/, "")}, ${stop}`;
  const { variable, key } = access;
  if (reason !== "key_refused" || variable === undefined) return said;
  return `${said} (${key === undefined ? `no key was sent: ${variable} is not set` : `the key is from ${variable}`})`;
}
