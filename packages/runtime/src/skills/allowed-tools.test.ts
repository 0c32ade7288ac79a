import fc from "fast-check";
import { expect, test } from "vitest";
import { END_OF_COMMAND, toolsOfSkill } from "./allowed-tools.ts";
import { joinBrackets, splitToolNames } from "./skill.ts";

// oxfmt-ignore
const OURS = ["ls", "find", "grep", "read", "write", "edit", "bash", "delete_file", "network_request", "read_skill", "run_script", "mcp__files__search", "mcp__files__open", "mcp__web__get"];
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
  { listed: ["readFile", "READ-FILE"],   tools: ["read"] },
  { listed: ["WebFetch", "web_fetch"],   tools: ["network_request"] },
  { listed: ["deleteFile", "Skill"],     tools: ["delete_file", "read_skill"] },
  { listed: ["TodoWrite"],               tools: ["todo"] },
  { listed: ["mcp__files__search"],      tools: ["mcp__files__search"] },
  { listed: ["mcp__files"],              tools: ["mcp__files__search", "mcp__files__open"] },
  { listed: ["mcp__files__*"],           tools: ["mcp__files__search", "mcp__files__open"] },
  { listed: ["Read(**)", "Grep(*)"],     tools: ["read", "grep"] },
  { listed: ["Bash"],                    tools: [...COMMANDS, "run_script"] },
  { listed: ["Bash(*)"],                 tools: [...COMMANDS, "run_script"] },
  { listed: ["BashOutput", "KillShell"], tools: ["background_output", "background_list", "background_stop"] },
];

for (const { listed, tools } of NAMED) {
  test(`${JSON.stringify(listed)} leaves ${JSON.stringify(tools)}`, () => {
    expect(toolsOf(listed)).toEqual({ tools, commands: undefined, notes: [] });
  });
}

// oxfmt-ignore
const NOTHING = [
  "WebSearch", "Task", "constructor", "Bash(git", "()", "mcp__", "mcp__none__x", "mcp__files__search(x)", "Read(docs/**)", "Edit(src/**)", "Write(./*.md)", "WebFetch(domain:example.com)", "Skill(pdf)",
  "Bash()", "Bash(git * main)", "Bash(git:add)", "Bash(npm test && rm x)", "Bash(echo $HOME)", "Bash(./bin/*.sh x)", "Bash('a' b)", "Bash(a|b)",
];

test.each(NOTHING)(
  "%j cannot be expressed: it leaves nothing beside what else is listed, and a note says so",
  (entry) => {
    const { tools, commands, notes } = toolsOf(["LS", entry]);

    expect(tools).toEqual(["ls"]);
    expect(commands).toBeUndefined();
    expect(notes).toHaveLength(1);
    expect(notes[0]).toContain("is skipped");
  },
);

test("where no name is known, no tool is left", () => {
  expect(toolsOf(["Magic"]).tools).toEqual([]);
});

const E = END_OF_COMMAND;

// oxfmt-ignore
const COMMAND_LISTS = [
  { listed: ["Bash(git:*)"],                        commands: [["git"]] },
  { listed: ["Bash(git *)", "bash(jq*)"],           commands: [["git"], ["jq"]] },
  { listed: ["Bash(git add:*)", "Bash(git  log *)"], commands: [["git", "add"], ["git", "log"]] },
  { listed: ["Bash(git add:*, git commit:*)"],      commands: [["git", "add"], ["git", "commit"]] },
  { listed: ["Bash(npm run test)"],                 commands: [["npm", "run", "test", E]] },
  { listed: ["Bash(npm run test:unit)"],            commands: [["npm", "run", "test:unit", E]] },
  { listed: ['Bash("git status:*")'],               commands: [["git", "status"]] },
  { listed: ["Bash (jq:*)"],                        commands: [["jq"]] },
];

for (const { listed, commands } of COMMAND_LISTS) {
  test(`${JSON.stringify(listed)} leaves bash with ${JSON.stringify(commands)}, and no scripts`, () => {
    expect(toolsOf(listed)).toEqual({ tools: COMMANDS, commands, notes: [] });
  });
}

test.each([["Bash(*)"], ["Bash"]])("%s beside a list of commands leaves any command", (any) => {
  expect(toolsOf(["Bash(git:*)", any]).commands).toBeUndefined();
});

