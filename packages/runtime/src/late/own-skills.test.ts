/** A person's own skills lie outside the roots: their files can be read, and nothing around them. */
import { mkdir, readFile, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { RuntimeOptions } from "@autonous/runtime";
import type { AuditRecord } from "@autonous/runtime/internal";
import { expect, onTestFinished, test } from "vitest";
import { scratch, scratchFolder } from "../../../../test/support/scratch.ts";
import { JsonlJournal } from "../journal/jsonl-journal.ts";

const HOME = process.env["HOME"] ?? "";
const PDF = join(HOME, ".claude/skills/pdf");
const CONFIGURED = join(process.env["XDG_CONFIG_HOME"] ?? "", "autonous");
const TEXT = "---\nname: pdf\ndescription: x\n---\nSee FORMS.md and references/x.md\n";

// oxfmt-ignore
const FILES: Readonly<Record<string, string>> = {
  [`${PDF}/SKILL.md`]:                                 TEXT,
  [`${PDF}/forms.md`]:                                 "Forms\n",
  [`${PDF}/references/x.md`]:                          "one\ntwo\nthree\n",
  [`${PDF}/assets/logo.png`]:                          "\x89PNG\r\n\x1a\n",
  [`${PDF}/id_rsa`]:                                   "CANARY",
  [`${PDF}/scripts/run.sh`]:                           "echo made > made.txt; cat \"$SKILL_DIR/references/x.md\"",
  [join(HOME, "private.txt")]:                         "CANARY",
  [join(HOME, ".claude/skills/notes.txt")]:            "CANARY",
  [join(HOME, ".claude/skills/broken/SKILL.md")]:      "CANARY",
  [join(CONFIGURED, "skills/own/SKILL.md")]:           "---\ndescription: x\nallowed-tools: Read\n---\nOwn\n",
  [join(CONFIGURED, "skills/own/references/y.md")]:    "deep\n",
  [join(CONFIGURED, "secret.json")]:                   "CANARY",
};

async function withOwn(options: Partial<RuntimeOptions> = {}) {
  for (const [path, text] of Object.entries(FILES)) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text, "latin1");
  }
  await symlink(join(HOME, "private.txt"), join(PDF, "references/out.md"));
  await symlink("/etc", join(PDF, "assets/etc"));
  onTestFinished(async () => {
    for (const folder of [join(HOME, ".claude"), CONFIGURED]) await rm(folder, { recursive: true, force: true });
  });
  return await scratch(options);
}

test("read_skill gives any file of a skill, paged, and names images; only files of the skill", async () => {
  const { call } = await withOwn();
  const file = async (path: string, more: object = {}) => await call("read_skill", { name: "pdf", path, ...more });

  const skill = await call("read_skill", { name: "pdf" });
  expect(skill.payload?.stdout).toBe(
    `scripts: scripts/run.sh\nfiles in ${PDF}: assets/logo.png, forms.md, references/x.md\nSee FORMS.md and references/x.md\n`,
  );
  const first = await file("references/x.md", { limit: 2 });
  expect(first.payload).toMatchObject({
    stdout: "one\ntwo\n",
    data: { file: { path: "pdf/references/x.md", total_lines: 3 } },
  });
  const cursor = first.payload?.next_page_cursor ?? "";
  expect((await file("references/x.md", { cursor })).payload?.stdout).toBe("three\n");
  expect((await file("./FORMS.md")).payload?.stdout).toBe("Forms\n");
  expect((await file("assets/logo.png")).payload?.stdout).toMatch(/is an image \(image\/png\)/);
  expect((await file("forms.md", { cursor })).error?.code).toBe("InvalidCursor");
  for (const path of ["../notes.txt", "/etc/passwd", "references/../../notes.txt"])
    expect((await file(path)).error?.code).toBe("PathTraversalBlocked");
  expect((await file("references/out.md")).error?.message).toMatch(/points outside the skills folder/);
  expect((await file("id_rsa")).error?.message).toMatch(/off limits to all tools/);
  expect((await file("none.md")).error).toMatchObject({
    code: "NotFound",
    message: expect.stringMatching(/"forms.md"/),
  });
  expect((await call("read_skill", { name: "pdf", limit: 2 })).error?.code).toBe("InvalidArguments");
});

