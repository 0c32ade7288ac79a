import { hash } from "node:crypto";
import { canonicalJson } from "../protocol/canonical.ts";
import { makeVisible } from "../output/visible.ts";
import type { ApprovalAnswer, ApprovalRequest } from "../protocol/approval.ts";
import { ToolError } from "../protocol/errors.ts";
import { makeId } from "../protocol/ids.ts";
import type { GateCall, GateParts } from "./call.ts";
import { draftEvent, need, pathsOf } from "./call.ts";
import { hookCall } from "./reverse-thinking.ts";

/** Step 6: the checkpoint handler of the host; else a person, where the decision asks for one. */
export async function getApproval(call: GateCall, parts: GateParts): Promise<void> {
  if (need(call.tool, "tool").requires_checkpoint) return await passCheckpoint(call, parts);
  if (need(call.decision, "decision").effect !== "REQUIRE_CONFIRMATION") return;
  const digest = digestOf(call, parts);
  const granted = parts.grants.find(digest);
  if (granted !== undefined) {
    call.approval = { approved: true, ...granted };
    return;
  }
  await askPerson(call, parts, digest);
}

/** The handler's yes is the yes of the person that it stands for: nobody is asked twice about one call. */
async function passCheckpoint(call: GateCall, { onCheckpoint }: GateParts): Promise<void> {
  const tool = need(call.tool, "tool");
  // Policy has refused a checkpoint tool without a handler in step 4.
  const answer = await need(onCheckpoint, "checkpoint handler")(hookCall(call));
  if (answer.answer === "grant") {
    call.approval = { approved: true, scope: "call", by: answer.by ?? null };
    return;
  }
  call.approval = { approved: false, scope: null, by: answer.by ?? null };
  throw new ToolError("CheckpointDenied", `Cannot run "${tool.name}": the checkpoint said no${because(answer.reason)}`);
}

async function askPerson(call: GateCall, parts: GateParts, digest: string): Promise<void> {
  const request = describeRequest(call, parts, digest);
  const { onApproval, journal, clock } = parts;
  if (onApproval === undefined) throw approvalRequired(call, request);
  const about = {
    tool_call_id: request.tool_call_id,
    approval_id: request.approval_id,
    tool_name: request.tool,
    digest,
  };
  await journal.append([
    draftEvent(
      call,
      "approval_required",
      { ...about, reason: request.reason, rule: request.rule, expires_at: request.expires_at },
      clock(),
    ),
  ]);
  const answer = await answerInTime(call, parts, request);
  if (answer === null) throw approvalRequired(call, request);
  const { answer: verdict, scope = "call", by = null, reason } = answer;
  call.approval = { approved: verdict === "grant", scope: verdict === "grant" ? scope : null, by };
  const type = verdict === "grant" ? "approval_granted" : "approval_denied";
  await journal.append(
    [draftEvent(call, type, { ...about, scope, by, reason: parts.redactor.redact(reason ?? "").text }, clock())],
    { durable: true },
  );
  if (verdict === "deny")
    throw new ToolError("ApprovalDenied", `Cannot run "${request.tool}": a person said no${because(reason)}`);
  parts.grants.add(digest, { scope, by });
}

/** Waits for the answer, for a cancel, and no longer than the request is good for. */
async function answerInTime(
  call: GateCall,
  parts: GateParts,
  request: ApprovalRequest,
): Promise<ApprovalAnswer | null> {
  const timeout = AbortSignal.timeout(parts.approval_timeout_ms);
  const signal = call.options.signal === undefined ? timeout : AbortSignal.any([timeout, call.options.signal]);
  const stopped = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    if (signal.aborted) reject(signal.reason as Error);
  });
  try {
    const answer = await Promise.race([need(parts.onApproval, "approver")(request, { signal }), stopped]);
    return answer === null ? null : await checkAnswer(answer);
  } catch (error) {
    if (!timeout.aborted) throw error;
    throw new ToolError(
      "ApprovalExpired",
      `Cannot run "${request.tool}": nobody answered until ${request.expires_at}`,
      { approval_id: request.approval_id },
    );
  }
}

/** Loaded when somebody answers: most processes ask nobody, and start faster without. */
async function checkAnswer(answer: unknown): Promise<ApprovalAnswer> {
  const { approvalAnswer } = await import("../protocol/approval.ts");
  return approvalAnswer.parse(answer);
}

function approvalRequired(call: GateCall, request: ApprovalRequest): ToolError {
  const { digest, approval_id, replay } = request;
  return new ToolError(
    "ApprovalRequired",
    `Cannot run "${request.tool}" unasked: ${need(call.decision, "decision").reason}`,
    { digest, approval_id, replay },
  );
}

function describeRequest(call: GateCall, parts: GateParts, digest: string): ApprovalRequest {
  const tool = need(call.tool, "tool");
  const { reason, rule, scope = "call" } = need(call.decision, "decision");
  const now = parts.clock();
  const shown = JSON.stringify(call.params);
  return {
    approval_id: makeId("apr", now),
    tool_call_id: call.request.tool_call_id,
    run_id: call.request.run_id,
    tool: tool.name,
    version: tool.version,
    risk: need(call.risk, "risk"),
    reason,
    rule,
    params: JSON.parse(makeVisibleJson(shown)) as unknown,
    touches: pathsOf(call).map(({ path, access }) => ({ path: makeVisible(path), access })),
    scope,
    digest,
    expires_at: new Date(now + parts.approval_timeout_ms).toISOString(),
    replay: call.params_redacted ? "" : `autonous call ${tool.name} ${quoteForShell(shown)} --approve ${digest}`,
  };
}

/** Hidden characters inside JSON text, made visible without breaking the JSON. */
function makeVisibleJson(json: string): string {
  return JSON.stringify(
    JSON.parse(json, (_, value: unknown) => (typeof value === "string" ? makeVisible(value) : value)),
  );
}

/** Binds an answer to this tool, version, arguments, places and policy (spec 3, Approval). */
function digestOf(call: GateCall, { cwd, policyVersion }: GateParts): string {
  const { name, version } = need(call.tool, "tool");
  const places = call.touches.map(({ real, access }) => ({ real, access }));
  return hash(
    "sha256",
    canonicalJson({ tool: name, version, args: call.args, cwd, places, policy_version: policyVersion() }),
    "hex",
  );
}

function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function because(reason: string | undefined): string {
  return reason === undefined || reason === "" ? "" : `: ${reason}`;
}
