import { z } from "zod";
import { RISKS } from "./call.ts";
import { EFFECTS, SCOPES } from "./decision.ts";
import { artifacts } from "./result.ts";

/** One record for every call, a refused one too (spec 1). It stands in the event that ends the call, so the chain covers it. */
export const auditRecord = z.strictObject({
  trace_id: z.string(),
  tool_call_id: z.string(),
  tool: z.string(),
  version: z.string().nullable(),
  risk: z.enum(RISKS).nullable(),
  operation: z.string().nullable(),
  ts_start: z.iso.datetime(),
  ts_end: z.iso.datetime(),
  duration_ms: z.number(),
  params: z.unknown(),
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
  places: z.array(z.strictObject({ path: z.string(), real: z.string(), access: z.string() })).optional(),
  /** Who asked, and where, if that is known. */
  chat: z.string().optional(),
  user: z.string().optional(),
  sandbox: z.string(),
  hashes: z.record(z.string(), z.string()),
  artifacts,
  reverse_thinking: z.unknown().optional(),
});
export type AuditRecord = z.infer<typeof auditRecord>;
