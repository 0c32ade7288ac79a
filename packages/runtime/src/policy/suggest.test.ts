import * as fc from "fast-check";
import { expect, test } from "vitest";
import { any, callOf, manyFiles, STRICTNESS, WORKSPACE } from "../../../../test/support/calls.ts";
import type { GivenCall } from "../../../../test/support/calls.ts";
import type { PolicyConfiguration, PolicyRule, ProfileName } from "../protocol/configuration.ts";
import { isCarrierPattern } from "./rules/carrier-pattern.ts";
import { decide } from "./decide.ts";
import type { DecisionSettings, WorkspaceContext } from "./decide.ts";
import { narrowBy } from "./layers.ts";
import { suggest } from "./suggest.ts";

interface CaseInput extends GivenCall {
  readonly profile?: ProfileName;
  readonly rules?: readonly PolicyRule[];
  readonly config?: Partial<PolicyConfiguration>;
  readonly project?: Partial<PolicyConfiguration>;
  readonly workspace?: Partial<WorkspaceContext>;
}

const YES = "A person can approve it, once or for longer";
const SANDBOX = 'In a sandbox it would run without approval; "autonous doctor" explains why no sandbox is available';
const AUTONOMOUS = 'Under the profile "autonomous" it would run without approval';

function allowing(rule: Omit<PolicyRule, "effect">): string {
  return `With the rule ${JSON.stringify({ effect: "allow", ...rule })} it would run without approval`;
}

function asking(rule: Omit<PolicyRule, "effect">): string {
  return `With the rule ${JSON.stringify({ effect: "confirm", ...rule })} it would need approval`;
}

const HOOK = "/work/.git/hooks/a";
const BOXED = { sandbox: "bwrap" } as const;

