import fc from "fast-check";
import { expect, test } from "vitest";
import { isSkillName, parseSkill } from "./skill.ts";

const HEAD = "name: pdf\ndescription: Fills forms";

async function problemsOf(text: string, folder = "pdf"): Promise<string> {
  const parsed = await parseSkill(text, folder);
  return "problems" in parsed ? parsed.problems.join("; ") : "";
}

test("a skill has its front matter and its body, the rest of the front matter as metadata", async () => {
  const text = `---\n${HEAD}\nallowed-tools: [Read, "Bash(git:*)"]\nlicense: MIT\nmetadata:\n  version: "1.10"\n---\n\n# Forms\n\nFill them.\n`;

  expect(await parseSkill(text, "pdf")).toEqual({
    skill: {
      name: "pdf",
      description: "Fills forms",
      allowed_tools: ["Read", "Bash(git:*)"],
      disable_model_invocation: false,
      metadata: { license: "MIT", metadata: { version: "1.10" } },
      body: "# Forms\n\nFill them.",
    },
  });
});

const SAME = [
  { title: "Windows line ends", text: `---\r\n${HEAD.replace("\n", "\r\n")}\r\n---\r\nA\r\nB\r\n` },
  { title: "a byte order mark", text: `\u{feff}---\n${HEAD}\n---\nA\nB\n` },
  { title: "blanks after the marks", text: `--- \n${HEAD}\n---\t\nA\nB` },
  { title: "no name, which is then the folder's", text: `---\ndescription: Fills forms\n---\nA\nB` },
];

for (const { title, text } of SAME) {
  test(`a skill may have ${title}`, async () => {
    const expected = { name: "pdf", description: "Fills forms", body: "A\nB", metadata: {} };
    expect(await parseSkill(text, "pdf")).toMatchObject({ skill: expected });
  });
}

const TOOLS = [
  { given: "", names: undefined },
  { given: "allowed-tools:", names: [] },
  { given: "allowed-tools: []", names: [] },
  { given: 'allowed-tools: ""', names: [] },
  { given: "allowed-tools: Read Grep", names: ["Read", "Grep"] },
  { given: "allowed-tools: Read,Grep , LS", names: ["Read", "Grep", "LS"] },
  { given: "allowed-tools: Bash(git add:*), Read", names: ["Bash(git add:*)", "Read"] },
  { given: "allowed-tools:\n  - Read\n  - Bash(npm run test:*)", names: ["Read", "Bash(npm run test:*)"] },
];

for (const { given, names } of TOOLS) {
  test(`${JSON.stringify(given)} lists ${JSON.stringify(names)}`, async () => {
    expect(await parseSkill(`---\n${HEAD}\n${given}\n---\n`, "pdf")).toMatchObject({ skill: { allowed_tools: names } });
  });
}

const bomb = ["a: &a [x, x]", "b: &b [*a, *a]", "c: &c [*b, *b]"].join("\n");

