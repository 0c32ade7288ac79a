import type { Command } from "./command.ts";

/** Commands about policy decisions and approvals. */
export const POLICY_COMMANDS: readonly Command[] = [
  {
    name: "policy explain",
    summary: "Show the decision on a call and its checks; runs nothing",
    args: [
      { name: "<tool>", meaning: "the tool's name; or - to read calls from stdin, one per line" },
      { name: "[args]", meaning: "its arguments as JSON" },
    ],
    options: [{ name: "--skill <name>", meaning: "decide as in a run restricted by this skill" }],
    workspace: true,
    example: `autonous policy explain ls '{"path":"../elsewhere"}'`,
    load: async () => (await import("./commands/policy.ts")).explain,
  },
  {
    name: "policy trust",
    summary: "Show and trust configuration, modules and skills",
    args: [
      {
        name: "[thing...]",
        meaning: "only these: a configuration or module file, a folder with some, or a skill by name (default: all)",
      },
    ],
    options: [
      { name: "--digest <digest>", meaning: "without a terminal: trust exactly what was shown with this digest" },
      { name: "--details", meaning: "show every file, hash, warning and difference" },
      { name: "--revoke", meaning: "trust them no longer" },
    ],
    workspace: true,
    example: "autonous policy trust .agents/skills/deploy",
    load: async () => (await import("./commands/trust.ts")).trust,
  },
  {
    name: "policy schema",
    summary: "Print the JSON Schema of configuration files",
    example: "autonous policy schema",
    load: async () => (await import("./commands/schema.ts")).schema,
  },
  {
    name: "policy test",
    summary: "Check expected decisions like unit tests; runs none of the calls",
    args: [{ name: "<file>", meaning: 'one case per line: {"tool":…,"args":…,"expect":"DENY"}; or - for stdin' }],
    options: [{ name: "--config <file>", meaning: "a configuration to test instead of your own" }],
    workspace: true,
    example: "autonous policy test decisions.jsonl",
    load: async () => (await import("./commands/policy-test.ts")).test,
  },
  {
    name: "policy replay",
    summary: "Re-evaluate recorded calls with another policy; runs nothing",
    options: [
      { name: "--config <file>", meaning: "the configuration to test instead of your own" },
      { name: "--run <id>", meaning: "only the calls of this run or task" },
    ],
    workspace: true,
    example: "autonous policy replay --config stricter.json",
    load: async () => (await import("./commands/policy-replay.ts")).replay,
  },
  {
    name: "approvals list",
    summary: "List calls that need approval",
    options: [
      {
        name: "--state <state>",
        meaning: "only approvals in this state (default pending)",
        choices: ["pending", "granted", "used", "denied", "expired", "withdrawn"],
      },
      { name: "--all", meaning: "include answered ones" },
    ],
    workspace: true,
    example: "autonous approvals list",
    load: async () => (await import("./commands/approvals.ts")).list,
  },
  {
    name: "approvals show",
    summary: "Show a pending call: what it would do, with the diff",
    args: [{ name: "<approval>", meaning: "its id" }],
    workspace: true,
    example: "autonous approvals show apr_01k…",
    load: async () => (await import("./commands/approvals.ts")).show,
  },
  {
    name: "approvals grant",
    summary: "Approve a pending call, after a confirmation at a terminal",
    args: [{ name: "<approval>", meaning: "its id" }],
    options: [
      { name: "--scope <scope>", meaning: "call (the default), run or session", choices: ["call", "run", "session"] },
      {
        name: "--offer <name>",
        meaning: "for a longer scope: what it covers, as offered by the request (default: exactly this)",
      },
      { name: "--rule", meaning: "also add the offer as a rule to your own configuration" },
      { name: "--reason <text>", meaning: "reason, recorded in the audit log" },
    ],
    workspace: true,
    example: "autonous approvals grant apr_01k… --scope run",
    load: async () => (await import("./commands/approvals.ts")).grant,
  },
  {
    name: "approvals deny",
    summary: "Deny a pending call",
    args: [{ name: "<approval>", meaning: "its id" }],
    options: [{ name: "--reason <text>", meaning: "reason, shown to the model" }],
    workspace: true,
    example: 'autonous approvals deny apr_01k… --reason "not on Fridays"',
    load: async () => (await import("./commands/approvals.ts")).deny,
  },
  {
    name: "approvals grants",
    summary: "List active grants: scope, run or session, who, since when",
    workspace: true,
    example: "autonous approvals grants",
    load: async () => (await import("./commands/approvals.ts")).grants,
  },
  {
    name: "approvals revoke",
    summary: "Revoke a grant",
    args: [{ name: "<grant>", meaning: "its id" }],
    workspace: true,
    example: "autonous approvals revoke grant_01k…",
    load: async () => (await import("./commands/approvals.ts")).revoke,
  },
];
