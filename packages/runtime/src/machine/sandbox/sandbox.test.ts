import { execFileSync } from "node:child_process";
import { chmod, writeFile } from "node:fs/promises";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { keepPrinted } from "../../../../../test/support/printed.ts";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import type { Command, CommandLimits } from "../../contract/processes.ts";
import { findProgram, PROGRAMS } from "../processes/programs.ts";
import type { Launch } from "../processes/launch.ts";
import { runCommand } from "../processes/run.ts";
import { openSandbox } from "./sandbox.ts";
import type { SandboxOptions } from "./sandbox.ts";
import { checkSandbox } from "./self-check.ts";

const hasBwrap = (await findProgram("bwrap", { roots: [] })) !== undefined;
const needs = hasBwrap ? "" : ` (skipped: needs bwrap, ${PROGRAMS.bwrap.install})`;
const sandboxed = test.skipIf(!hasBwrap);

// Not in /tmp, which is private inside: what is outside the roots has to be closed by more than that.
process.env["TMPDIR"] = "/var/tmp";

const limits: CommandLimits = { memory_bytes: 4e9, processes: 256, file_bytes: 1e9, open_files: 1024 };

async function workspace(files: Readonly<Record<string, string>> = {}, options: Partial<SandboxOptions> = {}) {
  const folder = await scratchFolder();
  await folder.make({ "root/": "", "state/": "", "home/": "", "outside/": "", ...files });
  const at = (name: string): string => join(folder.path, name);
  const places = { roots: [at("root")], home: at("home"), state_dirs: [at("state")] };
  const open = async (more: Partial<SandboxOptions> = {}) => {
    const sandbox = await openSandbox({
      mode: "auto",
      workspace: places,
      state_dir: at("state"),
      limits,
      ...options,
      ...more,
    });
    onTestFinished(() => sandbox.close());
    return sandbox;
  };
  const run = async (run: string, command: Partial<Command> = {}) => {
    const sandbox = await open();
    const launch = (): Launch => sandbox.launch({ run, cwd: at("root"), ...command });
    const signal = new AbortController().signal;
    const printed = keepPrinted();
    const { onOutput } = printed;
    const { exit_code } = await runCommand(launch, { timeout_ms: 20_000, signal, call_id: "t", limits, onOutput });
    return { said: printed.stdout(), complained: printed.stderr(), exit_code };
  };
  return { ...folder, at, open, run, places };
}

/** Attempts from inside the root. The canary is a file outside; `{at}` stands for the scratch folder. */
// oxfmt-ignore
const READS = [
  { how: "by its name",                line: "cat {at}/state/canary" },
  { how: "by a link in the root",      line: "cat link/canary" },
  { how: "by a link made now",         line: "ln -s {at}/state new; cat new/canary" },
  { how: "by /proc/self/root",         line: "cat /proc/self/root{at}/state/canary" },
  { how: "by /proc/1/root",            line: "cat /proc/1/root{at}/state/canary" },
  { how: "by another process's folder", line: "cat /proc/*/cwd/state/canary" },
  { how: "by going up",                line: "cat ../state/canary" },
  { how: "by searching",               line: "grep -rs planted-canary {at} /tmp /var/tmp /run" },
  { how: "by a descriptor left open",  line: "for fd in /proc/*/fd/*; do timeout 0.3 cat $fd < /dev/null; done" },
] as const;

for (const { how, line } of READS) {
  sandboxed(`the runtime's state cannot be read ${how}${needs}`, async () => {
    const { at, run, path } = await workspace({ "state/canary": "planted-canary", "root/link": "-> ../state" });
    const { said } = await run(line.replaceAll("{at}", path));

    expect(said).not.toContain("planted-canary");
    expect(readFileSync(at("state/canary"), "utf8")).toBe("planted-canary");
  });
}

// oxfmt-ignore
const WRITES = [
  { how: "by its name",                        line: "echo x > {at}/outside/new" },
  { how: "by a link in the root",              line: "echo x > link/new" },
  { how: "by a link to what is not there yet", line: "ln -s {at}/outside/new dangling; echo x > dangling" },
  { how: "by a hard link",                     line: "ln {at}/outside/old hard && echo x > hard" },
  { how: "by /proc/self/root",                 line: "echo x > /proc/self/root{at}/outside/new" },
  { how: "by moving the root",                 line: "mv {at}/root {at}/outside/new" },
  { how: "into the system",                    line: "echo x > /etc/autonous-canary; echo x > /usr/autonous-canary; echo x > ~root/autonous-canary" },
  { how: "by mounting again",                  line: "mount -o remount,rw /; mount --bind {at}/outside .; echo x > new" },
] as const;

for (const { how, line } of WRITES) {
  sandboxed(`nothing outside the roots is written ${how}${needs}`, async () => {
    const { at, run, path } = await workspace({ "outside/old": "old", "root/link": "-> ../outside" });
    await run(line.replaceAll("{at}", path));

    expect(readdirSync(at("outside"))).toEqual(["old"]);
    expect(readFileSync(at("outside/old"), "utf8")).toBe("old");
    for (const folder of ["/etc", "/usr", "/root"]) expect(existsSync(join(folder, "autonous-canary"))).toBe(false);
  });
}

