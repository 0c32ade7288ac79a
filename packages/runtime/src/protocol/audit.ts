import { z } from "zod";
import { LABELS, PERMISSIONS, RISKS } from "./call.ts";
import { EFFECTS, SCOPES } from "./decision.ts";
import { artifacts } from "./result.ts";

/** Who asked for a call, and by what way. Null: there is none, or it is not known. */
const actor = z.strictObject({
  user: z.string().nullable(),
  chat: z.string().nullable(),
  /** `library`, `terminal`, `cli`, `http`, `telegram`, or what a host calls its own. */
  channel: z.string(),
  model: z.string().nullable(),
  host: z.string(),
});
export type Actor = z.infer<typeof actor>;

/** Longer names say nothing more to a reader of the record. */
const LONGEST_NAME = 200;

export function boundActor({ user, chat, channel, model, host }: Actor): Actor {
  return { user: bound(user), chat: bound(chat), channel: bound(channel), model: bound(model), host: bound(host) };
}

function bound<T extends string | null>(text: T): T {
  return text === null ? text : (text.toWellFormed().slice(0, LONGEST_NAME) as T);
}

/** One record for every call, a refused one too (spec 1). It stands in the event that ends the call, so the chain covers it. */
export const auditRecord = z.strictObject({
  trace_id: z.string(),
  tool_call_id: z.string(),
  tool: z.string(),
  version: z.string().nullable(),
  risk: z.enum(RISKS).nullable(),
  operation: z.string().nullable(),
  /** Of the tool. Left out where it has none. */
  labels: z.array(z.enum(LABELS)).readonly().optional(),
  ts_start: z.iso.datetime(),
  ts_end: z.iso.datetime(),
  duration_ms: z.number(),
  params: z.unknown(),
  /** What the caller asked for. Left out: whatever the call needs. */
  requested_permissions: z.array(z.enum(PERMISSIONS)).readonly().optional(),
  result: z.strictObject({
    ok: z.boolean(),
    exit_code: z.int().nullable(),
    error_code: z.string().nullable(),
    stdout_ref: z.string().nullable(),
  }),
  policy: z.strictObject({
    /** Null when the call was refused before the policy was asked. */
    decision: z.enum(EFFECTS).nullable(),
    rule: z.string().nullable(),
    approved: z.boolean().nullable(),
    approval_scope: z.enum(SCOPES).nullable(),
    approved_by: z.string().nullable(),
  }),
  /** Where the paths of the call led when it was judged; with it the decision can be made again over the record. */
  places: z
    .array(
      z.strictObject({
        path: z.string(),
        real: z.string(),
        access: z.string(),
        /** The folder of the user's own skill that it was read in. */
        skill_folder: z.string().optional(),
      }),
    )
    .optional(),
  actor,
  /** The same as in `actor`, where rules and quotas speak of them. */
  chat: z.string().optional(),
  user: z.string().optional(),
  sandbox: z.string(),
  /** The skills that restricted the call, and what they left. */
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
