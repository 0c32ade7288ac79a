import { z } from "zod";
import type { ApprovalState } from "./approval-states.ts";
import { LABELS, RISKS } from "./call.ts";
import { SCOPES } from "./decision.ts";

/** What a grant of a command is bound to. */
const commandBounds = z.strictObject({
  /** Where it runs: a real path. */
  folder: z.string(),
  /** Its words in order: each as it is, or a slot for any number of its kind. */
  words: z.array(z.strictObject({ word: z.string().optional(), slot: z.enum(["path", "address", "text"]).optional() })),
  /** The folder that paths lie below. */
  below: z.string().optional(),
  /** Scheme, host and port of addresses. */
  origin: z.string().optional(),
});
export type CommandBounds = z.infer<typeof commandBounds>;

/**
 * What a grant that lasts longer than one call lets through. `exact`: the same call again, whatever the files hold by
 * then. The others are written as rules are, and never name a carrier such as `bash *`.
 */
const grantPattern = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("exact"), call_digest: z.string() }),
  z.strictObject({
    kind: z.literal("command"),
    tool: z.string(),
    command: z.string(),
    network: z.boolean(),
    /** Also where the policy finds it risky. Left out: only everyday uses. */
    risky: z.boolean().optional(),
    /** Left out in grants of older versions, which said less of what they meant: those let nothing through. */
    bounds: commandBounds.optional(),
  }),
  z.strictObject({
    kind: z.literal("path"),
    tool: z.string(),
    path: z.string(),
    /** Also where it deletes. */
    deletes: z.boolean().optional(),
  }),
  z.strictObject({ kind: z.literal("domain"), tool: z.string(), domain: z.string() }),
  z.strictObject({ kind: z.literal("tool"), tool: z.string() }),
]);
export type GrantPattern = z.infer<typeof grantPattern>;

/** A wider yes that a person may give instead of one to this call, in words that say how wide it is. */
const grantOffer = z.strictObject({
  /** Names it in an answer: "exact", "command", "path" … */
  offer: z.string(),
  words: z.string(),
  pattern: grantPattern,
});
export type GrantOffer = z.infer<typeof grantOffer>;

/** What a person is asked (spec 3, Approval). `digest` binds the answer to exactly this call. */
export const approvalRequest = z.strictObject({
  approval_id: z.string(),
  tool_call_id: z.string(),
  run_id: z.string(),
  trace_id: z.string(),
  task_id: z.string().nullable(),
  chat: z.string().nullable(),
  user: z.string().nullable(),
  tool: z.string(),
  version: z.string(),
  risk: z.enum(RISKS),
  /** Of the tool. Left out where it has none. */
  labels: z.array(z.enum(LABELS)).readonly().optional(),
  reason: z.string(),
  rule: z.string(),
  /** Redacted, control and bidirectional characters made visible. */
  params: z.unknown(),
  /** The arguments to be edited: JSON text, what is hidden in it as JSON escapes. Left out where they hold a secret. */
  args_json: z.string().optional(),
  touches: z.array(z.strictObject({ path: z.string(), access: z.string() })),
  /** Of calls that change files: what would change. Redacted; long ones are cut, and say so. */
  changes: z.array(z.strictObject({ path: z.string(), diff: z.string(), truncated: z.boolean() })).optional(),
  /** Of calls that run commands: each as it was parsed, with what the policy found in it. */
  commands: z
    .array(
      z.strictObject({ command: z.string(), folder: z.string(), network: z.boolean(), found: z.string().optional() }),
    )
    .optional(),
  /** Of calls that run a skill's script: which content. */
  script: z.strictObject({ skill: z.string(), path: z.string(), sha256: z.string() }).optional(),
  /** The scope that an answer has where it names none. */
  scope: z.enum(SCOPES),
  /** What may be granted for longer. The first is the narrowest. */
  offers: z.array(grantOffer),
  digest: z.string(),
  /** The same without what the files hold: what an `exact` grant for longer is bound to. */
  call_digest: z.string(),
  policy_version: z.string(),
  requested_at: z.iso.datetime(),
  expires_at: z.iso.datetime(),
  /** Makes exactly this call once somebody has agreed. Empty where the arguments hold a secret. */
  replay: z.string(),
});
export type ApprovalRequest = z.infer<typeof approvalRequest>;

/** A person's answer to a request for approval. */
export const approvalAnswer = z.strictObject({
  answer: z.enum(["grant", "deny"]),
  /** With `grant`. Default: `call`. */
  scope: z.enum(SCOPES).optional(),
  /** Which of the request's offers, where the scope is wider than `call`. Default: the narrowest. */
  offer: z.string().optional(),
  /** The model is told. */
  reason: z.string().max(2_000).optional(),
  /** Who. */
  by: z.string().max(200).optional(),
  /** Where: "terminal", "http", "telegram" … */
  via: z.string().max(200).optional(),
  /** With `grant`: make the call with these arguments instead. They are judged anew, as a request of their own. */
  args: z.record(z.string(), z.unknown()).optional(),
});
export type ApprovalAnswer = z.infer<typeof approvalAnswer>;

/** A request and what became of it. */
export interface Approval {
  readonly request: ApprovalRequest;
  readonly state: ApprovalState;
  /** Once somebody has answered. */
  readonly answer?: ApprovalAnswer;
  readonly answered_at?: string;
}

/** A yes for longer than one call: who gave it, where and when, and what it lets through. */
const grant = z.strictObject({
  grant_id: z.string(),
  scope: z.enum(["run", "session"]),
  run_id: z.string(),
  /** A chat, or whatever else the host calls one. */
  session: z.string(),
  pattern: grantPattern,
  words: z.string(),
  approval_id: z.string(),
  by: z.string().nullable(),
  via: z.string().nullable(),
  granted_at: z.iso.datetime(),
});
export type Grant = z.infer<typeof grant>;

/** What a reverse-thinking pass delivers (spec 3). */
export const reverseThinking = z.strictObject({
  hidden_assumptions: z.array(z.string()),
  failure_scenarios: z.array(z.string()),
  verdict: z.enum(["proceed", "revise", "abort"]),
  verdict_reason: z.string(),
});
export type ReverseThinking = z.infer<typeof reverseThinking>;
