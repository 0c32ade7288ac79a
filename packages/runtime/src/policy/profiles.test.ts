import { expect, test } from "vitest";
import { ACCESSES } from "../contract/tool.ts";
import { PERMISSIONS, RISKS } from "../protocol/call.ts";
import type { Permission, Risk, SideEffect } from "../protocol/call.ts";
import type { CallFacts, ResolvedTouch } from "./facts.ts";
import { PROFILES, reachOfCall, reachIgnoringRisk, reachOfTool, riskOfCall } from "./profiles.ts";

interface CaseInput {
  readonly permissions?: readonly Permission[];
  readonly side_effects?: readonly SideEffect[];
  readonly accesses?: readonly ResolvedTouch["access"][];
  readonly risk?: Risk;
}

function callOf({ permissions = [], side_effects = [], accesses = [], risk = "low" }: CaseInput): CallFacts {
  return {
    tool: {
      name: "tool",
      permission_class: "file",
      required_permissions: permissions,
      side_effects,
      requires_checkpoint: false,
    },
    risk,
    touches: accesses.map((access) => ({
      path: "a",
      real: "/work/a",
      access,
      show_sensitive: false,
      exists: true,
    })),
  };
}

// oxfmt-ignore
const CASES = [
  { title: "nothing at all",               given: {},                                                      reach: "look",      risk: "low" },
  { title: "reading",                      given: { permissions: ["fs.read"] },                            reach: "look",      risk: "low" },
  { title: "writing",                      given: { permissions: ["fs.read", "fs.write"] },                reach: "change",    risk: "medium" },
  { title: "running",                      given: { permissions: ["fs.write", "proc.exec"] },              reach: "run",       risk: "medium" },
  { title: "deleting",                     given: { permissions: ["fs.delete", "fs.read"] },               reach: "reach_out", risk: "high" },
  { title: "the network",                  given: { permissions: ["net.connect"] },                        reach: "reach_out", risk: "high" },
  { title: "git",                          given: { permissions: ["git.write"] },                          reach: "reach_out", risk: "high" },
  { title: "a message",                    given: { side_effects: ["message", "none"] },                   reach: "look",      risk: "low" },
  { title: "an undeclared write",          given: { permissions: ["fs.read"], side_effects: ["files"] },   reach: "change",    risk: "medium" },
  { title: "an undeclared process",        given: { side_effects: ["process"] },                           reach: "run",       risk: "medium" },
  { title: "an undeclared request",        given: { side_effects: ["network"] },                           reach: "reach_out", risk: "high" },
  { title: "a touch that reads",           given: { accesses: ["read", "list"] },                          reach: "look",      risk: "low" },
  { title: "a touch that writes",          given: { accesses: ["read", "write"] },                         reach: "change",    risk: "medium" },
  { title: "a touch that deletes",         given: { accesses: ["delete", "write"] },                       reach: "reach_out", risk: "high" },
  { title: "high risk by its own word",    given: { permissions: ["fs.read"], risk: "high" },              reach: "reach_out", risk: "high" },
  { title: "medium risk by its own word",  given: { permissions: ["fs.read"], risk: "medium" },            reach: "look",      risk: "medium" },
] as const satisfies readonly { title: string; given: CaseInput; reach: string; risk: Risk }[];

for (const { title, given, reach, risk } of CASES) {
  test(`a call with ${title} reaches as far as "${reach}", at ${risk} risk`, () => {
    expect(reachOfCall(callOf(given))).toBe(reach);
    expect(riskOfCall(callOf(given))).toBe(risk);
  });
}

test("a tool's own word never lowers the risk or the reach", () => {
  for (const permission of PERMISSIONS) {
    for (const access of ACCESSES) {
      const [low, medium, high] = RISKS.map((risk) => callOf({ permissions: [permission], accesses: [access], risk }));
      expect([riskOfCall(low!), "medium", "high"]).toContain(riskOfCall(medium!));
      expect(riskOfCall(high!)).toBe("high");
      expect(reachIgnoringRisk(low!)).toBe(reachIgnoringRisk(high!));
      expect(reachOfTool(low!.tool)).toBe(reachOfTool(high!.tool));
    }
  }
});

test("every profile lets look, and each one offers at least what the one before it does", () => {
  expect(Object.values(PROFILES).map(({ look }) => look)).toEqual(["allow", "allow", "allow"]);
  const hidden = Object.values(PROFILES).map((row) => Object.values(row).filter((effect) => effect === "hide").length);
  expect(hidden).toEqual([3, 0, 0]);
});
