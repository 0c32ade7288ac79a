import { z } from "zod";
import { PERMISSIONS, RISKS } from "./call.ts";
import { COUNTED } from "./counted.ts";
import type { Counted } from "./counted.ts";

/** From strict to lenient. */
export const PROFILE_NAMES = ["readonly", "guarded", "autonomous"] as const;
/** The name of a profile. */
export type ProfileName = (typeof PROFILE_NAMES)[number];

/**
 * What commands run in. `required`: not without a sandbox. `auto`: one where the machine can. `off`: never in one. From
 * strict to lenient.
 */
export const SANDBOX_MODES = ["required", "auto", "off"] as const;
/** One of the modes of the sandbox. */
export type SandboxMode = (typeof SANDBOX_MODES)[number];

/**
 * When a call is challenged: before or after a person is asked; `instead`: its `proceed` stands for the person's yes. A
 * checkpoint is never replaced.
 */
export const REVERSE_THINKING_ORDERS = ["before", "after", "instead"] as const;
/** One of the orders of reverse thinking. */
export type ReverseThinkingOrder = (typeof REVERSE_THINKING_ORDERS)[number];

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
      /** A glob over the hosts that a call would ask: `example.com`, `*.example.com`. */
      domain: z.string().min(1).optional(),
      /** A glob over the names of MCP servers: the middle part of `mcp__<server>__<tool>`. */
      mcp_server: z.string().min(1).optional(),
      chat: z.string().min(1).optional(),
      user: z.string().min(1).optional(),
      /** Offers the named tool also where the profile does not. Every call of it is asked for. */
      offer: z.literal(true).optional(),
      reason: z.string().optional(),
    })
    .refine(
      ({ effect: _effect, reason: _reason, offer: _offer, ...conditions }) => Object.keys(conditions).length > 0,
      {
        error: "A rule needs at least one of tool, permission, risk, path, command, domain, mcp_server, chat, user",
      },
    )
    .refine(({ offer, ...rule }) => offer === undefined || offersOneTool(rule), {
      error:
        'A rule with "offer" has the effect "confirm", the name of one tool without wildcards, and no other condition',
    });
}

function offersOneTool({ effect, tool, reason: _reason, ...others }: Readonly<Record<string, unknown>>): boolean {
  return (
    effect === "confirm" && typeof tool === "string" && !/[*?{}[\]!\\]/.test(tool) && Object.keys(others).length === 0
  );
}

export type PolicyRule = z.infer<ReturnType<typeof makeRule>>;

/** Longer than anybody counts by: a leap year. */
const LONGEST_WINDOW_SECONDS = 366 * 86_400;

/** How much may be used: by a run from its beginning to its end, by a chat or user in any stretch of time this long. */
function makeQuota() {
  const limit = () => z.int().min(1).optional();
  const limits = { calls: limit(), executions: limit(), tokens: limit(), bytes_written: limit() } satisfies Record<
    Counted,
    unknown
  >;
  return z
    .discriminatedUnion("per", [
      z.strictObject({ per: z.literal("run"), ...limits }),
      z.strictObject({
        per: z.enum(["chat", "user"]),
        window_seconds: z.int().min(1).max(LONGEST_WINDOW_SECONDS),
        ...limits,
      }),
    ])
    .refine((quota) => COUNTED.some((counted) => quota[counted] !== undefined), {
      error: `A quota needs at least one of ${COUNTED.join(", ")}`,
    });
}
export type Quota = z.infer<ReturnType<typeof makeQuota>>;

/**
 * The part of the configuration that decides (spec 3). `createRuntime({ config })` and the configuration files share it.
 * Made when there is something to check: most processes have nothing configured, and start faster without.
 */
export function makePolicySchema() {
  return z.strictObject({
    /** The tools that may be used at all. Left out: every registered one. */
    tools: z.array(z.string().min(1)).optional(),
    rules: z.array(makeRule()).default([]),
    /** All of them hold. */
    quotas: z.array(makeQuota()).default([]),
    /** Names that may be asked over the network: `example.com`, `*.example.com`, `example.com:8443`. */
    network: z.strictObject({ allow: z.array(z.string().min(1)) }).optional(),
    /** Digests of calls that a person has agreed to beforehand: each counts as a yes to exactly that call. */
    approve: z
      .array(z.string().regex(/^[0-9a-f]{64}$/, "has to be a digest: 64 digits from 0 to f, as a request shows it"))
      .optional(),
    /** Left out: `after`. */
    reverse_thinking: z.enum(REVERSE_THINKING_ORDERS).optional(),
  });
}
export type PolicyConfiguration = z.infer<ReturnType<typeof makePolicySchema>>;
