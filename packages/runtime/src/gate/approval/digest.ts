import { hash } from "node:crypto";
import { canonicalJson } from "../../protocol/canonical.ts";
import type { DecidingParts } from "../parts.ts";
import type { Admitted } from "../stages.ts";

/**
 * Everything that an answer is bound to (spec 3, Approval). Contains no id and no time, so that another process can
 * repeat the call.
 */
export interface Binding {
  readonly tool: string;
  readonly version: string;
  readonly args: unknown;
  readonly cwd: string;
  readonly places: readonly { readonly real: string; readonly access: string }[];
  readonly script: BoundScript | undefined;
  /** The sandbox for commands. Undefined if no command would run. */
  readonly sandbox: string | undefined;
  readonly policy_version: string;
}

/** For calls that run a skill script: the hash of the script and of the skill's other files. */
export interface BoundScript {
  readonly skill: string;
  readonly path: string;
  readonly sha256: string;
  readonly skill_digest: string;
}

/** Fingerprint of each file that would change. See `DecidingParts.baseOf`. */
export type Bases = Readonly<Record<string, string | null>>;

export async function boundCall(call: Admitted, parts: DecidingParts): Promise<BoundCall> {
  return { binding: await bindCall(call, parts), bases: await findBases(call, parts) };
}

export async function bindCall(call: Admitted, parts: DecidingParts): Promise<Binding> {
  const { name, version, required_permissions } = call.tool;
  return {
    tool: name,
    version,
    args: call.args,
    cwd: parts.cwd,
    places: call.touches.map(({ real, access }) => ({ real, access })),
    script: await findScript(call, parts),
    sandbox: required_permissions.includes("proc.exec") ? parts.workspace.sandbox : undefined,
    policy_version: parts.policyVersion(),
  };
}

/** Files that are only read are not bound: the prompt did not show them. */
export async function findBases(call: Admitted, { baseOf }: DecidingParts): Promise<Bases> {
  const { signal = new AbortController().signal } = call.options;
  const changed = call.touches.filter(({ access }) => access === "write" || access === "delete");
  const bases: Record<string, string | null> = {};
  for (const { real } of changed) bases[real] = await baseOf(real, signal);
  return bases;
}

/** Identifies the call, independent of file contents. */
export function callDigestOf(binding: Binding): string {
  return hash("sha256", canonicalJson(binding), "hex");
}

/** Identifies the call together with the contents of its files. */
export function digestOf(binding: Binding, bases: Bases): string {
  return hash("sha256", canonicalJson({ ...binding, bases }), "hex");
}

async function findScript(call: Admitted, parts: DecidingParts): Promise<BoundScript | undefined> {
  const touch = call.tool.runs_script?.(call.args);
  if (touch === undefined) return undefined;
  const { skill, script } = await parts.findScript(touch, call.options.signal);
  return { skill: skill.name, path: script.path, sha256: script.sha256, skill_digest: skill.digest };
}

/** A call that needs approval, bound to everything that its answer depends on. */
export interface BoundCall {
  readonly binding: Binding;
  readonly bases: Bases;
}

// oxfmt-ignore
const CHANGES: readonly { readonly of: (bound: BoundCall) => unknown; readonly says: string }[] = [
  { of: ({ binding }) => binding.version,                          says: "the tool version changed" },
  { of: ({ binding }) => binding.cwd,                              says: "the working folder changed" },
  { of: ({ binding }) => binding.places,                           says: "a path points elsewhere" },
  { of: ({ binding }) => binding.script,                           says: "the script changed" },
  { of: ({ binding }) => binding.sandbox,                          says: "the sandbox of commands changed" },
  { of: ({ binding }) => binding.policy_version,                   says: "the policy changed" },
  { of: ({ binding }) => [binding.tool, binding.args],             says: "the arguments changed" },
];

/** Clauses about what changed since the request. Empty if nothing did. */
export function whatChanged(before: BoundCall, now: BoundCall, pathOf: (real: string) => string): readonly string[] {
  const clauses = CHANGES.filter(({ of }) => canonicalJson([of(before)]) !== canonicalJson([of(now)])).map(
    ({ says }) => says,
  );
  const files = Object.keys(before.bases).filter((real) => real in now.bases && before.bases[real] !== now.bases[real]);
  return [...clauses, ...files.map((real) => `"${pathOf(real)}" has changed`)];
}
