import * as fc from "fast-check";
import { expect, test } from "vitest";
import { any, callOf, manyFiles, STRICTNESS, WORKSPACE } from "../../../../test/support/calls.ts";
import type { GivenCall } from "../../../../test/support/calls.ts";
import type { PolicyRule, ProfileName } from "../protocol/configuration.ts";
import { decide } from "./decide.ts";
import type { Decision, DecisionSettings, WorkspaceContext } from "./decide.ts";

const CHECK_NAMES = [
  "tools_in_force",
  "requested_permissions",
  "roots",
  "sensitive_places",
  "destructive_commands",
  "hidden_tracked_files",
  "addresses",
  "command_network",
  "checkpoint",
  "rules",
  "command_paths",
  "untold_commands",
  "files_that_run_later",
  "hidden_names",
  "many_files",
  "risky_commands",
  "network_commands",
  "profile",
  "project_rules",
];

const SANDBOXED = { sandbox: "bwrap" } as const;
const OFFER = { effect: "confirm", tool: "build", offer: true } as const;

interface CaseInput extends GivenCall {
  readonly profile?: ProfileName;
  readonly rules?: readonly PolicyRule[];
  readonly tools?: readonly string[];
  readonly workspace?: Partial<WorkspaceContext>;
  /** What commands with the network reach. */
  readonly reach?: readonly string[];
}

function decideOn({
  profile = "guarded",
  rules = [],
  tools,
  workspace,
  reach = ["example.com"],
  ...given
}: CaseInput): Decision {
  const network = { allow: [...reach] };
  const configuration = { rules: [...rules], quotas: [], network, ...(tools && { tools: [...tools] }) };
  return decide(callOf(given), { ...WORKSPACE, ...workspace }, { profile, configuration });
}

const HOOK = { real: "/work/.git/hooks/pre-commit", access: "write", exists: false } as const;
const CI = { real: "/work/.github/workflows/ci.yml", access: "write" } as const;
const SHOW = { real: "/work", access: "list", show_sensitive: true } as const;

