import { expect, test } from "vitest";
import { narrowFurther } from "./skill-limits.ts";
import type { SkillLimits } from "./skill-limits.ts";

// oxfmt-ignore
const CASES: readonly { title: string; one: SkillLimits; other: SkillLimits; both: SkillLimits }[] = [
  { title: "two that narrow nothing",            one: {}, other: {}, both: {} },
  { title: "one that narrows beside one that does not", one: { skill_names: ["a"], skill_tools: ["read"] }, other: {}, both: { skill_names: ["a"], skill_tools: ["read"] } },
  { title: "the same the other way round",       one: {}, other: { skill_names: ["a"], skill_tools: ["read"], skill_commands: [["git"]] }, both: { skill_names: ["a"], skill_tools: ["read"], skill_commands: [["git"]] } },
  { title: "what both list",                     one: { skill_names: ["a"], skill_tools: ["read", "ls"] }, other: { skill_names: ["b", "a"], skill_tools: ["ls", "bash"] }, both: { skill_names: ["a", "b"], skill_tools: ["ls"] } },
  { title: "nothing that both list",             one: { skill_tools: ["read"] }, other: { skill_tools: ["ls"] }, both: { skill_tools: [] } },
  { title: "the narrower command of two",        one: { skill_commands: [["git"], ["ls"]] }, other: { skill_commands: [["git", "add"], ["npm"]] }, both: { skill_commands: [["git", "add"]] } },
  { title: "the narrower command, the other way", one: { skill_commands: [["git", "add"]] }, other: { skill_commands: [["git"]] }, both: { skill_commands: [["git", "add"]] } },
  { title: "commands of which none is common",   one: { skill_commands: [["git", "add"]] }, other: { skill_commands: [["git", "log"]] }, both: { skill_commands: [] } },
];

for (const { title, one, other, both } of CASES) {
  test(`${title}: ${JSON.stringify(both)}`, () => {
    expect(narrowFurther(one, other)).toEqual(both);
  });
}
