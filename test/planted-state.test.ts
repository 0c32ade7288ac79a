/** A repository that brings a state folder of its own making. It is cloned, and every command is used in it. */
import { execFileSync } from "node:child_process";
import { hash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createRuntime } from "@autonous/runtime";
import { openApprovals } from "@autonous/runtime/internal";
import { expect, onTestFinished, test } from "vitest";
import { openStore } from "../packages/autonous/src/store/open-store.ts";
import { autonous } from "./support/cli.ts";
import { scratchFolder, stateOf } from "./support/scratch.ts";
import { PROGRAM, startProgram, until } from "./support/service.ts";

const TOKEN = "tokenOfTheAttacker".repeat(3);
const EVIL = "[core]\n\tsshCommand = evil\n";

function git(cwd: string, ...words: readonly string[]): void {
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...words], { cwd, stdio: "ignore" });
}

/** A clone with `.agent` in it: an unfinished change of a file in the home, a queued task, a token, a link to a secret. */
async function clone(shape: "folder" | "link" = "folder") {
  const { path, make } = await scratchFolder();
  const sha256 = hash("sha256", EVIL, "hex");
  const version = { sha256, size: EVIL.length, mode: 0o644 };
  const home = join(path, "home");
  const root = join(path, "clone");
  const change = {
    undo_id: "undo_01k0000000000000000000001",
    run_id: "run_1",
    tool_call_id: "call_1",
    ts: "2026-01-01T00:00:00.000Z",
    files: [
      { path: "x", real: join(home, ".gitconfig"), before: version, after: null },
      { path: "y", real: join(root, "inside"), before: version, after: null },
      { path: "z", real: join(root, "never"), before: null, after: { ...version, size: 1 } },
    ],
  };
  const done = {
    change: { ...change, undo_id: "undo_01k0000000000000000000002" },
    staged: [],
    packed: [],
    ended: "undo_01k0000000000000000000002",
    outcome: "done",
  };
  const state = shape === "folder" ? "origin/.agent" : "origin/elsewhere";
  await make({
    "home/.netrc": "machine x password canary",
    "origin/a.txt": "a",
    [`${state}/undo/open/undo_01k0000000000000000000000@1.1.another-boot.1.jsonl`]: `${JSON.stringify({ change, staged: [] })}\n`,
    [`${state}/undo/logs/undo_01k0000000000000000000003.jsonl`]: `${JSON.stringify(done)}\n`,
    [`${state}/undo/objects/${sha256.slice(0, 2)}/${sha256}`]: EVIL,
    [`${state}/http.token`]: TOKEN,
    [`${state}/sandbox/closed`]: `-> ${join(home, ".netrc")}`,
    [`${state}/config.json`]: "{}",
    ...(shape === "link" ? { "origin/.agent": "-> elsewhere" } : {}),
  });
  const store = await openStore({ file: join(path, state, "autonous.db"), clock: Date.now });
  await store.inbox.ingest({ source: "http", lane: "one", text: "/write planted.txt planted" });
  await store.close();
  git(join(path, "origin"), "init", "-q");
  git(join(path, "origin"), "add", "-A", "-f");
  git(join(path, "origin"), "commit", "-qm", "x");
  git(path, "clone", "-q", "origin", "clone");
  const env = { HOME: home, XDG_STATE_HOME: join(path, "user"), XDG_CONFIG_HOME: join(path, "config"), CI: "" };
  return { path, root, home, env, treeOf: (folder: string) => treeOf(join(path, folder)) };
}

/** Every entry with its mode, owner and content. */
function treeOf(folder: string): readonly string[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => !name.startsWith(".git/"));
  return names.sort().map((name) => {
    const stats = statSync(join(folder, name), { throwIfNoEntry: false });
    return `${name} ${stats?.mode} ${stats?.isFile() === true ? hash("sha256", readFileSync(join(folder, name)), "hex") : ""}`;
  });
}

