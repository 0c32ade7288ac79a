import type { CallState } from "../contract/journal.ts";
import { runGate } from "../gate/gate.ts";
import type { CallOptions, DecidingParts, GateParts } from "../gate/parts.ts";
import type { IncomingCall } from "../gate/steps/open-call.ts";
import { unopenedResult } from "../gate/steps/record-end.ts";
import type { ToolCallInput } from "../protocol/call.ts";
import { ToolError } from "../protocol/errors.ts";
import { makeId } from "../protocol/ids.ts";
import type { ToolCallResult } from "../protocol/result.ts";
import type { Run, Runs } from "./runs.ts";

interface CallerParts {
  readonly open: (request: unknown) => IncomingCall;
  readonly runs: Runs;
  readonly shared: DecidingParts;
  readonly looking: boolean;
}

type Caller = (
  request: ToolCallInput,
  options?: CallOptions,
  /** `byPerson`: the call does not come from an agent, so no skill restricts it. */
  how?: { readonly byPerson?: boolean },
) => Promise<ToolCallResult>;

/** Makes calls, each restricted by the active skills of its task. */
export function makeCaller({ open, runs, shared, looking }: CallerParts): Caller {
  return async (request, options = {}, { byPerson = false } = {}) => {
    const opened = open(request);
    try {
      if (looking) throw onlyLooking();
      return await runs.use(opened.request.run_id, (run) => {
        const narrowed = byPerson ? {} : workspaceOf(opened, run);
        return callOnce(opened, options, { ...shared, ...run, ...narrowed });
      });
    } catch (error) {
      return unopenedResult(opened, error, shared.redactor); // the gate itself never throws
    }
  };
}

function onlyLooking(): ToolError {
  return new ToolError("InvalidArguments", 'Cannot call a tool: the runtime was created with "looking"');
}

/** The workspace with the tools that the active skills allow for the task of this call. */
export function workspaceOf(
  { request }: IncomingCall,
  { active }: Pick<Run, "active">,
): Pick<DecidingParts, "workspace"> {
  return { workspace: active.workspaceFor(request.task_id ?? null) };
}

type Parts = GateParts & Pick<Run, "calls">;

/**
 * Makes a call at most once per id: an id that this run has used or is using is refused. Exceptions: a call that waits
 * for a person is repeated under its id, and so is an interrupted call of an idempotent tool when its run is resumed.
 */
async function callOnce(opened: IncomingCall, options: CallOptions, parts: Parts): Promise<ToolCallResult> {
  const { request, is_id_given = false } = opened;
  const { tool_call_id, name } = request;
  if (!is_id_given) return await runGate(opened, options, parts);
  if (parts.calls.has(tool_call_id)) return await runGateRefused(opened, "running", { options, parts });
  parts.calls.add(tool_call_id);
  try {
    const state = await parts.journal.callState?.(tool_call_id);
    const mayRun = state === undefined || (state === "open" && parts.registry.get(name)?.idempotent === true);
    if (!mayRun) return await runGateRefused(opened, state, { options, parts });
    return await runGate(opened, options, parts);
  } finally {
    parts.calls.delete(tool_call_id);
  }
}

const WHY: Readonly<Record<CallState | "running", string>> = {
  running: "a call of this run with that id is running",
  open: "a call of this run with that id has started, but its end was not recorded",
  ended: "a call of this run with that id has ended",
};

/** Recorded under a new id, so that the record of the first call is not changed. */
async function runGateRefused(
  { request }: IncomingCall,
  state: CallState | "running",
  { options, parts }: { readonly options: CallOptions; readonly parts: Parts },
): Promise<ToolCallResult> {
  const { tool_call_id, name } = request;
  const why = `Cannot run ${JSON.stringify(name)} as "${tool_call_id}": ${WHY[state]}`;
  const hint = "Use a new tool_call_id for each call, or leave it out.";
  const refusal = new ToolError("InvalidArguments", why, { field: "tool_call_id", tool_call_id, hint });
  const fresh = { ...request, tool_call_id: makeId("call", parts.clock()) };
  return { ...(await runGate({ request: fresh, refusal }, options, parts)), tool_call_id };
}