// oxfmt-ignore
const BROKEN = [
  { title: "no front matter",              text: "# Forms\n",                                     says: /first line has to be "---"/ },
  { title: "an empty file",                text: "",                                              says: /first line has to be "---"/ },
  { title: "front matter without an end",  text: `---\n${HEAD}\n`,                                says: /no end/ },
  { title: "front matter that is a list",  text: "---\n- a\n---\n",                               says: /names with values/ },
  { title: "YAML that is not closed",      text: "---\nname: pdf\ndescription: [x\n---\n",        says: /no YAML.*line \d+, column \d+/ },
  { title: "a colon in a plain value",     text: "---\nname: pdf\ndescription: Use when: x\n---\n", says: /line 3, column 14/ },
  { title: "a name that is there twice",   text: `---\n${HEAD}\nname: pdf\n---\n`,                says: /unique \(line 4, column 1\)/ },
  { title: "aliases",                      text: `---\n${HEAD}\n${bomb}\n---\n`,                  says: /aliases|anchors/ },
  { title: "an anchor",                    text: `---\n${HEAD}\nx: &y z\n---\n`,                  says: /anchors/ },
  { title: "a tag",                        text: `---\n${HEAD}\nx: !!binary aGk=\n---\n`,         says: /tags/ },
  { title: "an unknown tag",               text: `---\n${HEAD}\nx: !run rm\n---\n`,               says: /tag/ },
  { title: "a directive",                  text: `---\n%YAML 1.1\n${HEAD}\n---\n`,                says: /plain YAML/ },
  { title: "the end of a document",        text: `---\n${HEAD}\n...\nx: y\n---\n`,                says: /plain YAML/ },
  { title: "lists in lists without end",   text: `---\n${HEAD}\nx: ${"[".repeat(9000)}\n---\n`,   says: /too deeply/ },
  { title: "entries in entries",           text: `---\n${"- ".repeat(8000)}a\n---\n`,             says: /too deeply/ },
  { title: "keys of keys",                 text: `---\n${"? ".repeat(8000)}a\n---\n`,             says: /too deeply/ },
  { title: "endless front matter",         text: `---\n${HEAD}\nx: ${"y".repeat(20_000)}\n---\n`, says: /at most 16384 are read/ },
  { title: "no description",               text: "---\nname: pdf\n---\n",                         says: /"description" is missing/ },
  { title: "an empty description",         text: "---\nname: pdf\ndescription: ' '\n---\n",       says: /"description" is empty/ },
  { title: "a description that is a list", text: "---\nname: pdf\ndescription: [a]\n---\n",       says: /"description" has to be text, not a list/ },
  { title: "a description that is long",   text: `---\nname: pdf\ndescription: ${"x".repeat(1025)}\n---\n`, says: /1025 characters, and at most 1024/ },
  { title: "a name that is a number",      text: "---\nname: 7\ndescription: x\n---\n",           says: /"name" has to be text, not a number/ },
  { title: "another name than its folder", text: "---\nname: word\ndescription: x\n---\n",        says: /"word" is not the name of its folder, "pdf"/ },
  { title: "tools that are no names",      text: `---\n${HEAD}\nallowed-tools: {a: b}\n---\n`,    says: /"allowed-tools" has to be a list/ },
  { title: "tools among which is no name", text: `---\n${HEAD}\nallowed-tools: [Read, 7]\n---\n`, says: /"allowed-tools" has to be a list/ },
  { title: "a switch that is no switch",   text: `---\n${HEAD}\ndisable-model-invocation: maybe\n---\n`, says: /has to be true or false/ },
];

for (const { title, text, says } of BROKEN) {
  test(`a skill with ${title} is broken, and says so`, async () => {
    expect(await problemsOf(text)).toMatch(says);
  });
}

test("every problem is told, not only the first", async () => {
  const problems = await problemsOf("---\nname: A_B\nallowed-tools: 7\n---\n");

  expect(problems).toMatch(/lower-case.*folder.*"description" is missing.*"allowed-tools"/);
});

// oxfmt-ignore
const NAMES = [
  ["pdf", true], ["pdf-forms", true], ["7", true], ["a".repeat(64), true],
  ["a".repeat(65), false], ["", false], ["PDF", false], ["a_b", false], ["-a", false], ["a-", false], ["a--b", false], ["a/b", false], ["..", false], ["a\n", false], ["é", false],
] as const;

test.each(NAMES)("whether %j can be a skill's name: %s", async (name, isOne) => {
  expect(isSkillName(name)).toBe(isOne);
  const said = await problemsOf(`---\nname: ${JSON.stringify(name)}\ndescription: x\n---\n`, name);
  expect(said === "").toBe(isOne);
});

test("no front matter, however odd, throws or takes long", async () => {
  const piece = fc.constantFrom(
    "[",
    "]",
    "{",
    "}",
    "- ",
    "? ",
    ": ",
    "a",
    "\n",
    " ",
    "&x ",
    "*x",
    "!t ",
    "|\n",
    '"',
    "'",
    "#",
    "%",
    "---\n",
  );
  const yaml = fc.array(piece, { maxLength: 2000, size: "max" }).map((pieces) => pieces.join(""));
  await fc.assert(
    fc.asyncProperty(yaml, async (text) => {
      const parsed = await parseSkill(`---\n${text}\n---\n`, "pdf");
      expect("skill" in parsed || parsed.problems.length > 0).toBe(true);
    }),
    { numRuns: 100 },
  );
});
