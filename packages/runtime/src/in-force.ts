import { callOnce } from "./runs/call-claims.ts";
import type { Tool } from "./contract/tool.ts";
import type { ActiveSkills } from "./gate/steps/active-skills.ts";
import type { CallOptions, DecidingParts } from "./gate/parts.ts";
import type { IncomingCall } from "./gate/steps/open-call.ts";
import { unopenedResult } from "./gate/steps/record-end.ts";
import type { WorkspaceContext } from "./policy/decide.ts";
import { isInForce } from "./policy/tools-in-force.ts";
import type { ToolCallInput } from "./protocol/call.ts";
import { ToolError } from "./protocol/errors.ts";
import type { ToolCallResult } from "./protocol/result.ts";
import type { Run, Runs } from "./runs/runs.ts";
import type { Runtime } from "./options/runtime-options.ts";
import { describeTool } from "./tool-info.ts";
import type { ToolInfo } from "./tool-info.ts";

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

/**
 * Called for every model request, so the descriptions are cached until a tool is registered or a skill becomes active.
 */
export function toolsInForce({ registry, settings }: DecidingParts, active: ActiveSkills): Runtime["tools"] {
  const known = new WeakMap<
    WorkspaceContext,
    { readonly of: readonly Tool[]; readonly described: readonly ToolInfo[] }
  >();
  return ({ task_id = null } = {}) => {
    const all = registry.all();
    const workspace = active.workspaceFor(task_id);
    const last = known.get(workspace);
    if (last?.of === all) return last.described;
    const inForce = all.filter((tool) => isInForce(tool, workspace, settings).inForce);
    const described = inForce.map((tool) => describeTool(tool, workspace.roots));
    known.set(workspace, { of: all, described });
    return described;
  };
}
