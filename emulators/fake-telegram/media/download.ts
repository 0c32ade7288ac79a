/** What the bot fetches by the address that `getFile` gave. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { checkToken, refusalFor, remember, sendAsGateway, untilGone } from "../answer.ts";
import type { FaultInput } from "../faults.ts";
import { Refusal } from "../refusal.ts";
import type { State } from "../state.ts";
import type { StoredFile } from "./files.ts";

interface Download {
  readonly token: string;
  readonly path: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly signal: AbortSignal;
}

/** Seen among the calls as `download`, which is its name for faults too. */
export async function answerDownload(state: State, download: Download): Promise<void> {
  checkToken(state, download.token);
  const fault = state.faults.next("download");
  const parameters = { values: { path: download.path }, files: new Map() };
  const seen = remember(state, { method: "download", parameters, chat: undefined, fault });
  try {
    const file = findLink(state, download.path);
    if (fault?.kind === "link_expired") throw new Refusal(404, "Not Found");
    const refusal = fault === undefined ? undefined : refusalFor(fault);
    if (refusal !== undefined) throw refusal;
    const status = await give(file, download, fault);
    if (status !== undefined) seen.status = status;
  } catch (error) {
    if (error instanceof Refusal) seen.status = error.status;
    throw error;
  } finally {
    state.options.onCall?.(seen);
  }
}

function findLink({ world }: State, path: string): StoredFile {
  const link = world.files.links.get(path);
  if (link === undefined || world.now() > link.until_ms) throw new Refusal(404, "Not Found");
  return link.file;
}

/** Returns the status, or undefined if nothing was answered. */
async function give(
  { content }: StoredFile,
  { request, response, signal }: Download,
  fault: FaultInput | undefined,
): Promise<number | undefined> {
  if (fault?.kind === "slow") await delay(fault.ms ?? 1000, undefined, { signal }).catch(() => undefined); // the client is gone
  if (fault?.kind === "hang") {
    await untilGone(signal);
    return undefined;
  }
  if (fault?.kind === "reset_before") {
    request.socket.resetAndDestroy();
    return undefined;
  }
  const status = fault === undefined ? undefined : sendAsGateway(response, fault);
  if (status !== undefined) return status;
  response.writeHead(200, { "content-type": "application/octet-stream", "content-length": content.length });
  const half = content.subarray(0, Math.floor(content.length / 2));
  if (fault?.kind === "cut_answer") response.write(half, () => response.destroy());
  else if (fault?.kind === "reset_after") response.write(half, () => request.socket.resetAndDestroy());
  else if (fault?.kind === "hang_after") {
    response.write(half);
    await untilGone(signal);
  } else response.end(content);
  return 200;
}