// oxfmt-ignore
const UNCHANGED = [
  { title: "that lists nothing",     skill: { trusted: true } },
  { title: "that lists everything",  skill: { trusted: true, allowed_tools: ["*"] } },
  { title: "that is not trusted",    skill: { trusted: false, allowed_tools: ["Read"] } },
];

for (const { title, skill } of UNCHANGED) {
  test(`a skill ${title} leaves the tools as they are`, () => {
    expect(toolsOfSkill(skill, OURS)).toEqual({ tools: undefined, commands: undefined, notes: [] });
  });
}

// oxfmt-ignore
const TEXTS = [
  { text: "Read Grep",                               names: ["Read", "Grep"] },
  { text: "Read,Grep ,\nLS",                         names: ["Read", "Grep", "LS"] },
  { text: "Bash(git add:*, git commit:*), Read",     names: ["Bash(git add:*, git commit:*)", "Read"] },
  { text: "Bash (git:*) Read",                       names: ["Bash (git:*)", "Read"] },
  { text: "Bash          (git:*), Read",             names: ["Bash (git:*)", "Read"] },
  { text: "Bash\n\u00a0(git:*)\nRead",               names: ["Bash (git:*)", "Read"] },
  { text: "LS, Bash, (git:*)",                       names: ["LS", "Bash (git:*)"] },
  { text: '"Bash" "(git:*)"',                        names: ["Bash (git:*)"] },
  { text: "- Bash\n- (git:*)",                       names: ["Bash (git:*)"] },
  { text: "Read Bash [git:*]",                       names: ["Read", "Bash [git:*"] },
  { text: "Bash {git:*}",                            names: ["Bash {git:*}"] },
  { text: "(git:*) Read",                            names: ["(git:*)", "Read"] },
  { text: '"Read", \'Bash(git log:*)\', `LS`',        names: ["Read", "Bash(git log:*)", "LS"] },
  { text: "[Read, Bash(git:*)]",                     names: ["Read", "Bash(git:*)"] },
  { text: "- Read\n- Grep",                          names: ["Read", "Grep"] },
  { text: "Bash(git, Read",                          names: ["Bash(git, Read"] },
  { text: "*",                                       names: ["*"] },
  { text: " , ",                                     names: [] },
];

test.each(TEXTS)("$text lists $names", ({ text, names }) => {
  expect(joinBrackets(splitToolNames(text))).toEqual(names);
});

test.each(["Bash%(git:*)", "%Bash%(git:*)%", "Bash%[git:*]", "Bash%{git}", "Bash%<git>"])(
  "%s leaves no other command, whatever stands for the %",
  (spelling) => {
    const between = fc.array(fc.constantFrom(" ", "\t", "\n", ",", "\u00a0", "\u2028", "- ", '"', "'", "`"), {
      maxLength: 20,
    });
    fc.assert(
      fc.property(between, (filling) => {
        const listed = joinBrackets(splitToolNames(spelling.replaceAll("%", filling.join(""))));
        const { tools, commands } = toolsOf(listed);
        if (tools?.includes("bash") !== false) expect(commands).toEqual([["git"]]);
      }),
    );
  },
);

test("a server is not another one whose name begins like it", () => {
  expect(toolsOfSkill({ trusted: true, allowed_tools: ["mcp__a"] }, ["mcp__a__x", "mcp__a__b__x"]).tools).toEqual([
    "mcp__a__x",
  ]);
});

test("whatever is listed, no tool is left that is not named in it", () => {
  const word = fc.constantFrom(
    "Read",
    "Bash",
    "(",
    ")",
    "git",
    ":*",
    "*",
    ",",
    " ",
    "Edit",
    "src/**",
    '"',
    "mcp__files__",
    "\n",
    "-",
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 30 }), (words) => {
      const listed = joinBrackets(splitToolNames(words.join("")));
      const { tools } = toolsOf(listed);
      if (tools === undefined) expect(listed).toContain("*");
      for (const tool of tools ?? []) expect(tool).not.toMatch(/^(?:write|ls|delete_file|network_request)$/);
      if (!words.includes("Bash")) expect(tools ?? []).not.toContain("bash");
    }),
    { numRuns: 500 },
  );
});
