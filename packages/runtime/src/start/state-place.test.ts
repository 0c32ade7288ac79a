import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, test, vi } from "vitest";
import { scratchFolder } from "../../../../test/support/scratch.ts";
import { userStateFolder } from "../journal/heads.ts";
import { checkState, locateState, openState } from "./state-place.ts";
import type { StateCheck } from "./state-place.ts";

/** A workspace with a folder for state that has content, and the user's state directory beside it. */
async function place(files: Readonly<Record<string, string>> = {}) {
  const folder = await scratchFolder();
  await folder.make({ "work/a.txt": "a", ...files });
  const environment = { XDG_STATE_HOME: join(folder.path, "user") };
  const work = join(folder.path, "work");
  const check = (state_dir?: string): StateCheck => ({ workspace: work, state_dir, roots: [work], environment });
  return {
    ...folder,
    work,
    environment,
    check,
    problem: (state_dir?: string) => checkState(check(state_dir)),
    open(state_dir?: string): string {
      const opened = openState(check(state_dir));
      expect(opened.problem).toBeUndefined();
      return opened.state_dir;
    },
  };
}

function git(cwd: string, ...words: readonly string[]): string {
  const own = ["-c", "user.name=a", "-c", "user.email=a@b"];
  return execFileSync("git", [...own, ...words], { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

// Where it is.

test("the automatic folder is the user's, named after the real path of the workspace, and made for the user alone", async () => {
  const { work, path, open, environment } = await place({ "other/work/": "", linked: "-> work", "work/sub dir!/": "" });
  const state_dir = open();
  expect(dirname(state_dir)).toBe(join(path, "user/autonous"));
  expect(basename(state_dir)).toMatch(/^work-[0-9a-f]{16}$/);
  expect(locateState({ workspace: join(path, "linked"), environment })).toBe(state_dir);
  const same = locateState({ workspace: join(path, "other/work"), environment });
  expect(basename(same)).toMatch(/^work-/);
  expect(same).not.toBe(state_dir);
  expect(basename(locateState({ workspace: join(work, "sub dir!"), environment }))).toMatch(/^sub_dir_-[0-9a-f]{16}$/);
  expect(basename(locateState({ workspace: "/", environment }))).toMatch(/^workspace-[0-9a-f]{16}$/);
  for (const folder of [path + "/user", path + "/user/autonous", state_dir])
    expect(lstatSync(folder).mode & 0o777).toBe(0o700);
  expect(readFileSync(join(state_dir, "workspace"), "utf8")).toBe(`${work}\n`);
  expect(readdirSync(work)).toEqual(["a.txt", "sub dir!"]);
});

test("no name of a workspace meets another name of the user's state directory", async () => {
  const { path, make, environment } = await place();
  for (const name of ["heads", "trust", "mark.key", "configuration.lock", "..x", "-rf"]) {
    await make({ [`${name}/`]: "" });
    expect(basename(locateState({ workspace: join(path, name), environment }))).toMatch(/^[A-Za-z0-9].*-[0-9a-f]{16}$/);
  }
});

// What is refused, with nothing read.

// oxfmt-ignore
const REFUSED = [
  { title: "content without a mark",     files: { "work/st/undo/open/x.jsonl": "{}" },                           says: /no mark of this user and machine.*state adopt/ },
  { title: "a database without a mark",  files: { "work/st/autonous.db": "x" },                                  says: /no mark/ },
  { title: "a mark that was made up",        files: { "work/st/mark": "00".repeat(32), "work/st/http.token": "x" },  says: /no mark/ },
  { title: "an odd name alone",              files: { "work/st/odd": "" },                                           says: /no mark/ },
  { title: "a link",                         files: { "work/st": "-> ../elsewhere", "elsewhere/": "" },              says: /it is a link/ },
  { title: "a link that leads nowhere",      files: { "work/st": "-> ../nowhere" },                                  says: /it is a link/ },
  { title: "a file",                         files: { "work/st": "x" },                                              says: /not a folder/ },
  { title: "a linked mark",                  files: { "work/st/mark": "-> ../../elsewhere" },                        says: /"mark" in it is a link/ },
  { title: "a linked list of what to ignore", files: { "work/st/.gitignore": "-> ../a.txt" },                        says: /"\.gitignore" in it is a link/ },
] as const;

for (const { title, files, says } of REFUSED) {
  test(`a state folder in the workspace is refused: ${title}`, async () => {
    const { problem, check, path, work } = await place(files);
    const before = readdirSync(work, { recursive: true });
    expect(problem("st")).toMatch(says);
    expect(openState(check("st")).problem).toMatch(says);
    expect(readdirSync(work, { recursive: true })).toEqual(before);
    expect(existsSync(join(path, "user"))).toBe(false);
    expect(existsSync(join(path, "nowhere"))).toBe(false);
  });
}

test("a link on the way to a folder of the workspace is refused, one above the workspace is not", async () => {
  const { problem, path, make, environment } = await place({ "work/build": "-> ../elsewhere", "elsewhere/": "" });
  expect(problem("build/st")).toMatch(/through a link in the workspace/);
  expect(problem("build/deep/st")).toMatch(/through a link in the workspace/);
  await make({ "home/ws/": "", link: "-> home" });
  const through = { workspace: join(path, "link/ws"), state_dir: "st", roots: [join(path, "home/ws")], environment };
  expect(openState(through)).toEqual({ state_dir: join(path, "home/ws/st") });
  expect(checkState(through)).toBeUndefined();
});

// oxfmt-ignore
const LINKS = ["undo", "sandbox", "autonous.db", "http.token", "runs", "undo/open", "undo/logs", "sandbox/closed", "background/x", "locks/x", "runs/run_1", "open-approvals/x"];

for (const name of LINKS) {
  test(`a link ${name} in a marked folder is refused`, async () => {
    const { open, problem, path } = await place({ "elsewhere/": "" });
    const state_dir = open("st");
    mkdirSync(join(state_dir, "runs"), { recursive: true });
    expect(problem("st")).toBeUndefined();
    rmSync(join(state_dir, name), { recursive: true, force: true });
    mkdirSync(dirname(join(state_dir, name)), { recursive: true });
    symlinkSync(join(path, "elsewhere"), join(state_dir, name));
    expect(problem("st")).toContain(`${JSON.stringify(name)} in it is a link`);
  });
}

// The mark.

test("a marked folder is believed where it was marked, and nowhere else: not a copy, a moved one, another user's or machine's", async () => {
  const { open, problem, work, check, path } = await place();
  const state_dir = open("st");
  writeFileSync(join(state_dir, "autonous.db"), "x");
  expect(problem("st")).toBeUndefined();
  expect(readFileSync(join(state_dir, ".gitignore"), "utf8")).toBe("*\n");

  cpSync(state_dir, join(work, "copy"), { recursive: true, preserveTimestamps: true });
  expect(problem("copy")).toMatch(/no mark/);
  renameSync(state_dir, join(work, "moved"));
  expect(problem("moved")).toMatch(/no mark/);
  cpSync(join(work, "moved"), state_dir, { recursive: true });
  expect(problem("st")).toMatch(/no mark/);
  rmSync(state_dir, { recursive: true });
  renameSync(join(work, "moved"), state_dir);
  expect(problem("st")).toBeUndefined();
  expect(checkState({ ...check("st"), environment: { XDG_STATE_HOME: join(path, "user2") } })).toMatch(/no mark/);
  rmSync(join(path, "user/autonous/mark.key"));
  expect(problem("st")).toMatch(/no mark/);
  expect(openState({ ...check("st"), adopting: true }).problem).toBeUndefined();
  expect(problem("st")).toBeUndefined();
});

test("an empty folder that is the user's is taken, whatever its mode was", async () => {
  const { open, problem, work } = await place({ "work/st/": "" });
  chmodSync(join(work, "st"), 0o777);
  expect(lstatSync(open("st")).mode & 0o022).toBe(0);
  writeFileSync(join(work, "st/autonous.db"), "x");
  chmodSync(join(work, "st"), 0o770);
  expect(problem("st")).toMatch(/other users can write to it \(mode 770\); run chmod go-w/);
});

test("many first starts at once agree", async () => {
  const { check, path } = await place();
  const {
    roots: [root = ""],
  } = check();
  const program = `
    const { openState } = await import(${JSON.stringify(join(import.meta.dirname, "state-place.ts"))});
    const check = { workspace: ${JSON.stringify(root)}, state_dir: "st", roots: [${JSON.stringify(root)}], environment: { XDG_STATE_HOME: ${JSON.stringify(join(path, "user"))} } };
    const { problem } = openState(check);
    if (problem !== undefined) { console.error(problem); process.exit(1); }`;
  const children = Array.from({ length: 6 }, () =>
    spawn(process.execPath, ["--conditions=@autonous/source", "--input-type=module", "-e", program], {
      stdio: "inherit",
    }),
  );
  const codes = await Promise.all(children.map(async (child) => ((await once(child, "exit")) as [number])[0]));
  expect(codes).toEqual([0, 0, 0, 0, 0, 0]);
  writeFileSync(join(root, "st/autonous.db"), "x");
  expect(checkState(check("st"))).toBeUndefined();
});

test("a mark that another start is writing is not taken for the state of another user", async () => {
  const { open, problem } = await place({ "work/st/mark.4711.0a1b2c3d": "half", "work/st/.gitignore": "*\n" });
  expect(problem("st")).toBeUndefined();
  open("st");
  expect(problem("st")).toBeUndefined();
});

// Git.

test("git neither commits a marked folder, nor is what it checks out into one believed", async () => {
  const { open, problem, work } = await place();
  git(work, "init", "-q");
  const state_dir = open("st");
  writeFileSync(join(state_dir, "autonous.db"), "x");
  git(work, "add", "-A");
  expect(git(work, "ls-files").trim()).toBe("a.txt");
  expect(problem("st")).toBeUndefined();
  git(work, "add", "-f", "st/autonous.db");
  expect(problem("st")).toMatch(/git tracks "st\/autonous\.db" in it/);
  git(work, "rm", "-q", "-r", "--cached", "st");
  expect(problem("st")).toBeUndefined();
});

test("outside of the roots a folder of the user's is believed without a mark, but not in a repository", async () => {
  const { problem, path } = await place({ "state/autonous.db": "x", "repository/state/autonous.db": "x" });
  git(join(path, "repository"), "init", "-q");
  expect(problem("../state")).toBeUndefined();
  expect(problem("../repository/state")).toMatch(/no mark/);
  chmodSync(join(path, "state"), 0o775);
  expect(problem("../state")).toMatch(/chmod go-w/);
});

test("a user's state directory in the workspace is treated as a part of it", async () => {
  const { work, check, path } = await place();
  const inside = { ...check(), environment: { XDG_STATE_HOME: join(work, "xdg") } };
  git(work, "init", "-q");
  const { state_dir, problem } = openState(inside);
  expect(problem).toBeUndefined();
  writeFileSync(join(state_dir, "autonous.db"), "x");
  expect(checkState(inside)).toBeUndefined();
  cpSync(work, join(path, "clone"), { recursive: true });
  rmSync(work, { recursive: true });
  renameSync(join(path, "clone"), work);
  expect(checkState(inside)).toMatch(/no mark/); // the key came along, but it is another folder
  rmSync(state_dir, { recursive: true });
  git(work, "add", "-f", "xdg");
  expect(checkState(inside)).toMatch(/git tracks "xdg\/autonous\/mark\.key"/);
});

// Owner.

const isRoot = process.getuid?.() === 0;

test.skipIf(!isRoot)(
  "a folder of another user is refused, and so is a state directory (skipped: needs root)",
  async () => {
    const { problem, path, make, work } = await place();
    await make({ "state/": "", "work/st/": "", "user/autonous/": "" });
    for (const folder of ["state", "work/st", "user/autonous"]) chownSync(join(path, folder), 65_534, 65_534);
    expect(problem("../state")).toMatch(/belongs to user 65534, not to user 0/);
    expect(problem(join(work, "st"))).toMatch(/belongs to user 65534/);
    expect(problem()).toMatch(/user\/autonous" belongs to user 65534; set XDG_STATE_HOME/);
  },
);

test("a state directory that others can write is refused with words", async () => {
  const { problem, path, make } = await place();
  await make({ "user/autonous/": "" });
  chmodSync(join(path, "user/autonous"), 0o777);
  expect(problem()).toMatch(/is writable by other users \(mode 777\); set XDG_STATE_HOME to a folder of your own/);
});

test("a state directory that cannot be made is told with what to do", async () => {
  const { check, make } = await place();
  await make({ user: "a file" });
  expect(openState(check()).problem).toMatch(
    /cannot be created \((ENOTDIR|EEXIST)\); choose another one with state_dir/,
  );
});

test("a state directory where the system takes no folders is told, and nothing goes round in circles", async () => {
  const { check } = await place();
  for (const XDG_STATE_HOME of ["/proc/none", "/proc/self/none/deep", "/sys/none"]) {
    const { problem } = openState({ ...check(), environment: { XDG_STATE_HOME } });
    expect(problem).toMatch(/cannot be created \((ENOENT|EACCES|EPERM|EROFS)\); choose another one/);
  }
});

test("a relative XDG_STATE_HOME does not count", () => {
  vi.stubEnv("HOME", "/home/ann");
  expect(userStateFolder({ XDG_STATE_HOME: "state" })).toBe("/home/ann/.local/state/autonous");
  vi.unstubAllEnvs();
});
