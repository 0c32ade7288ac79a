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
  /** Key id and HMAC-SHA256 (first 128 bits) of `prev_hash` and the canonical event without `mac` and `hash`; the key lies outside the state folder. */
  mac: z.string().optional(),
  prev_hash: hash,
  hash,
});
export type RuntimeEvent = z.infer<typeof runtimeEvent>;

/** An event before it has its place in the chain. The journal adds `seq`, `mac`, `prev_hash` and `hash`. */
export type EventDraft = Omit<RuntimeEvent, "seq" | "mac" | "prev_hash" | "hash">;
