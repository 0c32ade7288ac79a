/** Puts a reply on the wire, whole or as a stream, and lets go wrong what shall. */
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { FaultKind } from "./fault-kinds.ts";
import type { Frame, Json, Refusal } from "./formats/format.ts";
import type { Fault } from "./script.ts";

export interface Sending {
  readonly response: ServerResponse;
  readonly fault: Fault | undefined;
  /** Aborted when the client is gone or the server is closed. */
  readonly signal: AbortSignal;
}

const JSON_TYPE = "application/json";
const PAGE = "<!doctype html><html><head><title>Sign in</title></head><body>Sign in to the network</body></html>";

export async function sendRefusal({ status, body }: Refusal, { response, fault }: Sending): Promise<void> {
  const seconds = fault?.retry_after_s;
  if (seconds !== undefined) {
    const isDate = fault?.retry_after_as === "date";
    // A date has whole seconds: rounded up, so that it is never over before the time asked for.
    const date = new Date(Math.ceil(Date.now() / 1000 + seconds) * 1000);
    response.setHeader("retry-after", isDate ? date.toUTCString() : String(seconds));
  }
  response.writeHead(status, { "content-type": JSON_TYPE });
  await ended(response, JSON.stringify(body));
}

export async function sendWhole(body: Json, sending: Sending): Promise<void> {
  const { response, fault } = sending;
  const bytes = Buffer.from(JSON.stringify(body));
  const cut = cutOfWhole(bytes, fault);
  response.writeHead(200, { "content-type": JSON_TYPE, "content-length": cut.length ?? bytes.length });
  if (cut.at === undefined) {
    if (fault?.kind === "slow_drip") await drip(bytes, sending);
    await ended(response, fault?.kind === "slow_drip" ? "" : bytes);
    return;
  }
  response.write(bytes.subarray(0, cut.at));
  if (fault?.kind === "hang_in_stream") await forever(sending);
  else if (cut.length === undefined) await torn(response);
  else await ended(response, "");
}

interface Cut {
  /** Where a body stops too early. */
  readonly at?: number;
  /** Said to be all of it. Not said: the connection is torn. */
  readonly length?: number;
}

const WHOLE_CUTS: Partial<Record<FaultKind, (bytes: Buffer) => number>> = {
  cut_before_content: () => 1,
  cut_after_content: (bytes) => Math.floor(bytes.length / 2),
  cut_in_call: (bytes) => Math.floor(bytes.length / 2),
  cut_in_character: insideCharacter,
  hang_in_stream: (bytes) => Math.floor(bytes.length / 2),
  malformed_chunk: (bytes) => bytes.length - 2,
  error_in_stream: (bytes) => bytes.length - 2,
};

/** These end in good form, whatever is asked: what is wrong is inside. */
const ALWAYS_CLEAN: ReadonlySet<FaultKind> = new Set(["malformed_chunk", "error_in_stream"]);

function cutOfWhole(bytes: Buffer, fault: Fault | undefined): Cut {
  const at = fault === undefined ? undefined : WHOLE_CUTS[fault.kind]?.(bytes);
  if (fault === undefined || at === undefined) return {};
  return fault.clean || ALWAYS_CLEAN.has(fault.kind) ? { at, length: at } : { at };
}

export interface StreamSending extends Sending {
  readonly type: string;
  readonly errorFrame: Frame;
}

type StreamFault = (frames: readonly Frame[], sending: StreamSending) => Promise<void>;

const BROKEN: Frame = { kind: "text", data: 'data: {"id":"broken","choices":[{"delta":\n\n' };