// oxfmt-ignore
const READABLE = [
  { tool: "read", args: { path: `${PDF}/references/x.md` },                           says: /^one\ntwo\nthree\n$/ },
  { tool: "ls",   args: { path: PDF },                                                says: /^SKILL.md\nassets\/\nforms.md\nreferences\/\nscripts\/\n$/ },
  { tool: "ls",   args: { path: PDF, recursive: true },                               says: /references\/x\.md/ },
  { tool: "grep", args: { pattern: "two|CANARY", path: PDF },                         says: /^[^\n]*references\/x\.md:2:two\n$/ },
  { tool: "find", args: { path: PDF, name_pattern: "*.md" },                          says: /forms\.md/ },
  { tool: "read", args: { path: join(CONFIGURED, "skills/own/references/y.md") },     says: /^deep\n$/ },
  { tool: "ls",   args: { path: join(CONFIGURED, "skills/own") },                     says: /^SKILL.md\nreferences\/\n$/ },
];

test.each(READABLE)("$tool reads in a person's own skill: $args", async ({ tool, args, says }) => {
  const { call } = await withOwn();

  const { error, payload } = await call(tool, args);

  expect(error).toBeNull();
  expect(payload?.stdout).toMatch(says);
  expect(payload?.stdout).not.toContain("CANARY");
});

// oxfmt-ignore
const CLOSED = [
  { tool: "read",        args: { path: `${PDF}/references/out.md` } },
  { tool: "read",        args: { path: `${PDF}/../notes.txt` } },
  { tool: "read",        args: { path: `${PDF}/id_rsa` } },
  { tool: "read",        args: { path: join(HOME, ".claude/skills/broken/SKILL.md") } },
  { tool: "read",        args: { path: join(CONFIGURED, "secret.json") } },
  { tool: "read",        args: { path: `${CONFIGURED}/skills/own/../../secret.json` } },
  { tool: "ls",          args: { path: join(HOME, ".claude/skills") } },
  { tool: "ls",          args: { path: `${PDF}/assets/etc` } },
  { tool: "grep",        args: { pattern: "CANARY", path: join(HOME, ".claude") } },
  { tool: "write",       args: { path: `${PDF}/forms.md`, content: "x" } },
  { tool: "write",       args: { path: `${PDF}/new.md`, content: "x" } },
  { tool: "edit",        args: { path: `${PDF}/forms.md`, find: "Forms", replace: "x" } },
  { tool: "delete_file", args: { path: `${PDF}/forms.md` } },
  { tool: "apply_patch", args: { patch_text: `*** Begin Patch\n*** Delete File: ${PDF}/forms.md\n*** End Patch` } },
  { tool: "bash",        args: { cmd: "ls", workdir: PDF } },
  { tool: "attach",      args: { path: join(HOME, "private.txt") } },
];

test.each(CLOSED)("$tool stays out of what is around, and changes nothing: $args", async ({ tool, args }) => {
  const { call } = await withOwn({ onApproval: () => ({ answer: "grant" }) });

  const { error, payload } = await call(tool, args);

  expect(error?.code).toMatch(/^(?:PathTraversalBlocked|SensitivePath)$/);
  expect(JSON.stringify(payload ?? "")).not.toContain("CANARY");
  expect(await readFile(join(PDF, "forms.md"), "utf8")).toBe("Forms\n");
});

test("rules speak of the files of a skill too, and the record and explain say why it was open", async () => {
  const rules: NonNullable<RuntimeOptions["config"]>["rules"] = [{ effect: "deny", path: "references/**" }];
  const { call, runtime, events } = await withOwn({ config: { rules } });
  const path = join(PDF, "forms.md");

  expect((await call("read", { path: join(PDF, "references/x.md") })).error?.code).toBe("ToolNotAllowed");
  expect((await call("ls", { path: PDF, recursive: true })).payload?.stdout).not.toContain("x.md");
  expect((await call("read", { path })).ok).toBe(true);
  const { checks } = await runtime.explain({ name: "read", args: { path } });
  expect(checks.find(({ check }) => check === "roots")?.reason).toContain(`a skill of the user's own ("${PDF}")`);
  const ended = (await events()).findLast(({ type }) => type === "tool_call.completed");
  const audit = ended?.payload["audit"] as AuditRecord | undefined;
  expect(audit?.places).toEqual([{ path, real: path, access: "read", skill_folder: PDF }]);
});

