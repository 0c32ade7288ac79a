import { z } from "zod";
import { PERMISSIONS, RISKS } from "./call.ts";

export const PROFILE_NAMES = ["readonly", "guarded", "autonomous"] as const;
export type ProfileName = (typeof PROFILE_NAMES)[number];

/** What commands run in. `auto`: a sandbox where the machine can. `required`: not without one. `off`: never in one. */
export const SANDBOX_MODES = ["auto", "required", "off"] as const;
export type SandboxMode = (typeof SANDBOX_MODES)[number];

/** A rule says yes, ask or no to the calls that all of its conditions match. */
function makeRule() {
  return z
    .strictObject({
      effect: z.enum(["allow", "confirm", "deny"]),
      /** A tool's own name, or a glob over names. */
      tool: z.string().min(1).optional(),
      permission: z.enum(PERMISSIONS).optional(),
      risk: z.enum(RISKS).optional(),
      /** A glob over paths relative to a root, or an absolute one. */
      path: z.string().min(1).optional(),
      /** Words of a command, with `*` for any: `git push *`. Held against each command that would run, never against text. */
      command: z.string().min(1).optional(),
      chat: z.string().min(1).optional(),
      user: z.string().min(1).optional(),
      reason: z.string().optional(),
    })
    .refine(({ effect: _effect, reason: _reason, ...conditions }) => Object.keys(conditions).length > 0, {
      error: "A rule needs at least one of tool, permission, risk, path, command, chat, user",
    });
}
export type PolicyRule = z.infer<ReturnType<typeof makeRule>>;

/**
 * The part of the configuration that decides (spec 3). `createRuntime({ config })` and the configuration files share it.
 * Made when there is something to check: most processes have nothing configured, and start faster without.
 */
export function makePolicySchema() {
  return z.strictObject({
    /** The tools that may be used at all. Left out: every registered one. */
    tools: z.array(z.string().min(1)).optional(),
    rules: z.array(makeRule()).default([]),
    quotas: z.strictObject({ calls_per_run: z.int().min(1).optional() }).default({}),
    /** Names that may be asked over the network: `example.com`, `*.example.com`, `example.com:8443`. */
    network: z.strictObject({ allow: z.array(z.string().min(1)) }).optional(),
  });
}
export type PolicyConfiguration = z.infer<ReturnType<typeof makePolicySchema>>;
