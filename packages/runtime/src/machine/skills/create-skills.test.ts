import { execFileSync } from "node:child_process";
import { hash } from "node:crypto";
import { chmod, mkdir, readdir, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { house, skillText } from "../../../../../test/support/skill-house.ts";
import { NO_CHANGES } from "../../contract/command-changes.ts";
import type { RunProgram, SkillIdentity } from "../../contract/skills.ts";
import { createSkills } from "./create-skills.ts";

test("skills are found in every place, the user's own before the project's", async () => {
  const { skills } = await house({
    "home/.config/autonous/skills/one/SKILL.md": skillText("one"),
    "home/.agents/skills/two/SKILL.md": skillText("two"),
    "home/.claude/skills/three/SKILL.md": skillText("three"),
    "root/.agents/skills/four/SKILL.md": skillText("four"),
    "root/.claude/skills/five/SKILL.md": skillText("five"),
    "root/skills/six/SKILL.md": skillText("six"),
    "root/.agents/skills/no-skill/README.md": "nothing",
    "root/.agents/skills/README.md": "nothing",
  });

  const index = await skills.index();

  const found = index.skills.map(({ name, source, trusted }) => ({ name, source, trusted }));
  expect(found).toEqual([
    { name: "one", source: "user", trusted: true },
    { name: "two", source: "user", trusted: true },
    { name: "three", source: "user", trusted: true },
    { name: "four", source: "project", trusted: false },
    { name: "five", source: "project", trusted: false },
  ]);
  expect(index).toMatchObject({ broken: [], shadowed: [], problems: [] });
});

test("without skills, the index is empty", async () => {
  const { skills } = await house({});

  expect(await skills.index()).toEqual({ skills: [], broken: [], shadowed: [], problems: [] });
});

test("the index has the metadata of a skill and the hash of each file, but no body", async () => {
  const { skills } = await house({
    "root/.agents/skills/pdf/SKILL.md": skillText(
      "pdf",
      "allowed-tools: Read Bash\nlicense: MIT\ndisable-model-invocation: true\n",
    ),
    "root/.agents/skills/pdf/scripts/fill.sh": "echo 1\n",
    "root/.agents/skills/pdf/assets/form.txt": "",
    "root/.agents/skills/pdf/scripts/__pycache__/fill.pyc": "x",
  });

  const [skill] = (await skills.index()).skills;

  expect(skill).toMatchObject({
    description: "About pdf",
    allowed_tools: ["Read", "Bash"],
    disable_model_invocation: true,
    metadata: { license: "MIT" },
    left_out: [],
  });
  expect(skill?.scripts).toEqual([
    { path: "scripts/fill.sh", bytes: 7, executable: false, sha256: hash("sha256", "echo 1\n") },
  ]);
  expect(skill?.files.map(({ path }) => path)).toEqual(["SKILL.md", "assets/form.txt", "scripts/fill.sh"]);
  expect(JSON.stringify(skill)).not.toContain("Body of pdf");
});

test("the body is read on demand, and only of trusted skills", async () => {
  const files = { "root/.agents/skills/pdf/SKILL.md": skillText("pdf") };
  const { handle } = await house(files, { isTrusted: () => true });
  const { handle: untrusting } = await house(files);

  expect(await handle().read({ name: "pdf" })).toMatchObject({
    skill: { name: "pdf", trusted: true },
    body: "Body of pdf",
  });
  await expect(untrusting().read({ name: "pdf" })).rejects.toMatchObject({
    code: "ToolNotAllowed",
    message: expect.stringMatching(
      /^Cannot read the skill "pdf": .* the user has not trusted its current content$/,
    ) as string,
    hint: "Ask the user to review and trust it: autonous policy trust",
  });
});

test("the first skill of a name wins, and the other is reported and found by its source", async () => {
  const { skills, handle, path } = await house(
    {
      "home/.agents/skills/pdf/SKILL.md": skillText("pdf"),
      "root/.agents/skills/pdf/SKILL.md": skillText("pdf"),
    },
    { isTrusted: () => true },
  );

  const index = await skills.index();

  expect(index.skills.map(({ source }) => source)).toEqual(["user"]);
  expect(index.shadowed).toMatchObject([
    { skill: { source: "project" }, by: { source: "user", folder: join(path, "home/.agents/skills/pdf") } },
  ]);
  expect((await handle().read({ name: "pdf" })).skill.source).toBe("user");
  expect((await handle().read({ name: "pdf", source: "project" })).skill.source).toBe("project");
});

test("a broken skill is listed with its problems, reserves no name, and cannot be used", async () => {
  const { skills, handle } = await house({
    "home/.agents/skills/pdf/SKILL.md": "# nothing",
    "root/.agents/skills/pdf/SKILL.md": skillText("pdf"),
    "root/.agents/skills/word/SKILL.md": "---\nname: other\n---\n",
  });

  const index = await skills.index();

  expect(index.skills).toMatchObject([{ name: "pdf", source: "project" }]);
  expect(index.broken).toMatchObject([
    { name: "pdf", source: "user", problems: [expect.stringMatching(/front matter/)] },
    {
      name: "word",
      source: "project",
      problems: [expect.stringMatching(/description/)],
    },
  ]);
  await expect(handle().read({ name: "word" })).rejects.toMatchObject({
    code: "InvalidArguments",
    message: expect.stringMatching(/^Cannot use the skill "word": .*description/) as string,
  });
});

test.each(["none", "../pdf", "", "/etc", "a\0b"])("the skill %j is not found", async (name) => {
  const { handle } = await house({ "root/.agents/pdf/SKILL.md": skillText("pdf") });

  await expect(handle().read({ name })).rejects.toMatchObject({ code: "NotFound" });
});

// oxfmt-ignore
const LINKED = [
  { title: "a skill that is a link out of the roots",    files: { "root/.agents/skills/out": "-> ../../../outside/out" },           broken: /outside the allowed roots/ },
  { title: "a SKILL.md that is a link out of the roots", files: { "root/.agents/skills/out/SKILL.md": "-> ../../../../outside/out/SKILL.md" }, broken: /SKILL.md is not read: it points outside/ },
  { title: "a SKILL.md that is a link to a secret",      files: { "root/.agents/skills/out/SKILL.md": "-> ../../../id_rsa", "root/id_rsa": "key" }, broken: /off limits to all tools/ },
  { title: "a SKILL.md that is a folder",                files: { "root/.agents/skills/out/SKILL.md/": "" },                        broken: /points to a folder/ },
  { title: "a SKILL.md that is a broken link",              files: { "root/.agents/skills/out/SKILL.md": "-> nowhere" },               broken: /cannot be opened/ },
];

for (const { title, files, broken } of LINKED) {
  test(`${title} is not read`, async () => {
    const { skills } = await house({ "outside/out/SKILL.md": skillText("out"), ...files });

    const index = await skills.index();

    expect(index.skills).toEqual([]);
    const problems = index.broken.flatMap((each) => each.problems).join();
    expect(problems).toMatch(broken);
  });
}

test("a place that leads outside the roots is reported and not searched", async () => {
  const { skills } = await house({
    "outside/out/SKILL.md": skillText("out"),
    "root/.agents/skills": "-> ../../outside",
  });

  expect(await skills.index()).toMatchObject({
    skills: [],
    problems: [expect.stringMatching(/outside the allowed roots/)],
  });
});

test("a link between places inside the roots is one skill, not two", async () => {
  const { skills } = await house({
    "root/.agents/skills/pdf/SKILL.md": skillText("pdf"),
    "root/.claude/skills/pdf": "-> ../../.agents/skills/pdf",
  });

  expect(await skills.index()).toMatchObject({ skills: [{ name: "pdf" }], shadowed: [] });
});

test("files that may not be opened are left out and reported", async () => {
  const { skills, path } = await house({
    "outside/secret": "x",
    "root/.agents/skills/pdf/SKILL.md": skillText("pdf"),
    "root/.agents/skills/pdf/scripts/out.sh": "-> ../../../../../outside/secret",
    "root/.agents/skills/pdf/scripts/folder": "-> ../../..",
    "root/.agents/skills/pdf/server.pem": "x",
    "root/.agents/skills/pdf/scripts/inside.sh": "-> ../lib.sh",
    "root/.agents/skills/pdf/lib.sh": "echo",
  });
  execFileSync("mkfifo", [join(path, "root/.agents/skills/pdf/pipe")]);

  const [skill] = (await skills.index()).skills;

  expect(skill?.files.map((file) => file.path)).toEqual(["SKILL.md", "lib.sh", "scripts/inside.sh"]);
  expect(Object.fromEntries((skill?.left_out ?? []).map((each) => [each.path, each.why]))).toEqual({
    pipe: "it is not a regular file",
    "scripts/folder": "it points to a folder outside the skills folder",
    "scripts/out.sh": "it points outside the allowed roots",
    "server.pem": expect.stringMatching(/key file/) as string,
  });
});

test("a user's own skill may be a link to anywhere except the workspace, whose skills need trust", async () => {
  const { skills } = await house({
    "dotfiles/pdf/SKILL.md": skillText("pdf"),
    "dotfiles/word.md": skillText("word"),
    "root/mine/SKILL.md": skillText("mine"),
    "root/tempting.sh": "echo",
    "home/.agents/skills/pdf": "-> ../../../dotfiles/pdf",
    "home/.agents/skills/word/SKILL.md": "-> ../../../../dotfiles/word.md",
    "home/.agents/skills/word/scripts/a.sh": "-> ../../../../../root/tempting.sh",
    "home/.agents/skills/mine": "-> ../../../root/mine",
  });

  const index = await skills.index();

  expect(index.skills.map(({ name, source, trusted }) => ({ name, source, trusted }))).toEqual([
    { name: "mine", source: "project", trusted: false },
    { name: "pdf", source: "user", trusted: true },
    { name: "word", source: "user", trusted: true },
  ]);
  expect(index.skills.at(-1)?.left_out).toEqual([
    { path: "scripts/a.sh", why: "it is in the workspace, where tools can change it" },
  ]);
});

test("trust is bound to the content: a changed file, executable bit or name changes the digest", async () => {
  const asked: SkillIdentity[] = [];
  const isTrusted = (skill: SkillIdentity): boolean => asked.push(skill) === 1;
  const { skills, path } = await house(
    { "root/.agents/skills/pdf/SKILL.md": skillText("pdf"), "root/.agents/skills/pdf/scripts/a.sh": "echo 1" },
    { isTrusted },
  );
  const script = join(path, "root/.agents/skills/pdf/scripts/a.sh");

  expect((await skills.index()).skills).toMatchObject([{ trusted: true }]);
  await writeFile(script, "echo 2");
  expect((await skills.index()).skills).toMatchObject([{ trusted: false }]);
  await chmod(script, 0o755);
  await skills.index();
  await rename(script, `${script}.sh`);
  await skills.index();

  expect(new Set(asked.map(({ digest }) => digest)).size).toBe(4);
});

test("content over a limit is reported, not read", async () => {
  const { skills, path } = await house({
    "root/.agents/skills/long/SKILL.md": `${skillText("long")}${"x".repeat(300_000)}`,
    "root/.agents/skills/large/SKILL.md": skillText("large"),
    "root/.agents/skills/large/asset": "",
    "root/.agents/skills/many/SKILL.md": skillText("many"),
    ...Object.fromEntries(Array.from({ length: 600 }, (_, at) => [`root/.agents/skills/many/a${at}`, ""])),
    [`root/.agents/skills/deep/${"d/".repeat(14)}a`]: "",
    "root/.agents/skills/deep/SKILL.md": skillText("deep"),
  });
  await truncate(join(path, "root/.agents/skills/large/asset"), 40 << 20);

  const index = await skills.index();

  expect(index.skills.map(({ name, left_out }) => [name, left_out.length])).toEqual([["deep", 1]]);
  expect(index.broken.map(({ name, problems }) => [name, problems.join()])).toEqual([
    ["large", "its files exceed 32 MB"],
    ["long", expect.stringMatching(/300\d+ bytes, and at most 262144/)],
    ["many", "it has more than 500 files and folders"],
  ]);
});

test("the number of skills is limited", async () => {
  const { skills } = await house(
    Object.fromEntries(
      Array.from({ length: 230 }, (_, at) => [`root/.agents/skills/s${at}/SKILL.md`, skillText(`s${at}`)]),
    ),
  );

  const index = await skills.index();

  expect(index.skills).toHaveLength(200);
  expect(index.problems).toEqual([expect.stringMatching(/more than 200 skills/)]);
});

const PDF = {
  "root/.agents/skills/pdf/SKILL.md": skillText("pdf"),
  "root/.agents/skills/pdf/scripts/fill.sh": "echo 1",
  "root/.agents/skills/pdf/run.sh": "echo",
};

// oxfmt-ignore
const REFUSED = [
  { path: "scripts/none.py",            code: "NotFound",             says: /which are "scripts\/fill.sh"/ },
  { path: "scripts",                    code: "NotFound",             says: /which are/ },
  { path: "run.sh",                     code: "InvalidArguments",     says: /is not in a "scripts" folder/ },
  { path: "SKILL.md",                   code: "InvalidArguments",     says: /is not in a "scripts" folder/ },
  { path: "scripts/../run.sh",          code: "PathTraversalBlocked", says: /own "scripts" folder/ },
  { path: "scripts/../../../../x",      code: "PathTraversalBlocked", says: /own "scripts" folder/ },
  { path: "/bin/sh",                    code: "PathTraversalBlocked", says: /own "scripts" folder/ },
  { path: "scripts/out.sh",             code: "InvalidArguments",     says: /outside the allowed roots/ },
  { path: "scripts/notes.txt",          code: "InvalidArguments",     says: /not a program/ },
];

for (const { path, code, says } of REFUSED) {
  test(`${path} is not run`, async () => {
    const more = {
      "root/.agents/skills/pdf/scripts/out.sh": "-> /bin/sh",
      "root/.agents/skills/pdf/scripts/notes.txt": "x",
    };
    const { handle, path: base } = await house({ ...PDF, ...more }, { isTrusted: () => true });

    await expect(handle().openScript({ name: "pdf" }, { path: path })).rejects.toMatchObject({
      code,
      message: expect.stringMatching(says) as string,
    });
    expect(await readdir(join(base, "state/runs/run_1/skills")).catch(() => [])).toEqual([]);
  });
}

test("no script of an untrusted skill runs", async () => {
  const { handle } = await house(PDF);

  await expect(handle().openScript({ name: "pdf" }, { path: "scripts/fill.sh" })).rejects.toMatchObject({
    code: "ToolNotAllowed",
    message: expect.stringMatching(/the user has not trusted its current content/) as string,
  });
});

test("the trusted content runs: a copy that later changes of the skill do not affect", async () => {
  const { handle, path } = await house(PDF, { isTrusted: () => true });
  const seen: Record<string, string> = {};
  const run: RunProgram = async ({ run: command, cwd, writable }) => {
    const [program, file] = command;
    Object.assign(seen, {
      program,
      content: await readFile(file ?? "", "utf8"),
      cwd,
      writable: writable.join(),
      rest: command.slice(2).join(),
    });
    await mkdir(join(cwd, "made"));
    return { exit_code: 0, signal: null, ended_by: "itself", sandbox: "none", changes: NO_CHANGES };
  };
  const script = await handle(run).openScript({ name: "pdf" }, { path: "./scripts/fill.sh" });
  await writeFile(join(path, "root/.agents/skills/pdf/scripts/fill.sh"), "echo evil");
  const options = { timeout_ms: 1000, onOutput: () => {} };

  await script.run(["a", "b c"], { ...options, workdir: "sandbox" });

  const sandbox = join(path, "state/runs/run_1/sandbox");
  expect(seen).toMatchObject({
    program: expect.stringMatching(/^\/.*bash$/) as string,
    content: "echo 1",
    cwd: sandbox,
    rest: "a,b c",
  });
  expect(await readdir(sandbox)).toEqual(["made"]);
  script.close();
  expect(await readdir(join(path, "state/runs/run_1/skills"))).toEqual([]);
});

test("a skill that changes between check and copy is not run", async () => {
  const isTrusted = async ({ folder }: SkillIdentity): Promise<boolean> => {
    await writeFile(join(folder, "scripts/fill.sh"), "echo 2");
    return true;
  };
  const { handle, path } = await house(PDF, { isTrusted });

  await expect(handle().openScript({ name: "pdf" }, { path: "scripts/fill.sh" })).rejects.toMatchObject({
    code: "Stale",
  });
  expect(await readdir(join(path, "state/runs/run_1/skills"))).toEqual([]);
});

test("a file that becomes a link outside the roots after the check is not copied", async () => {
  const isTrusted = async ({ folder }: SkillIdentity): Promise<boolean> => {
    await rm(join(folder, "scripts"), { recursive: true });
    execFileSync("ln", ["-s", join(folder, "../../../../outside"), join(folder, "scripts")]);
    return true;
  };
  const { handle } = await house({ ...PDF, "outside/fill.sh": "echo 1" }, { isTrusted });

  await expect(handle().openScript({ name: "pdf" }, { path: "scripts/fill.sh" })).rejects.toMatchObject({
    code: "Stale",
    message: expect.stringMatching(/outside/) as string,
  });
});

test("a program inside the roots is never an interpreter", async () => {
  const environment = (path: string): string => [join(path, "root/bin"), process.env["PATH"]].join(":");
  const first = await house({ ...PDF, "root/bin/bash": "#!/bin/sh\n" }, { isTrusted: () => true });
  await chmod(join(first.path, "root/bin/bash"), 0o755);
  const { path } = first;
  const workspace = { roots: [join(path, "root")], home: join(path, "home"), state_dirs: [join(path, "state")] };
  const skills = createSkills({
    workspace,
    cwd: join(path, "root"),
    isTrusted: () => true,
    environment: { PATH: environment(path) },
  });
  let program = "";
  const run: RunProgram = ({ run: command }) => {
    program = command[0];
    return Promise.resolve({ exit_code: 0, signal: null, ended_by: "itself", sandbox: "none", changes: NO_CHANGES });
  };
  const call = { run_folder: join(path, "state/runs/run_1"), signal: new AbortController().signal, run };

  const script = await skills.forCall(call).openScript({ name: "pdf" }, { path: "scripts/fill.sh" });
  await script.run([], { workdir: "skill", timeout_ms: 1000, onOutput: () => {} });
  script.close();

  expect(program).toMatch(/bash$/);
  expect(program.startsWith(path)).toBe(false);
});