const STREAM_FAULTS: Partial<Record<FaultKind, StreamFault>> = {
  async slow_drip(frames, sending) {
    await drip(Buffer.from(joined(frames)), sending);
    await ended(sending.response, "");
  },
  async hang_in_stream(frames, sending) {
    sending.response.write(joined(frames.slice(0, firstContent(frames) + 1)));
    await forever(sending);
  },
  cut_before_content: (frames, sending) => cut(Buffer.from(joined(frames.slice(0, firstContent(frames)))), sending),
  cut_after_content: (frames, sending) => cut(beforeClose(frames), sending),
  cut_in_call: (frames, sending) => cut(untilInsideCall(frames), sending),
  cut_in_character(frames, sending) {
    const bytes = Buffer.from(joined(frames));
    return cut(bytes.subarray(0, insideCharacter(bytes)), sending);
  },
  error_in_stream: (frames, { response, errorFrame }) =>
    ended(response, joined([...frames.slice(0, firstContent(frames) + 1), errorFrame])),
  malformed_chunk: (frames, { response }) =>
    ended(response, joined(frames.toSpliced(firstContent(frames) + 1, 0, BROKEN))),
  duplicated_chunks: (frames, { response }) =>
    ended(response, joined(frames.flatMap((frame) => (isContent(frame) ? [frame, frame] : [frame])))),
};

export async function sendStream(frames: readonly Frame[], sending: StreamSending): Promise<void> {
  const { response, fault, type } = sending;
  response.writeHead(200, { "content-type": type, "cache-control": "no-cache" });
  const goWrong = fault === undefined ? undefined : STREAM_FAULTS[fault.kind];
  if (goWrong !== undefined) return await goWrong(frames, sending);
  for (const { data } of frames) response.write(data);
  await ended(response, "");
}

function firstContent(frames: readonly Frame[]): number {
  return frames.findIndex(({ kind }) => kind !== "open");
}

function beforeClose(frames: readonly Frame[]): Buffer {
  return Buffer.from(joined(frames.filter(({ kind }) => kind !== "close")));
}

/** What a network in between says instead of the server. */
export async function sendPage({ response }: Sending): Promise<void> {
  response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
  await ended(response, PAGE);
}

/** Waits until the other side gives up. */
export async function forever({ signal }: Sending): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}

export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function isContent({ kind }: Frame): boolean {
  return kind === "text" || kind === "reasoning" || kind === "call";
}

function joined(frames: readonly Frame[]): string {
  return frames.map(({ data }) => data).join("");
}

/** Half of the pieces of arguments, and a part of the next one. Without calls: all content. */
function untilInsideCall(frames: readonly Frame[]): Buffer {
  const pieces = frames.filter(({ inside }) => inside !== undefined);
  const last = pieces[Math.floor(pieces.length / 2)];
  if (last === undefined) return beforeClose(frames);
  const at = frames.indexOf(last);
  return Buffer.concat([Buffer.from(joined(frames.slice(0, at))), Buffer.from(last.data).subarray(0, last.inside)]);
}

/** The place after the first byte of the first character that has several. */
function insideCharacter(bytes: Buffer): number {
  const first = bytes.findIndex((byte) => byte >= 0xc2);
  return first === -1 ? Math.floor(bytes.length / 2) : first + 1;
}

async function cut(bytes: Buffer, { response, fault }: Sending): Promise<void> {
  if (fault?.clean === true) return await ended(response, bytes);
  if (bytes.length > 0) await new Promise((resolve) => response.write(bytes, resolve));
  else response.flushHeaders();
  await torn(response);
}

/** After what was written has left, so that the client sees it. */
async function torn(response: ServerResponse): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  response.socket?.destroySoon();
  response.destroy();
}

/** In pieces of a few bytes; the whole takes as long as the fault says at least. */
async function drip(bytes: Buffer, { response, fault, signal }: Sending): Promise<void> {
  for (let at = 0; at < bytes.length && !signal.aborted; at += 64) {
    response.write(bytes.subarray(at, at + 64));
    await pause(fault?.ms ?? 0, signal);
  }
}

async function ended(response: ServerResponse, last: string | Buffer): Promise<void> {
  if (response.destroyed) return;
  await new Promise<void>((resolve) => {
    response.once("close", resolve);
    response.end(last, resolve);
  });
}
