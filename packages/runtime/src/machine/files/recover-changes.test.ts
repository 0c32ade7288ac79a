import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { createFileChanger } from "./file-changer.ts";
import { isFileVersion } from "../../contract/versions.ts";
import { recoverChanges } from "./recover-changes.ts";

const ANYWHERE = { roots: ["/"], home: "/none", state_dirs: [], checkpoint_handler: false, sandbox: "none" };
const HERE = import.meta.dirname;

/** Hundreds of processes are started here, and they spend most of their time on compiling the same source. */
const CACHE = mkdtempSync(join(tmpdir(), "autonous-cache-"));
afterAll(() => rmSync(CACHE, { recursive: true, force: true }));

/** What happens instead of a system call: the process dies, hangs forever, or the call fails. */
interface Fault {
  readonly what: "kill" | "stop" | "fail";
  /** Counts only calls of this name. Default: all calls. */
  readonly call?: string;
  readonly at: number;
  /** With `fail`: all later calls fail too. */
  readonly goesOn?: true;
}

/**
 * Loaded before everything else: counts file system calls once the program enables it, and injects the fault instead of
 * one of them. All other calls are unchanged, so everything up to the fault is real.
 */
const FAULTS = `
  import fs from "node:fs";
  import { syncBuiltinESMExports } from "node:module";
  const fault = JSON.parse(process.env.FAULT ?? "null");
  let count = 0;
  for (const [name, call] of Object.entries(fs)) {
    if (typeof call !== "function" || !(name.endsWith("Sync") || ["fsync", "fdatasync", "copyFile", "read", "write"].includes(name))) continue;
    fs[name] = function (...args) {
      if (globalThis.armed && fault !== null && (fault.call ?? name) === name && (++count === fault.at || (fault.goesOn && count > fault.at))) {
        if (fault.what === "kill") process.kill(process.pid, "SIGKILL");
        if (fault.what === "stop") {
          process.stdout._handle?.setBlocking?.(true);
          console.log("stopped");
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
        }
        throw Object.assign(new Error("EIO: i/o error, " + name), { code: "EIO", syscall: name });
      }
      return call.apply(this, args);
    };
  }
  syncBuiltinESMExports();
`;

const OLD = { a: "old a", gone: "old gone", log: "one\n", sub: "old sub" };
const NEW = { a: "new a", log: "one\ntwo\n", "n/m/new": "new", sub: "new sub" };

/** The change to interrupt: every kind at once, in existing folders and in a missing one. */
function changeProgram(root: string, state_dir: string): string {
  return `
    import { createFileChanger } from ${JSON.stringify(join(HERE, "file-changer.ts"))};
    const touch = (path) => ({ path, real: ${JSON.stringify(root)} + "/" + path, access: "write", show_sensitive: false, exists: true });
    const paths = ["a", "gone", "n/m/new", "log", "sub"];
    const workspace = { roots: [${JSON.stringify(root)}], home: "/none", state_dirs: [${JSON.stringify(state_dir)}], checkpoint_handler: false, sandbox: "none" };
    const request = { run_id: "run_1", tool_call_id: "call_1", touches: paths.map(touch), workspace, signal: new AbortController().signal, recorded: async () => {} };
    globalThis.armed = true;
    const ANYWHERE = ${JSON.stringify(ANYWHERE)};
    const changer = createFileChanger({ state_dir: ${JSON.stringify(state_dir)}, clock: Date.now, workspace: ANYWHERE });
    const plan = async () => [
      { path: "a", content: Buffer.from("new a") },
      { path: "gone", remove: true },
      { path: "n/m/new", content: Buffer.from("new") },
      { path: "log", append: Buffer.from("two\\n") },
      { path: "sub", content: Buffer.from("new sub") },
    ];
    try {
      await changer.applyPlan(request, paths, plan);
    } catch ({ code, message }) {
      console.log(JSON.stringify({ code, message }));
    }
    await changer.close();
  `;
}

