/** Puts a reply on the wire, whole or as a stream, and lets go wrong what shall. */
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
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

export async function sendRefusal(
  { status, body, type = JSON_TYPE }: Refusal,
  { response, fault }: Sending,
): Promise<void> {
  const seconds = fault?.retry_after_s;
  if (seconds !== undefined) {
    const isDate = fault?.retry_after_as === "date";
    // A date has whole seconds: rounded up, so that it is never over before the time asked for.
    const date = new Date(Math.ceil(Date.now() / 1000 + seconds) * 1000);
    response.setHeader("retry-after", isDate ? date.toUTCString() : String(seconds));
  }
  response.writeHead(status, { "content-type": type });
  await ended(response, typeof body === "string" ? body : JSON.stringify(body));
}

/** `type`: what it is said to be. */
export async function sendWhole(body: Json, sending: Sending & { readonly type?: string }): Promise<void> {
  const { response, fault, type = JSON_TYPE } = sending;
  const bytes = Buffer.from(JSON.stringify(body));
  const cut = cutOfWhole(bytes, fault);
  response.writeHead(200, { "content-type": type, "content-length": cut.length ?? bytes.length });
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

const WHOLE_CUTS: Readonly<Record<string, (bytes: Buffer) => number>> = {
  cut_before_content: () => 1,
  cut_after_content: (bytes) => Math.floor(bytes.length / 2),
  cut_in_call: (bytes) => Math.floor(bytes.length / 2),
  cut_in_character: insideCharacter,
  hang_in_stream: (bytes) => Math.floor(bytes.length / 2),
  malformed_chunk: (bytes) => bytes.length - 2,
  error_in_stream: (bytes) => bytes.length - 2,
};

/** These end in good form, whatever is asked: what is wrong is inside. */
const ALWAYS_CLEAN: ReadonlySet<string> = new Set(["malformed_chunk", "error_in_stream"]);

function cutOfWhole(bytes: Buffer, fault: Fault | undefined): Cut {
  const at = fault === undefined ? undefined : WHOLE_CUTS[fault.kind]?.(bytes);
  if (fault === undefined || at === undefined) return {};
  return fault.clean || ALWAYS_CLEAN.has(fault.kind) ? { at, length: at } : { at };
}

export interface StreamSending extends Sending {
  readonly type: string;
  readonly errorFrame: Frame;
  /** The connection stays open after the end. */
  readonly holdsOpen: boolean;
  /** Told what share of the content goes out, from 0 to 1, before it does. */
  onSent(share: number): void;
}

/** What of a stream is sent, and how that ends. */
interface StreamPlan {
  readonly pieces: readonly (string | Buffer)[];
  /** How many of the frames that is, for the bill. */
  readonly frames: number;
  readonly end: "ended" | "cut" | "hangs" | "drips";
}

const BROKEN: Frame = { kind: "text", data: 'data: {"id":"broken","choices":[{"delta":\n\n' };

function planOf(frames: readonly Frame[], sent: readonly Frame[], end: StreamPlan["end"]): StreamPlan {
  return { pieces: sent.map(({ data }) => data), frames: Math.min(frames.length, sent.length), end };
}

type StreamFault = (frames: readonly Frame[], errorFrame: Frame) => StreamPlan;

const STREAM_FAULTS: Readonly<Record<string, StreamFault>> = {
  slow_drip: (frames) => planOf(frames, frames, "drips"),
  hang_in_stream: (frames) => planOf(frames, frames.slice(0, firstContent(frames) + 1), "hangs"),
  cut_before_content: (frames) => planOf(frames, frames.slice(0, firstContent(frames)), "cut"),
  cut_after_content: (frames) => planOf(frames, beforeClose(frames), "cut"),
  cut_in_call: untilInsideCall,
  cut_in_character(frames) {
    const bytes = Buffer.from(joined(frames));
    const at = insideCharacter(bytes);
    return { pieces: [bytes.subarray(0, at)], frames: framesWithin(frames, at), end: "cut" };
  },
  error_in_stream: (frames, errorFrame) => ({
    ...planOf(frames, [...frames.slice(0, firstContent(frames) + 1), errorFrame], "ended"),
    frames: firstContent(frames) + 1,
  }),
  // The client stops reading there, so the server stops too.
  malformed_chunk: (frames) => ({
    ...planOf(frames, frames.toSpliced(firstContent(frames) + 1, 0, BROKEN), "ended"),
    frames: firstContent(frames) + 1,
  }),
  duplicated_chunks: (frames) =>
    planOf(
      frames,
      frames.flatMap((frame) => (isContent(frame) ? [frame, frame] : [frame])),
      "ended",
    ),
};

export async function sendStream(frames: readonly Frame[], sending: StreamSending): Promise<void> {
  const { response, fault, type, errorFrame, holdsOpen, onSent } = sending;
  response.writeHead(200, { "content-type": type, "cache-control": "no-cache" });
  const plan =
    STREAM_FAULTS[fault?.kind ?? ""]?.(frames, errorFrame) ?? planOf(frames, frames, holdsOpen ? "hangs" : "ended");
  const content = frames.filter((frame) => isContent(frame)).length;
  const sent = frames.slice(0, plan.frames).filter((frame) => isContent(frame)).length;
  if (plan.frames > 0) onSent(content === 0 ? 1 : sent / content);
  await ENDS[plan.end](plan.pieces, sending);
}

type Pieces = StreamPlan["pieces"];

const ENDS: Readonly<Record<StreamPlan["end"], (pieces: Pieces, sending: Sending) => Promise<void>>> = {
  async ended(pieces, { response }) {
    for (const piece of pieces) response.write(piece);
    await ended(response, "");
  },
  cut: (pieces, sending) => cut(bytesOf(pieces), sending),
  async hangs(pieces, sending) {
    for (const piece of pieces) sending.response.write(piece);
    await forever(sending);
  },
  async drips(pieces, sending) {
    await drip(bytesOf(pieces), sending);
    await ended(sending.response, "");
  },
};

function bytesOf(pieces: Pieces): Buffer {
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece)));
}

function firstContent(frames: readonly Frame[]): number {
  return frames.findIndex(({ kind }) => kind !== "open");
}

/** How many of them end before a byte. */
function framesWithin(frames: readonly Frame[], at: number): number {
  let end = 0;
  const after = frames.findIndex(({ data }) => (end += Buffer.byteLength(data)) > at);
  return after === -1 ? frames.length : after;
}

function beforeClose(frames: readonly Frame[]): readonly Frame[] {
  return frames.filter(({ kind }) => kind !== "close");
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
function untilInsideCall(frames: readonly Frame[]): StreamPlan {
  const pieces = frames.filter(({ inside }) => inside !== undefined);
  const last = pieces[Math.floor(pieces.length / 2)];
  if (last === undefined) return planOf(frames, beforeClose(frames), "cut");
  const at = frames.indexOf(last);
  const part = Buffer.from(last.data).subarray(0, last.inside);
  return { pieces: [joined(frames.slice(0, at)), part], frames: at, end: "cut" };
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
