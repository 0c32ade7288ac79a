import { isDeepStrictEqual } from "node:util";
import type { ToolCallResult } from "@autonous/runtime";
import type { Files, Tree, Workspace } from "./workspace.ts";

export interface Verdict {
  readonly id: string;
  readonly name: string;
  /** Undefined where the case came out as it says. */
  readonly differs?: { readonly expected: string; readonly got: string };
  /** The tool that the case is for, where the runtime does not have it. */
  readonly missing?: string;
}

/** One possible result of a case. */
export interface Expected {
  readonly ok: boolean;
  /** Where it is ok: the contents of these files afterwards. */
  readonly files_after?: Files;
  readonly absent_after?: readonly string[];
}

export function describeResult({ ok, error, payload }: ToolCallResult): string {
  return ok ? `ok ${JSON.stringify(payload?.stdout ?? "")}` : `${error?.code}: ${error?.message}`;
}

/** Why a call that changes files has not the expected result; undefined if it has. A refusal changes nothing. */
function faultOf(
  expected: Expected,
  { result, before, after }: { readonly result: ToolCallResult; readonly before: Tree; readonly after: Tree },
): string | undefined {
  if (result.ok !== expected.ok) return describeResult(result);
  if (!expected.ok) return isDeepStrictEqual(before, after) ? undefined : `refused, but files changed: ${list(after)}`;
  for (const [name, content] of Object.entries(expected.files_after ?? {})) {
    if (name.endsWith("/") || typeof content !== "string") continue;
    const got = after[`work/${name}`];
    if (got !== Buffer.from(content).toString("latin1")) return `${name} = ${JSON.stringify(got)}`;
  }
  const there = (expected.absent_after ?? []).find((name) => after[`work/${name}`] !== undefined);
  return there === undefined ? undefined : `${there} is still there`;
}

/** Makes a call that changes files and compares it with every possible result. */
export async function judgeChange(
  { id, name }: { readonly id: string; readonly name: string },
  { tool, args, any_of }: { readonly tool: string; readonly args: unknown; readonly any_of: readonly Expected[] },
  workspace: Workspace,
): Promise<Verdict> {
  if (!workspace.has(tool)) return { id, name, missing: tool };
  const before = workspace.tree();
  const result = await workspace.call(tool, args);
  const after = workspace.tree();
  const faults = any_of.map((expected) => faultOf(expected, { result, before, after }));
  if (faults.includes(undefined)) return { id, name };
  const expected = any_of.map((each) => (each.ok ? JSON.stringify(each.files_after ?? {}) : "a refusal")).join(" or ");
  return { id, name, differs: { expected, got: faults[0] ?? "" } };
}

function list(tree: Tree): string {
  return Object.keys(tree).join(", ");
}
