import { expect, test } from "vitest";
import { toolsOfSkill } from "./allowed-tools.ts";

const OURS = ["ls", "find", "grep", "read", "write", "edit", "bash", "network_request", "mcp_files_search"];
const COMMANDS = ["bash", "background_output", "background_stop", "background_list"];

function toolsOf(allowed_tools: readonly string[]): ReturnType<typeof toolsOfSkill> {
  return toolsOfSkill({ trusted: true, allowed_tools }, OURS);
}

// oxfmt-ignore
const NAMED = [
  { listed: [],                          tools: [] },
  { listed: ["Read", "Grep", "Glob"],    tools: ["read", "grep", "find"] },
  { listed: ["LS", "Write", "Edit"],     tools: ["ls", "write", "edit"] },
  { listed: ["MultiEdit", "edit"],       tools: ["edit"] },
  { listed: ["read_file", "list_dir"],   tools: ["read", "ls"] },
  { listed: ["WebFetch"],                tools: ["network_request"] },
  { listed: ["mcp_files_search"],        tools: ["mcp_files_search"] },
  { listed: ["Bash"],                    tools: [...COMMANDS, "run_script"] },
  { listed: ["BashOutput", "KillShell"], tools: ["background_output", "background_list", "background_stop"] },
];

for (const { listed, tools } of NAMED) {
  test(`${JSON.stringify(listed)} leaves ${JSON.stringify(tools)}`, () => {
    expect(toolsOf(listed)).toEqual({ tools, commands: undefined, notes: [] });
  });
}

test("a name that there is no tool for opens nothing, and a note says so", () => {
  const { tools, notes } = toolsOf(["Read", "WebSearch", "constructor", "Bash(git", "()", "mcp_files_search(x)"]);

  expect(tools).toEqual(["read", "mcp_files_search"]);
  expect(notes.map((note) => /"([^"]*)"/.exec(note)?.[1])).toEqual([
    "WebSearch",
    "constructor",
    "Bash(git",
    "()",
    "mcp_files_search(x)",
  ]);
});

test("where no name is known, no tool is left", () => {
  expect(toolsOf(["Magic"]).tools).toEqual([]);
});

// oxfmt-ignore
const COMMAND_LISTS = [
  { listed: ["Bash(git:*)"],                        commands: [["git"]] },
  { listed: ["Bash(git add:*)", "Bash(git  log *)"], commands: [["git", "add"], ["git", "log"]] },
  { listed: ["Bash(npm run test)"],                 commands: [["npm", "run", "test"]] },
  { listed: ["Bash (jq:*)"],                        commands: [["jq"]] },
];

for (const { listed, commands } of COMMAND_LISTS) {
  test(`${JSON.stringify(listed)} leaves bash with ${JSON.stringify(commands)}, and no scripts`, () => {
    expect(toolsOf(listed)).toEqual({ tools: COMMANDS, commands, notes: [] });
  });
}

test.each([["Bash(*)"], ["Bash()"], ["Bash"]])("%s beside a list of commands leaves any command", (any) => {
  expect(toolsOf(["Bash(git:*)", any]).commands).toBeUndefined();
});

test("brackets that cannot be checked are told", () => {
  expect(toolsOf(["Read(docs/**)"])).toMatchObject({ tools: ["read"], notes: [expect.stringMatching(/not checked/)] });
});

// oxfmt-ignore
const UNCHANGED = [
  { title: "that lists nothing",     skill: { trusted: true } },
  { title: "that lists everything",  skill: { trusted: true, allowed_tools: ["*"] } },
  { title: "that nobody trusts",     skill: { trusted: false, allowed_tools: ["Read"] } },
];

for (const { title, skill } of UNCHANGED) {
  test(`a skill ${title} leaves the tools as they are`, () => {
    expect(toolsOfSkill(skill, OURS)).toEqual({ tools: undefined, commands: undefined, notes: [] });
  });
}
