import fc from "fast-check";
import { expect, test } from "vitest";
import { parseSkill } from "./skill.ts";

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
      aliases: [],
      warnings: [],
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
  { title: "YAML that is not closed",      text: "---\nname: pdf\ndescription: [x\n---\n",        says: /not valid YAML.*line \d+, column \d+/ },
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
  { title: "endless front matter",         text: `---\n${HEAD}\nx: ${"y".repeat(20_000)}\n---\n`, says: /the maximum is 16384/ },
  { title: "no description",               text: "---\nname: pdf\n---\n",                         says: /"description" is missing/ },
  { title: "an empty description",         text: "---\nname: pdf\ndescription: ' '\n---\n",       says: /"description" is empty/ },
  { title: "a description that is a list", text: "---\nname: pdf\ndescription: [a]\n---\n",       says: /"description" must be text, not a list/ },
  { title: "tools in two spellings",       text: `---\n${HEAD}\nallowed-tools: Read\nallowed_tools: Bash\n---\n`, says: /"allowed-tools" is there twice/ },
  { title: "tools that are not names",     text: `---\n${HEAD}\nallowed-tools: {a: b}\n---\n`,    says: /"allowed-tools" has to be a list/ },
  { title: "a tool that is excluded by -",    text: `---\n${HEAD}\nallowed-tools: Read, -Bash\n---\n`,             says: /"-Bash" excludes some/ },
  { title: "a tool that is excluded by !",    text: `---\n${HEAD}\nallowed-tools: ["!Bash"]\n---\n`,               says: /"!Bash" excludes some/ },
  { title: "tools that are excluded in words", text: `---\n${HEAD}\nallowed-tools: All except Bash\n---\n`,        says: /"except" excludes some/ },
  { title: "a tool that is excluded alone",   text: `---\n${HEAD}\nallowed-tools:\n  - Read\n  - no Bash\n---\n`, says: /"no" excludes some/ },
  { title: "tools and a number",           text: `---\n${HEAD}\nallowed-tools: [Read, 7]\n---\n`, says: /"allowed-tools" has to be a list/ },
];

for (const { title, text, says } of BROKEN) {
  test(`a skill with ${title} is broken, and says so`, async () => {
    expect(await problemsOf(text)).toMatch(says);
  });
}

test("every problem is told, not only the first", async () => {
  expect(await problemsOf("---\nname: A_B\nallowed-tools: 7\n---\n")).toMatch(
    /"description" is missing; "allowed-tools"/,
  );
});

const D = "description: x";
const LONG = "word ".repeat(300);

