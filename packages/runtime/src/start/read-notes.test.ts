import { spawnSync } from "node:child_process";
import { chmodSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { scratchFolder } from "../../../../test/support/scratch.ts";
import type { ProjectNotes } from "../contract/notes.ts";
import type { PolicyRule } from "../protocol/configuration.ts";
import { readNotes } from "./read-notes.ts";

interface House {
  readonly cwd?: string;
  readonly roots?: readonly string[];
  readonly rules?: PolicyRule[];
  readonly prepare?: (path: string) => void;
}

/** Reads the notes of `root` in a house that has `home` and `outside` beside it. */
async function notesIn(
  files: Readonly<Record<string, string>>,
  { cwd = "root", roots = ["root"], rules = [], prepare }: House = {},
): Promise<ProjectNotes> {
  const { path, make } = await scratchFolder();
  await make({ "home/": "", "root/": "", "outside/": "", [`${cwd}/`]: "", ...files });
  vi.stubEnv("HOME", join(path, "home"));
  vi.stubEnv("XDG_CONFIG_HOME", join(path, "home/.config"));
  onTestFinished(() => void vi.unstubAllEnvs());
  prepare?.(path);
  return readNotes({
    roots: roots.map((root) => join(path, root)),
    cwd: join(path, cwd),
    state_dir: join(path, "state"),
    settings: { profile: "guarded", configuration: { rules, quotas: [] } },
  });
}

const texts = ({ notes }: ProjectNotes): Readonly<Record<string, string>> =>
  Object.fromEntries(notes.map(({ path, text }) => [path, text]));

test("notes are read from the root down to the working folder, the person's own first", async () => {
  const found = await notesIn(
    {
      "home/.config/autonous/AGENTS.md": "mine",
      "root/AGENTS.md": "top",
      "root/a/README.md": "no notes here",
      "root/a/b/AGENTS.md": "deep",
      "root/a/b/c/AGENTS.md": "below the working folder",
      "root/other/AGENTS.md": "beside it",
      "AGENTS.md": "above the root",
    },
    { cwd: "root/a/b" },
  );
  expect(found).toEqual({
    notes: [
      { path: "~/.config/autonous/AGENTS.md", standing: "user", text: "mine", bytes: 4 },
      { path: "../../AGENTS.md", standing: "workspace", text: "top", bytes: 3 },
      { path: "AGENTS.md", standing: "workspace", text: "deep", bytes: 4 },
    ],
    skipped: [],
  });
});

// oxfmt-ignore
const CHOICES = [
  { title: "the override",                       names: ["AGENTS.override.md", "AGENTS.md", "CLAUDE.md"],         read: "AGENTS.override.md" },
  { title: "AGENTS.md before CLAUDE.md",         names: ["AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md"],          read: "AGENTS.md" },
  { title: "CLAUDE.md if it is the only file",  names: ["CLAUDE.md", ".claude/CLAUDE.md"],                       read: "CLAUDE.md" },
  { title: "the one in .claude at last",         names: [".claude/CLAUDE.md"],                                    read: ".claude/CLAUDE.md" },
] as const;

for (const { title, names, read } of CHOICES) {
  test(`one file of a folder is read: ${title}`, async () => {
    const found = await notesIn(Object.fromEntries(names.map((name) => [`root/${name}`, name])));
    expect(texts(found)).toEqual({ [read]: read });
  });
}

const OWN = [".config/autonous/AGENTS.md", ".agents/AGENTS.md", ".codex/AGENTS.md", ".claude/CLAUDE.md"];

for (const [at, own] of OWN.entries()) {
  test(`of the person's own notes the first is read: ~/${own}`, async () => {
    const found = await notesIn(Object.fromEntries(OWN.slice(at).map((name) => [`home/${name}`, name])));
    expect(found).toMatchObject({ notes: [{ path: `~/${own}`, standing: "user", text: own }], skipped: [] });
  });
}

test("CLAUDE.md brings what it imports, each file once and with who imports it", async () => {
  const found = await notesIn({
    "root/CLAUDE.md": "Read @docs/style.md and @missing.md, ask @alice, see @scope/package. `@docs/code.md`",
    "root/docs/style.md": "Style. @more.md @../CLAUDE.md",
    "root/docs/more.md": "More. @style.md",
    "root/docs/code.md": "not imported",
  });
  expect(found.notes.map(({ path, imported_by }) => [path, imported_by])).toEqual([
    ["CLAUDE.md", undefined],
    ["docs/style.md", "CLAUDE.md"],
    ["docs/more.md", "docs/style.md"],
  ]);
  expect(found.skipped).toEqual([{ path: "missing.md", why: "it does not exist (imported by CLAUDE.md)" }]);
});

test("AGENTS.md imports nothing; one that is a link to CLAUDE.md does", async () => {
  const files = { "root/x.md": "x" };
  expect(texts(await notesIn({ ...files, "root/AGENTS.md": "@x.md" }))).toEqual({ "AGENTS.md": "@x.md" });
  const linked = await notesIn({ ...files, "root/CLAUDE.md": "@x.md", "root/AGENTS.md": "-> CLAUDE.md" });
  expect(texts(linked)).toEqual({ "AGENTS.md": "@x.md", "x.md": "x" });
});

test("imports end after five steps", async () => {
  const chain = Array.from({ length: 9 }, (_, at) => [`root/${at}.md`, `@${at + 1}.md`] as const);
  const found = await notesIn({ "root/CLAUDE.md": "@0.md", ...Object.fromEntries(chain) });
  expect(Object.keys(texts(found))).toEqual(["CLAUDE.md", "0.md", "1.md", "2.md", "3.md", "4.md"]);
  expect(found.skipped).toEqual([{ path: "4.md", why: "its imports are nested more than 5 levels deep" }]);
});

test("the person's own CLAUDE.md imports from the home folder, and no workspace does", async () => {
  const found = await notesIn({
    "home/.claude/CLAUDE.md": "@~/notes/mine.md @team.md @../.ssh/config",
    "home/.claude/team.md": "team",
    "home/notes/mine.md": "mine",
    "home/.ssh/config": "secret",
    "root/CLAUDE.md": "@~/notes/mine.md @~/other.md",
    "home/other.md": "private",
  });
  expect(found.notes.map(({ path, standing }) => [path, standing])).toEqual([
    ["~/.claude/CLAUDE.md", "user"],
    ["~/notes/mine.md", "user"],
    ["~/.claude/team.md", "user"],
    ["CLAUDE.md", "workspace"],
  ]);
  expect(found.skipped.map(({ path, why }) => `${path}: ${why}`)).toEqual([
    expect.stringMatching(/^~\/\.ssh\/config: it is off limits to all tools/),
    '~/notes/mine.md: only your own notes import from "~" (imported by CLAUDE.md)',
    '~/other.md: only your own notes import from "~" (imported by CLAUDE.md)',
  ]);
});

test("what tools can change is the workspace's word, also where the person's own notes lead to it", async () => {
  const linked = await notesIn({ "home/.claude/CLAUDE.md": "-> ../../root/team.md", "root/team.md": "team" });
  expect(linked.notes).toMatchObject([{ path: "~/.claude/CLAUDE.md", standing: "workspace" }]);
  const atHome = await notesIn({ "home/.claude/CLAUDE.md": "mine" }, { cwd: "home", roots: ["home"] });
  expect(atHome.notes).toMatchObject([{ standing: "workspace", text: "mine" }]);
});

// oxfmt-ignore
const SKIPPED = [
  { title: "a link out of the roots",          files: { "root/AGENTS.md": "-> ../outside/x", "outside/x": "secret" },             why: "it points outside the allowed roots" },
  { title: "a link through a folder out",      files: { "root/docs": "-> ../outside", "root/AGENTS.md": "-> docs/x", "outside/x": "secret" }, why: "it points outside the allowed roots" },
  { title: "a link to a key in the roots",     files: { "root/AGENTS.md": "-> id_rsa", "root/id_rsa": "secret" },                 why: /off limits to all tools/ },
  { title: "a link to the state",              files: { "root/AGENTS.md": "-> ../state/x", "state/x": "secret" },                 why: "it points outside the allowed roots" },
  { title: "a link into /proc",                files: { "root/AGENTS.md": "-> /proc/self/environ" },                              why: "it points outside the allowed roots" },
  { title: "a link to itself",                 files: { "root/AGENTS.md": "-> AGENTS.md" },                                       why: /too many levels of symbolic links/ },
  { title: "a link that leads nowhere",        files: { "root/AGENTS.md": "-> nowhere" },                                         why: "it is a broken symbolic link" },
  { title: "a folder",                         files: { "root/AGENTS.md/": "" },                                                  why: "it is a folder" },
  { title: "empty",                            files: { "root/AGENTS.md": " \n" },                                                why: "it is empty" },
  { title: "binary",                           files: { "root/AGENTS.md": "secret\0" },                                           why: "it contains NUL bytes" },
] as const;

for (const { title, files, why } of SKIPPED) {
  test(`AGENTS.md that is ${title} is skipped and named, and CLAUDE.md takes its place`, async () => {
    const found = await notesIn({ ...files, "root/CLAUDE.md": "instead" });
    expect(texts(found)).toEqual({ "CLAUDE.md": "instead" });
    expect(found.skipped).toEqual([
      { path: "AGENTS.md", why: typeof why === "string" ? why : expect.stringMatching(why) },
    ]);
  });
}

// oxfmt-ignore
const ODD = [
  { title: "a pipe",                why: "it is not a regular file",            prepare: (file: string) => { spawnSync("mkfifo", [file]); } },
  { title: "not UTF-8",             why: "it is not valid UTF-8",               prepare: (file: string) => { writeFileSync(file, Buffer.from([0x61, 0xff, 0xfe])); } },
  { title: "very large",            why: "it is larger than 1 MiB",             prepare: (file: string) => { writeFileSync(file, "x"); truncateSync(file, 2 ** 30); } },
] as const;

for (const { title, why, prepare } of ODD) {
  test(`a note that is ${title} is skipped, wherever it is named`, async () => {
    const found = await notesIn(
      { "root/CLAUDE.md": "@odd.md", "home/.codex/": "" },
      {
        prepare: (path) => {
          prepare(join(path, "root/odd.md"));
          prepare(join(path, "home/.codex/AGENTS.md"));
        },
      },
    );
    expect(texts(found)).toEqual({ "CLAUDE.md": "@odd.md" });
    expect(found.skipped).toEqual([
      { path: "~/.codex/AGENTS.md", why },
      { path: "odd.md", why },
    ]);
  });
}

test("a note that may not be read is skipped, wherever it is named", async () => {
  const { path, make } = await scratchFolder();
  await make({ "root/CLAUDE.md": "@odd.md", "root/odd.md": "x", "home/.codex/AGENTS.md": "x" });
  for (const file of ["root/odd.md", "home/.codex/AGENTS.md"]) chmodSync(join(path, file), 0);
  chmodSync(path, 0o755);
  const options = {
    roots: [join(path, "root")],
    cwd: join(path, "root"),
    state_dir: join(path, "state"),
    settings: { profile: "guarded", configuration: { rules: [], quotas: [] } },
  };
  // Root reads every file, so a plain user looks.
  const program = `
    import { readNotes } from ${JSON.stringify(join(import.meta.dirname, "read-notes.ts"))};
    if (process.getuid() === 0) {
      process.setgroups([]);
      process.setgid(65534);
      process.setuid(65534);
    }
    console.log(JSON.stringify(await readNotes(${JSON.stringify(options)})));`;
  const env = { ...process.env, HOME: join(path, "home"), XDG_CONFIG_HOME: join(path, "home/.config") };
  const words = ["--conditions=@autonous/source", "--input-type=module", "-e", program];
  const { stdout, stderr } = spawnSync(process.execPath, words, { encoding: "utf8", env });
  expect(stderr).toBe("");
  const found = JSON.parse(stdout) as ProjectNotes;
  const why = "it cannot be opened (permission denied)";
  expect(texts(found)).toEqual({ "CLAUDE.md": "@odd.md" });
  expect(found.skipped).toEqual([
    { path: "~/.codex/AGENTS.md", why },
    { path: "odd.md", why },
  ]);
});

test("a link that stays inside the roots is followed, also into another root", async () => {
  const found = await notesIn(
    {
      "root/AGENTS.md": "-> docs/agents.md",
      "root/docs/agents.md": "linked",
      "root/a/AGENTS.md": "-> ../../outside/b.md",
      "outside/b.md": "other root",
    },
    { cwd: "root/a", roots: ["root", "outside"] },
  );
  expect(texts(found)).toEqual({ "../AGENTS.md": "linked", "AGENTS.md": "other root" });
});

test("an import that leads out of the roots is skipped and named", async () => {
  const found = await notesIn({
    "root/CLAUDE.md": "@../outside/x.md @/etc/hostname @docs/out.md",
    "root/docs/out.md": "-> ../../outside/x.md",
    "outside/x.md": "secret",
  });
  expect(JSON.stringify(found)).not.toContain("secret");
  // The same file by another name is named once.
  expect(found.skipped.map(({ path }) => path)).toEqual(["../outside/x.md", expect.stringMatching(/etc\/hostname$/)]);
});

test("what the policy keeps from tools is kept from the model", async () => {
  const files = { "root/AGENTS.md": "-> private/a.md", "root/private/a.md": "secret", "root/CLAUDE.md": "open" };
  const found = await notesIn(files, { rules: [{ effect: "confirm", path: "private/**" }] });
  expect(texts(found)).toEqual({ "CLAUDE.md": "open" });
  expect(found.skipped).toMatchObject([
    { path: "AGENTS.md", why: expect.stringMatching(/^the policy does not let tools read it without approval \(rule/) },
  ]);
});

test("all together have 32 KiB: short ones whole, long ones cut at the end of a line, none left out", async () => {
  const long = (word: string): string => `${word} é\n`.repeat(10_000);
  const { notes, skipped } = await notesIn(
    { "home/.codex/AGENTS.md": "mine", "root/AGENTS.md": long("top"), "root/a/AGENTS.md": long("deep") },
    { cwd: "root/a" },
  );
  expect(skipped).toEqual([]);
  expect(notes.map(({ text, truncated }) => [text.split("\n")[0], truncated])).toEqual([
    ["mine", undefined],
    ["top é", true],
    ["deep é", true],
  ]);
  const sizes = notes.map(({ text }) => Buffer.byteLength(text));
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(32_768);
  expect(Math.min(...sizes.slice(1))).toBeGreaterThan(16_000);
  expect(notes[1]?.text.endsWith("\n")).toBe(true);
  const one = await notesIn({ "root/AGENTS.md": "é".repeat(40_000) });
  expect(one.notes[0]).toMatchObject({ bytes: 80_000, truncated: true, text: expect.stringMatching(/^é{16384}$/) });
});

test("a byte order mark is not part of a note, and a long one of exactly the limit is not cut", async () => {
  const { notes } = await notesIn({ "root/AGENTS.md": `\ufeff${"x".repeat(100)}` });
  expect(notes).toEqual([{ path: "AGENTS.md", standing: "workspace", text: "x".repeat(100), bytes: 103 }]);
  const exact = await notesIn({ "root/AGENTS.md": "x".repeat(32_768) });
  expect(exact.notes[0]?.truncated).toBeUndefined();
});

test("a workspace with very many notes has an end, and says so", async () => {
  const names = Array.from({ length: 90 }, (_, at) => `n${at}.md`);
  const found = await notesIn({
    "root/CLAUDE.md": names.map((name) => `@${name}`).join("\n"),
    ...Object.fromEntries(names.map((name) => [`root/${name}`, name])),
  });
  expect([found.notes.length, found.skipped.length]).toEqual([50, 41]);
  expect(found.skipped[0]).toEqual({ path: "n49.md", why: "there are more than 50 note files" });
});