// oxfmt-ignore
const CASES: readonly (CaseInput & { title: string; effect: Decision["effect"]; code?: Decision["code"]; rule: string; says?: RegExp })[] = [
  { title: "a look inside the roots",                       tool: "ls", touches: [{ access: "list" }],                                  effect: "ALLOW", rule: "profile:guarded:look", says: /allows "ls", which can read files/ },
  { title: "a look, under readonly",                        tool: "ls", touches: [{}], profile: "readonly",                             effect: "ALLOW", rule: "profile:readonly:look" },
  { title: "a look, under autonomous",                      tool: "ls", touches: [{}], profile: "autonomous",                           effect: "ALLOW", rule: "profile:autonomous:look" },
  { title: "a write, under readonly",                       tool: "write", touches: [{ access: "write" }], profile: "readonly",         effect: "DENY", code: "ToolNotAllowed", rule: "tools_in_force" },
  { title: "a write, under readonly, with a rule for it",   tool: "write", touches: [{ access: "write" }], profile: "readonly", rules: [{ effect: "allow", tool: "write" }], effect: "DENY", code: "ToolNotAllowed", rule: "tools_in_force" },
  { title: "a write that the tool did not declare, under readonly", tool: "ls", touches: [{ access: "write" }], profile: "readonly", rules: [{ effect: "allow", tool: "ls" }], effect: "DENY", code: "ToolNotAllowed", rule: "tools_in_force", says: /change files/ },
  { title: "a write, under guarded",                        tool: "write", touches: [{ access: "write" }],                              effect: "ALLOW", rule: "profile:guarded:change" },
  { title: "a write, under autonomous",                     tool: "write", touches: [{ access: "write" }], profile: "autonomous",       effect: "ALLOW", rule: "profile:autonomous:change" },
  { title: "a delete, under guarded",                       tool: "remove", touches: [{ access: "delete" }],                            effect: "REQUIRE_CONFIRMATION", rule: "profile:guarded:reach_out", says: /requires approval for "remove"/ },
  { title: "a delete, under autonomous",                    tool: "remove", touches: [{ access: "delete" }], profile: "autonomous",     effect: "ALLOW", rule: "profile:autonomous:reach_out" },
  { title: "a delete that the tool did not declare",        tool: "write", touches: [{ access: "delete" }],                             effect: "REQUIRE_CONFIRMATION", rule: "profile:guarded:reach_out" },
  { title: "a commit, under guarded",                       tool: "commit",                                                             effect: "REQUIRE_CONFIRMATION", rule: "profile:guarded:reach_out" },
  { title: "a commit, under autonomous",                    tool: "commit", profile: "autonomous",                                      effect: "ALLOW", rule: "profile:autonomous:reach_out" },
  { title: "a program without a sandbox",                   tool: "build",                                                              effect: "REQUIRE_CONFIRMATION", rule: "profile:guarded:run" },
  { title: "a program in a sandbox",                        tool: "build", workspace: { sandbox: "bwrap" },                             effect: "ALLOW", rule: "profile:guarded:run" },
  { title: "a program without a sandbox, under autonomous", tool: "build", profile: "autonomous",                                       effect: "ALLOW", rule: "profile:autonomous:run" },
  { title: "the network, under autonomous",                 tool: "upload", profile: "autonomous",                                      effect: "REQUIRE_CONFIRMATION", rule: "profile:autonomous:reach_out" },
  { title: "the network as a side effect, under autonomous", tool: "ping", profile: "autonomous",                                       effect: "REQUIRE_CONFIRMATION", rule: "profile:autonomous:reach_out" },
  { title: "a look that calls itself risky",                tool: "ls", risk: "high",                                                   effect: "REQUIRE_CONFIRMATION", rule: "profile:guarded:reach_out" },
  { title: "a look that calls itself risky, under readonly", tool: "ls", risk: "high", profile: "readonly",                             effect: "DENY", code: "ToolNotAllowed", rule: "profile:readonly:reach_out", says: /does not offer "ls"/ },
  { title: "a look that calls itself risky, with a rule",   tool: "ls", risk: "high", profile: "readonly", rules: [{ effect: "allow", tool: "ls" }], effect: "ALLOW", rule: "rule:1 (allow tool=ls)" },

  { title: "a readonly tool, whatever risk it says",        tool: "status", risk: "high", profile: "readonly",                          effect: "ALLOW", rule: "class:readonly" },
  { title: "a readonly tool with a deny rule",              tool: "status", rules: [{ effect: "deny", tool: "status" }],                effect: "DENY", code: "ToolNotAllowed", rule: "rule:1 (deny tool=status)" },
  { title: "a readonly tool that deletes all the same",     tool: "sly", touches: [{ access: "delete" }],                               effect: "REQUIRE_CONFIRMATION", rule: "profile:guarded:reach_out" },
  { title: "a generic tool",                                tool: "plugin",                                                             effect: "REQUIRE_CONFIRMATION", rule: "class:generic" },
  { title: "a generic tool, under autonomous",              tool: "plugin", profile: "autonomous",                                      effect: "REQUIRE_CONFIRMATION", rule: "class:generic" },
  { title: "a generic tool with a rule",                    tool: "plugin", rules: [{ effect: "allow", tool: "plugin" }],               effect: "ALLOW", rule: "rule:1 (allow tool=plugin)" },
  { title: "a generic tool that writes, under readonly",    tool: "plugin", profile: "readonly",                                        effect: "DENY", code: "ToolNotAllowed", rule: "tools_in_force" },
  { title: "a generic tool that only sends, under readonly", tool: "note", risk: "high", profile: "readonly",                           effect: "REQUIRE_CONFIRMATION", rule: "class:generic" },
  { title: "an everyday command in a sandbox",              tool: "bash", command: "npm test", workspace: SANDBOXED,                    effect: "ALLOW", rule: "profile:guarded:run" },
  { title: "an everyday command without a sandbox",         tool: "bash", command: "npm test",                                          effect: "REQUIRE_CONFIRMATION", rule: "profile:guarded:run" },
  { title: "an everyday command, under readonly",           tool: "bash", command: "npm test", profile: "readonly",                     effect: "DENY", code: "ToolNotAllowed", rule: "tools_in_force" },
  { title: "a destructive command",                         tool: "bash", command: "rm -rf /", workspace: SANDBOXED,                    effect: "DENY", code: "CommandDenied", rule: "floor:destructive_commands" },
  { title: "a destructive command, under autonomous",       tool: "bash", command: "sudo rm -rf /", profile: "autonomous",              effect: "DENY", code: "CommandDenied", rule: "floor:destructive_commands" },
  { title: "a destructive command, with a rule for it",     tool: "bash", command: "rm -rf /", rules: [{ effect: "allow", command: "rm *" }], effect: "DENY", code: "CommandDenied", rule: "floor:destructive_commands" },
  { title: "a risky command",                               tool: "bash", command: "git push --force", workspace: SANDBOXED,            effect: "REQUIRE_CONFIRMATION", rule: "builtin:risky_commands" },
  { title: "a risky command, under autonomous",             tool: "bash", command: "git push --force", profile: "autonomous",           effect: "ALLOW", rule: "profile:autonomous:run" },
  { title: "a risky command, with a rule for the tool",     tool: "bash", command: "git push --force", rules: [{ effect: "allow", tool: "bash" }], effect: "REQUIRE_CONFIRMATION", rule: "builtin:risky_commands" },
  { title: "a risky command, with a rule for it",           tool: "bash", command: "git push --force", rules: [{ effect: "allow", command: "git push *" }], effect: "ALLOW", rule: "rule:1 (allow command=git push *)" },
  { title: "a rule for one command of two",                 tool: "bash", command: "git push && npm publish", rules: [{ effect: "allow", command: "git push *" }], effect: "REQUIRE_CONFIRMATION", rule: "builtin:risky_commands" },
  { title: "a rule for a command, before what carries it",  tool: "bash", command: "sudo git push", rules: [{ effect: "allow", command: "git push *" }], effect: "REQUIRE_CONFIRMATION", rule: "builtin:risky_commands" },
  { title: "a deny rule for a command, somewhere inside",   tool: "bash", command: "make && env A=1 npm run x", workspace: SANDBOXED, rules: [{ effect: "deny", command: "npm run *" }], effect: "DENY", code: "ToolNotAllowed", rule: "rule:1 (deny command=npm run *)" },
  { title: "a rule for a command, of a call without one",   tool: "ls",   rules: [{ effect: "deny", command: "ls" }],                    effect: "ALLOW", rule: "profile:guarded:look" },
  { title: "an opaque command",                             tool: "bash", command: 'eval "$X"', workspace: SANDBOXED,                   effect: "REQUIRE_CONFIRMATION", rule: "builtin:opaque_commands" },
  { title: "an opaque command, with a rule for it",         tool: "bash", command: 'eval "$X"', workspace: SANDBOXED, rules: [{ effect: "allow", command: "eval *" }], effect: "REQUIRE_CONFIRMATION", rule: "builtin:opaque_commands" },
  { title: "a command that asks for the network",           tool: "bash", command: "npm ci", network: true, workspace: SANDBOXED,       effect: "REQUIRE_CONFIRMATION", rule: "builtin:network_commands" },
  { title: "the same, under autonomous",                    tool: "bash", command: "npm ci", network: true, profile: "autonomous", workspace: SANDBOXED, effect: "ALLOW", rule: "profile:autonomous:run" },
  { title: "a command that the skill leaves",               tool: "bash", command: "git add a", workspace: { ...SANDBOXED, skill_commands: [["git", "add"], ["ls"]] }, effect: "ALLOW", rule: "profile:guarded:run" },
  { title: "a command that the skill does not leave",       tool: "bash", command: "git add a; git commit", workspace: { ...SANDBOXED, skill_commands: [["git", "add"]] }, effect: "DENY", code: "ToolNotAllowed", rule: "tools_in_force" },
  { title: "a command that the skill leaves exactly so",     tool: "bash", command: "npm test", workspace: { ...SANDBOXED, skill_commands: [["npm", "test", ""]] }, effect: "ALLOW", rule: "profile:guarded:run" },
  { title: "more words than the skill leaves",              tool: "bash", command: "npm test x", workspace: { ...SANDBOXED, skill_commands: [["npm", "test", ""]] }, effect: "DENY", code: "ToolNotAllowed", rule: "tools_in_force" },
  { title: "a variable before a command that the skill leaves", tool: "bash", command: "PATH=. git add a", workspace: { ...SANDBOXED, skill_commands: [["git"]] }, effect: "DENY", code: "ToolNotAllowed", rule: "tools_in_force" },
  { title: "a variable for a command that the skill leaves", tool: "bash", command: "PATH=.; git add a", workspace: { ...SANDBOXED, skill_commands: [["git"]] }, effect: "DENY", code: "ToolNotAllowed", rule: "tools_in_force" },
  { title: "output of a command that the skill leaves to a file", tool: "bash", command: "git log &> a", workspace: { ...SANDBOXED, skill_commands: [["git"]], skill_tools: ["bash"] }, effect: "DENY", code: "ToolNotAllowed", rule: "tools_in_force" },
  { title: "a redirection alone",                           tool: "bash", command: "git log; > a", workspace: { ...SANDBOXED, skill_commands: [["git"]], skill_tools: ["bash"] }, effect: "DENY", code: "ToolNotAllowed", rule: "tools_in_force" },
  { title: "output to a file where the skill leaves write", tool: "bash", command: "git log > a", workspace: { ...SANDBOXED, skill_commands: [["git"]], skill_tools: ["bash", "write"] }, effect: "ALLOW", rule: "profile:guarded:run" },
  { title: "output to no file",                             tool: "bash", command: "git log > /dev/null 2>&1 < a", workspace: { ...SANDBOXED, skill_commands: [["git"]], skill_tools: ["bash"] }, effect: "ALLOW", rule: "profile:guarded:run" },
  { title: "a command where the skill leaves none",         tool: "bash", command: "git add a", workspace: { ...SANDBOXED, skill_commands: [] }, effect: "DENY", code: "ToolNotAllowed", rule: "tools_in_force" },
  { title: "a command that the skill cannot know",          tool: "bash", command: "git $X", workspace: { ...SANDBOXED, skill_commands: [["git", "add"]] }, effect: "DENY", code: "ToolNotAllowed", rule: "tools_in_force" },
  { title: "a fetch from the allowlist",                    tool: "webfetch", url: "https://example.com/a",                             effect: "REQUIRE_CONFIRMATION", rule: "profile:guarded:reach_out" },
  { title: "a fetch from the allowlist, under autonomous",  tool: "webfetch", url: "https://example.com/a", profile: "autonomous",      effect: "ALLOW", rule: "profile:autonomous:reach_out" },
  { title: "a fetch from elsewhere, under autonomous",      tool: "webfetch", url: "https://other.example/a", profile: "autonomous",    effect: "DENY", code: "NetworkDenied", rule: "floor:network_allowlist" },
  { title: "a fetch from this machine, with a rule",        tool: "webfetch", url: "http://127.0.0.1/", rules: [{ effect: "allow", tool: "webfetch" }], effect: "DENY", code: "NetworkDenied", rule: "floor:network_allowlist" },
  { title: "a fetch, under readonly",                       tool: "webfetch", url: "https://example.com/a", profile: "readonly",        effect: "DENY", code: "ToolNotAllowed", rule: "tools_in_force" },
  { title: "a program that a rule offers, under readonly",  tool: "build", profile: "readonly", rules: [OFFER],                          effect: "REQUIRE_CONFIRMATION", rule: "rule:1 (confirm tool=build)", says: /requires approval for "build"/ },
  { title: "a program that a rule asks for, under readonly", tool: "build", profile: "readonly", rules: [{ effect: "confirm", tool: "build" }], effect: "DENY", code: "ToolNotAllowed", rule: "tools_in_force" },
  { title: "a program that a rule allows, under readonly",  tool: "build", profile: "readonly", rules: [{ effect: "allow", tool: "build" }], effect: "DENY", code: "ToolNotAllowed", rule: "tools_in_force" },
  { title: "an offer with a narrower rule that allows",     tool: "build", touches: [{ real: "/work/src/a", access: "write" }], profile: "readonly", rules: [OFFER, { effect: "allow", tool: "build", path: "src/**" }], effect: "REQUIRE_CONFIRMATION", rule: "rule:1 (confirm tool=build)" },
  { title: "an offer with a rule that denies",              tool: "build", profile: "readonly", rules: [OFFER, { effect: "deny", tool: "build" }], effect: "DENY", code: "ToolNotAllowed", rule: "rule:2 (deny tool=build)" },
  { title: "an offer of another tool",                      tool: "write", profile: "readonly", rules: [OFFER],                          effect: "DENY", code: "ToolNotAllowed", rule: "tools_in_force" },
  { title: "an offer of what the configuration leaves out", tool: "build", tools: ["ls"], rules: [OFFER],                                effect: "DENY", code: "ToolNotAllowed", rule: "tools_in_force" },
  { title: "an offer of what the skill leaves out",         tool: "build", profile: "readonly", workspace: { skill_tools: ["ls"] }, rules: [OFFER], effect: "DENY", code: "ToolNotAllowed", rule: "tools_in_force" },
  { title: "a risky command of an offered tool",            tool: "bash", command: "git push --force", workspace: SANDBOXED, profile: "readonly", rules: [{ ...OFFER, tool: "bash" }], effect: "DENY", code: "ToolNotAllowed", rule: "builtin:risky_commands" },
  { title: "an offer outside the roots",                    tool: "build", touches: [{ real: "/etc/a" }], profile: "readonly", rules: [OFFER], effect: "DENY", code: "PathTraversalBlocked", rule: "floor:roots" },
  { title: "an offer where the profile offers it anyway",   tool: "build", workspace: SANDBOXED, rules: [OFFER],                         effect: "REQUIRE_CONFIRMATION", rule: "rule:1 (confirm tool=build)" },
  { title: "a tool that is not configured",                 tool: "ls", tools: ["write"],                                               effect: "DENY", code: "ToolNotAllowed", rule: "tools_in_force" },

  { title: "a look that asked for no more",                 tool: "ls", touches: [{ access: "list" }], requested: ["fs.read"],           effect: "ALLOW", rule: "profile:guarded:look" },
  { title: "a look that asked for nothing",                 tool: "ls", touches: [{ access: "list" }], requested: [], rules: [{ effect: "allow", tool: "ls" }], effect: "DENY", code: "ToolNotAllowed", rule: "floor:requested_permissions", says: /^Cannot use "ls": the call needs fs\.read and requested nothing$/ },
  { title: "a write that asked to read",                    tool: "write", touches: [{ access: "write" }], requested: ["fs.read"], profile: "autonomous", effect: "DENY", code: "ToolNotAllowed", rule: "floor:requested_permissions", says: /needs fs\.write and requested fs\.read$/ },
  { title: "a path that is deleted though only a write was asked for", tool: "write", touches: [{ access: "delete" }], requested: ["fs.write"], profile: "autonomous", effect: "DENY", code: "ToolNotAllowed", rule: "floor:requested_permissions", says: /needs fs\.delete/ },
  { title: "a command that looks and asked for that",       tool: "bash", command: "cat a", workspace: SANDBOXED, requested: ["proc.exec", "fs.read"], effect: "ALLOW", rule: "profile:guarded:run" },
  { title: "a commit that asked for files only",            tool: "bash", command: "git commit -m x", workspace: SANDBOXED, requested: ["proc.exec", "fs.read", "fs.write"], effect: "DENY", code: "ToolNotAllowed", rule: "floor:requested_permissions", says: /needs git\.write/ },
  { title: "a program of which nothing is known that asked to read", tool: "bash", command: "make", workspace: SANDBOXED, requested: ["proc.exec", "fs.read"], effect: "DENY", code: "ToolNotAllowed", rule: "floor:requested_permissions", says: /needs fs\.write, fs\.delete, git\.write/ },
  { title: "the network that was not asked for",            tool: "bash", command: "curl https://example.com", network: true, workspace: SANDBOXED, requested: ["proc.exec", "fs.read", "fs.write", "fs.delete", "git.write"], effect: "DENY", code: "ToolNotAllowed", rule: "floor:requested_permissions", says: /needs net\.connect/ },

  { title: "a path outside the roots",                      tool: "ls", touches: [{ path: "../x", real: "/x" }],                        effect: "DENY", code: "PathTraversalBlocked", rule: "floor:roots", says: /^Cannot read "\.\.\/x": it points outside the allowed roots$/ },
  { title: "a look-alike of a root",                        tool: "ls", touches: [{ real: "/workspace/a" }],                            effect: "DENY", code: "PathTraversalBlocked", rule: "floor:roots" },
  { title: "one path of two outside the roots",             tool: "ls", touches: [{}, { real: "/x" }],                                  effect: "DENY", code: "PathTraversalBlocked", rule: "floor:roots" },
  { title: "a path outside, with a rule for it",            tool: "ls", touches: [{ real: "/x" }], profile: "autonomous", rules: [{ effect: "allow", path: "/x" }], effect: "DENY", code: "PathTraversalBlocked", rule: "floor:roots" },
  { title: "a sensitive place",                             tool: "ls", touches: [{ real: "/work/.ssh", access: "list" }],              effect: "DENY", code: "SensitivePath", rule: "floor:sensitive_places", says: /^Cannot list "\.ssh": it is off limits to all tools \("\.ssh": SSH keys/ },
  { title: "a sensitive place that is not there",           tool: "write", touches: [{ real: "/work/.SSH/authorized_keys", access: "write", exists: false }], effect: "DENY", code: "SensitivePath", rule: "floor:sensitive_places" },
  { title: "a sensitive place, with a rule for it",         tool: "ls", touches: [{ real: "/work/.ssh" }], profile: "autonomous", rules: [{ effect: "allow", path: ".ssh/**" }], effect: "DENY", code: "SensitivePath", rule: "floor:sensitive_places" },
  { title: "a link to a sensitive place",                   tool: "ls", touches: [{ path: "docs", real: "/work/.aws" }],                effect: "DENY", code: "SensitivePath", rule: "floor:sensitive_places", says: /"docs"/ },
  { title: "the runtime's state",                           tool: "write", touches: [{ real: "/work/.agent/db", access: "write" }],     effect: "DENY", code: "SensitivePath", rule: "floor:sensitive_places", says: /runtime's own state/ },
  { title: "a name with a line break in a reason",          tool: "ls", touches: [{ path: "a\nb", real: "/x" }],                        effect: "DENY", code: "PathTraversalBlocked", rule: "floor:roots", says: /"a\\nb"/ },
  { title: "a checkpoint without a handler",                tool: "deploy", rules: [{ effect: "allow", tool: "deploy" }],               effect: "DENY", code: "CheckpointDenied", rule: "floor:checkpoint" },
  { title: "a checkpoint with a handler",                   tool: "deploy", workspace: { checkpoint_handler: true },                    effect: "ALLOW", rule: "profile:guarded:look" },

  { title: "a deny rule and its reason",                    tool: "ls", rules: [{ effect: "deny", tool: "ls", reason: "Ask Bob" }],     effect: "DENY", code: "ToolNotAllowed", rule: "rule:1 (deny tool=ls)", says: /^Ask Bob$/ },
  { title: "a confirm rule without a reason",               tool: "ls", rules: [{ effect: "confirm", risk: "low" }],                    effect: "REQUIRE_CONFIRMATION", rule: "rule:1 (confirm risk=low)", says: /requires approval for "ls"/ },
  { title: "an allow rule for deletes",                     tool: "remove", touches: [{ access: "delete" }], rules: [{ effect: "allow", permission: "fs.delete" }], effect: "ALLOW", rule: "rule:1 (allow permission=fs.delete)" },
  { title: "a deny rule inside an allow rule",              tool: "ls", touches: [{ real: "/work/a/b" }], rules: [{ effect: "allow", path: "a/**" }, { effect: "deny", path: "a/b" }], effect: "DENY", code: "ToolNotAllowed", rule: "rule:2 (deny path=a/b)" },

  { title: "a hook",                                        tool: "write", touches: [HOOK], profile: "autonomous",                      effect: "REQUIRE_CONFIRMATION", rule: "builtin:files_that_run_later", says: /git runs it/ },
  { title: "the removal of a CI file",                      tool: "remove", touches: [{ ...CI, access: "delete" }], profile: "autonomous", effect: "REQUIRE_CONFIRMATION", rule: "builtin:files_that_run_later" },
  { title: "the removal of a CI file, asked anyway",        tool: "remove", touches: [{ ...CI, access: "delete" }],                     effect: "REQUIRE_CONFIRMATION", rule: "builtin:files_that_run_later" },
  { title: "the reading of a hook",                         tool: "ls", touches: [{ ...HOOK, access: "read" }],                         effect: "ALLOW", rule: "profile:guarded:look" },
  { title: "a hook, with a rule for the tool",              tool: "write", touches: [HOOK], rules: [{ effect: "allow", tool: "write" }], effect: "REQUIRE_CONFIRMATION", rule: "builtin:files_that_run_later" },
  { title: "a hook, with a rule for all paths",             tool: "write", touches: [HOOK], rules: [{ effect: "allow", path: "**" }],   effect: "REQUIRE_CONFIRMATION", rule: "builtin:files_that_run_later" },
  { title: "a hook, with a rule that names it",             tool: "write", touches: [HOOK], rules: [{ effect: "allow", path: ".git/hooks/**" }], effect: "ALLOW", rule: "rule:1 (allow path=.git/hooks/**)" },
  { title: "a hook, with a rule that names it in full",     tool: "write", touches: [HOOK], rules: [{ effect: "allow", path: "/work/.git/hooks/*" }], effect: "ALLOW", rule: "rule:1 (allow path=/work/.git/hooks/*)" },
  { title: "a hook and a CI file, with a rule for one",     tool: "write", touches: [HOOK, CI], rules: [{ effect: "allow", path: ".git/hooks/**" }], effect: "REQUIRE_CONFIRMATION", rule: "builtin:files_that_run_later" },
  { title: "a bare repository's hook, with a rule",         tool: "write", touches: [{ real: "/work/a.git/hooks/update", access: "write" }], rules: [{ effect: "allow", path: "a.git/**" }], effect: "ALLOW", rule: "rule:1 (allow path=a.git/**)" },
  { title: "a CI file by its ending, with a rule",          tool: "write", touches: [{ real: "/work/.travis.yml", access: "write" }], rules: [{ effect: "allow", path: "*.yml" }], effect: "REQUIRE_CONFIRMATION", rule: "builtin:files_that_run_later" },
  { title: "an editor's file by its ending, with a rule",   tool: "write", touches: [{ real: "/work/a.code-workspace", access: "write" }], rules: [{ effect: "allow", path: "*.code-workspace" }], effect: "ALLOW", rule: "rule:1 (allow path=*.code-workspace)" },
  { title: "a system file, with a rule for its folder's folder", tool: "write", touches: [{ real: "/etc/cron.d/a", access: "write" }], workspace: { roots: ["/etc"] }, rules: [{ effect: "allow", path: "/etc/**" }], effect: "REQUIRE_CONFIRMATION", rule: "builtin:files_that_run_later" },
  { title: "a system file, with a rule that names it",      tool: "write", touches: [{ real: "/etc/cron.d/a", access: "write" }], workspace: { roots: ["/etc"] }, rules: [{ effect: "allow", path: "cron.d/**" }], effect: "ALLOW", rule: "rule:1 (allow path=cron.d/**)" },
  { title: "a hook, with a deny rule for the tool",         tool: "write", touches: [HOOK], rules: [{ effect: "deny", tool: "write" }], effect: "DENY", code: "ToolNotAllowed", rule: "rule:1 (deny tool=write)" },
  { title: "a hook, with a confirm rule for the tool",      tool: "write", touches: [HOOK], rules: [{ effect: "confirm", tool: "write" }], effect: "REQUIRE_CONFIRMATION", rule: "rule:1 (confirm tool=write)" },

  { title: "hidden names, under guarded",                   tool: "ls", touches: [SHOW],                                                effect: "REQUIRE_CONFIRMATION", rule: "builtin:hidden_names" },
  { title: "hidden names, under readonly",                  tool: "ls", touches: [SHOW], profile: "readonly",                           effect: "DENY", code: "ToolNotAllowed", rule: "builtin:hidden_names" },
  { title: "hidden names, under autonomous",                tool: "ls", touches: [SHOW], profile: "autonomous",                         effect: "ALLOW", rule: "profile:autonomous:look" },
  { title: "twenty files at once",                          tool: "write", touches: manyFiles(20),                                      effect: "ALLOW", rule: "profile:guarded:change" },
  { title: "twenty-one files at once",                      tool: "write", touches: manyFiles(21),                                      effect: "REQUIRE_CONFIRMATION", rule: "builtin:many_files" },
  { title: "twenty-one files, with a rule for the tool",    tool: "write", touches: manyFiles(21), rules: [{ effect: "allow", tool: "write" }], effect: "REQUIRE_CONFIRMATION", rule: "builtin:many_files" },
  { title: "twenty-one files, under autonomous",            tool: "write", touches: manyFiles(21), profile: "autonomous",               effect: "ALLOW", rule: "profile:autonomous:change" },
  { title: "one file named twenty-one times",               tool: "write", touches: manyFiles(21).map((each) => ({ ...each, real: "/work/a" })), effect: "ALLOW", rule: "profile:guarded:change" },
  { title: "hidden names, with a rule for the tool",        tool: "ls", touches: [SHOW], rules: [{ effect: "allow", tool: "ls" }],      effect: "REQUIRE_CONFIRMATION", rule: "builtin:hidden_names" },
  { title: "hidden names, with a rule for the folder",      tool: "ls", touches: [SHOW], rules: [{ effect: "allow", tool: "ls", path: "." }], effect: "ALLOW", rule: "rule:1 (allow tool=ls path=.)" },
  { title: "hidden names, with a deny rule",                tool: "ls", touches: [SHOW], rules: [{ effect: "deny", tool: "ls" }],       effect: "DENY", code: "ToolNotAllowed", rule: "rule:1 (deny tool=ls)" },
  { title: "a risky command of a tool that declares none, under readonly",   tool: "note", command: "git push", profile: "readonly", rules: [{ effect: "allow", tool: "note" }], effect: "DENY", code: "ToolNotAllowed", rule: "builtin:risky_commands", says: /"readonly" runs no commands/ },
  { title: "the network for a tool that declares none, under readonly", tool: "note", command: "ls", network: true, profile: "readonly", workspace: SANDBOXED, effect: "DENY", code: "ToolNotAllowed", rule: "builtin:network_commands" },
  { title: "a risky command with a variable that changes it, with a rule", tool: "bash", command: "GIT_SSH_COMMAND=x git push", rules: [{ effect: "allow", command: "git push *" }], effect: "REQUIRE_CONFIRMATION", rule: "builtin:risky_commands" },
  { title: "a redirection to a hook, with a rule for the words", tool: "bash", command: "echo x > .git/hooks/a", workspace: SANDBOXED, rules: [{ effect: "allow", command: "echo *" }], effect: "REQUIRE_CONFIRMATION", rule: "builtin:risky_commands" },
  { title: "a fetch with a rule for its host",              tool: "webfetch", url: "https://example.com/a", rules: [{ effect: "allow", domain: "example.com" }], effect: "ALLOW", rule: "rule:1 (allow domain=example.com)" },
  { title: "a fetch with a rule against its host",          tool: "webfetch", url: "https://example.com/a", profile: "autonomous", rules: [{ effect: "deny", domain: "*.COM" }], effect: "DENY", code: "ToolNotAllowed", rule: "rule:1 (deny domain=*.COM)" },
  { title: "a command with the network, with a rule for a host", tool: "bash", command: "curl https://example.com", network: true, workspace: SANDBOXED, rules: [{ effect: "deny", domain: "*" }], effect: "REQUIRE_CONFIRMATION", rule: "builtin:network_commands" },
  { title: "the network with nothing on the allowlist",     tool: "bash", command: "npm ci", network: true, workspace: SANDBOXED, reach: [], effect: "DENY", code: "NetworkDenied", rule: "floor:network_allowlist", says: /the network allowlist is empty; set "network": \{ "allow": \["example\.com"\] \} in the configuration/ },
  { title: "the same, under autonomous, with rules for it", tool: "bash", command: "npm ci", network: true, workspace: SANDBOXED, reach: [], profile: "autonomous", rules: [{ effect: "allow", permission: "net.connect" }, { effect: "allow", tool: "bash" }], effect: "DENY", code: "NetworkDenied", rule: "floor:network_allowlist" },
  { title: "the same for a tool of the user's own",         tool: "note", command: "ls", network: true, workspace: SANDBOXED, reach: [], effect: "DENY", code: "NetworkDenied", rule: "floor:network_allowlist" },
  { title: "no network with nothing on the allowlist",      tool: "bash", command: "npm ci", workspace: SANDBOXED, reach: [],              effect: "ALLOW", rule: "profile:guarded:run" },
  { title: "the network without a sandbox",                 tool: "bash", command: "npm ci", network: true, profile: "autonomous",      effect: "DENY", code: "NetworkDenied", rule: "floor:network_without_sandbox", says: /autonous doctor/ },
  { title: "the network in the background",                 tool: "bash", command: "npm ci", network: true, background: true, workspace: SANDBOXED, effect: "DENY", code: "NetworkDenied", rule: "floor:network_in_background" },
  { title: "hidden names requested without a listing",      tool: "ls", touches: [{ ...SHOW, access: "read" }],                         effect: "ALLOW", rule: "profile:guarded:look" },
];

for (const { title, effect, code, rule, says, ...given } of CASES) {
  test(`${title}: ${effect}`, () => {
    const decision = decideOn(given);

    expect({ effect: decision.effect, code: decision.code, rule: decision.rule }).toEqual({ effect, code, rule });
    expect(decision.scope).toBe(effect === "REQUIRE_CONFIRMATION" ? "call" : undefined);
    if (says) expect(decision.reason).toMatch(says);
    expect(decision.checks.map(({ check }) => check)).toEqual(CHECK_NAMES);
  });
}

test("what only restores is not asked about for how many or what runs later; rules hold for it", () => {
  const call = { ...callOf({ tool: "write", touches: [...manyFiles(30), HOOK] }), restores: true };
  const settings: DecisionSettings = { profile: "guarded", configuration: { rules: [], quotas: [] } };
  const denying: DecisionSettings = {
    profile: "guarded",
    configuration: { rules: [{ effect: "deny", path: "**" }], quotas: [] },
  };

  expect(decide(call, WORKSPACE, settings).effect).toBe("ALLOW");
  expect(decide({ ...call, restores: false }, WORKSPACE, settings).effect).toBe("REQUIRE_CONFIRMATION");
  expect(decide(call, WORKSPACE, denying).effect).toBe("DENY");
});

test("where the rule stands that decided is told, and in its check", () => {
  const settings: DecisionSettings = {
    profile: "guarded",
    configuration: {
      rules: [
        { effect: "deny", tool: "write" },
        { effect: "deny", tool: "ls", reason: "Ask Bob" },
      ],
      quotas: [],
    },
    origins: [undefined, { file: "/home/ann/config.json", line: 7 }],
  };
  const decided = decide(callOf({ tool: "ls" }), WORKSPACE, settings);
  expect(decided).toMatchObject({
    rule: "rule:2 (deny tool=ls)",
    reason: "Ask Bob",
    origin: { file: "/home/ann/config.json", line: 7 },
  });
  expect(decided.checks.find(({ check }) => check === "rules")?.reason).toBe("Ask Bob (/home/ann/config.json, line 7)");
  expect(decide(callOf({ tool: "write" }), WORKSPACE, settings)).not.toHaveProperty("origin");
  expect(decide(callOf({ tool: "remove" }), WORKSPACE, settings)).not.toHaveProperty("origin");
});

test("every check is told, also those after the one that decided", () => {
  const { rule, checks } = decideOn({
    tool: "write",
    touches: [
      { path: "../.ssh/x", real: "/.ssh/x", access: "write" },
      { ...HOOK, access: "delete" },
    ],
    rules: [{ effect: "confirm", tool: "write", reason: "Careful" }],
  });

  expect(rule).toBe("floor:roots");
  expect(checks.map(({ check, effect }) => `${check} ${effect}`)).toEqual([
    "tools_in_force PASS",
    "requested_permissions PASS",
    "roots DENY",
    "sensitive_places DENY",
    "destructive_commands PASS",
    "hidden_tracked_files PASS",
    "addresses PASS",
    "command_network PASS",
    "checkpoint PASS",
    "rules REQUIRE_CONFIRMATION",
    "command_paths PASS",
    "untold_commands PASS",
    "files_that_run_later REQUIRE_CONFIRMATION",
    "hidden_names PASS",
    "many_files PASS",
    "risky_commands PASS",
    "network_commands PASS",
    "profile REQUIRE_CONFIRMATION",
    "project_rules PASS",
  ]);
  expect(checks.every(({ reason }) => reason.length > 0)).toBe(true);
});

test("a decision is always made, whole and repeatable", () => {
  fc.assert(
    fc.property(any.call, any.workspace, any.settings, (call, workspace, settings) => {
      const decision = decide(call, workspace, settings);
      expect(decision.code !== undefined).toBe(decision.effect === "DENY");
      expect(decision.scope).toBe(decision.effect === "REQUIRE_CONFIRMATION" ? "call" : undefined);
      expect(decision.rule).not.toBe("none");
      expect(decision.checks.map(({ check }) => check)).toEqual(CHECK_NAMES);
      expect(decide(structuredClone(call), structuredClone(workspace), structuredClone(settings))).toEqual(decision);
    }),
    { numRuns: 2000 },
  );
});

test("adding a deny rule never widens a decision", () => {
  fc.assert(
    fc.property(any.call, any.workspace, any.settings, any.rule, (call, workspace, settings, rule) => {
      const rules = [...settings.configuration.rules, { ...rule, effect: "deny" as const }];
      const after = decide(call, workspace, { ...settings, configuration: { ...settings.configuration, rules } });
      expect(STRICTNESS[after.effect]).toBeGreaterThanOrEqual(STRICTNESS[decide(call, workspace, settings).effect]);
    }),
    { numRuns: 2000 },
  );
});

test("no rule opens what the floor closes or what is not in force", () => {
  fc.assert(
    fc.property(any.call, any.workspace, any.settings, (call, workspace, settings) => {
      const bare = decide(call, workspace, { ...settings, configuration: { rules: [], quotas: [] } });
      fc.pre(bare.rule.startsWith("floor:") || bare.rule === "tools_in_force");
      expect(decide(call, workspace, settings).rule).toBe(bare.rule);
    }),
  );
});

test("a call that is allowed touches nothing outside the roots", () => {
  fc.assert(
    fc.property(any.call, any.settings, (call, settings) => {
      const { effect } = decide(call, { ...WORKSPACE, checkpoint_handler: true }, settings);
      fc.pre(effect !== "DENY");
      for (const { real } of call.touches) {
        expect(real === "/work" || real.startsWith("/work/")).toBe(true);
        expect(real.split("/")).not.toContain("..");
      }
    }),
  );
});

test("a narrower workspace never widens a decision", () => {
  fc.assert(
    fc.property(any.call, any.workspace, any.settings, fc.array(any.name), (call, workspace, settings, skill_tools) => {
      const before = decide(call, workspace, settings);
      const after = decide(
        call,
        { ...workspace, skill_tools: skill_tools.filter((name) => workspace.skill_tools?.includes(name) ?? true) },
        settings,
      );
      expect(STRICTNESS[after.effect]).toBeGreaterThanOrEqual(STRICTNESS[before.effect]);
    }),
  );
});
