import { z } from "zod";
import { EVENTS } from "./events.ts";
import type { EventType } from "./events.ts";

const EVENT_TYPES = Object.keys(EVENTS) as [EventType, ...EventType[]];

const hash = z.string().regex(/^[0-9a-f]{64}$/);

/** One record of the chain (spec 1, Events). */
export const runtimeEvent = z.strictObject({
  event_id: z.string(),
  seq: z.int().min(1),
  ts: z.iso.datetime(),
  type: z.enum(EVENT_TYPES),
  trace_id: z.string(),
  task_id: z.string().nullable(),
  run_id: z.string(),
  parent_id: z.string().nullable(),
  payload: z.record(z.string(), z.unknown()),
  /**
   * Key id and HMAC-SHA256 (first 128 bits) of `prev_hash` and the canonical event without `mac` and `hash`; the key is
   * outside the state folder.
   */
  mac: z.string().optional(),
  prev_hash: hash,
  hash,
});
export type RuntimeEvent = z.infer<typeof runtimeEvent>;

/** Parses the event in a line or row; undefined if it is not valid JSON or not an event. */
export function parseEvent(text: string): RuntimeEvent | undefined {
  let value: Partial<RuntimeEvent> | null;
  try {
    value = JSON.parse(text) as Partial<RuntimeEvent> | null;
  } catch {
    return undefined; // the caller reports which file or table
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { seq, run_id, type, hash: own, prev_hash, payload } = value;
  const texts = [run_id, type, own, prev_hash];
  const isEvent = Number.isInteger(seq) && texts.every((each) => typeof each === "string");
  return isEvent && typeof payload === "object" && payload !== null ? (value as RuntimeEvent) : undefined;
}

/** An event that is not in the chain yet. The journal adds `seq`, `mac`, `prev_hash` and `hash`. */
export type EventDraft = Omit<RuntimeEvent, "seq" | "mac" | "prev_hash" | "hash">;