// oxfmt-ignore
const DOORS: readonly (readonly string[])[] = [
  ["call", "ls", "{}"], ["call", "ls", "{}", "--profile", "readonly"], ["call", "bash", '{"cmd":"true"}'], ["tools"], ["policy", "explain", "ls", "{}"],
  ["policy", "explain", "bash", '{"cmd":"ls"}'], ["policy", "replay", "--config", ".agent/config.json"], ["run", "/ls"], ["chat"], ["tasks", "list"], ["tasks", "retry", "all"], ["approvals", "list"], ["audit", "verify"],
  ["audit", "show"], ["events", "tail"], ["undo", "undo_01k0000000000000000000002"], ["undo", "run_1", "--force"], ["memory", "list"], ["prune"], ["backup", "../backup"],
  ["skills"], ["doctor"], ["state", "show"], ["state", "adopt"], ["serve", "--check", "--root", "."],
];

for (const shape of ["folder", "link"] as const) {
  test(`no command trusts the state that a clone brings (${shape}), nor changes anything because of it`, async () => {
    const { root, env, treeOf: tree, home } = await clone(shape);
    const [before, outside] = [tree("clone"), tree("home")];
    for (const words of DOORS) {
      const { stdout, stderr } = await autonous(words, { cwd: root, env });
      expect({ words, home: tree("home") }).toEqual({ words, home: outside });
      expect({ words, clone: tree("clone") }).toEqual({ words, clone: before });
      expect(`${stdout}${stderr}`).not.toMatch(/planted|canary|InternalError|tokenOfTheAttacker/);
      if (words[0] === "call" || words[0] === "run") expect(stderr).toMatch(/is not used: .*autonous state adopt/s);
    }
    expect(existsSync(join(home, ".gitconfig"))).toBe(false);
  }, 240_000);

  test(`where the clone's folder (${shape}) is named as the state folder, every command refuses with a message`, async () => {
    const { root, env, treeOf: tree, path } = await clone(shape);
    const [before, outside] = [tree("clone"), tree("home")];
    for (const words of [...DOORS, ["serve", "--root", "."], ["restore", "../backup"]]) {
      if (["doctor", "skills"].includes(words[0] ?? "") || words[1] === "show") continue;
      const { code, stdout, stderr } = await autonous([...words, "--state-dir", ".agent"], { cwd: root, env });
      expect({ words, refused: [2, 4].includes(code ?? 0) }).toEqual({ words, refused: true });
      expect({ words, text: `${stdout}${stderr}` }).toEqual({
        words,
        text: expect.stringMatching(/is a link|git tracks|will be trusted/) as string,
      });
    }
    expect(existsSync(join(path, "user"))).toBe(false);
    const doctor = await autonous(["doctor", "--state-dir", ".agent"], { cwd: root, env });
    expect(doctor.code).toBe(1);
    expect(doctor.stdout).toMatch(/failed +workspace +the state folder/);
    const options = { roots: [root], state_dir: ".agent" };
    await expect(createRuntime(options)).rejects.toThrow(/is a link|git tracks/);
    await expect(createRuntime({ ...options, looking: true })).rejects.toThrow(/is a link|git tracks/);
    await expect(openApprovals({ state_dir: join(root, ".agent") }).list()).rejects.toThrow(/is a link/);
    expect([tree("clone"), tree("home")]).toEqual([before, outside]);
  }, 240_000);
}

test("compiled code is kept in the user's state directory, and not at all where a repository may have put it there", async () => {
  const { path, make } = await scratchFolder();
  await make({ "home/work/a.txt": "a", "dotfiles/.git/HEAD": "x", "dotfiles/work/a.txt": "a", "bare/a.txt": "a" });
  const list = async (home: string, cwd: string): Promise<readonly string[]> => {
    const env = {
      HOME: join(path, home),
      XDG_STATE_HOME: "",
      XDG_CACHE_HOME: "",
      NODE_COMPILE_CACHE: undefined as never,
      NODE_DISABLE_COMPILE_CACHE: undefined as never, // set while coverage is measured
    };
    for (let start = 0; start < 2; start++) {
      expect((await autonous(["call", "ls", "{}"], { cwd: join(path, cwd), env })).code).toBe(0);
    }
    const found = readdirSync(join(path, home), { recursive: true, encoding: "utf8" });
    return found.filter((name) => /(?:cache|compiled)$/.test(name));
  };
  expect(await list("home", "home/work")).toEqual([".local/state/autonous/compiled"]);
  expect(await list("dotfiles", "dotfiles/work")).toEqual([]);
  expect(await list("bare", "bare")).toEqual([]);
});

