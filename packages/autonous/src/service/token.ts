import { randomBytes } from "node:crypto";
import { lstatSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { quoteForShell } from "@autonous/runtime/internal";

export interface ServiceToken {
  readonly token: string;
  /** The token file. Printed text names this file, never the token. */
  readonly token_file: string;
}

const TOKEN = /^[\w-]{32,}$/;

/**
 * Created at the first start and reused, so that configured clients keep working. A new one is created if the file is
 * missing or truncated, or if other users could read or replace it.
 */
export function readToken(state_dir: string): ServiceToken {
  const token_file = join(state_dir, "http.token");
  const kept = isOursAlone(token_file) ? readFileSync(token_file, "utf8").trim() : "";
  if (TOKEN.test(kept)) return { token: kept, token_file };
  const token = randomBytes(24).toString("base64url");
  const fresh = `${token_file}.new`;
  rmSync(fresh, { force: true }); // left by a kill; its mode or link target would be reused
  writeFileSync(fresh, token, { mode: 0o600, flag: "wx" });
  renameSync(fresh, token_file);
  return { token, token_file };
}

function isOursAlone(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat?.isFile() === true && stat.uid === process.geteuid?.() && (stat.mode & 0o077) === 0 && stat.nlink === 1;
}

/** A shell command that reads the token when it runs, so that the token appears in no log and on no screen. */
export function curlLine(url: string, token_file: string): string {
  return `curl -N -H "Authorization: Bearer $(cat ${quoteForShell(token_file)})" -d '{"text":"/ls ."}' ${url}/api/tasks`;
}
