/** Calls for tests of the policy: made up one by one, and at random. */
import { normalize } from "node:path/posix";
import * as fc from "fast-check";
import { ACCESSES } from "../../packages/runtime/src/contract/tool.ts";
import { judgeAddress } from "../../packages/runtime/src/policy/check-address.ts";
import type {
  CallFacts,
  DecisionSettings,
  NamedCommand,
  ResolvedTouch,
  ToolFacts,
  WorkspaceContext,
} from "../../packages/runtime/src/policy/decide.ts";
import { nameCommand } from "../../packages/runtime/src/policy/commands/name-command.ts";
import { PERMISSION_CLASSES, PERMISSIONS, RISKS, SIDE_EFFECTS } from "../../packages/runtime/src/protocol/call.ts";
import { PROFILE_NAMES } from "../../packages/runtime/src/protocol/configuration.ts";
import type { PolicyRule } from "../../packages/runtime/src/protocol/configuration.ts";

const base = { permission_class: "file", requires_checkpoint: false } as const;
// oxfmt-ignore
export const TOOLS = {
  ls:       { ...base, name: "ls",       required_permissions: ["fs.read"],                side_effects: ["none"] },
  write:    { ...base, name: "write",    required_permissions: ["fs.write"],               side_effects: ["files"] },
  remove:   { ...base, name: "remove",   required_permissions: ["fs.delete"],              side_effects: ["files"] },
  commit:   { ...base, name: "commit",   required_permissions: ["git.write"],              side_effects: ["files"] },
  build:    { ...base, name: "build",    required_permissions: ["fs.write", "proc.exec"],  side_effects: ["files", "process"] },
  upload:   { ...base, name: "upload",   required_permissions: ["fs.read", "net.connect"], side_effects: ["none"] },
  ping:     { ...base, name: "ping",     required_permissions: [],                         side_effects: ["network"] },
  deploy:   { ...base, name: "deploy",   required_permissions: ["fs.read"],                side_effects: ["none"], requires_checkpoint: true },
  status:   { ...base, name: "status",   required_permissions: ["fs.read"],                side_effects: ["none"], permission_class: "readonly" },
  sly:      { ...base, name: "sly",      required_permissions: ["fs.read"],                side_effects: ["none"], permission_class: "readonly" },
  note:     { ...base, name: "note",     required_permissions: [],                         side_effects: ["message"], permission_class: "generic" },
  plugin:   { ...base, name: "plugin",   required_permissions: ["fs.write"],               side_effects: ["files"], permission_class: "generic" },
  bash:     { ...base, name: "bash",     required_permissions: ["proc.exec"],              side_effects: ["process"], permission_class: "bash" },
  webfetch: { ...base, name: "webfetch", required_permissions: ["net.connect"],            side_effects: ["network"], permission_class: "webfetch" },
} as const satisfies Record<string, ToolFacts>;

export const WORKSPACE: WorkspaceContext = {
  roots: ["/work"],
  home: "/home/ann",
  state_dirs: ["/work/.agent"],
  checkpoint_handler: false,
  sandbox: "none",
};

export const STRICTNESS = { ALLOW: 0, REQUIRE_CONFIRMATION: 1, DENY: 2 } as const;

export function manyFiles(count: number): readonly Partial<ResolvedTouch>[] {
  return Array.from({ length: count }, (_, i) => ({ path: `${i}`, real: `/work/${i}`, access: "write" }));
}

export interface GivenCall {
  readonly tool: keyof typeof TOOLS | ToolFacts;
  readonly touches?: readonly Partial<ResolvedTouch>[];
  readonly risk?: CallFacts["risk"];
  readonly command?: string;
  readonly network?: boolean;
  /** Whether the command goes on after the call. */
  readonly background?: boolean;
  readonly url?: string;
  /** What `url` is judged by. */
  readonly allow?: readonly string[];
  readonly requested?: CallFacts["requested"];
}

export function callOf(given: GivenCall): CallFacts {
  const { tool, touches = [], risk = "low", command, network = false, url, allow = ["example.com"], requested } = given;
  const running = given.background === undefined ? {} : { background: given.background };
  return {
    tool: typeof tool === "string" ? TOOLS[tool] : tool,
    risk,
    touches: touches.map((touch) => ({
      path: touch.real?.replace("/work/", "") ?? "a",
      real: "/work/a",
      access: "read",
      show_sensitive: false,
      exists: true,
      ...touch,
    })),
    ...(command !== undefined && { commands: [{ ...commandOf(command, network), ...running }] }),
    ...(url !== undefined && { addresses: [{ shown: url, verdict: judgeAddress(url, allow) }] }),
    ...(requested !== undefined && { requested }),
  };
}