// oxfmt-ignore
const LOOSE = [
  { title: "a colon in a plain value",      text: "name: pdf\ndescription: Use when: asked",           is: { description: "Use when: asked" },                     warns: /not valid YAML.*line 3.*"description" was read as plain text/ },
  { title: "a colon over two lines",        text: "name: pdf\ndescription: Use when: asked\n  or not: x\nlicense: MIT", is: { description: "Use when: asked or not: x", metadata: { license: "MIT" } }, warns: /plain text/ },
  { title: "text after a quoted value",     text: 'name: pdf\ndescription: "Forms" and more',           is: { description: '"Forms" and more' },                    warns: /plain text/ },
  { title: "a quote in quotes",             text: "name: pdf\ndescription: 'It's here'",               is: { description: "It's here" },                           warns: /plain text/ },
  { title: "a label in brackets",           text: "name: pdf\ndescription: [Beta] Fills forms",         is: { description: "[Beta] Fills forms" },                  warns: /plain text/ },
  { title: "a label and a second line",     text: "name: pdf\ndescription: [Beta] Fills\n  forms",       is: { description: "[Beta] Fills forms" },                  warns: /plain text/ },
  { title: "a placeholder in braces",       text: "name: pdf\ndescription: {{kind}} forms",             is: { description: "{{kind}} forms" },                      warns: /plain text/ },
  { title: "text after the mark of a block", text: "name: pdf\ndescription: > Fills forms",              is: { description: "> Fills forms" },                       warns: /plain text/ },
  { title: "bold text",                     text: "name: pdf\ndescription: **Bold** move",             is: { description: "**Bold** move" },                       warns: /plain text/ },
  { title: "tabs before lines",             text: "name: pdf\ndescription: x\nmetadata:\n\tauthor: a", is: { metadata: { metadata: { author: "a" } } },            warns: /tabs were read as spaces/ },
  { title: "a long description",            text: `name: pdf\ndescription: ${LONG}`,                    is: { description: `${LONG.slice(0, 1023)}…` },             warns: /1499 characters; it is truncated to 1024/ },
  { title: "a name that is a number",       text: `name: 7\n${D}`,                                      is: { name: "7", aliases: ["pdf"] },                        warns: /"7" differs from that of its folder/ },
  { title: "a name that is a list",         text: `name: [a]\n${D}`,                                    is: { name: "pdf", aliases: [] },                           warns: /"name" is not text/ },
  { title: "another name than its folder",  text: `name: word\n${D}`,                                   is: { name: "word", aliases: ["pdf"] },                     warns: /"word" differs from that of its folder, "pdf"/ },
  { title: "capitals and blanks",           text: `name: My PDF Forms\n${D}`,                           is: { name: "my-pdf-forms", aliases: ["My PDF Forms", "pdf"] }, warns: /it is called "my-pdf-forms"/ },
  { title: "letters of other alphabets",    text: `name: 表格\n${D}`,                                    is: { name: "pdf", aliases: ["表格"] },                      warns: /it is called "pdf"/ },
  { title: "marks on letters",              text: `name: Éditeur\n${D}`,                                is: { name: "editeur", aliases: ["Éditeur", "pdf"] },       warns: /called "editeur"/ },
  { title: "a long name",                   text: `name: ${"ab-".repeat(40)}x\n${D}`,                    is: { name: "ab-".repeat(21) + "a" },                      warns: /at most 64 characters/ },
  { title: "capitals in fields",            text: `Name: pdf\nDescription: x`,                          is: { name: "pdf", description: "x" },                      warns: /"Name" is read as "name"/ },
  { title: "allowed_tools",                 text: `name: pdf\n${D}\nallowed_tools: Read`,               is: { allowed_tools: ["Read"] },                            warns: /"allowed_tools" is read as "allowed-tools"/ },
  { title: "allowedTools",                  text: `name: pdf\n${D}\nallowedTools: [Read]`,              is: { allowed_tools: ["Read"] },                            warns: /"allowedTools" is read as/ },
  { title: "a star for the tools",          text: `name: pdf\n${D}\nallowed-tools: *`,                  is: { allowed_tools: ["*"] },                               warns: /plain text/ },
  { title: "quoted tools in a row",         text: `name: pdf\n${D}\nallowed-tools: "Read", "Bash(git:*)"`, is: { allowed_tools: ["Read", "Bash(git:*)"] },          warns: /plain text/ },
  { title: "a blank after a colon of a tool", text: `name: pdf\n${D}\nallowed-tools: Bash(git: *), Read`, is: { allowed_tools: ["Bash(git: *)", "Read"] },           warns: /plain text/ },
  { title: "a switch in words",             text: `name: pdf\n${D}\ndisable-model-invocation: "no"`,    is: { disable_model_invocation: false },                    warns: /read as false/ },
  { title: "a switch that says neither",    text: `name: pdf\n${D}\ndisable-model-invocation: maybe`,   is: { disable_model_invocation: true },                     warns: /read as true/ },
];

for (const { title, text, is, warns } of LOOSE) {
  test(`a skill with ${title} is loaded, with a warning`, async () => {
    const parsed = await parseSkill(`---\n${text}\n---\nBody\n`, "pdf");

    expect(parsed).toMatchObject({ skill: { ...is, body: "Body" } });
    expect("skill" in parsed && parsed.skill.warnings.join("; ")).toMatch(warns);
  });
}

test.each(["pdf", "a".repeat(64), "7", "..", "名", "\u{1f4c4}", "-", "A b", "x\ny", "a/b"])(
  "a skill without a name in the folder %j has one that can be called",
  async (folder) => {
    const parsed = await parseSkill(`---\n${D}\n---\n`, folder);

    expect("skill" in parsed && parsed.skill.name).toMatch(/^(?=.{1,64}$)[a-z0-9]+(?:-[a-z0-9]+)*$/);
  },
);

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
    "\t",
    "description: ",
    "allowed-tools: ",
    "\r",
    "\u{feff}",
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