sandboxed(`/tmp, /run and the home are private, writable and gone afterwards${needs}`, async () => {
  const { run } = await workspace();
  const { said, complained } = await run(
    'cd && pwd && echo x > note && mktemp -d >/dev/null && echo x > /tmp/autonous-canary && ls -A /run; [ -w /dev/shm ] && echo "$TMPDIR"',
  );

  expect({ said, complained }).toEqual({ said: "/tmp/home\n/tmp\n", complained: "" });
  expect(existsSync("/tmp/autonous-canary")).toBe(false);
  expect(existsSync("/tmp/home")).toBe(false);
});

sandboxed(`a folder configured as /tmp persists between commands${needs}`, async () => {
  const { at, run, make } = await workspace();
  await make({ "state/tmp/": "" });
  const { open } = await workspace();
  expect((await open({ tmp: at("state/tmp") })).level).toBe("bwrap");
  const lasting = await workspace({}, { tmp: at("state/tmp") });
  await lasting.run("echo kept > /tmp/a; echo mine > ~/b");

  expect((await lasting.run("cat /tmp/a ~/b")).said).toBe("kept\nmine\n");
  expect((await run("cat /tmp/a")).said).toBe("");
});

sandboxed(`sensitive paths are closed, and no placeholder stays in the workspace${needs}`, async () => {
  const { at, run, read } = await workspace({
    "root/.ssh/id": "planted-canary",
    "root/deep/server.pem": "planted-canary",
    "home/.aws/credentials": "planted-canary",
    "root/.npmrc": "mine",
  });
  const { said } = await run(
    "cat .ssh/id deep/server.pem ../home/.aws/credentials; ls -A . .ssh; echo x > .ssh/id; echo x > deep/server.pem; echo x > .npmrc; rm -rf .ssh deep",
  );

  expect(said).not.toContain("planted-canary");
  expect(readdirSync(at("root")).sort()).toEqual([".npmrc", ".ssh", "deep"]);
  expect(await read("root/.ssh/id")).toBe("planted-canary");
  expect(await read("root/deep/server.pem")).toBe("planted-canary");
  expect(await read("root/.npmrc")).toBe("mine");
});

sandboxed(`git works, and its hooks and configuration stay as they are${needs}`, async () => {
  const { at, run, make, read } = await workspace();
  const git = (...args: string[]): string => execFileSync("git", args, { cwd: at("root"), encoding: "utf8" });
  git("init", "-q", "-b", "main");
  git("config", "user.email", "me@example.org");
  git("config", "user.name", "me");
  await make({ "root/.git/hooks/post-checkout": "#!/bin/sh\n", "root/a.txt": "one\n" });
  const before = await read("root/.git/config");
  const { said, exit_code } = await run(`set -e
git add a.txt; git commit -qm one
git checkout -q -b side; echo two >> a.txt; git commit -qam two
git checkout -q main; git merge -q side; git tag v1; git stash list; git gc -q
git log --format=%s`);

  expect({ said, exit_code }).toEqual({ said: "two\none\n", exit_code: 0 });
  const { complained } = await run(
    "git config core.pager x; git config core.hooksPath .; echo x > .git/hooks/pre-commit; echo x >> .git/config; mv .git .git2; mv .git/hooks .git/h; rm -rf .git/hooks .git/config",
  );
  expect(complained.split("\n").length).toBeGreaterThan(6);
  expect(await read("root/.git/config")).toBe(before);
  expect(readdirSync(at("root/.git/hooks"))).toContain("post-checkout");
  expect(readdirSync(at("root/.git/hooks"))).not.toContain("pre-commit");
  expect(git("fsck").trim()).toBe("");
});

sandboxed(`a named socket with a listener is closed${needs}`, async () => {
  const { run, at } = await workspace();
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(at("root/host.sock"), resolve));
  onTestFinished(() => void server.close());
  const { complained } = await run(
    `python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("host.sock")' || perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, pack_sockaddr_un("host.sock")) or die $!'`,
  );

  expect(complained).toMatch(/denied|refused/i);
  expect(connections).toBe(0);
});

sandboxed(`with a loopback network a command reaches itself and nothing else${needs}`, async () => {
  const { run } = await workspace();
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const serve = `node -e 'require("net").createServer((s) => s.end("hello\\n")).listen(4567, "127.0.0.1", () => console.log("up"))' > up & until [ -s up ]; do :; done; cat < /dev/tcp/127.0.0.1/4567`;
  const { said } = await run(`${serve}; (exec 9<>/dev/tcp/127.0.0.1/${port}) && echo reached`, { network: "loopback" });

  expect(said).toBe("hello\n");
  expect(connections).toBe(0);
});

