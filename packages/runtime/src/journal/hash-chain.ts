import { hash } from "node:crypto";
import { boundData } from "../protocol/bounds.ts";
import type { Bounds } from "../protocol/bounds.ts";
import { FIRST_HASH } from "../protocol/events.ts";
import type { EventDraft, RuntimeEvent } from "../protocol/event-record.ts";
import { canonicalJson } from "../protocol/canonical.ts";
import { keyIdOf, macOf } from "./record-key.ts";
import type { RecordKey } from "./record-key.ts";

/** The last link of a chain. */
export interface Tail {
  readonly seq: number;
  readonly hash: string;
}

/** The tail of a chain that has no event yet. */
export const EMPTY_TAIL: Tail = { seq: 0, hash: FIRST_HASH };

export interface ChainedEvent {
  readonly event: RuntimeEvent;
  /**
   * The event as one line of JSON: its canonical form with `hash` as the last member, so that the line can be verified.
   */
  readonly line: string;
}

/** Assigns each draft its position after `tail` (spec 1, Events). With a key, each event also carries its `mac`. */
export function chainEvents(drafts: readonly EventDraft[], tail: Tail, key?: RecordKey): readonly ChainedEvent[] {
  let last = tail;
  return drafts.map((draft) => {
    const { unsealed, text: plain } = withinBounds({ ...draft, seq: last.seq + 1, prev_hash: last.hash });
    const mac = key === undefined ? undefined : macOf(key, last.hash + plain);
    const text = mac === undefined ? plain : addMac(plain, mac);
    const event = { ...unsealed, ...(mac === undefined ? {} : { mac }), hash: hashOf(last.hash, text) };
    last = event;
    return { event, line: sealLine(text, event.hash) };
  });
}

type UnsealedEvent = Omit<RuntimeEvent, "hash">;

/** A longer event is truncated, so that the journal, its readers and its verifier can handle any input. */
const EVENT_CHARACTERS = 4 * 1024 * 1024;
const CUT_EVENT: Bounds = { characters: 16_384, entries: 2000, depth: 64, total: 1024 * 1024 };

function withinBounds(whole: UnsealedEvent): { readonly unsealed: UnsealedEvent; readonly text: string } {
  const text = canonicalJson(whole);
  if (text.length <= EVENT_CHARACTERS) return { unsealed: whole, text };
  const unsealed = boundData(whole, CUT_EVENT) as UnsealedEvent;
  return { unsealed, text: canonicalJson(unsealed) };
}

/**
 * `mac` at its canonical position, between `event_id` and `parent_id`. No string value contains this text: its quotes
 * are escaped.
 */
const AFTER_MAC = ',"parent_id":';

function addMac(plain: string, mac: string): string {
  const at = plain.indexOf(AFTER_MAC);
  return `${plain.slice(0, at)},"mac":"${mac}"${plain.slice(at)}`;
}

/**
 * Who wrote an event: `ours` with this key, `forged` if it names this key and the MAC is wrong, `foreign` with another
 * key, `none` without a MAC. Says nothing about an event whose hash is wrong.
 */
export type Seal = "ours" | "forged" | "foreign" | "none";

/** Who wrote an event, by its MAC. */
export function sealOf(event: RuntimeEvent, key: RecordKey | undefined): Seal {
  const { hash: _, mac, ...unsealed } = event;
  if (mac === undefined) return "none";
  const id = keyIdOf(mac);
  if (id === undefined) return "forged";
  if (key === undefined || id !== key.id) return "foreign";
  return macOf(key, event.prev_hash + canonicalJson(unsealed)) === mac ? "ours" : "forged";
}

/** An event that already has its position, as the line that `chainEvents` would produce. */
export function lineOf(event: RuntimeEvent): string {
  const { hash: sealed, ...unsealed } = event;
  return sealLine(canonicalJson(unsealed), sealed);
}

/** The expected hash of an event. */
export function hashOfEvent(event: RuntimeEvent): string {
  const { hash: _, ...unsealed } = event;
  return hashOf(event.prev_hash, canonicalJson(unsealed));
}

const SEAL_LENGTH = ',"hash":""}'.length + 64;

function sealLine(canonical: string, hashText: string): string {
  return `${canonical.slice(0, -1)},"hash":"${hashText}"}`;
}

/**
 * Whether a line is literally the text that its hash was made from. True is proof, and cheap; false only means that the
 * line was not written in canonical form, and `hashOfEvent` must decide.
 */
export function isSealedLine(line: string, event: RuntimeEvent): boolean {
  if (typeof event.prev_hash !== "string") return false;
  if (line.length <= SEAL_LENGTH || !line.endsWith(`,"hash":"${event.hash}"}`)) return false;
  return event.hash.length === 64 && hashOf(event.prev_hash, `${line.slice(0, -SEAL_LENGTH)}}`) === event.hash;
}

function hashOf(prevHash: string, canonical: string): string {
  return hash("sha256", prevHash + canonical, "hex");
}
