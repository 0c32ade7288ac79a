import { expect, test } from "vitest";
import { TOOLS } from "../../../../../test/support/calls.ts";
import type { PolicyRule } from "../../protocol/configuration.ts";
import { findIdleRules } from "./idle-rules.ts";

const bash = { ...TOOLS.bash, side_effects: ["process", "files"] } as const;
const tools = [TOOLS.ls, TOOLS.write, TOOLS.remove, TOOLS.webfetch, TOOLS.status, bash];

// oxfmt-ignore
const RULES: readonly (readonly [rule: PolicyRule, problem: RegExp | undefined])[] = [
  [{ effect: "deny",    tool: "bash",     permission: "git.write" },   undefined],
  [{ effect: "deny",    tool: "*",        permission: "git.write" },   undefined],
  [{ effect: "deny",    permission: "git.write" },                     undefined],
  [{ effect: "deny",    tool: "ls" },                                  undefined],
  [{ effect: "deny",    tool: "mcp__x__y", permission: "git.write" },  undefined],
  [{ effect: "confirm", tool: "write",    permission: "fs.delete" },   undefined],
  [{ effect: "deny",    tool: "ls",       permission: "git.write" },   /^rules\.0: "ls" never needs "git\.write", .* needs it \(bash\)$/],
  [{ effect: "confirm", tool: "ls",       permission: "fs.write" },    /never needs "fs\.write".* \(write, remove, bash\)$/],
  [{ effect: "deny",    tool: "status",   permission: "fs.delete" },   /never needs/],
  [{ effect: "allow",   tool: "webfetch", permission: "proc.exec" },   /never needs/],
  [{ effect: "allow",   tool: "bash",     permission: "proc.exec" },   undefined],
  [{ effect: "allow",   tool: "bash",     permission: "net.connect" }, undefined],
  [{ effect: "allow",   tool: "bash",     permission: "fs.read" },     /"bash" also needs "proc\.exec", which "fs\.read" does not include/],
  [{ effect: "allow",   tool: "{bash,write}", permission: "fs.write" }, undefined],
  [{ effect: "allow",   tool: "write",    permission: "fs.read" },     /also needs "fs\.write"/],
];

test.each(RULES)("a rule that never has an effect is refused with words: %j", (rule, problem) => {
  const [found] = findIdleRules([rule], tools);
  if (problem === undefined) expect(found).toBeUndefined();
  else expect(found).toMatch(problem);
});

test("no other tool is named where none needs the permission", () => {
  const [found] = findIdleRules([{ effect: "deny", tool: "ls", permission: "git.write" }], [TOOLS.ls]);
  expect(found).toMatch(/name a tool that needs it$/);
});
