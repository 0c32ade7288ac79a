import { describe, expect, test } from "vitest";
import { callOf, TOOLS, WORKSPACE } from "../../../../../test/support/calls.ts";
import { PERMISSIONS } from "../../protocol/call.ts";
import type { Permission } from "../../protocol/call.ts";
import type { PolicyRule } from "../../protocol/configuration.ts";
import type { Effect } from "../../protocol/decision.ts";
import { decide } from "../decide.ts";
import type { Decision } from "../decide.ts";
import { permissionsOf } from "./needed-permissions.ts";

const UNKNOWN = "fs.write fs.delete git.write";

/** What each command needs beside `proc.exec`, and what it may need. */
// oxfmt-ignore
const NEEDS: readonly (readonly [command: string, uses: string, may: string])[] = [
  ["echo a",                          "",                             ""],
  ["echo a > b",                      "fs.write",                     ""],
  ["echo a 2>/dev/null",              "",                             ""],
  ["> b",                             "fs.write",                     ""],
  ["cat a",                           "fs.read",                      ""],
  ["/bin/cat a",                      "fs.read",                      ""],
  ["touch a",                         "fs.write",                     ""],
  ["rm a",                            "fs.write fs.delete",           ""],
  ["cp a b",                          "fs.read fs.write",             ""],
  ["mv a b",                          "fs.read fs.write fs.delete",   ""],
  ["npm test",                        "fs.read",                      UNKNOWN],
  ["./build.sh",                      "fs.read",                      UNKNOWN],
  ["$PROGRAM a",                      "fs.read",                      UNKNOWN],
  ["npm ci",                          "fs.read net.connect",          UNKNOWN],
  ["npm --registry r install",        "fs.read net.connect",          UNKNOWN],
  ["npm --frobnicate install",        "fs.read net.connect",          UNKNOWN],
  ["pip install x",                   "fs.read net.connect",          UNKNOWN],
  ["cargo fetch",                     "fs.read net.connect",          UNKNOWN],
  ["cargo build",                     "fs.read",                      UNKNOWN],
  ["docker pull x",                   "fs.read net.connect",          UNKNOWN],
  ["curl https://example.com",        "fs.read net.connect",          UNKNOWN],
  ["rsync -a a/ host:b",              "fs.read net.connect",          UNKNOWN],
  ["rsync -a a/ b",                   "fs.read",                      UNKNOWN],
  ["bash -c 'touch a'",               "fs.read fs.write",             ""],
  ["bash -c 'rm a; curl x'",          "fs.read fs.write fs.delete net.connect", "git.write"],
  ["git status",                      "fs.read",                      ""],
  ["git",                             "fs.read",                      ""],
  ["git -C sub log -p",               "fs.read",                      ""],
  ["git diff > a.patch",              "fs.read fs.write",             ""],
  ["git diff --output=a.patch",       "fs.read fs.write",             ""],
  ["git ls-files -o",                 "fs.read",                      ""],
  ["git add a",                       "fs.read git.write",            ""],
  ["git commit -m x",                 "fs.read git.write",            ""],
  ["git -c user.name=x commit",       "fs.read git.write",            ""],
  ["git push",                        "fs.read git.write net.connect", ""],
  ["git fetch origin",                "fs.read git.write net.connect", ""],
  ["git ls-remote",                   "fs.read net.connect",          ""],
  ["git reset --hard",                "fs.read fs.write git.write",   ""],
  ["git rm a",                        "fs.read fs.write fs.delete git.write", ""],
  ["git branch",                      "fs.read",                      ""],
  ["git branch --list",               "fs.read",                      ""],
  ["git branch new",                  "fs.read git.write",            ""],
  ["git stash list",                  "fs.read fs.write",             ""],
  ["git remote -v",                   "fs.read",                      ""],
  ["git remote update",               "fs.read git.write net.connect", ""],
  ["git config user.name",            "fs.read git.write",            ""],
  ["git config --get user.name",      "fs.read",                      ""],
  ["git $WHAT",                       "fs.read",                      UNKNOWN],
  ["git log $ARGS",                   "fs.read",                      UNKNOWN],
  ["git -c alias.x='!rm a' x",        "fs.read fs.write fs.delete git.write", ""],
  ["eval \"$X\"",                     "fs.read",                      UNKNOWN],
];

test.each(NEEDS)("the words of a command tell what it needs: %s", (command, uses, may) => {
  const needed = permissionsOf(callOf({ tool: "bash", command }));
  const sorted = (list: Iterable<string>): string => [...list].sort().join(" ");
  expect(sorted(needed.uses)).toBe(sorted(["proc.exec", ...uses.split(" ").filter((each) => each !== "")]));
  expect(sorted(needed.may)).toBe(sorted(may.split(" ").filter((each) => each !== "")));
});

function decided(rules: readonly PolicyRule[], command: string, { sandbox = "bwrap", network = false } = {}): Decision {
  const call = { ...callOf({ tool: "bash", risk: "medium", command, network }) };
  return decide(
    call,
    { ...WORKSPACE, sandbox },
    { profile: "guarded", configuration: { rules: [...rules], quotas: [], network: { allow: ["example.com"] } } },
  );
}

