import type { Changed, FileBefore, FileChange, ToolFiles } from "../../contract/context.ts";
import type { ResolvedTouch } from "../../policy/decide.ts";
import { ToolError } from "../../protocol/errors.ts";
import { Attempt } from "./attempt.ts";
import type { ChangeParts, ChangeRequest } from "./attempt.ts";
import type { Target } from "../system/target.ts";

export type Plan = Parameters<ToolFiles["change"]>[1];

export interface Wish {
  readonly wanted: readonly { readonly path: string; readonly real: string }[];
  readonly plan: Plan;
}

/**
 * One attempt at a change with the paths locked: examine, plan, stage, record, sync, commit. A failure before the
 * commit leaves the files unchanged and no temporary files. Throws `ChangedMeanwhile` if the attempt must be retried.
 */
export async function changeOnce(parts: ChangeParts, request: ChangeRequest, { wanted, plan }: Wish): Promise<Changed> {
  const attempt = new Attempt(parts, request);
  try {
    const targets = wanted.map(({ path, real }) => attempt.look(path, real));
    const changes = checkPlan(await plan(targets.map(asBefore)), targets, request.touches);
    for (const { target, change } of changes) await attempt.stage(target, change);
    return await attempt.finish();
  } catch (error) {
    attempt.cleanUp(error);
    throw error;
  } finally {
    attempt.close();
  }
}

/** The view of a target that a tool gets. */
export function asBefore(target: Target): FileBefore {
  const { path, facts } = target;
  return {
    path,
    facts,
    read: () => target.read(),
    readEnd: (length) => target.readEnd(length),
    sha256: () => target.sha256(),
  };
}

export function declaredFor(path: string, touches: readonly ResolvedTouch[]): ResolvedTouch {
  const touch = touches.find((each) => each.path === path && (each.access === "write" || each.access === "delete"));
  if (touch !== undefined) return touch;
  throw new ToolError("PathTraversalBlocked", `Cannot change "${path}": the call did not declare this access`, {
    path,
  });
}

interface Step {
  readonly target: Target;
  readonly change: FileChange;
}

export function checkPlan(
  changes: readonly FileChange[],
  targets: readonly Target[],
  touches: readonly ResolvedTouch[],
): readonly Step[] {
  const byReal = new Map<string, string>();
  return changes.map((change) => {
    const { path } = change;
    const target = targets.find((each) => each.path === path);
    const accesses = "remove" in change ? ["write", "delete"] : ["write"];
    if (target === undefined || !touches.some((each) => each.path === path && accesses.includes(each.access))) {
      throw new ToolError("PathTraversalBlocked", `Cannot change "${path}": the call did not declare this access`, {
        path,
      });
    }
    const other = byReal.get(target.real);
    if (other !== undefined) {
      throw new ToolError(
        "InvalidArguments",
        `Cannot change "${other}" and "${path}" at once: they are the same file`,
        { path, other },
      );
    }
    byReal.set(target.real, path);
    return { target, change };
  });
}
