/** Skills as published, which often do not follow the convention; and malicious folders. */
import { execFileSync } from "node:child_process";
import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { house, skillText } from "../../../../../test/support/skill-house.ts";

const unnamed = (about: string): string => `---\ndescription: About ${about}\n---\n`;

test("the skill folders of other agents are searched too, from the working folder up to the root and not above", async () => {
  const own = [".agents", ".claude", ".codex", ".copilot", ".cursor", ".config/opencode", ".opencode"];
  const project = [".agents", ".claude", ".codex", ".github", ".cursor", ".opencode"];
  const { skills } = await house(
    {
      ...Object.fromEntries(own.map((each, at) => [`home/${each}/skills/own-${at}/SKILL.md`, unnamed(each)])),
      ...Object.fromEntries(project.map((each, at) => [`root/a/b/${each}/skills/near-${at}/SKILL.md`, unnamed(each)])),
      "home/.opencode/skill/single/SKILL.md": unnamed("single"),
      "root/a/.opencode/skill/between/SKILL.md": unnamed("between"),
      "root/.github/skills/top/SKILL.md": unnamed("top"),
      ".claude/skills/above/SKILL.md": unnamed("above"),
    },
    { below: "a/b" },
  );

  const names = (await skills.index()).skills.map(({ name }) => name);

  expect(names).toEqual([
    ...own.map((_, at) => `own-${at}`),
    "single",
    ...project.map((_, at) => `near-${at}`),
    "between",
    "top",
  ]);
});

test("the nearest skill of a name wins in the workspace, and the user's own skill over all", async () => {
  const files = {
    "root/.claude/skills/pdf/SKILL.md": unnamed("the top"),
    "root/a/.cursor/skills/pdf/SKILL.md": unnamed("the nearest"),
  };
  const { skills } = await house(files, { below: "a" });
  const { skills: withOwn } = await house(
    { ...files, "home/.opencode/skill/pdf/SKILL.md": unnamed("one's own") },
    { below: "a" },
  );

  expect((await skills.index()).skills.map(({ description }) => description)).toEqual(["About the nearest"]);
  const { skills: won, shadowed } = await withOwn.index();
  expect(won.map(({ description }) => description)).toEqual(["About one's own"]);
  expect(shadowed).toHaveLength(2);
});

test("skills are found in nested folders, but not below a skill, in hidden folders or in packages", async () => {
  const { skills, handle } = await house({
    "home/.claude/skills/documents/pdf/SKILL.md": skillText("pdf"),
    "home/.claude/skills/documents/office/word/SKILL.md": skillText("word"),
    "home/.claude/skills/a/b/c/d/e/deep/SKILL.md": skillText("deep"),
    "home/.claude/skills/top/SKILL.md": skillText("top"),
    "home/.claude/skills/top/examples/inner/SKILL.md": skillText("inner"),
    "home/.claude/skills/.system/hidden/SKILL.md": skillText("hidden"),
    "home/.claude/skills/kit/node_modules/x/SKILL.md": skillText("x"),
  });

  const index = await skills.index();

  expect(index.skills.map(({ name }) => name)).toEqual(["top", "pdf", "word"]);
  expect(index).toMatchObject({ broken: [], problems: [] });
  expect((await handle().read({ name: "word" })).body).toBe("Body of word");
});

test("skills with unusual names are found by normalized name, by published name and by folder", async () => {
  const { skills, handle } = await house({
    "home/.claude/skills/pdf-tools/SKILL.md": "---\nname: PDF Tools (v2)\ndescription: x\n---\nBody\n",
    "home/.claude/skills/lower/skill.md": "---\nname: lower\ndescription: x\n---\nLower\n",
  });

  const [pdf, lower] = (await skills.index()).skills.toSorted((one, other) => (one.name < other.name ? 1 : -1));

  expect(pdf).toMatchObject({ name: "pdf-tools-v2", aliases: ["PDF Tools (v2)", "pdf-tools"] });
  expect(pdf?.warnings.join()).toMatch(/called "pdf-tools-v2".*differs from that of its folder/);
  expect(lower).toMatchObject({ name: "lower", skill_md: "skill.md", warnings: ['its SKILL.md is called "skill.md"'] });
  for (const name of ["pdf-tools-v2", "PDF Tools (v2)", "pdf-tools"])
    expect((await handle().read({ name })).skill.name).toBe("pdf-tools-v2");
  expect((await handle().read({ name: "lower" })).body).toBe("Lower");
});

test("a workspace skill never replaces a user's own skill, under any of its names", async () => {
  const { skills, handle } = await house(
    {
      "home/.claude/skills/forms/SKILL.md": "---\nname: PDF\ndescription: own\n---\nOwn\n",
      "home/.claude/skills/other/SKILL.md": "---\nname: forms\ndescription: another\n---\nAnother\n",
      "root/.claude/skills/a/SKILL.md": "---\nname: PDF\ndescription: theirs\n---\nTheirs\n",
      "root/.claude/skills/pdf/SKILL.md": "---\nname: theirs\ndescription: theirs\n---\nTheirs\n",
    },
    { isTrusted: () => true },
  );

  const { skills: found, shadowed } = await skills.index();

  expect(found.map(({ name, aliases, source }) => [name, aliases, source])).toEqual([
    ["pdf", ["PDF"], "user"],
    ["forms", ["other"], "user"],
    ["theirs", [], "project"],
  ]);
  expect(shadowed).toMatchObject([
    { skill: { name: "pdf", source: "project", aliases: ["a"] }, by: { source: "user" } },
  ]);
  expect((await handle().read({ name: "PDF" })).body).toBe("Own");
  expect((await handle().read({ name: "forms" })).body).toBe("Another");
  expect((await handle().read({ name: "PDF", source: "project" })).body).toBe("Theirs");
});

