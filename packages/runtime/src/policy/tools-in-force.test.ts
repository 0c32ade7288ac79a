import { expect, test } from "vitest";
import { PERMISSION_CLASSES } from "../protocol/call.ts";
import { PROFILE_NAMES } from "../protocol/configuration.ts";
import type { DecisionSettings, ToolFacts, WorkspaceContext } from "./facts.ts";
import { isInForce } from "./tools-in-force.ts";

const ls: ToolFacts = {
  name: "ls",
  permission_class: "file",
  required_permissions: ["fs.read"],
  side_effects: ["none"],
  requires_checkpoint: false,
};
const write: ToolFacts = { ...ls, name: "write", required_permissions: ["fs.write"], side_effects: ["files"] };
const note: ToolFacts = { ...ls, name: "note", permission_class: "generic", side_effects: ["message"] };
const launch: ToolFacts = { ...note, name: "launch", side_effects: ["process"] };
const workspace: WorkspaceContext = {
  roots: ["/work"],
  home: "/home/ann",
  state_dirs: [],
  checkpoint_handler: false,
  sandbox: "none",
};
const settings: DecisionSettings = { profile: "guarded", configuration: { rules: [], quotas: [] } };

function configured(tools: string[]): DecisionSettings {
  return { profile: "guarded", configuration: { tools, rules: [], quotas: [] } };
}

const OFFERED: DecisionSettings = {
  profile: "readonly",
  configuration: { rules: [{ effect: "confirm", tool: "write", offer: true }], quotas: [] },
};

// oxfmt-ignore
const CASES: readonly { title: string; tool: ToolFacts; workspace?: Partial<WorkspaceContext>; settings?: DecisionSettings; says: RegExp | true }[] = [
  { title: "a tool that nothing narrows",                     tool: ls,                                                                    says: true },
  { title: "a tool that all three list",                      tool: ls, workspace: { skill_tools: ["ls"], runtime_tools: ["ls"] }, settings: configured(["ls", "write"]), says: true },
  { title: "a tool that the configuration leaves out",        tool: ls, settings: configured(["write"]),                                   says: /configuration does not list/ },
  { title: "a tool where the configuration lists none",       tool: ls, settings: configured([]),                                          says: /configuration does not list/ },
  { title: "a tool that the skill leaves out",                tool: ls, workspace: { skill_tools: ["write"] },                             says: /active skill/ },
  { title: "a tool that skills with names leave out",         tool: ls, workspace: { skill_tools: ["write"], skill_names: ["pdf", "mail"] }, says: /active skill "pdf" or "mail" does not list it/ },
  { title: "a tool that the run leaves out",                  tool: ls, workspace: { runtime_tools: [] },                                  says: /this run/ },
  { title: "a tool whose name differs by case",               tool: ls, settings: configured(["LS"]),                                      says: /configuration does not list/ },
  { title: "a tool that looks, under readonly",               tool: ls, settings: { ...settings, profile: "readonly" },                    says: true },
  { title: "a tool that writes, under readonly",              tool: write, settings: { ...settings, profile: "readonly" },                 says: /"readonly" offers nothing that can change files/ },
  { title: "a tool that writes, under guarded",               tool: write,                                                                 says: true },
  { title: "a tool that a rule offers, under readonly",       tool: write, settings: OFFERED,                                              says: true },
  { title: "a tool that the user's rule offers and the project's profile hides", tool: write, settings: { ...OFFERED, projects: [{ profile: "readonly", configuration: { rules: [], quotas: [] } }] }, says: /"readonly" offers nothing/ },
  { title: "a tool that the user's rule offers beside a project that does not hide it", tool: write, settings: { ...OFFERED, projects: [{ profile: "guarded", configuration: { rules: [], quotas: [] } }, { configuration: { rules: [], quotas: [] } }] }, says: true },
  { title: "a tool that only a project's rule offers",        tool: write, settings: { ...settings, profile: "readonly", projects: [{ configuration: OFFERED.configuration }] }, says: /"readonly" offers nothing/ },
  { title: "a generic tool that sends, under readonly",       tool: note, settings: { ...settings, profile: "readonly" },                  says: true },
  { title: "a tool some of whose calls look, under readonly", tool: { ...write, only_looks: () => false }, settings: { ...settings, profile: "readonly" }, says: true },
  { title: "a generic tool that starts, under readonly",      tool: launch, settings: { ...settings, profile: "readonly" },                says: /run programs/ },
];

for (const { title, tool, workspace: narrowed, settings: given, says } of CASES) {
  test(`${title}: ${says === true ? "in force" : "not in force"}`, () => {
    const { inForce, reason } = isInForce(tool, { ...workspace, ...narrowed }, given ?? settings);
    expect(inForce).toBe(says === true);
    expect(reason).toMatch(says === true ? /enable it/ : says);
  });
}

test("every class of tools can be in force, under every profile", () => {
  for (const permission_class of PERMISSION_CLASSES) {
    for (const profile of PROFILE_NAMES) {
      const given = { ...configured(["ls"]), profile };
      expect(isInForce({ ...ls, permission_class }, workspace, given).inForce).toBe(true);
    }
  }
});
