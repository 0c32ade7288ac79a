import type { Approval, ApprovalAnswer, ApprovalRequest } from "../../protocol/approval.ts";
import { approvalAnswer } from "../../protocol/approval.ts";
import { ToolError } from "../../protocol/errors.ts";
import { unlessAborted } from "../../protocol/pause.ts";
import type { GateParts } from "../parts.ts";
import { waitFor } from "../stages.ts";
import type { Permitted } from "../stages.ts";

/**
 * Result of asking: a request that is no longer pending, `unavailable` if no one can answer, or `parked` if the answer
 * comes later.
 */
export type AskOutcome = Approval | "unavailable" | "parked";

/** Maximum delay of a timer. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * Asks in this process and waits for answers from elsewhere: the first answer wins, and the other prompts are
 * cancelled. Throws if the call is cancelled; then the request is withdrawn, unless it belongs to another call.
 */
export async function askPerson(
  call: Permitted,
  parts: GateParts,
  { request, isShared }: { readonly request: ApprovalRequest; readonly isShared: boolean },
): Promise<AskOutcome> {
  const { approvals, onApproval } = parts;
  if (onApproval === undefined) return "unavailable";
  const { approval_id } = request;
  const over = new AbortController();
  const timer = setTimeout(
    () => over.abort(new ApprovalTimeout()),
    Math.max(0, Math.min(LONGEST_MS, Date.parse(request.expires_at) - parts.clock())),
  );
  const first = (): Promise<AskOutcome> => {
    const asking = [prompt(parts, request, over.signal), approvals.wait(approval_id, over.signal)];
    for (const each of asking) each.catch(() => undefined); // reported by the race, or no longer needed
    return Promise.race(asking);
  };
  let outcome: AskOutcome | undefined;
  try {
    outcome = await waitFor(call, parts.clock, first);
    return outcome;
  } catch (error) {
    if (over.signal.reason instanceof ApprovalTimeout) return await expire(parts, request);
    if (!isShared) await approvals.end(approval_id, "withdrawn");
    throw error;
  } finally {
    clearTimeout(timer);
    over.abort(noLongerWanted(outcome));
  }
}

class ApprovalTimeout extends Error {}

/** The prompt of this process. If another answer came first, returns that one. */
async function prompt(parts: GateParts, request: ApprovalRequest, signal: AbortSignal): Promise<AskOutcome> {
  const { approvals, onApproval } = parts;
  const asking = async (): Promise<unknown> => (await onApproval?.(request, { signal })) ?? null;
  const said = await unlessAborted(asking(), signal); // a prompt may ignore its signal
  if (said === null) return "unavailable";
  if (said === "parked") return "parked";
  const answered = await approvals.answer(request.approval_id, readAnswer(said, parts));
  if (answered === undefined) throw new Error(`The request "${request.approval_id}" is no longer on record`);
  return answered.approval;
}

/** The reason is stored redacted; edited arguments are stored verbatim, and only until they are used. */
function readAnswer(said: unknown, { redactor }: GateParts): ApprovalAnswer {
  const answer = approvalAnswer.parse(said);
  return answer.reason === undefined ? answer : { ...answer, reason: redactor.redact(answer.reason).text };
}

/** If an answer comes at the same time, the first of the two wins. */
async function expire({ approvals }: GateParts, request: ApprovalRequest): Promise<Approval> {
  await approvals.end(request.approval_id, "expired");
  return (await approvals.get(request.approval_id)) ?? { request, state: "expired" };
}

/** The abort reason for a prompt that is no longer needed. */
function noLongerWanted(outcome: AskOutcome | undefined): ToolError {
  if (typeof outcome !== "object") return new ToolError("Cancelled", "The call no longer waits for approval");
  const { by, via } = outcome.answer ?? {};
  const who = `${by === undefined ? "" : ` by ${by}`}${via === undefined ? "" : `, via ${via}`}`;
  return new ToolError("Cancelled", `The request was ${outcome.state}${who}, so no other answer is needed`);
}
