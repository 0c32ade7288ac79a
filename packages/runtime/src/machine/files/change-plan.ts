import type { FileBefore, FileChange, ToolFiles } from "../../contract/context.ts";
import type { ResolvedTouch } from "../../policy/decide.ts";
import { ToolError } from "../../protocol/errors.ts";
import type { Target } from "../system/target.ts";

/** Computes the changes from the current files. Runs again if another process changes one of them meanwhile. */
export type ChangePlan = Parameters<ToolFiles["change"]>[1];

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

export function findDeclaredTouch(path: string, touches: readonly ResolvedTouch[]): ResolvedTouch {
  const touch = touches.find((each) => each.path === path && (each.access === "write" || each.access === "delete"));
  if (touch !== undefined) return touch;
  throw new ToolError("PathTraversalBlocked", `Cannot change "${path}": the call did not declare this access`, {
    path,
  });
}

/** A change that the call was allowed to make, with its target. */
interface PlannedChange {
  readonly target: Target;
  readonly change: FileChange;
}

export function checkPlan(
  changes: readonly FileChange[],
  targets: readonly Target[],
  touches: readonly ResolvedTouch[],
): readonly PlannedChange[] {
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