function commandOf(text: string, network: boolean): NamedCommand {
  return nameCommand(text, { roots: ["/work"], home: "/home/ann", folder: "/work", network, resolve: normalize });
}

const anyName = fc.oneof(
  fc.constantFrom("ls", "write", "a", ".ssh", ".git", "hooks", "*", "**", "[", "{a,b}", "..", ""),
  fc.string({ unit: "binary" }),
);
const anyPath = fc.oneof(
  fc.array(anyName, { maxLength: 4 }).map((names) => `/work/${names.join("/")}`),
  fc.array(anyName, { maxLength: 4 }).map((names) => names.join("/")),
);
const anyRule: fc.Arbitrary<PolicyRule> = fc.record(
  {
    effect: fc.constantFrom("allow", "confirm", "deny"),
    tool: anyName,
    permission: fc.constantFrom(...PERMISSIONS),
    risk: fc.constantFrom(...RISKS),
    path: anyPath,
    command: fc.constantFrom("git push *", "git status", "rm *", "npm *", "*"),
    domain: fc.constantFrom("example.com", "*.example.com", "*", "other.example"),
    mcp_server: fc.constantFrom("github", "g*", "*"),
    chat: fc.constantFrom("1", "2"),
    user: fc.constantFrom("ann", "bob"),
    reason: fc.string(),
  },
  { requiredKeys: ["effect"] },
);
// oxfmt-ignore
const COMMANDS = ["git push", "git status", "rm -rf tmp", "rm -rf /", "npm publish", 'eval "$X"', "git push; ls", "A=1"]
  .flatMap((text) => [commandOf(text, false), commandOf(text, true)]);
const anyCall: fc.Arbitrary<CallFacts> = fc.record(
  {
    tool: fc.record({
      name: fc.oneof(anyName, fc.constantFrom("mcp__github__search", "mcp__a__b__c", "mcp__x")),
      permission_class: fc.constantFrom(...PERMISSION_CLASSES),
      required_permissions: fc.subarray([...PERMISSIONS]),
      side_effects: fc.subarray([...SIDE_EFFECTS]),
      requires_checkpoint: fc.boolean(),
    }),
    risk: fc.constantFrom(...RISKS),
    touches: fc.array(
      fc.record({
        path: anyPath,
        real: anyPath,
        access: fc.constantFrom(...ACCESSES),
        show_sensitive: fc.boolean(),
        exists: fc.boolean(),
      }),
      { maxLength: 3 },
    ),
    commands: fc.array(fc.constantFrom(...COMMANDS), { maxLength: 2 }),
    chat: fc.constantFrom("1", "2"),
    user: fc.constantFrom("ann", "bob"),
  },
  { requiredKeys: ["tool", "risk", "touches"] },
);
const anyWorkspace: fc.Arbitrary<WorkspaceContext> = fc.record(
  {
    roots: fc.oneof(fc.constant(["/work"]), fc.constant(["/"]), fc.array(anyPath, { maxLength: 3 })),
    home: fc.oneof(fc.constant("/home/ann"), anyPath),
    state_dirs: fc.oneof(fc.constant(["/work/.agent"]), fc.array(anyPath, { maxLength: 2 })),
    checkpoint_handler: fc.boolean(),
    sandbox: fc.constantFrom("none", "bwrap"),
    skill_tools: fc.array(anyName),
    runtime_tools: fc.array(anyName),
  },
  { requiredKeys: ["roots", "home", "state_dirs", "checkpoint_handler", "sandbox"] },
);
const anySettings: fc.Arbitrary<DecisionSettings> = fc.record({
  profile: fc.constantFrom(...PROFILE_NAMES),
  configuration: fc.record({ rules: fc.array(anyRule, { maxLength: 4 }), quotas: fc.constant<[]>([]) }),
});

export const any = {
  name: anyName,
  rule: anyRule,
  call: anyCall,
  workspace: anyWorkspace,
  settings: anySettings,
} as const;
