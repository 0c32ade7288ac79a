import { z } from "zod";
import { RISKS } from "./call.ts";
import { SCOPES } from "./decision.ts";

/** What a person is asked (spec 3, Approval). `digest` binds the answer to exactly this call. */
export const approvalRequest = z.strictObject({
  approval_id: z.string(),
  tool_call_id: z.string(),
  run_id: z.string(),
  tool: z.string(),
  version: z.string(),
  risk: z.enum(RISKS),
  reason: z.string(),
  rule: z.string(),
  /** Redacted, control and bidirectional characters made visible. */
  params: z.unknown(),
  touches: z.array(z.strictObject({ path: z.string(), access: z.string() })),
  scope: z.enum(SCOPES),
  digest: z.string(),
  expires_at: z.iso.datetime(),
  replay: z.string(),
});
export type ApprovalRequest = z.infer<typeof approvalRequest>;

export const approvalAnswer = z.strictObject({
  answer: z.enum(["grant", "deny"]),
  scope: z.enum(SCOPES).optional(),
  reason: z.string().optional(),
  by: z.string().optional(),
});
export type ApprovalAnswer = z.infer<typeof approvalAnswer>;

/** What a reverse-thinking pass delivers (spec 3). */
export const reverseThinking = z.strictObject({
  hidden_assumptions: z.array(z.string()),
  failure_scenarios: z.array(z.string()),
  verdict: z.enum(["proceed", "revise", "abort"]),
  verdict_reason: z.string(),
});
export type ReverseThinking = z.infer<typeof reverseThinking>;