// oxfmt-ignore
const CASES: readonly (CaseInput & { title: string; says: readonly string[] })[] = [
  { title: "what is allowed",                    tool: "ls", says: [] },
  { title: "a write that asked to read",         tool: "write", touches: [{ access: "write" }], requested: ["fs.read"], says: ["The call would have to list fs.write in requested_permissions, or leave that out"] },
  { title: "a deletion",                         tool: "remove", touches: [{ real: "/work/src/a", access: "delete" }], says: [YES, allowing({ tool: "remove", path: "/work/src/a" }), AUTONOMOUS] },
  { title: "deletions in a folder",              tool: "remove", touches: ["a", "b"].map((name) => ({ real: `/work/src/${name}`, access: "delete" as const })), says: [YES, allowing({ tool: "remove", path: "/work/src/**" }), AUTONOMOUS] },
  { title: "a hook",                             tool: "write", touches: [{ real: HOOK, access: "write" }], says: [YES, allowing({ tool: "write", path: HOOK })] },
  { title: "hidden names",                       tool: "ls", touches: [{ real: "/work/src", access: "list", show_sensitive: true }], says: [YES, allowing({ tool: "ls", path: "/work/src" }), AUTONOMOUS] },
  { title: "many files",                         tool: "write", touches: manyFiles(21), says: [YES, AUTONOMOUS] },
  { title: "a risky command",                    tool: "bash", command: "git push origin main", workspace: BOXED, says: [YES, allowing({ tool: "bash", command: "git push origin main" }), AUTONOMOUS] },
  { title: "a risky command that no words tell", tool: "bash", command: "git push 'a b'", workspace: BOXED, says: [YES, AUTONOMOUS] },
  { title: "a carrier",                          tool: "bash", command: "bash 'a b'", says: [YES, AUTONOMOUS, SANDBOX] },
  { title: "an opaque command",                  tool: "bash", command: 'eval "$X"', workspace: BOXED, says: [YES, AUTONOMOUS] },
  { title: "a command with the network",         tool: "bash", command: "npm ci", network: true, workspace: BOXED, config: { network: { allow: ["example.com"] } }, says: [YES, AUTONOMOUS] },
  { title: "the network with an empty allowlist", tool: "bash", command: "npm ci", network: true, workspace: BOXED, says: ['"network": { "allow": ["example.com"] } in the configuration gives commands the network, for the names on that list'] },
  { title: "the network that a project closes",  tool: "bash", command: "npm ci", network: true, workspace: BOXED, config: { network: { allow: ["example.com"] } }, project: { network: { allow: [] } }, says: ['"network": { "allow": ["example.com"] } in the configuration and the project\'s gives commands the network, for the names on that list'] },
  { title: "the network without a sandbox",      tool: "bash", command: "npm ci", network: true, config: { network: { allow: ["example.com"] } }, says: ['Only a sandbox gives commands the network; "autonous doctor" explains why no sandbox is available'] },
  { title: "the network in the background",      tool: "bash", command: "npm ci", network: true, background: true, workspace: BOXED, config: { network: { allow: ["example.com"] } }, says: ["Without is_background it could have the network of the allowlist"] },
  { title: "a command without a sandbox",        tool: "bash", command: "npm test", says: [YES, allowing({ tool: "bash", command: "npm test" }), AUTONOMOUS, SANDBOX] },
  { title: "a fetch",                            tool: "webfetch", url: "https://example.com/a", says: [YES, allowing({ tool: "webfetch", domain: "example.com" }), AUTONOMOUS] },
  { title: "a generic tool",                     tool: "plugin", says: [YES, allowing({ tool: "plugin" })] },
  { title: "a rule that denies",                 tool: "ls", touches: [{ real: "/work/src/a" }], rules: [{ effect: "deny", tool: "ls" }], says: [asking({ tool: "ls", path: "/work/src/a" }), allowing({ tool: "ls", path: "/work/src/a" }), "Without the rule that decided (own.json, line 1) it would run without approval"] },
  { title: "a rule that denies and cannot be outdone", tool: "ls", rules: [{ effect: "deny", tool: "ls" }, { effect: "deny", tool: "ls" }], says: ["No single rule, profile or setting changes this answer"] },
  { title: "a rule that asks",                   tool: "ls", rules: [{ effect: "confirm", risk: "low" }], says: [YES, allowing({ tool: "ls" }), "Without the rule that decided (own.json, line 1) it would run without approval"] },
  { title: "a project's rule",                   tool: "ls", project: { rules: [{ effect: "confirm", tool: "l*" }, { effect: "deny", tool: "ls" }] }, says: ["Without the project's rule that decided (theirs.json, line 2) it would need approval"] },
  { title: "a project's rules that say the same", tool: "ls", project: { rules: [{ effect: "deny", tool: "l*" }, { effect: "deny", tool: "ls" }] }, says: ["No single rule, profile or setting changes this answer"] },
  { title: "a risk, under readonly",             tool: "ls", risk: "high", profile: "readonly", says: [asking({ tool: "ls" }), allowing({ tool: "ls" }), 'Under the profile "guarded" it would need approval'] },

  { title: "a tool that is not listed",          tool: "ls", config: { tools: [] }, says: ['"tools" of the configuration would have to list "ls"'] },
  { title: "a tool that the project leaves out", tool: "ls", project: { tools: [] }, says: ['"tools" of the project\'s configuration would have to list "ls"'] },
  { title: "a tool that the profile hides",      tool: "write", profile: "readonly", says: ['The profile would have to be "guarded" or "autonomous"', asking({ tool: "write", offer: true })] },
  { title: "a tool that all leave out",          tool: "write", profile: "readonly", config: { tools: [] }, workspace: { skill_tools: [], runtime_tools: [] }, says: ['"tools" of the configuration would have to list "write"', 'The active skill would have to list "write" in allowed-tools', 'The program that started this run would have to include "write"', 'The profile would have to be "guarded" or "autonomous"'] },
  { title: "a command that the skill leaves out", tool: "bash", command: "git push", workspace: { skill_commands: [["ls"]] }, says: ["The active skill would have to allow these commands"] },
  { title: "a place outside",                    tool: "ls", touches: [{ real: "/x" }], says: ["No rule, profile or approval allows this; restart with a root that contains the path (AUTONOUS_TOOL_ALLOWED_ROOTS)"] },
  { title: "a sensitive place",                  tool: "ls", touches: [{ real: "/work/.ssh" }], says: ["Nothing allows this: such paths are off limits to all tools, whatever the configuration says"] },
  { title: "a destructive command",              tool: "bash", command: "rm -rf /", says: ["Nothing allows this: such commands, and those of AUTONOUS_TOOL_BASH_DENYLIST, are refused whatever the configuration says"] },
  { title: "a checkpoint without a handler",     tool: "deploy", says: ["Only a program that registers a handler for checkpoints (onCheckpoint) lets this tool run"] },
  { title: "an address that is not listed",      tool: "webfetch", url: "https://other.org/a", says: ['"network": { "allow": ["other.org"] } in the configuration would allow it'] },
  { title: "an address with a port",             tool: "webfetch", url: "https://other.org:8443/a", says: ['"network": { "allow": ["other.org:8443"] } in the configuration would allow it'] },
  { title: "an address of this machine",         tool: "webfetch", url: "http://127.0.0.1/", says: ['"network": { "allow": ["127.0.0.1:80"] } in the configuration would allow it'] },
  { title: "an address in two lists",            tool: "webfetch", url: "https://localhost/", project: { network: { allow: [] } }, says: ['"network": { "allow": ["localhost:443"] } in the configuration and the project\'s would allow it'] },
  { title: "an address that no list opens",      tool: "webfetch", url: "http://router.local/", says: ["No allowlist entry allows this address: it is invalid, or local to this machine or its network"] },
  { title: "an address that is none",            tool: "webfetch", url: "example", says: ["No allowlist entry allows this address: it is invalid, or local to this machine or its network"] },
];

