/** Ways out that take more than one tool, or a thing that is not there yet, through the real gate. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ToolCallResult } from "@autonous/runtime";
import { expect, test, vi } from "vitest";
import { start } from "./support/cli.ts";
import { marker, processesWith } from "./support/processes.ts";
import { scratch, scratchFolder } from "./support/scratch.ts";
import type { Scratch } from "./support/scratch.ts";

const hasSandbox = spawnSync("bwrap", ["--version"]).status === 0;
const needs = hasSandbox ? "" : " (skipped: needs bwrap, apt-get install bubblewrap)";
const sandboxed = test.skipIf(!hasSandbox);

// Not in /tmp, which is private in the sandbox: what is outside the roots has to be closed by more than that.
process.env["TMPDIR"] = "/var/tmp";

const CANARY = "canary-of-the-outside";

/** A root next to a folder that no call may reach. */
async function place(options: Parameters<typeof scratch>[0] = {}): Promise<Scratch & { readonly outside: string }> {
  const made = await scratch(options);
  await made.make({ "outside/secret.txt": CANARY, "outside/deep/a.txt": CANARY, "root/a.txt": "a\n" });
  return { ...made, outside: join(made.path, "outside") };
}

function expectUntouched(outside: string): void {
  expect(namesIn(outside)).toEqual(["deep", "deep/a.txt", "secret.txt"]);
  for (const name of ["secret.txt", "deep/a.txt"]) expect(readFileSync(join(outside, name), "utf8")).toBe(CANARY);
}

/** Links that a command makes. `{out}` is the folder outside; `way` is the link. */
// oxfmt-ignore
const LINKS = [
  { to: "a folder outside",             cmd: "ln -s {out} way",                                     inside: "way" },
  { to: "a link to a folder outside",   cmd: "ln -s {out} first; ln -s first way",                  inside: "way" },
  { to: "the way up",                   cmd: "mkdir sub; ln -s ../../outside sub/way; ln -s sub/way way", inside: "way" },
  { to: "the root of the machine by /proc", cmd: "ln -s /proc/self/root way",                       inside: "way{out}" },
  { to: "the working folder by /proc",  cmd: "ln -s /proc/self/cwd way",                            inside: "way/../outside" },
  { to: "the root of the machine",      cmd: "ln -s / way",                                         inside: "way{out}" },
] as const;

const CALLS: readonly { readonly name: string; readonly args: (path: string) => Readonly<Record<string, unknown>> }[] =
  [
    { name: "read", args: (path) => ({ path: `${path}/secret.txt` }) },
    { name: "ls", args: (path) => ({ path }) },
    { name: "find", args: (path) => ({ path, name_pattern: "*" }) },
    { name: "grep", args: (path) => ({ path, pattern: "canary" }) },
    { name: "write", args: (path) => ({ path: `${path}/new.txt`, content: "x" }) },
    { name: "write", args: (path) => ({ path: `${path}/secret.txt`, content: "x", mode: "append" }) },
    { name: "edit", args: (path) => ({ path: `${path}/secret.txt`, find: "canary", replace: "x" }) },
    { name: "delete_file", args: (path) => ({ path: `${path}/deep/a.txt` }) },
    {
      name: "apply_patch",
      args: (path) => ({ patch_text: `*** Begin Patch\n*** Add File: ${path}/new.txt\n+x\n*** End Patch` }),
    },
    { name: "bash", args: (path) => ({ cmd: "cat secret.txt; echo x > new.txt", workdir: path }) },
  ];

for (const { to, cmd, inside } of LINKS) {
  sandboxed(`no tool goes through a link that a command made to ${to}${needs}`, async () => {
    const { call, outside } = await place({ onApproval: () => ({ answer: "grant" }) });
    const fill = (text: string): string => text.replaceAll("{out}", outside);
    expect((await call("bash", { cmd: fill(cmd) })).error).toBeNull();

    for (const { name, args } of CALLS) {
      const result = await call(name, args(fill(inside)));
      expect({ name, code: result.error?.code }).toEqual({ name, code: "PathTraversalBlocked" });
      expect(JSON.stringify(result)).not.toContain(CANARY);
    }
    const whole = await call("grep", { pattern: "canary" });
    expect(JSON.stringify(whole.payload)).not.toContain(CANARY);
    expectUntouched(outside);
  });
}