sandboxed(`a folder inside hidden state can be opened for one command${needs}`, async () => {
  const { run, at, make } = await workspace();
  await make({ "root/.state/secret": "planted-canary", "root/.state/runs/1/": "" });
  const places = { roots: [at("root")], home: at("home"), state_dirs: [at("root/.state")] };
  const own = await openSandbox({ mode: "required", workspace: places, state_dir: at("root/.state"), limits });
  onTestFinished(() => own.close());
  const folder = at("root/.state/runs/1");
  const command = { run: "echo x > made; cat ../../secret; ls ../..", cwd: folder, writable: [folder] };
  const launch = (): Launch => own.launch(command);
  const signal = new AbortController().signal;
  const { onOutput, stdout } = keepPrinted();
  await runCommand(launch, { timeout_ms: 20_000, signal, call_id: "t", limits, onOutput });

  expect(stdout()).toBe("runs\n");
  expect(readdirSync(folder)).toEqual(["made"]);
  expect((await run("cat .state/secret")).said).toBe("planted-canary"); // where it is not the state folder of a runtime
});

sandboxed(`every attempt of the self-check is stopped${needs}`, async () => {
  const { open, places, at } = await workspace();
  const before = readdirSync(at("state/")).length;
  const attempts = await checkSandbox(await open(), { ...places, state_dir: at("state"), limits });

  expect(attempts.length).toBeGreaterThan(15);
  expect(attempts.filter(({ outcome }) => outcome === "escaped")).toEqual([]);
  expect(readdirSync(at("home"))).toEqual([]);
  expect(readdirSync(at("state")).length).toBeLessThanOrEqual(before + 1);
});

sandboxed(`writing in a home folder that is a root does not count as an escape${needs}`, async () => {
  const { open, places, at } = await workspace();
  const home = at("root");
  const sandbox = await open({ workspace: { ...places, home } });
  const attempts = await checkSandbox(sandbox, { ...places, home, state_dir: at("state"), limits });

  expect(attempts.filter(({ outcome }) => outcome === "escaped")).toEqual([]);
  expect(readdirSync(home)).toEqual([]);
});

test("the self-check detects an escape without a sandbox", async () => {
  const { open, places, at } = await workspace();
  const bare = await open({ mode: "off" });
  const attempts = await checkSandbox({ ...bare, level: "bwrap" }, { ...places, state_dir: at("state"), limits });
  const escaped = attempts.filter(({ outcome }) => outcome === "escaped").map(({ attempt }) => attempt);

  for (const attempt of ["write outside the roots", "read the runtime's state", "see a process outside"])
    expect(escaped).toContain(attempt);
  for (const attempt of ["signal a process outside", "reach a port of the machine"]) expect(escaped).toContain(attempt);
  expect(readdirSync(at("home"))).toEqual([]);
});

test("if the sandbox program is missing, auto reports it and required refuses", async () => {
  const { open, at, make } = await workspace();
  await make({ "bin/bash": "-> /bin/bash" });
  const auto = await open({ path: at("bin") });
  const required = await open({ path: at("bin"), mode: "required" });

  expect(auto.level).toBe("none");
  expect(auto.problem).toBe('bwrap is missing; "apt-get install bubblewrap" installs it');
  expect(() => required.launch({ run: "true", cwd: at("root") })).toThrow(
    /a sandbox is required, and bwrap is missing/,
  );
});

test("a sandbox program that does not work, or is in a root, is not used", async () => {
  const { open, at, make, places } = await workspace();
  await make({ "bin/bash": "-> /bin/bash", "root/bin/bwrap": "#!/bin/sh\ntouch ran\n" });
  await writeFile(at("bin/bwrap"), '#!/bin/sh\necho "bwrap: no permissions" >&2\nexit 1\n');
  await chmod(at("bin/bwrap"), 0o755);
  await chmod(at("root/bin/bwrap"), 0o755);
  const broken = await open({ path: at("bin"), mode: "required" });
  const inRoot = await open({ path: `${at("root/bin")}:${at("bin")}`, workspace: places });

  expect(broken.problem).toMatch(/the sandbox did not start \(bwrap: no permissions\)/);
  expect(() => broken.launch({ run: "true", cwd: at("root") })).toThrow(/a sandbox is required/);
  expect(inRoot.level).toBe("none");
  expect(existsSync(at("root/ran"))).toBe(false);
});

sandboxed(`if the sandbox fails later, the command is refused and not run without one${needs}`, async () => {
  const { open, at, make } = await workspace();
  const sandbox = await open();
  await make({ "root/work/": "" });
  const command = { run: "echo ran > /dev/null; touch ran", cwd: at("root"), writable: [at("not-there")] };
  const launch = (): Launch => sandbox.launch(command);
  const signal = new AbortController().signal;

  await expect(runCommand(launch, { timeout_ms: 20_000, signal, call_id: "t", limits })).rejects.toMatchObject({
    code: "SandboxUnavailable",
  });
  expect(existsSync(at("root/ran"))).toBe(false);
});
