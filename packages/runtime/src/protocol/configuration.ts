import { z } from "zod";
import { PERMISSIONS, RISKS } from "./call.ts";
import { COUNTED } from "./counted.ts";
import type { CountedResource } from "./counted.ts";

/** Ordered from strict to lenient. */
export const PROFILE_NAMES = ["readonly", "guarded", "autonomous"] as const;
/** The name of a profile. */
export type ProfileName = (typeof PROFILE_NAMES)[number];

/**
 * Sandbox for commands. `required`: never without one. `auto`: if the machine supports it. `off`: never. Ordered from
 * strict to lenient.
 */
export const SANDBOX_MODES = ["required", "auto", "off"] as const;
/** A sandbox mode. */
export type SandboxMode = (typeof SANDBOX_MODES)[number];

/**
 * When a call is challenged: before or after a person is asked; `instead`: its `proceed` replaces the person's
 * approval. A checkpoint is never replaced.
 */
export const REVERSE_THINKING_ORDERS = ["before", "after", "instead"] as const;
/** When reverse thinking happens. */
export type ReverseThinkingOrder = (typeof REVERSE_THINKING_ORDERS)[number];

/** A rule allows, denies or requires approval for the calls that match all of its conditions. */
function makeRule() {
  return z
    .strictObject({
      effect: z.enum(["allow", "confirm", "deny"]),
      /** A tool's own name, or a glob. */
      tool: z.string().min(1).optional(),
      permission: z.enum(PERMISSIONS).optional(),
      risk: z.enum(RISKS).optional(),
      /** A glob for paths relative to a root, or an absolute one. */
      path: z.string().min(1).optional(),
      /**
       * Words of a command, with `*` for any: `git push *`. Matched against each parsed command, never against text.
       */
      command: z.string().min(1).optional(),
      /** A glob for requested hosts: `example.com`, `*.example.com`. */
      domain: z.string().min(1).optional(),
      /** A glob for names of MCP servers: the middle part of `mcp__<server>__<tool>`. */
      mcp_server: z.string().min(1).optional(),
      chat: z.string().min(1).optional(),
      user: z.string().min(1).optional(),
      /** Offers the named tool even if the profile does not. Every call of it needs approval. */
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

/** The longest useful window: a leap year. */
const LONGEST_WINDOW_SECONDS = 366 * 86_400;

/** How much may be used: by a run in total, by a chat or user within a sliding window. */
function makeQuota() {
  const limit = () => z.int().min(1).optional();
  const limits = { calls: limit(), executions: limit(), tokens: limit(), bytes_written: limit() } satisfies Record<
    CountedResource,
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
 * The policy part of the configuration (spec 3), shared by `createRuntime({ config })` and the configuration files.
 * Built on first use: most processes have no configuration, and start faster without it.
 */
export function makePolicySchema() {
  return z.strictObject({
    /** The allowed tools. Omitted: every registered one. */
    tools: z.array(z.string().min(1)).optional(),
    rules: z.array(makeRule()).default([]),
    /** All of them apply. */
    quotas: z.array(makeQuota()).default([]),
    /** Allowed hosts: `example.com`, `*.example.com`, `example.com:8443`. */
    network: z.strictObject({ allow: z.array(z.string().min(1)) }).optional(),
    /** Digests of calls that a person approved in advance, each for exactly that call. */
    approve: z
      .array(z.string().regex(/^[0-9a-f]{64}$/, "must be a digest: 64 hex digits, as shown in a request"))
      .optional(),
    /** Default: `after`. */
    reverse_thinking: z.enum(REVERSE_THINKING_ORDERS).optional(),
  });
}
export type PolicyConfiguration = z.infer<ReturnType<typeof makePolicySchema>>;
