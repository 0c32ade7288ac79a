import { z } from "zod";
import type { ApprovalState } from "./approval-states.ts";
import { LABELS, RISKS } from "./call.ts";
import { SCOPES } from "./decision.ts";

/** What a command grant is bound to. */
const commandBounds = z.strictObject({
  /** Working folder: a real path. */
  folder: z.string(),
  /** The words in order: each literal, or a slot for any number of its kind. */
  words: z.array(z.strictObject({ word: z.string().optional(), slot: z.enum(["path", "address", "text"]).optional() })),
  /** The folder that contains the paths. */
  below: z.string().optional(),
  /** Scheme, host and port of addresses. */
  origin: z.string().optional(),
});
export type CommandBounds = z.infer<typeof commandBounds>;

/**
 * What a grant for more than one call allows. `exact`: the same call again, whatever the files contain by then. The
 * others are written like rules, and never name a command that runs other commands, such as `bash *`.
 */
const grantPattern = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("exact"), call_digest: z.string() }),
  z.strictObject({
    kind: z.literal("command"),
    tool: z.string(),
    command: z.string(),
    network: z.boolean(),
    /** Also uses that the policy finds risky. Omitted: only everyday uses. */
    risky: z.boolean().optional(),
    /** Missing in grants of older versions, which were less specific: those allow nothing. */
    bounds: commandBounds.optional(),
  }),
  z.strictObject({
    kind: z.literal("path"),
    tool: z.string(),
    path: z.string(),
    /** Also deletion. */
    deletes: z.boolean().optional(),
  }),
  z.strictObject({ kind: z.literal("domain"), tool: z.string(), domain: z.string() }),
  z.strictObject({ kind: z.literal("tool"), tool: z.string() }),
]);
export type GrantPattern = z.infer<typeof grantPattern>;

/** A wider approval that a person may give instead of one for this call, with a description of its scope. */
const grantOffer = z.strictObject({
  /** Its name in an answer: "exact", "command", "path" … */
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
  /** Labels of the tool. Omitted if it has none. */
  labels: z.array(z.enum(LABELS)).readonly().optional(),
  reason: z.string(),
  rule: z.string(),
  /** Redacted; control and bidirectional characters escaped. */
  params: z.unknown(),
  /** The arguments for editing: JSON text with hidden characters as JSON escapes. Omitted if they contain a secret. */
  args_json: z.string().optional(),
  touches: z.array(z.strictObject({ path: z.string(), access: z.string() })),
  /** For calls that change files: the planned changes. Redacted; long ones are truncated and marked as such. */
  changes: z.array(z.strictObject({ path: z.string(), diff: z.string(), truncated: z.boolean() })).optional(),
  /** For calls that run commands: each parsed command, with the findings of the policy. */
  commands: z
    .array(
      z.strictObject({ command: z.string(), folder: z.string(), network: z.boolean(), found: z.string().optional() }),
    )
    .optional(),
  /** For calls that run a skill script: its content. */
  script: z.strictObject({ skill: z.string(), path: z.string(), sha256: z.string() }).optional(),
  /** Default scope of an answer. */
  scope: z.enum(SCOPES),
  /** Longer-lasting grants on offer. The first is the narrowest. */
  offers: z.array(grantOffer),
  digest: z.string(),
  /** The same without file contents: an `exact` grant for longer is bound to it. */
  call_digest: z.string(),
  policy_version: z.string(),
  requested_at: z.iso.datetime(),
  expires_at: z.iso.datetime(),
  /** Command line that makes exactly this call once it is approved. Empty if the arguments contain a secret. */
  replay: z.string(),
});
export type ApprovalRequest = z.infer<typeof approvalRequest>;

/** A person's answer to an approval request. */
export const approvalAnswer = z.strictObject({
  answer: z.enum(["grant", "deny"]),
  /** With `grant`. Default: `call`. */
  scope: z.enum(SCOPES).optional(),
  /** Which of the request's offers, if the scope is wider than `call`. Default: the narrowest. */
  offer: z.string().optional(),
  /** Shown to the model. */
  reason: z.string().max(2_000).optional(),
  /** Who answered. */
  by: z.string().max(200).optional(),
  /** Where: "terminal", "http", "telegram" … */
  via: z.string().max(200).optional(),
  /** With `grant`: make the call with these arguments instead. They are evaluated again, as a separate request. */
  args: z.record(z.string(), z.unknown()).optional(),
});
export type ApprovalAnswer = z.infer<typeof approvalAnswer>;

/** A request and its outcome. */
export interface Approval {
  readonly request: ApprovalRequest;
  readonly state: ApprovalState;
  /** Set once it was answered. */
  readonly answer?: ApprovalAnswer;
  readonly answered_at?: string;
}

/** An approval for longer than one call: who gave it, where and when, and what it allows. */
const grant = z.strictObject({
  grant_id: z.string(),
  scope: z.enum(["run", "session"]),
  run_id: z.string(),
  /** A chat, or whatever the host uses as a session. */
  session: z.string(),
  pattern: grantPattern,
  words: z.string(),
  approval_id: z.string(),
  by: z.string().nullable(),
  via: z.string().nullable(),
  granted_at: z.iso.datetime(),
});
export type Grant = z.infer<typeof grant>;

/** The result of reverse thinking (spec 3). */
export const reverseThinking = z.strictObject({
  hidden_assumptions: z.array(z.string()),
  failure_scenarios: z.array(z.string()),
  verdict: z.enum(["proceed", "revise", "abort"]),
  verdict_reason: z.string(),
});
export type ReverseThinking = z.infer<typeof reverseThinking>;
