import type { FileBefore, FileChange, ToolContext, ToolFiles } from "../../contract/context.ts";
import { ToolError } from "../../protocol/errors.ts";
import type { GateParts } from "../parts.ts";
import { NOTHING_BOUND } from "../stages.ts";
import type { Approved, Identified, Permitted } from "../stages.ts";

/** A call with what it is bound to. */
export interface ApprovedCall {
  readonly call: Permitted;
  readonly parts: GateParts;
  readonly approval: Approved["approval"];
  readonly signal: AbortSignal;
}

/** Something changed since the approval, so it no longer applies. */
export function staleApproval({ tool }: Identified, changed: readonly string[]): ToolError {
  const what = changed.length === 0 ? "something it depends on has changed" : changed.join("; ");
  const message = `Cannot run "${tool.name}" as approved: since the request, ${what}, so nothing was done`;
  const hint = "Check the current state, then repeat the call to request a new approval.";
  return new ToolError("Stale", message, { changed, hint });
}

/** Only approved content is changed: verified again under the lock of the change itself. */
export function bindFiles(files: ToolFiles, approved: ApprovedCall): ToolFiles {
  return {
    ...files,
    async change(paths, plan) {
      let bytes = 0;
      const changed = await files.change(paths, async (befores) => {
        for (const before of befores) await refuseOtherBase(before, approved);
        const changes = await plan(befores);
        bytes = changes.reduce((sum, change) => sum + bytesOf(change), 0);
        return changes;
      });
      if (changed.files.length > 0) approved.call.attempt.bytes_written += bytes;
      return changed;
    },
  };
}

async function refuseOtherBase(before: FileBefore, { call, parts, approval, signal }: ApprovedCall): Promise<void> {
  const { bases } = approval ?? NOTHING_BOUND;
  const touch = call.touches.find(({ path, real }) => path === before.path && real in bases);
  if (touch === undefined) return;
  const base = bases[touch.real] ?? null;
  const isContent = base === null || base.startsWith("sha256:");
  const found = before.facts === null ? null : `sha256:${await before.sha256()}`;
  const now = isContent ? found : await parts.baseOf(touch.real, signal);
  if (now !== base) throw staleApproval(call, [`"${before.path}" has changed`]);
}

/** The same for restored files: each is compared again right before it is restored. */
export async function refuseOtherBases({ call, parts, approval, signal }: ApprovedCall): Promise<void> {
  for (const [real, base] of Object.entries((approval ?? NOTHING_BOUND).bases)) {
    if ((await parts.baseOf(real, signal)) === base) continue;
    const path = call.touches.find((touch) => touch.real === real)?.path ?? real;
    throw staleApproval(call, [`"${path}" has changed`]);
  }
}

function bytesOf(change: FileChange): number {
  if ("content" in change) return change.content.length;
  return "append" in change ? change.append.length : 0;
}

/** Records which skills are read. A script runs only from a copy with the approved content. */
export function bindSkills(skills: ToolContext["skills"], { call, approval }: ApprovedCall): ToolContext["skills"] {
  const { attempt } = call;
  const { script: approved } = approval ?? NOTHING_BOUND;
  const noting: ToolContext["skills"] = {
    ...skills,
    async read(reference) {
      const found = await skills.read(reference);
      attempt.read_skills = [...attempt.read_skills, found.skill];
      return found;
    },
    async openFile(reference, path) {
      const found = await skills.openFile(reference, path);
      attempt.read_skills = [...attempt.read_skills, found.skill];
      return found;
    },
  };
  if (approved === null) return noting;
  return {
    ...noting,
    async openScript(reference, script) {
      const ready = await skills.openScript(reference, script);
      if (ready.skill.digest === approved.skill_digest && ready.script.sha256 === approved.sha256) return ready;
      ready.close();
      throw staleApproval(call, ["the script changed"]);
    },
  };
}