/** A command that needs the permission by its words, and one that does not need it. */
// oxfmt-ignore
const EXAMPLES = {
  "fs.read":     { using: "cat a",             other: "echo a" },
  "fs.write":    { using: "touch a",           other: "cat a" },
  "fs.delete":   { using: "rm a",              other: "touch a" },
  "proc.exec":   { using: "echo a",            other: undefined },
  "net.connect": { using: "curl example.com",  other: "cat a" },
  "git.write":   { using: "git commit -m x",   other: "git status" },
} as const satisfies Record<Permission, { using: string; other: string | undefined }>;

describe.each(PERMISSIONS)("a rule on %s has an effect on commands", (permission) => {
  const { using, other } = EXAMPLES[permission];

  test.each([
    ["deny", "DENY"],
    ["confirm", "REQUIRE_CONFIRMATION"],
  ] as const)("that %s", (effect, expected) => {
    const rule = { effect, permission };
    const id = `rule:1 (${effect} permission=${permission})`;
    for (const rules of [[rule], [{ ...rule, tool: "bash" }]]) {
      expect(decided(rules, using).effect).toBe(expected);
      if (other !== undefined) expect(decided(rules, other).effect).toBe("ALLOW");
    }
    expect(decided([rule], using).rule).toBe(id);
    expect(decided([rule], using).checks.find(({ check }) => check === "rules")?.effect).toBe(expected);
  });

  test("whose programs are not known", () => {
    const isOffline = permission === "net.connect";
    const isCertain = permission === "fs.read" || permission === "proc.exec";
    const sandboxed = (effect: PolicyRule["effect"]): Effect => decided([{ effect, permission }], "./x.sh").effect;
    // A sandbox closes what it can; what it cannot is denied.
    expect(sandboxed("deny")).toBe(isCertain ? "DENY" : "ALLOW");
    expect(sandboxed("confirm")).toBe(isOffline ? "ALLOW" : "REQUIRE_CONFIRMATION");
    const bare = decide(
      callOf({ tool: "bash", risk: "medium", command: "./x.sh" }),
      { ...WORKSPACE, sandbox: "none" },
      { profile: "autonomous", configuration: { rules: [{ effect: "deny", permission }], quotas: [] } },
    );
    expect(bare.effect).toBe(isCertain ? "DENY" : "REQUIRE_CONFIRMATION");
    expect(bare.rule).toBe(`rule:1 (deny permission=${permission})`);
  });
});

/** Without a sandbox, where every command needs approval. */
// oxfmt-ignore
const ALLOWED: readonly (readonly [permission: Permission, command: string, effect: Effect])[] = [
  ["proc.exec",   "npm test",             "ALLOW"],
  ["proc.exec",   "cat a",                "ALLOW"],
  ["proc.exec",   "rm a",                 "REQUIRE_CONFIRMATION"],
  ["git.write",   "git commit -m x",      "ALLOW"],
  ["git.write",   "git push",             "REQUIRE_CONFIRMATION"],
  ["git.write",   "git commit; ./x.sh",   "REQUIRE_CONFIRMATION"],
  ["fs.delete",   "rm a",                 "ALLOW"],
  ["fs.delete",   "npm test",             "REQUIRE_CONFIRMATION"],
  ["fs.read",     "cat a",                "REQUIRE_CONFIRMATION"],
  ["fs.write",    "touch a",              "REQUIRE_CONFIRMATION"],
];

test.each(ALLOWED)(
  "to allow %s lets through what needs nothing that reaches as far: %s",
  (permission, command, effect) => {
    expect(decided([{ effect: "allow", permission }], command, { sandbox: "none" }).effect).toBe(effect);
  },
);

test("to allow net.connect lets a command have the network that would be asked for", () => {
  const allow: PolicyRule = { effect: "allow", permission: "net.connect" };
  const online = { network: true };
  expect(decided([], "curl example.com", online).rule).toBe("builtin:network_commands");
  expect(decided([allow], "curl example.com", online).effect).toBe("ALLOW");
  expect(decided([{ ...allow, tool: "bash" }], "npm ci", online).effect).toBe("ALLOW");
  expect(decided([{ ...allow, tool: "read" }], "npm ci", online).rule).toBe("builtin:network_commands");
  expect(decided([allow, { ...allow, effect: "deny", command: "npm *" }], "npm ci", online).effect).toBe("DENY");
  expect(decided([{ effect: "deny", permission: "net.connect" }], "./x.sh", online).effect).toBe("DENY");
});

test("a script needs what any program may need", () => {
  const tool = { ...TOOLS.bash, name: "run_script", side_effects: ["process", "files"] } as const;
  const { uses, may } = permissionsOf(callOf({ tool }));
  expect([...uses].sort()).toEqual(["fs.read", "proc.exec"]);
  expect([...may].sort()).toEqual(["fs.delete", "fs.write", "git.write"]);
});