test("only runnable files are listed as scripts: programs in folders called scripts whose interpreter is installed", async () => {
  const base = "home/.claude/skills/kit";
  const { skills, path } = await house({
    [`${base}/SKILL.md`]: skillText("kit"),
    [`${base}/scripts/run.sh`]: "echo",
    [`${base}/scripts/bare`]: "#!/bin/sh\n",
    [`${base}/scripts/tool.js`]: "1",
    [`${base}/scripts/old.rb`]: "#!/usr/bin/env no-such-ruby\n",
    [`${base}/scripts/strange`]: "#!/no/such/thing\n",
    [`${base}/scripts/README.md`]: "x",
    [`${base}/scripts/requirements.txt`]: "x",
    [`${base}/scripts/schema.xsd`]: "<x/>",
    [`${base}/scripts/__init__.py`]: "",
    [`${base}/scripts/helpers.js.map`]: "{}",
    [`${base}/ooxml/scripts/pack.sh`]: "echo",
    [`${base}/core/easing.sh`]: "echo",
  });
  await chmod(join(path, base, "scripts/strange"), 0o755);

  const [kit] = (await skills.index()).skills;

  const isThere = (name: string): boolean => kit?.scripts.some((each) => each.path === name) === true;
  expect(kit?.scripts.map((each) => each.path).filter((name) => name !== "scripts/old.rb")).toEqual([
    "ooxml/scripts/pack.sh",
    "scripts/bare",
    "scripts/run.sh",
    "scripts/tool.js",
  ]);
  expect(isThere("scripts/strange")).toBe(false);
  expect(kit?.warnings.join()).toMatch(/"\/no\/such\/thing" is not installed, so 1 of its scripts cannot run/);
});

test("links within the skills folder are followed once, and those that lead outside are left out", async () => {
  const { skills, handle } = await house(
    {
      "root/.claude/skills/shared/ooxml/a.txt": "shared",
      "root/.claude/skills/docx/SKILL.md": skillText("docx"),
      "root/.claude/skills/docx/ooxml": "-> ../shared/ooxml",
      "root/.claude/skills/docx/again": "-> ooxml",
      "root/.claude/skills/docx/circle": "-> ..",
      "root/.claude/skills/docx/note.md": "-> real.md",
      "root/.claude/skills/docx/real.md": "x",
      "root/.claude/skills/docx/source": "-> ../../../src",
      "root/.claude/skills/docx/etc": "-> /etc",
      "root/.claude/skills/docx/gone": "-> nowhere",
      "root/src/a.ts": "x",
    },
    { isTrusted: () => true },
  );

  const [docx] = (await skills.index()).skills;

  expect(docx?.files.map((each) => each.path)).toEqual(["SKILL.md", "again/a.txt", "note.md", "real.md"]);
  expect(docx?.warnings).toEqual(['links in it were followed: "again", "note.md"']);
  expect(Object.fromEntries((docx?.left_out ?? []).map(({ path, why }) => [path, why]))).toEqual({
    circle: "it points to a folder that is already part of the skill",
    etc: "it points outside the allowed roots",
    gone: expect.stringMatching(/cannot be opened/) as string,
    ooxml: "it points to a folder that is already part of the skill",
    source: "it points to a folder outside the skills folder",
  });
  expect((await handle().read({ name: "docx" })).skill.digest).toBe(docx?.digest);
});

test("a link in a collection of skills may not lead to a folder outside it; a user's own link may", async () => {
  const { skills } = await house({
    "dotfiles/mine/SKILL.md": skillText("mine"),
    "secret/SKILL.md": skillText("secret"),
    "home/.claude/skills/mine": "-> ../../../dotfiles/mine",
    "home/.claude/skills/pack/real/SKILL.md": skillText("real"),
    "home/.claude/skills/pack/out": "-> ../../../../secret",
    "home/.claude/skills/pack/again": "-> real",
  });

  const { skills: found, broken } = await skills.index();

  expect(found.map(({ folder }) => folder.split("/").at(-1))).toEqual(["mine", "real"]);
  expect(broken).toMatchObject([{ problems: ["it is a link that points outside the skills folder"] }]);
});

test("ten thousand folders, pipes and link cycles are bounded, and hide none of the user's skills", async () => {
  const { skills, path } = await house({
    "home/.claude/skills/mine/SKILL.md": skillText("mine"),
    "root/.claude/skills/loop": "-> .",
    "root/.claude/skills/up": "-> ../..",
    "root/.claude/skills/pipe-md/": "",
  });
  const folders = Array.from({ length: 10_000 }, (_, at) => join(path, `root/.claude/skills/f${at}/g`));
  for (const folder of folders) await mkdir(folder, { recursive: true });
  execFileSync("mkfifo", [join(path, "root/.claude/skills/pipe-md/SKILL.md")]);
  execFileSync("mkfifo", [join(path, "root/.claude/skills/SKILL.md")]);

  const index = await skills.index();

  expect(index.skills).toMatchObject([{ name: "mine" }]);
  expect(index.problems.join()).toMatch(/more than 2000 entries/);
  expect(index.problems.join()).toMatch(/More than 2000 folders were found/);
});
