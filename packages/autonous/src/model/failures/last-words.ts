import type { Failure } from "./failure.ts";
import type { Access } from "../keys.ts";

interface GivenUp {
  /** Why the model is not asked again; empty where the failure says it. */
  readonly stop: string;
  readonly access: Access;
}

/** Why a round failed, as one clause: what the server said, how often it was asked, which key was sent. */
export function lastWords({ reason, message }: Failure, { stop, access }: GivenUp): string {
  const said = stop === "" ? message : `${message.replace(/[.\s]+$/, "")}, ${stop}`;
  const { variable, key } = access;
  if (reason !== "key_refused" || variable === undefined) return said;
  return `${said} (${key === undefined ? `no key was sent: ${variable} is not set` : `the key is from ${variable}`})`;
}
