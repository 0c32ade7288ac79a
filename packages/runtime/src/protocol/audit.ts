import { z } from "zod";
import { LABELS, PERMISSIONS, RISKS } from "./call.ts";
import { EFFECTS, SCOPES } from "./decision.ts";
import { artifacts } from "./result.ts";

/** Who made a call, and through which channel. Null: none, or unknown. */
const actor = z.strictObject({
  user: z.string().nullable(),
  chat: z.string().nullable(),
  /** `library`, `terminal`, `cli`, `http`, `telegram`, or a name chosen by the host. */
  channel: z.string(),
  model: z.string().nullable(),
  host: z.string(),
});
export type Actor = z.infer<typeof actor>;

/** Longer names add nothing for a reader of the record. */
const LONGEST_NAME = 200;

export function boundActor({ user, chat, channel, model, host }: Actor): Actor {
  return { user: bound(user), chat: bound(chat), channel: bound(channel), model: bound(model), host: bound(host) };
}

function bound<T extends string | null>(text: T): T {
  return text === null ? text : (text.toWellFormed().slice(0, LONGEST_NAME) as T);
}

/**
 * One record for every call, including refused ones (spec 1). It is part of the event that ends the call, so the chain
 * covers it.
 */
export const auditRecord = z.strictObject({
  trace_id: z.string(),
  tool_call_id: z.string(),
  tool: z.string(),
  version: z.string().nullable(),
  risk: z.enum(RISKS).nullable(),
  operation: z.string().nullable(),
  /** Labels of the tool. Omitted if it has none. */
  labels: z.array(z.enum(LABELS)).readonly().optional(),
  ts_start: z.iso.datetime(),
  ts_end: z.iso.datetime(),
  duration_ms: z.number(),
  params: z.unknown(),
  /** The permissions that the caller requested. Omitted: whatever the call needs. */
  requested_permissions: z.array(z.enum(PERMISSIONS)).readonly().optional(),
  result: z.strictObject({
    ok: z.boolean(),
    exit_code: z.int().nullable(),
    error_code: z.string().nullable(),
    stdout_ref: z.string().nullable(),
  }),
  policy: z.strictObject({
    /** Null if the call was refused before the policy decided. */
    decision: z.enum(EFFECTS).nullable(),
    rule: z.string().nullable(),
    approved: z.boolean().nullable(),
    approval_scope: z.enum(SCOPES).nullable(),
    approved_by: z.string().nullable(),
  }),
  /** The resolved paths of the call, so that the decision can be repeated from the record. */
  places: z
    .array(
      z.strictObject({
        path: z.string(),
        real: z.string(),
        access: z.string(),
        /** The folder of the user's own skill that contains the path. */
        skill_folder: z.string().optional(),
      }),
    )
    .optional(),
  actor,
  /** The same as in `actor`, for rules and quotas. */
  chat: z.string().optional(),
  user: z.string().optional(),
  sandbox: z.string(),
  /** The skills that restricted the call, and what they allowed. */
  skill: z
    .strictObject({
      names: z.array(z.string()).readonly(),
      tools: z.array(z.string()).readonly(),
      commands: z.array(z.array(z.string()).readonly()).readonly().optional(),
    })
    .optional(),
  hashes: z.record(z.string(), z.string()),
  artifacts,
  reverse_thinking: z.unknown().optional(),
});
export type AuditRecord = z.infer<typeof auditRecord>;