test("reading the SKILL.md of one's own skill by its path, or one of its files by read_skill, makes it restrict", async () => {
  for (const [tool, args] of [
    ["read", { path: join(CONFIGURED, "skills/own/SKILL.md") }],
    ["read_skill", { name: "own", path: "references/y.md" }],
  ] as const) {
    const { call } = await withOwn();
    expect((await call(tool, args)).ok).toBe(true);
    expect((await call("write", { path: "a.txt", content: "x" })).error?.message).toMatch(/the active skill "own"/);
    await rm(join(HOME, ".claude"), { recursive: true });
  }
});

test("a project's skill gives no file before it is trusted, nor after it changed", async () => {
  let asked = "";
  const trusted = new Set<string>();
  const isTrustedSkill = ({ digest }: { readonly digest: string }): boolean => trusted.has((asked = digest));
  const { call, make, path } = await withOwn({ isTrustedSkill });
  await make({
    "root/.claude/skills/theirs/SKILL.md": "---\ndescription: x\n---\nTheirs\n",
    "root/.claude/skills/theirs/a.md": "a\n",
  });
  const read = async () => await call("read_skill", { name: "theirs", path: "a.md" });

  expect((await read()).error?.code).toBe("ToolNotAllowed");
  trusted.add(asked);
  expect((await read()).payload?.stdout).toBe("a\n");
  await truncate(join(path, "root/.claude/skills/theirs/SKILL.md"), 25);
  expect((await read()).error?.code).toMatch(/ToolNotAllowed|InvalidArguments/);
  await make({ "root/.claude/skills/theirs/SKILL.md": "---\ndescription: y\n---\nTheirs\n" });
  expect((await read()).error?.code).toBe("ToolNotAllowed");
});

test("a script of one's own skill works in the workspace, and what it makes there can be undone", async () => {
  const { call, runtime, read } = await withOwn({ onApproval: () => ({ answer: "grant" }) });

  const { error, payload, artifacts } = await call("run_script", {
    skill: "pdf",
    relative_path: "scripts/run.sh",
    workdir: "workspace",
  });

  expect(error).toBeNull();
  expect(payload?.stdout).toBe("one\ntwo\nthree\n");
  expect(await read("root/made.txt")).toBe("made\n");
  expect(artifacts.files_changed).toEqual(["made.txt"]);
  expect((await runtime.undo(artifacts.undo_id ?? "")).error).toBeNull();
  await expect(read("root/made.txt")).rejects.toThrow(/ENOENT/);
});

test("a SKILL.md that links to some file does not open the folder of that file, whatever its name", async () => {
  const documents = join(HOME, "Documents");
  const skill = join(HOME, ".claude/skills/Documents");
  for (const folder of [documents, skill]) await mkdir(folder, { recursive: true });
  onTestFinished(async () => await rm(documents, { recursive: true, force: true }));
  await writeFile(join(documents, "post.md"), "---\nname: Documents\ndescription: x\n---\nA post\n");
  await writeFile(join(documents, "letter.txt"), "CANARY");
  await symlink(join(documents, "post.md"), join(skill, "SKILL.md"));
  await symlink(join(documents, "letter.txt"), join(skill, "letter.txt"));
  const { call } = await withOwn();

  expect(JSON.stringify(await call("read_skill", { name: "documents", path: "letter.txt" }))).not.toContain("CANARY");
  expect(JSON.stringify(await call("read", { path: join(skill, "letter.txt") }))).not.toContain("CANARY");
});

test("a skill whose restrictions cannot be recorded is not read", async () => {
  const { path: state_dir } = await scratchFolder();
  const { call } = await withOwn({
    openJournal: (run_id) => {
      const journal = new JsonlJournal({ state_dir, run_id, heads: join(state_dir, "heads") });
      return Promise.resolve({
        run_id,
        append: async (drafts, options) => {
          if (drafts.some(({ type }) => type === "skill.activated")) throw new Error("the disk is full");
          return await journal.append(drafts, options);
        },
        read: (after) => journal.read(after),
        close: () => journal.close(),
      });
    },
  });

  const result = await call("read_skill", { name: "own" });

  expect(result).toMatchObject({ ok: false, error: { code: "RecordFailed" } });
  expect(JSON.stringify(result)).not.toContain("Own");
});
