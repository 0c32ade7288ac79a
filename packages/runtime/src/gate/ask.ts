import type { Approval, ApprovalAnswer, ApprovalRequest } from "../protocol/approval.ts";
import { approvalAnswer } from "../protocol/approval.ts";
import { ToolError } from "../protocol/errors.ts";
import type { GateCall, GateParts } from "./call.ts";
import { waitFor } from "./wait-for.ts";

/** What became of asking: a request that is no longer pending; or nobody is there; or the answer comes later. */
export type Asked = Approval | "nobody" | "parked";

/** Timers go no further. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * Asks here, and listens whether somebody answers elsewhere: the first answer wins, and the others are told. Throws
 * where the call is cancelled; the request is withdrawn then, unless it is another call's.
 */
export async function askPerson(
  call: GateCall,
  parts: GateParts,
  { request, isShared }: { readonly request: ApprovalRequest; readonly isShared: boolean },
): Promise<Asked> {
  const { approvals, onApproval } = parts;
  if (onApproval === undefined) return "nobody";
  const { approval_id } = request;
  const over = new AbortController();
  const timer = setTimeout(
    () => over.abort(new TooLate()),
    Math.max(0, Math.min(LONGEST_MS, Date.parse(request.expires_at) - parts.clock())),
  );
  const first = (): Promise<Asked> => {
    const asking = [prompt(parts, request, over.signal), approvals.wait(approval_id, over.signal)];
    for (const each of asking) each.catch(() => undefined); // told by the race, or no longer wanted
    return Promise.race(asking);
  };
  let asked: Asked | undefined;
  try {
    asked = await waitFor(call, parts, first);
    return asked;
  } catch (error) {
    if (over.signal.reason instanceof TooLate) return await expire(parts, request);
    if (!isShared) await approvals.end(approval_id, "withdrawn");
    throw error;
  } finally {
    clearTimeout(timer);
    over.abort(noLongerWanted(asked));
  }
}

class TooLate extends Error {}

/** The prompt of this process. Its answer counts like any other: where somebody was faster, theirs is given. */
async function prompt(parts: GateParts, request: ApprovalRequest, signal: AbortSignal): Promise<Asked> {
  const { approvals, onApproval } = parts;
  const said = await unlessAborted(signal, () => onApproval?.(request, { signal }) ?? null);
  if (said === null) return "nobody";
  if (said === "parked") return "parked";
  const answered = await approvals.answer(request.approval_id, readAnswer(said, parts));
  if (answered === undefined) throw new Error(`The request "${request.approval_id}" is no longer on record`);
  return answered.approval;
}

/** What somebody writes is kept; edited arguments only until they are used, and exactly as they are. */
function readAnswer(said: unknown, { redactor }: GateParts): ApprovalAnswer {
  const answer = approvalAnswer.parse(said);
  return answer.reason === undefined ? answer : { ...answer, reason: redactor.redact(answer.reason).text };
}

/** A prompt that does not heed its signal is left behind. */
async function unlessAborted<T>(signal: AbortSignal, work: () => Promise<T> | T): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => undefined); // it may be over before
  signal.addEventListener("abort", () => aborted.reject(signal.reason as Error), { once: true });
  return await Promise.race([work(), aborted.promise]);
}

/** Of an answer and the end of the time, too, the first wins. */
async function expire({ approvals }: GateParts, request: ApprovalRequest): Promise<Approval> {
  await approvals.end(request.approval_id, "expired");
  return (await approvals.get(request.approval_id)) ?? { request, state: "expired" };
}

/** What a prompt that is no longer wanted is told. */
function noLongerWanted(asked: Asked | undefined): ToolError {
  if (typeof asked !== "object") return new ToolError("Cancelled", "The call no longer waits for an answer");
  const { by, via } = asked.answer ?? {};
  const who = `${by === undefined ? "" : ` by ${by}`}${via === undefined ? "" : `, over ${via}`}`;
  return new ToolError("Cancelled", `The request was ${asked.state}${who}, so no other answer is wanted`);
}