// oxfmt-ignore
const THINGS = [
  { thing: "a file outside that is not there yet", to: "{out}/new.txt",        code: "PathTraversalBlocked" },
  { thing: "a key that is not there yet",          to: "{root}/.ssh/id_rsa",   code: "SensitivePath" },
  { thing: "the record of the runtime",            to: "{root}/.agent/new",    code: "SensitivePath" },
  { thing: "a hook that is not there yet",         to: "{root}/.git/hooks/x",  code: "ApprovalRequired" },
] as const;

for (const { thing, to, code } of THINGS) {
  sandboxed(`nothing is written through a link that a command made to ${thing}${needs}`, async () => {
    const { call, outside, path } = await place({ state_dir: ".agent" });
    const target = to.replace("{out}", outside).replace("{root}", join(path, "root"));
    await call("bash", { cmd: `ln -s ${target} dangling` });

    const { error } = await call("write", { path: "dangling", content: "x" });
    await call("bash", { cmd: "echo x > dangling" });

    expect(error?.code).toBe(code);
    expect(existsSync(target)).toBe(false);
    expectUntouched(outside);
  });
}

/** Scripts that a file tool writes and a command runs: what they do cannot be read from the command. */
// oxfmt-ignore
const SCRIPTS = [
  { does: "writes the outside",     script: "echo x > {out}/new.txt; rm -rf {out}/deep; cp a.txt {out}/secret.txt; touch ../outside/new" },
  { does: "reads a key",            script: "cat .ssh/id_rsa {root}/.ssh/id_rsa; cp -r .ssh copy; cat copy/*; tar c .ssh" },
  { does: "moves a key away",       script: "mv .ssh away; cat away/id_rsa; mv {root} {root}2; cat {root}2/.ssh/id_rsa" },
  { does: "goes by /proc",          script: "cat /proc/1/root{root}/.ssh/id_rsa /proc/*/cwd/.ssh/id_rsa ; timeout 2 cat /proc/*/fd/[3-9]*; echo x > /proc/self/root{out}/new.txt" },
  { does: "goes by a hard link",    script: "ln {out}/secret.txt hard && echo x > hard; ln .ssh/id_rsa key && cat key" },
  { does: "goes by a mount",        script: "mkdir m; mount --bind {out} m; unshare -rm sh -c 'umount .ssh; cat .ssh/id_rsa'; echo x > m/new.txt" },
  { does: "starts another sandbox", script: "bwrap --bind / / cat .ssh/id_rsa; bwrap --bind / / sh -c 'echo x > {out}/new.txt'" },
] as const;

for (const { does, script } of SCRIPTS) {
  sandboxed(`a script that one tool wrote and another runs stays inside: it ${does}${needs}`, async () => {
    const { call, outside, path, make } = await place();
    await make({ "root/.ssh/id_rsa": "canary-of-the-key" });
    const body = script.replaceAll("{out}", outside).replaceAll("{root}", join(path, "root"));
    await call("write", { path: "run.sh", content: "echo begun\n" });
    await call("edit", { path: "run.sh", find: "echo begun\n", replace: `echo begun\n${body}\n` });

    const { payload } = await call("bash", { cmd: "bash run.sh < /dev/null; echo over" });

    expect(payload?.stdout).toMatch(/^begun\n[^]*over\n$/);
    expect(JSON.stringify(payload)).not.toContain("canary-of-the-key");
    expect(readFileSync(join(path, "root/.ssh/id_rsa"), "utf8")).toBe("canary-of-the-key");
    expectUntouched(outside);
  });
}

/** What a script makes that was not there before, and that would run later or is closed. */
// oxfmt-ignore
const ABSENT = [
  { thing: "a hook",                 path: ".git/hooks/pre-commit" },
  { thing: "git's configuration",    path: ".git/config" },
  { thing: "a key",                  path: ".ssh/authorized_keys" },
  { thing: "cloud credentials",      path: "deep/er/.aws/credentials" },
  { thing: "a task of an editor",    path: ".vscode/tasks.json" },
  { thing: "a start file",           path: ".envrc" },
  { thing: "a workflow",             path: ".github/workflows/x.yml" },
  { thing: "a project's configuration of ours", path: ".agent/config.json" },
] as const;

/** Without a sandbox only the profile for disposable machines runs commands without approval. */
const MODES = [
  { where: "in the sandbox", sandbox: "required", profile: "guarded" },
  { where: "without a sandbox", sandbox: "off", profile: "autonomous" },
] as const;

