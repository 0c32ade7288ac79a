import { execFileSync, spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { snapshot } from "../../../../../test/campaigns/undo/tree.ts";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { createRuntime } from "../../index.ts";
import type { AuditRecord } from "../../protocol/audit.ts";
import type { CallError } from "../../protocol/result.ts";
import { ENVIRONMENT } from "../../../../../test/support/scratch-watch.ts";

const INDEX = join(import.meta.dirname, "../../index.ts");
/** Made by the command as its last step. */
const DONE = "done.txt";

interface OtherCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** A process of its own that runs commands in the workspace until it is killed. */
function program(root: string, state_dir: string, commands: readonly (string | OtherCall)[]): string {
  return `
    import { createRuntime } from ${JSON.stringify(INDEX)};
    const runtime = await createRuntime({
      roots: [${JSON.stringify(root)}],
      state_dir: ${JSON.stringify(state_dir)},
      run_id: "run_killed",
      config: { rules: [{ effect: "deny", path: "private/**", reason: "not for agents" }] },
      onApproval: () => ({ answer: "grant" }),
    });
    for (const cmd of ${JSON.stringify(commands)}) {
      const call = typeof cmd === "string" ? { name: "bash", args: { cmd } } : cmd;
      const { error } = await runtime.call(call);
      if (error !== null) console.error(error.message);
    }
  `;
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await delay(10);
}

/** A workspace, and what kills the process of commands in it when they have done their work. */
async function scratchRoot() {
  const { path } = await scratchFolder();
  const [root, state_dir] = [join(path, "root"), join(path, "state")];
  mkdirSync(join(root, "src"), { recursive: true });
  for (const name of ["a.txt", "b.txt", "src/c.ts"]) writeFileSync(join(root, name), `${name}\n`);
  return {
    root,
    state_dir,
    async kill(...commands: readonly [...(string | OtherCall)[], string]): Promise<void> {
      const last = `${commands.at(-1) as string}; touch ${DONE}; sleep 600`;
      const args = ["--input-type=module-typescript", "-e", program(root, state_dir, [...commands.slice(0, -1), last])];
      const child = spawn(process.execPath, args, {
        stdio: ["ignore", "ignore", "inherit"],
        env: { ...ENVIRONMENT, HOME: process.env["HOME"], XDG_STATE_HOME: process.env["XDG_STATE_HOME"] },
      });
      const ended = new Promise((resolve) => child.once("exit", resolve));
      onTestFinished(() => void child.kill("SIGKILL"));
      await until(() => existsSync(join(root, DONE)) || child.exitCode !== null);
      const doneMs = statSync(join(root, DONE)).ctimeMs;
      const running = join(state_dir, "running");
      // The process has said since that it is alive.
      await until(() => readdirSync(running).some((name) => statSync(join(running, name)).mtimeMs > doneMs));
      child.kill("SIGKILL");
      await ended;
    },
    async open() {
      const runtime = await createRuntime({
        roots: [root],
        state_dir,
        onApproval: () => ({ answer: "grant" as const }),
      });
      onTestFinished(() => runtime.close());
      return runtime;
    },
  };
}

// oxfmt-ignore
const COMMANDS = [
  { title: "files rewritten, removed, made and moved", cmd: "echo new > a.txt; rm b.txt; mkdir d; echo n > d/n; mv src lib; chmod 700 lib/c.ts" },
  { title: "everything removed", cmd: `python3 -c "import os, shutil; [shutil.rmtree(d) for d in os.listdir('.') if os.path.isdir(d)]"; rm a.txt b.txt` },
  { title: "a commit, and the rest of the history removed", cmd: "echo x >> a.txt; git commit -qam two; git commit -q --amend -m three; git reflog expire --expire=now --all; git gc -q --prune=now" },
  { title: "links, and a file in the place of a folder", cmd: "ln -s a.txt l; ln b.txt hard; rm -r src; echo f > src" },
] as const;

for (const { title, cmd } of COMMANDS) {
  test(`changes of a command whose process was killed are undone: ${title}`, async () => {
    const { root, state_dir, kill, open } = await scratchRoot();
    const before = snapshot(root);
    await kill(
      `git init -q; git config user.name a; git config user.email a@example.org; git add -A; git commit -qm one`,
      cmd,
    );

    const runtime = await open();
    const { ok, error } = await runtime.undo("run_killed");

    expect(error).toBe(null);
    expect(ok).toBe(true);
    expect(snapshot(root)).toBe(before);
    expect(readdirSync(join(state_dir, "running"))).toEqual([]);
  });
}

// oxfmt-ignore
const JUST_BEFORE = [
  { title: "an edit",   call: { name: "edit", args: { path: "a.txt", find: "a.txt", replace: "edited" } } },
  { title: "a write",   call: { name: "write", args: { path: "a.txt", content: "written\n" } } },
  { title: "a removal", call: { name: "delete_file", args: { path: "a.txt" } } },
] as const;

for (const { title, call } of JUST_BEFORE) {
  test(`a killed command that changed the same file as ${title} just before it is undone with it`, async () => {
    const { root, kill, open } = await scratchRoot();
    const before = snapshot(root);
    await kill(call, "echo again > a.txt; rm b.txt");

    const { error } = await (await open()).undo("run_killed");

    expect(error).toBe(null);
    expect(snapshot(root)).toBe(before);
  });
}

/** A watch for large repositories, whose process kills itself after a command. */
function largeProgram(root: string, state_dir: string, script: string): string {
  return `
    import { execFileSync } from "node:child_process";
    import { createFileChanger } from ${JSON.stringify(join(import.meta.dirname, "../files/file-changer.ts"))};
    import { createCommandWatch } from ${JSON.stringify(join(import.meta.dirname, "command-watch.ts"))};
    const [root, state_dir] = ${JSON.stringify([root, state_dir])};
    const workspace = { roots: [root], home: "/none", state_dirs: [state_dir], checkpoint_handler: false, sandbox: "none" };
    const changer = createFileChanger({ state_dir, clock: Date.now, workspace });
    const limits = { look_ms: 600_000, store_files: 1, call_bytes: 4096 };
    const watch = createCommandWatch({ state_dir, changer, workspace, cwd: root, limits });
    const call = { run_id: "run_killed", signal: new AbortController().signal, recorded: async () => {}, confirmed: true };
    const run = (script) => execFileSync("bash", ["-ec", script], { cwd: root, stdio: "inherit" });
    const first = await watch.before({ ...call, tool_call_id: "call_1" });
    run("echo first > first.txt");
    await first.after();
    await watch.before({ ...call, tool_call_id: "call_2" });
    run(${JSON.stringify(script)});
    setTimeout(() => process.kill(process.pid, "SIGKILL"), 500);
  `;
}

// oxfmt-ignore
const LARGE = [
  { title: "rewritten",                      pack: "true",      cmd: "for f in src/*; do echo changed > $f; done" },
  { title: "removed with the repository",    pack: "true",      cmd: "rm -rf src .git" },
  { title: "removed with a packed one",      pack: "git gc -q", cmd: "rm -rf src .git" },
  { title: "removed, and objects pruned",    pack: "git gc -q", cmd: "git rm -rq src; git update-ref -d HEAD; git reflog expire --expire=now --all; git gc -q --prune=now" },
] as const;

for (const { title, pack, cmd } of LARGE) {
  test(`files stored only as git objects, ${title} by a killed command, are restored`, async () => {
    const { root, state_dir, open } = await scratchRoot();
    for (let each = 0; each < 50; each++) writeFileSync(join(root, `src/f${each}`), `${each}\n`.repeat(200));
    const git = `git init -q; git add -A; git commit -qm one; ${pack}`;
    execFileSync("bash", ["-ec", git], { cwd: root, env: ENVIRONMENT });
    const before = snapshot(root);
    const args = ["--input-type=module-typescript", "-e", largeProgram(root, state_dir, cmd)];
    mkdirSync(state_dir);
    const { signal, stderr } = spawnSync(process.execPath, args, { env: ENVIRONMENT, encoding: "utf8" });
    expect(signal, stderr).toBe("SIGKILL");

    const { error } = await (await open()).undo("run_killed");

    expect(error).toBe(null);
    expect(snapshot(root)).toBe(before);
  });
}

test("the call is recorded as interrupted, with its changes", async () => {
  const { kill, open } = await scratchRoot();
  await kill("rm a.txt b.txt");

  const runtime = await open();
  const events = await Array.fromAsync(runtime.events({ run_id: "run_killed" }));

  const last = events.find(({ type }) => type === "tool_call.failed");
  const { error, audit } = (last?.payload ?? {}) as { error?: CallError; audit?: AuditRecord };
  expect(error?.message).toMatch(
    /^"bash" was running when its process ended; paths changed before that: 3; undo: undo_\w+$/,
  );
  expect((await runtime.undo(audit?.artifacts.undo_id ?? "")).ok).toBe(true);
});

test("files that rules hid from the command are neither restored nor named nor counted as its changes", async () => {
  const { root, state_dir, kill, open } = await scratchRoot();
  mkdirSync(join(root, "private/deep"), { recursive: true });
  for (const name of ["private/p.txt", "private/deep/q.txt"]) writeFileSync(join(root, name), "hidden\n");
  const before = snapshot(root);
  await kill("rm a.txt; echo x > src/c.ts");
  const looks = join(state_dir, "undo/looks");
  const stored = readdirSync(looks).map((name) => readFileSync(join(looks, name), "latin1"));

  const { error, payload } = await (await open()).undo("run_killed");

  expect(stored.join("")).not.toContain("hidden");
  expect(error).toBe(null);
  expect(payload?.data).toMatchObject({ restored: ["a.txt", "src/c.ts"], removed: [DONE] });
  expect(snapshot(root)).toBe(before);
});

test("parallel starts record it once", async () => {
  const { root, kill, open } = await scratchRoot();
  const before = snapshot(root);
  await kill("rm a.txt b.txt; echo x > src/c.ts");

  const [runtime] = await Promise.all([open(), open(), open()]);
  const { payload, error } = await runtime.undo("run_killed");

  expect(error).toBe(null);
  expect(payload?.data).toMatchObject({ undone: [expect.stringMatching(/^undo_/)] });
  expect(snapshot(root)).toBe(before);
});

/** As a process of another container with the same state folder has it. */
function renameToOtherContainer(state_dir: string): void {
  for (const folder of [join(state_dir, "running"), join(state_dir, "undo/looks")]) {
    for (const name of readdirSync(folder)) {
      const other = name.replace(/@(\d+\.\d+\.[^.]+)\.\d+/, "@$1.1");
      const text = readFileSync(join(folder, name), "latin1").replaceAll(/(@\d+\.\d+\.[^.]+)\.\d+/g, "$1.1");
      const { mtime } = statSync(join(folder, name));
      writeFileSync(join(folder, other), text, "latin1");
      utimesSync(join(folder, other), mtime, mtime);
      rmSync(join(folder, name));
    }
  }
}

test("a command of another container without a heartbeat for a minute is recorded, a running one is not", async () => {
  const { root, state_dir, kill, open } = await scratchRoot();
  const before = snapshot(root);
  await kill("rm a.txt b.txt; echo x > src/c.ts");
  renameToOtherContainer(state_dir);
  const running = join(state_dir, "running");
  const [name = ""] = readdirSync(running);

  const early = await (await open()).undo("run_killed");
  const earlyNames = readdirSync(running);
  const past = new Date(Date.now() - 120_000);
  utimesSync(join(running, name), past, past);
  const late = await (await open()).undo("run_killed");

  expect(early.error?.code).toBe("NotFound");
  expect(earlyNames).toEqual([name]);
  // Since when it was last heard of is two minutes before its changes here, so that they are left alone.
  expect(late.error?.message).toMatch(/paths skipped: 4; they changed when the command may have ended already/);
  expect(readdirSync(running)).toEqual([]);
  expect(snapshot(root)).not.toBe(before);
});

test("changes by others after the kill are left alone, and undo reports that", async () => {
  const { root, kill, open } = await scratchRoot();
  await kill("echo new > a.txt; rm b.txt; echo new > src/c.ts");
  await delay(400);
  writeFileSync(join(root, "src/c.ts"), "mine\n");
  writeFileSync(join(root, "src/mine.txt"), "mine\n");

  const { ok, error } = await (await open()).undo("run_killed");

  expect(ok).toBe(false);
  expect(error?.message).toMatch(
    /^Restored \d+ paths; cannot be undone: "\." \(paths skipped: 2; they changed when the command may/,
  );
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("a.txt\n");
  expect(readFileSync(join(root, "src/c.ts"), "utf8")).toBe("mine\n");
  expect(readFileSync(join(root, "src/mine.txt"), "utf8")).toBe("mine\n");
});

// oxfmt-ignore
const LOST = [
  { title: "is gone",    why: "the previous state cannot be compared (it does not exist)", harm: (path: string) => rmSync(path) },
  { title: "was cut",    why: "the previous state is no longer stored", harm: (path: string) => truncateSync(path, 100) },
  { title: "is damaged", why: "its stored state is damaged", harm: (path: string) => writeFileSync(path, `{"folder":7}\n{"look":1}\nnothing\n`) },
  { title: "names a file elsewhere", why: "the previous state is no longer stored", harm: (path: string) => writeFileSync(path, readFileSync(path, "utf8").replaceAll(/"contents":"/g, '"contents":"../../')) },
] as const;

for (const { title, why, harm } of LOST) {
  test(`if the state stored before the command ${title}, undo fails and says why`, async () => {
    const { root, state_dir, kill, open } = await scratchRoot();
    await kill("echo first > other.txt", "rm a.txt");
    const looks = join(state_dir, "undo/looks");
    for (const name of readdirSync(looks)) if (name.endsWith(".look")) harm(join(looks, name));
    const after = snapshot(root);

    const runtime = await open();
    const { ok, error } = await runtime.undo("run_killed");

    expect(ok).toBe(false);
    expect(error?.message).toContain(`cannot be undone: "." (its process was killed while a command ran, and ${why})`);
    expect(existsSync(join(root, "other.txt"))).toBe(false);
    expect(snapshot(root)).not.toBe(after);
    expect(readdirSync(looks)).toEqual([]);
  });
}

test("a run-later file that a user changed after the kill is left alone", async () => {
  const { root, kill, open } = await scratchRoot();
  mkdirSync(join(root, ".husky"));
  writeFileSync(join(root, ".husky/pre-commit"), "before\n");
  await kill("rm a.txt");
  await delay(400);
  writeFileSync(join(root, ".husky/pre-commit"), "mine\n");

  await (await open()).undo("run_killed");

  expect(readFileSync(join(root, ".husky/pre-commit"), "utf8")).toBe("mine\n");
  expect(existsSync(join(root, "a.txt"))).toBe(true);
});

test("a run-later file created by a killed command is set aside by the next start", async () => {
  const { root, kill, open } = await scratchRoot();
  await kill(`python3 -c "import os; d='.hu'+'sky'; os.mkdir(d); os.chdir(d); open('pre-commit','w').write('x')"`);

  await open();

  expect(existsSync(join(root, ".husky/pre-commit"))).toBe(false);
});