const recoverProgram = (state_dir: string): string => `
  import { recoverChanges } from ${JSON.stringify(join(HERE, "recover-changes.ts"))};
  globalThis.armed = true;
  console.log(JSON.stringify(await recoverChanges(${JSON.stringify(state_dir)}, ${JSON.stringify(ANYWHERE)})));
`;

function start(program: string, fault?: Fault): ChildProcess {
  const child = spawn(
    process.execPath,
    [
      `--import=data:text/javascript,${encodeURIComponent(FAULTS)}`,
      "--input-type=module-typescript",
      "--eval",
      program,
    ],
    {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, NODE_COMPILE_CACHE: CACHE, FAULT: JSON.stringify(fault ?? null) },
    },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

async function run(program: string, fault?: Fault): Promise<{ readonly killed: boolean; readonly output: string }> {
  const child = start(program, fault);
  let output = "";
  child.stdout?.on("data", (data: Buffer) => (output += data.toString()));
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  if (signal !== "SIGKILL") expect(code).toBe(0);
  return { killed: signal === "SIGKILL", output };
}

interface Place {
  readonly root: string;
  readonly state_dir: string;
  readonly program: string;
  /** The files below the root; folders have a trailing "/" and an empty string. */
  found(): Readonly<Record<string, string>>;
  reset(): void;
}

async function place(): Promise<Place> {
  const { path } = await scratchFolder();
  const root = join(path, "root");
  const state_dir = join(path, "state");
  const reset = (): void => {
    rmSync(root, { recursive: true, force: true });
    mkdirSync(root);
    for (const [name, content] of Object.entries(OLD)) writeFileSync(join(root, name), content);
  };
  reset();
  mkdirSync(state_dir);
  return {
    root,
    state_dir,
    reset,
    program: changeProgram(root, state_dir),
    found() {
      const names = readdirSync(root, { recursive: true, encoding: "utf8" }).sort();
      const isFile = (name: string): boolean => statSync(join(root, name)).isFile();
      return Object.fromEntries(
        names.map((name) => (isFile(name) ? [name, readFileSync(join(root, name), "utf8")] : [`${name}/`, ""])),
      );
    },
  };
}

const ALL_NEW = { ...NEW, "n/": "", "n/m/": "" };

/** If the files are new, the change is recorded and can be undone; if they are old, no record exists. */
async function expectWhole({ found, state_dir }: Place): Promise<"old" | "new"> {
  const files = found();
  const isNew = "n/m/new" in files;
  expect(files).toEqual(isNew ? ALL_NEW : OLD);
  const changer = createFileChanger({ state_dir, clock: Date.now, workspace: ANYWHERE });
  try {
    const records = await changer.undoLog.find({ run_id: "run_1" }).catch(() => []);
    expect(records.length).toBe(isNew ? 1 : 0);
    for (const { path, before } of records[0]?.files ?? []) {
      const kept = isFileVersion(before) ? await changer.undoLog.content(before.sha256) : undefined;
      expect(kept?.toString()).toBe((OLD as Record<string, string>)[path]);
    }
  } finally {
    await changer.close();
  }
  expect(readdirSync(join(state_dir, "undo/open"))).toEqual([]);
  expect(readdirSync(join(state_dir, "locks"))).toEqual([]);
  return isNew ? "new" : "old";
}

/** Runs the work for the first system call and every n-th after it, until the process survives. */
async function atEveryCall(stride: number, work: (at: number) => Promise<boolean>): Promise<void> {
  let next = 1;
  let goesOn = true;
  const takeTurns = async (): Promise<void> => {
    while (goesOn) {
      const at = next;
      next += stride;
      if (!(await work(at))) goesOn = false;
    }
  };
  await Promise.all([takeTurns(), takeTurns(), takeTurns()]);
}

test("killed before any one of its system calls, a change of five files is complete or rolled back, without temporary files", async () => {
  const outcomes = { old: 0, new: 0 };
  await atEveryCall(1, async (at) => {
    const here = await place();
    const { killed } = await run(here.program, { what: "kill", at });
    await recoverChanges(here.state_dir, ANYWHERE);
    if (existsSync(join(here.state_dir, "undo/open"))) outcomes[await expectWhole(here)]++;
    else expect(here.found()).toEqual(OLD); // died before the first state folder was created
    return killed;
  });
  expect(outcomes.old).toBeGreaterThan(30);
  expect(outcomes.new).toBeGreaterThan(5);
}, 180_000);

test("a recovery that is killed before one of its system calls is completed by the next one", async () => {
  let killed = 0;
  await atEveryCall(3, async (at) => {
    const here = await place();
    await run(here.program, { what: "kill", call: "renameSync", at: 3 });
    expect(here.found()).not.toEqual(OLD);
    const recovery = await run(recoverProgram(here.state_dir), { what: "kill", at });
    if (recovery.killed) killed++;
    await recoverChanges(here.state_dir, ANYWHERE);
    expect(await expectWhole(here)).toBe("old");
    return recovery.killed;
  });
  expect(killed).toBeGreaterThan(10);
}, 180_000);

test("killed at any time, many times, three files never mix generations", async () => {
  const here = await place();
  const program = `
    import { createFileChanger } from ${JSON.stringify(join(HERE, "file-changer.ts"))};
    import { recoverChanges } from ${JSON.stringify(join(HERE, "recover-changes.ts"))};
    const { root, state_dir } = ${JSON.stringify({ root: here.root, state_dir: here.state_dir })};
    const paths = ["a", "log", "sub"];
    const touches = paths.map((path) => ({ path, real: root + "/" + path, access: "write", show_sensitive: false, exists: true }));
    const workspace = { roots: [root], home: "/none", state_dirs: [state_dir], checkpoint_handler: false, sandbox: "none" };
    const request = { run_id: "run_1", tool_call_id: "call_1", touches, workspace, signal: new AbortController().signal, recorded: async () => {} };
    const ANYWHERE = ${JSON.stringify(ANYWHERE)};
    await recoverChanges(state_dir, ANYWHERE);
    const changer = createFileChanger({ state_dir, clock: Date.now, workspace: ANYWHERE });
    for (;;) {
      const { files } = await changer.applyPlan(request, paths, async (before) => {
        const contents = await Promise.all(before.map(async (each) => String(await each.read())));
        if (new Set(contents).size !== 1) throw new Error("mixed: " + contents);
        const content = Buffer.from(String(Number(contents[0]) + 1));
        return paths.map((path) => ({ path, content }));
      });
      console.log(files.length);
    }
  `;
  for (const name of ["a", "log", "sub"]) writeFileSync(join(here.root, name), "0");
  let highest = 0;
  for (let round = 0; round < 15; round++) {
    const child = start(program);
    const lines = createInterface({ input: child.stdout ?? process.stdin });
    let wanted = 1 + ((round * 7) % 11);
    for await (const _ of lines) if (--wanted <= 0) break;
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    await recoverChanges(here.state_dir, ANYWHERE);
    const { gone: _gone, ...files } = here.found();
    const generations = new Set(Object.values(files).map(Number));
    expect([Object.keys(files), generations.size]).toEqual([["a", "log", "sub"], 1]);
    const [generation = 0] = generations;
    expect(generation).toBeGreaterThan(highest);
    highest = generation;
  }
}, 120_000);

// oxfmt-ignore
const FAILURES = [
  { call: "renameSync",   at: 1 }, // the owner file of the locks
  { call: "renameSync",   at: 2 },
  { call: "renameSync",   at: 3 },
  { call: "renameSync",   at: 4 },
  { call: "unlinkSync",   at: 1 },
  { call: "fsync",        at: 2 },
  { call: "fdatasync",    at: 1 },
  { call: "fchmodSync",   at: 2 },
] as const;

for (const { call, at } of FAILURES) {
  test(`where ${call} fails the ${at}. time, none of the five files is changed`, async () => {
    const here = await place();
    const { output } = await run(here.program, { what: "fail", call, at });
    expect(here.found()).toEqual(OLD);
    expect(JSON.parse(output)).toMatchObject({
      code: "IOError",
      message: expect.stringMatching(/input\/output error/) as string,
    });
    await recoverChanges(here.state_dir, ANYWHERE);
    expect(await expectWhole(here)).toBe("old");
  });
}

test("a failed rollback is reported, and the next start recovers the change", async () => {
  const here = await place();
  const { output } = await run(here.program, { what: "fail", call: "renameSync", at: 3, goesOn: true });
  expect(JSON.parse(output)).toMatchObject({
    code: "IOError",
    message: expect.stringMatching(/^Cannot change "log", and "gone", "a" could not be restored/) as string,
  });
  expect(here.found()["a"]).toBe("new a");
  expect(await recoverChanges(here.state_dir, ANYWHERE)).toEqual({ changes: 1, left: [] });
  expect(await expectWhole(here)).toBe("old");
});

test("a change of a live process is not touched; when the process dies, a caller that waits for its files continues", async () => {
  const here = await place();
  const child = start(here.program, { what: "stop", call: "renameSync", at: 3 });
  for await (const line of createInterface({ input: child.stdout ?? process.stdin })) if (line === "stopped") break;
  const half = here.found();
  expect(half["a"]).toBe("new a");
  expect(half["sub"]).toBe("old sub");
  expect(await recoverChanges(here.state_dir, ANYWHERE)).toEqual({ changes: 0, left: [] });
  expect(here.found()).toEqual(half);

  const changer = createFileChanger({ state_dir: here.state_dir, clock: Date.now, workspace: ANYWHERE });
  onTestFinished(() => changer.close());
  const workspace = {
    roots: [here.root],
    home: "/none",
    state_dirs: [here.state_dir],
    checkpoint_handler: false,
    sandbox: "none",
  };
  const touches = [
    { path: "sub", real: join(here.root, "sub"), access: "write", show_sensitive: false, exists: true },
  ] as const;
  const request = {
    run_id: "run_2",
    tool_call_id: "c",
    touches,
    workspace,
    signal: new AbortController().signal,
    recorded: async () => {},
  };
  const waiting = changer.applyPlan(request, ["sub"], async ([sub]) => [
    { path: "sub", content: Buffer.from(`${String(await sub?.read())}, mine`) },
  ]);
  child.kill("SIGKILL");
  await waiting;
  expect(here.found()).toEqual({ ...OLD, sub: "old sub, mine" });
});

test("an interrupted change with a file that another process changed since is left alone and reported", async () => {
  const here = await place();
  await run(here.program, { what: "kill", call: "renameSync", at: 3 });
  writeFileSync(join(here.root, "log"), "another content");
  const { left } = await recoverChanges(here.state_dir, ANYWHERE);
  expect(left).toMatchObject([{ run_id: "run_1", tool_call_id: "call_1" }]);
  const { "n/": _n, "n/m/": _m, ...files } = here.found();
  expect(files).toEqual({ a: "new a", "n/m/new": "new", log: "another content", sub: "old sub" });
  expect(await recoverChanges(here.state_dir, ANYWHERE)).toEqual({ changes: 0, left: [] });
});

test("if the backups of an interrupted change are gone, the old content comes from the store", async () => {
  const here = await place();
  await run(here.program, { what: "kill", call: "renameSync", at: 3 });
  for (const name of readdirSync(here.root)) if (name.endsWith(".old")) rmSync(join(here.root, name));
  expect(await recoverChanges(here.state_dir, ANYWHERE)).toEqual({ changes: 1, left: [] });
  expect(await expectWhole(here)).toBe("old");
});

test("recovery of an unused state folder costs nothing and leaves it unchanged", async () => {
  const here = await place();
  expect(await recoverChanges(here.state_dir, ANYWHERE)).toEqual({ changes: 0, left: [] });
  expect(readdirSync(here.state_dir)).toEqual([]);
});