for (const { where, sandbox, profile } of MODES) {
  const tryIt = test.skipIf(sandbox === "required" && !hasSandbox);
  const title = (text: string): string => `${where} ${text}${sandbox === "required" ? needs : ""}`;

  for (const { thing, path: file } of ABSENT) {
    tryIt(title(`what was not there does not stay when a command makes it: ${thing} (${file})`), async () => {
      const { call, path, make } = await place({ sandbox, profile, state_dir: ".state" });
      const folder = file.slice(0, file.lastIndexOf("/") + 1) || ".";
      await make({
        "root/.git/HEAD": "ref: refs/heads/main\n",
        "root/plant.sh": `mkdir -p ${folder}; echo evil > ${file}\necho made > ok.txt\n`,
      });
      const before = namesIn(join(path, "root"));

      const { payload } = await call("bash", { cmd: "bash plant.sh" });
      await call("bash", { cmd: "ls -la" });

      expect(existsSync(join(path, "root", file))).toBe(false);
      expect(payload?.stderr).not.toBe("");
      expect(namesIn(join(path, "root"))).toEqual([...before, "ok.txt"].toSorted());
    });
  }

  tryIt(title("a command in the background leaves no hook either"), async () => {
    const { call, path, make } = await place({ sandbox, profile });
    await make({
      "root/.git/HEAD": "",
      "root/plant.sh": "mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; echo made > ok.txt\n",
    });

    const { payload } = await call("bash", { cmd: "bash plant.sh", is_background: true });
    const { background_id } = (payload?.data ?? {}) as { readonly background_id?: string };
    await vi.waitFor(
      async () =>
        expect((await call("background_output", { background_id, wait_seconds: 5 })).payload?.data).toMatchObject({
          state: "exited",
        }),
      { timeout: 20_000 },
    );

    expect(existsSync(join(path, "root/ok.txt"))).toBe(true);
    await vi.waitFor(() => expect(existsSync(join(path, "root/.git/hooks/pre-commit"))).toBe(false), {
      timeout: 5_000,
    });
  });

  tryIt(title("a program that is killed in mid-command leaves no placeholder for a hidden path"), async () => {
    const { path, make } = await scratchFolder();
    await make({ "root/a.txt": "a", "root/.git/HEAD": "", "root/deep/server.pem": "key" });
    const cwd = join(path, "root");
    const env = { AUTONOUS_SANDBOX: sandbox, AUTONOUS_PROFILE: profile, AUTONOUS_STATE_DIR: join(path, "state") };
    const before = namesIn(cwd);
    const word = marker();
    const { child, ended } = start(["call", "bash", JSON.stringify({ cmd: `sleep ${word}` })], { cwd, env });
    await vi.waitFor(() => expect(processesWith(`sleep\0${word}`)).toHaveLength(1), { timeout: 20_000 });
    child.kill("SIGKILL");
    await ended;

    expect(namesIn(cwd)).toEqual(before);
    // Without a sandbox the next command would do that.
    if (sandbox === "off") for (const pid of processesWith(word)) process.kill(Number(pid), "SIGKILL");
    await vi.waitFor(() => expect(processesWith(word)).toEqual([]), { timeout: 2_000 });
  });
}

sandboxed(`a command in the background that flips links opens no way for the other tools${needs}`, async () => {
  const { call, outside } = await place({ onApproval: () => ({ answer: "grant" }) });
  await call("write", { path: "flip/secret.txt", content: "inside" });
  const cmd = `while :; do mv flip away; ln -s ${outside} flip; rm flip; mv away flip; done`;
  const { payload } = await call("bash", { cmd, is_background: true });
  const { background_id } = (payload?.data ?? {}) as { readonly background_id?: string };
  const outcomes = new Set<string>();
  const tries = CALLS.filter(({ name }) => name !== "bash");
  for (let round = 0; round < 60; round++) {
    for (const { name, args } of tries) {
      const result = await call(name, args("flip"));
      outcomes.add(result.error?.code ?? "ok");
      expect(shown(result)).not.toContain(CANARY);
    }
  }
  await call("background_stop", { background_id });

  expectUntouched(outside);
  // It was a race: some calls met the folder, and some the link.
  expect([...outcomes]).toEqual(expect.arrayContaining(["ok", "PathTraversalBlocked"]));
});

/** What a result shows beside the words of the call itself. */
function shown({ payload }: ToolCallResult): string {
  return JSON.stringify([payload?.stdout, payload?.data]);
}

/** Everything below a folder by name, without the runtime's own state. */
function namesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => !/^\.(?:agent|state)(?:\/|$)/.test(name))
    .toSorted();
}