test("a granted approval that a repository brings allows nothing, even if made for the path where it is cloned", async () => {
  const { path, make } = await scratchFolder();
  const [root, origin] = [join(path, "clone"), join(path, "origin")];
  const env = {
    HOME: join(path, "home"),
    XDG_STATE_HOME: join(path, "user"),
    XDG_CONFIG_HOME: join(path, "config"),
    CI: "",
  };
  await make({ "clone/a.txt": "a", "home/": "", "origin/a.txt": "a" });
  const runtime = await createRuntime({ roots: [root], state_dir: join(path, "made") });
  const asked = await runtime.call({ name: "delete_file", args: { path: "a.txt" } });
  const [pending] = await runtime.approvals.list({ state: "pending" });
  await runtime.approvals.answer(pending?.request.approval_id ?? "", { answer: "grant", by: "the attacker" });
  await runtime.close();
  expect(asked.error?.code).toBe("ApprovalRequired");
  cpSync(join(path, "made"), join(origin, ".agent"), { recursive: true });
  const words = ["call", "delete_file", '{"path":"a.txt"}', "--non-interactive"];
  rmSync(root, { recursive: true });
  git(origin, "init", "-q");
  git(origin, "add", "-A", "-f");
  git(origin, "commit", "-qm", "x");
  git(path, "clone", "-q", "origin", "clone");

  const refused = await autonous(words, { cwd: root, env });
  expect(refused.stderr).toMatch(/ApprovalRequired/);
  const named = await autonous([...words, "--state-dir", ".agent"], { cwd: root, env });
  expect(named.stderr).toMatch(/git tracks/);
  expect((await autonous(["approvals", "list", "--json"], { cwd: root, env })).stdout).not.toContain("the attacker");
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("a");

  // The same approval counts where its state is the user's own: it is the place that is not believed.
  const believed = await autonous([...words, "--state-dir", join(path, "made")], { cwd: root, env });
  expect({ code: believed.code, stderr: believed.stderr }).toMatchObject({ code: 0 });
  expect(existsSync(join(root, "a.txt"))).toBe(false);
}, 240_000);

test("doctor names the state of a workspace that was moved, and adopting it brings the record along", async () => {
  const { path, make } = await scratchFolder();
  await make({ "work/a.txt": "a", "home/": "" });
  const env = { HOME: join(path, "home"), XDG_STATE_HOME: join(path, "user"), XDG_CONFIG_HOME: join(path, "config") };
  const before = join(path, "work");
  expect((await autonous(["call", "write", '{"path":"a.txt","content":"b"}'], { cwd: before, env })).code).toBe(0);
  const old = stateOf(before, env);
  const now = join(path, "renamed");
  renameSync(before, now);
  const doctor = await autonous(["doctor"], { cwd: now, env });
  expect(doctor.stdout.replaceAll(/\s+/g, " ")).toContain(
    `If this workspace was moved, its state may be in ${old}, whose workspace is gone: autonous state adopt <that folder>`,
  );
  expect((await autonous(["state", "adopt", old, "--yes"], { cwd: now, env })).code).toBe(0);
  expect(await autonous(["audit", "verify"], { cwd: now, env })).toMatchObject({
    code: 0,
    stdout: "Audit log OK: 2 records, chain intact\n",
  });
  expect((await autonous(["doctor"], { cwd: now, env })).stdout).not.toContain("was moved");
}, 240_000);

