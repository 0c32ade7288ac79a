import { boundActor } from "../protocol/audit.ts";
import type { Actor } from "../protocol/audit.ts";
import type { EventDraft } from "../protocol/event-record.ts";
import type { EventType } from "../protocol/events.ts";
import { makeId } from "../protocol/ids.ts";
import type { GateParts } from "./parts.ts";
import type { Opened, Stage } from "./stages.ts";

/** An event of this call. `parent_id`: the start of the call once recorded, else the parent that the caller named. */
export function draftEvent(call: Stage, type: EventType, payload: EventDraft["payload"], nowMs: number): EventDraft {
  const { request } = call;
  return {
    event_id: makeId("evt", nowMs),
    ts: new Date(nowMs).toISOString(),
    type,
    trace_id: request.trace_id,
    task_id: request.task_id ?? null,
    run_id: request.run_id,
    parent_id: "started" in call ? call.started : (request.parent_id ?? null),
    payload,
  };
}

/** The requester of this call, redacted and limited in length. */
export function actorOf({ options }: Opened, { actor, redactor }: Pick<GateParts, "actor" | "redactor">): Actor {
  const { user, chat, channel, model } = options;
  if (user === undefined && chat === undefined && channel === undefined && model === undefined) return actor;
  const named = {
    user: user ?? actor.user,
    chat: chat ?? actor.chat,
    channel: channel ?? actor.channel,
    model: model ?? actor.model,
    host: actor.host,
  };
  return boundActor(redactor.redactValue(named).value as Actor);
}