function settingsOf({ profile = "guarded", rules = [], config, project }: CaseInput): DecisionSettings {
  const user = {
    profile,
    configuration: { rules: [...rules], quotas: [], ...config },
    origins: rules.map((_, index) => ({ file: "own.json", line: index + 1 })),
  };
  if (project === undefined) return user;
  const origins = project.rules?.map((_, index) => ({ file: "theirs.json", line: index + 1 }));
  return narrowBy(user, { configuration: { rules: [], quotas: [], ...project }, ...(origins && { origins }) });
}

for (const { title, says, ...given } of CASES) {
  test(`what would change the answer to ${title}: ${says.length === 0 ? "nothing to say" : says.join("; ")}`, () => {
    const on = { call: callOf(given), workspace: { ...WORKSPACE, ...given.workspace }, settings: settingsOf(given) };
    const suggestions = suggest(decide(on.call, on.workspace, on.settings), on);
    expect(suggestions.map(({ words }) => words)).toEqual(says);
  });
}

test("of several projects the one is named whose rule decided", () => {
  const layers = [[], [{ effect: "confirm", risk: "low" }], [{ effect: "deny", tool: "ls" }]] as const;
  const settings = layers.reduce<DecisionSettings>(
    (user, rules, i) =>
      narrowBy(user, {
        configuration: { rules: [...rules], quotas: [] },
        origins: rules.map(() => ({ file: `${i}.json`, line: 1 })),
      }),
    settingsOf({ tool: "ls" }),
  );
  const on = { call: callOf({ tool: "ls" }), workspace: WORKSPACE, settings };
  expect(suggest(decide(on.call, on.workspace, on.settings), on)).toEqual([
    { words: "Without the project's rule that decided (2.json, line 1) it would need approval" },
  ]);
});

test("of several addresses only those that are closed are spoken of", () => {
  const [open, closed] = ["https://example.com/", "https://other.org/"].map((url) => callOf({ tool: "webfetch", url }));
  const addresses = [...(open?.addresses ?? []), ...(closed?.addresses ?? [])];
  const on = {
    call: { ...callOf({ tool: "webfetch" }), addresses },
    workspace: WORKSPACE,
    settings: settingsOf({ tool: "ls" }),
  };
  expect(suggest(decide(on.call, on.workspace, on.settings), on)).toHaveLength(1);
});

test("every suggested rule gives the answer that it promises, and none stands for every command", () => {
  fc.assert(
    fc.property(any.call, any.settings, (call, settings) => {
      const on = { call, workspace: WORKSPACE, settings };
      const before = decide(call, WORKSPACE, settings);
      const suggestions = suggest(before, on);
      expect(suggestions.length > 0).toBe(before.effect !== "ALLOW");
      for (const { rule } of suggestions) {
        if (rule === undefined) continue;
        const rules = [...settings.configuration.rules, rule];
        const after = decide(call, WORKSPACE, { ...settings, configuration: { ...settings.configuration, rules } });
        expect(STRICTNESS[after.effect]).toBeLessThan(STRICTNESS[before.effect]);
        if (rule.command !== undefined) expect(isCarrierPattern(rule.command)).toBe(false);
      }
    }),
    { numRuns: 1000 },
  );
});