/** A folder in which nothing can be made, not even by root. */
function readOnlyHome(path: string): string {
  if (process.getuid?.() === 0) return "/sys";
  mkdirSync(join(path, "locked"));
  chmodSync(join(path, "locked"), 0o555);
  return join(path, "locked");
}

test("if the home is not writable every command reports it, and a configured state folder helps as far as possible", async () => {
  const { path, make } = await scratchFolder();
  await make({ "work/a.txt": "a" });
  const cwd = join(path, "work");
  const home = readOnlyHome(path);
  const env = { HOME: home, XDG_STATE_HOME: "", XDG_CONFIG_HOME: "", XDG_CACHE_HOME: "" };
  for (const words of [
    ["call", "ls"],
    ["run", "/ls"],
    ["call", "write", '{"path":"a.txt","content":"b"}'],
    ["audit", "export"],
    ["serve", "--root", "."],
  ]) {
    const { code, stdout, stderr } = await autonous(words, { cwd, env });
    const said = `${stdout}${stderr}`;
    expect({ words, code: code === 0 && words[0] !== "audit" ? "went on" : "ended" }).toEqual({ words, code: "ended" });
    expect(said).not.toMatch(/InternalError|\bat .*\.js:\d+|undefined/);
    if (words[0] !== "audit")
      expect({ words, said }).toEqual({ words, said: expect.stringMatching(/state/) as string });
  }
  expect(readFileSync(join(cwd, "a.txt"), "utf8")).toBe("a");
}, 240_000);

test("a service in a clone has its own queue and its own token", async () => {
  const { root, env } = await clone();
  const place = { path: root, root, state_dir: "", database: "", onEnd: onTestFinished };
  const state_dir = stateOf(root, env);
  const service = startProgram(place, [PROGRAM, "serve", "--root", root], {
    cwd: root,
    environment: { ...env, AUTONOUS_HTTP_PORT: "0" },
  });
  await until(() => existsSync(join(state_dir, "http.token")) && service.stdout() !== "", "the service to start");
  expect(readFileSync(join(state_dir, "http.token"), "utf8")).not.toContain(TOKEN);
  service.child.kill("SIGTERM");
  await service.ended;
  expect(existsSync(join(root, "planted.txt"))).toBe(false);
});

test("git clean neither removes the record nor makes it look damaged, and git add -A commits none of it", async () => {
  const { path, make } = await scratchFolder();
  await make({ "work/a.txt": "a" });
  const cwd = join(path, "work");
  git(cwd, "init", "-q");
  expect((await autonous(["call", "write", '{"path":"b.txt","content":"b"}'], { cwd })).code).toBe(0);
  git(cwd, "add", "-A");
  expect(execFileSync("git", ["ls-files"], { cwd, encoding: "utf8" })).toBe("a.txt\nb.txt\n");
  git(cwd, "commit", "-qm", "x");
  git(cwd, "clean", "-fdxq");
  expect((await autonous(["audit", "verify"], { cwd })).code).toBe(0);

  const inside = ["--state-dir", ".state"];
  expect((await autonous(["call", "ls", "{}", ...inside], { cwd })).code).toBe(0);
  git(cwd, "add", "-A");
  expect(execFileSync("git", ["status", "--porcelain"], { cwd, encoding: "utf8" })).toBe("");
  mkdirSync(join(cwd, "other/runs"), { recursive: true });
  writeFileSync(join(cwd, "other/http.token"), TOKEN);
  const refused = await autonous(["call", "ls", "{}", "--state-dir", "other"], { cwd });
  expect([refused.code, refused.stdout]).toEqual([2, ""]);
  expect(refused.stderr).toMatch(/no mark of this user and machine[\s\S]*autonous state adopt/);
  expect((await autonous(["state", "adopt", "--state-dir", "other"], { cwd })).code).toBe(4);
  expect((await autonous(["state", "adopt", "--yes", "--state-dir", "other"], { cwd })).code).toBe(0);
  expect((await autonous(["call", "ls", "{}", "--state-dir", "other"], { cwd })).code).toBe(0);
});
