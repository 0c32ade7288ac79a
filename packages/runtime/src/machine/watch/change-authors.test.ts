import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createRuntime } from "@autonous/runtime";
import type { Runtime } from "@autonous/runtime";
import { expect, onTestFinished, test, vi } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";

const hasSandbox = spawnSync("bwrap", ["--version"]).status === 0;
const needs = hasSandbox ? "" : " (skipped: needs bwrap, apt-get install bubblewrap)";
const sandboxed = test.skipIf(!hasSandbox);

/** Chats of one service: each has a runtime of its own on the same workspace and state folder. */
async function chats(...sessions: readonly string[]) {
  const { path } = await scratchFolder();
  const root = join(path, "root");
  mkdirSync(root);
  const runtimes: Runtime[] = [];
  for (const session of sessions) {
    const runtime = await createRuntime({
      roots: [root],
      state_dir: join(path, "state"),
      session,
      onApproval: () => ({ answer: "grant" }),
    });
    onTestFinished(() => runtime.close());
    runtimes.push(runtime);
  }
  return { root, runtimes, path };
}

const bash = (runtime: Runtime | undefined, cmd: string, more: object = {}) =>
  (runtime as Runtime).call({ name: "bash", args: { cmd, ...more } });
const undo = (runtime: Runtime | undefined, id: string | undefined) => (runtime as Runtime).undo(id ?? "undo_none");

sandboxed(`commands of two chats report and undo only their own files${needs}`, async () => {
  const { root, runtimes } = await chats("a", "b");

  const [one, two] = await Promise.all([
    bash(runtimes[0], "sleep 0.3; echo a > a.txt; mkdir -p d; echo a > d/a.txt"),
    bash(runtimes[1], "sleep 0.3; echo b > b.txt; mkdir -p d; echo b > d/b.txt"),
  ]);

  expect(one.artifacts.files_changed).toEqual(["a.txt", "d/a.txt"]);
  expect(two.artifacts.files_changed).toEqual(["b.txt", "d/b.txt"]);
  expect((await undo(runtimes[0], one.artifacts.undo_id)).error).toBeNull();
  expect(readFileSync(join(root, "d/b.txt"), "utf8")).toBe("b\n");
  expect((await undo(runtimes[1], two.artifacts.undo_id)).error).toBeNull();
  expect(existsSync(join(root, "d/b.txt"))).toBe(false);
});

sandboxed(`a file that another chat writes while a command runs belongs to that chat${needs}`, async () => {
  const { root, runtimes } = await chats("a", "b");

  const running = bash(runtimes[0], "echo a > a.txt; until [ -e go ]; do sleep 0.05; done; rm go");
  await vi.waitFor(() => expect(existsSync(join(root, "a.txt"))).toBe(true), { timeout: 30_000 });
  await (runtimes[1] as Runtime).call({ name: "write", args: { path: "b.txt", content: "b" } });
  writeFileSync(join(root, "go"), "");
  const { artifacts } = await running;

  expect(artifacts.files_changed).toEqual(["a.txt"]);
  expect((await undo(runtimes[0], artifacts.undo_id)).error).toBeNull();
  expect(readdirSync(root)).toEqual(["b.txt"]);
});

sandboxed(
  `beside a command of another chat that goes on, only what is surely its own is named and undone${needs}`,
  async () => {
    const { root, runtimes } = await chats("a", "b");
    const sleeping = await bash(runtimes[0], "echo secret-name > secret-name; sleep 600", { is_background: true });
    expect(sleeping.error).toBeNull();
    await vi.waitFor(() => expect(existsSync(join(root, "secret-name"))).toBe(true), { timeout: 30_000 });

    const { artifacts, payload } = await bash(runtimes[1], "echo b > b.txt");

    expect(JSON.stringify({ artifacts, payload })).not.toContain("secret-name");
    expect(artifacts.files_changed).toEqual([]);
    expect(payload?.stderr).toMatch(/1 more changes: commands of other sessions ran/);
    expect(existsSync(join(root, "secret-name"))).toBe(true);
  },
);

sandboxed(`commands of one chat see each other's files${needs}`, async () => {
  const { runtimes } = await chats("a");
  await bash(runtimes[0], "sleep 600", { is_background: true });

  const { artifacts } = await bash(runtimes[0], "echo b > b.txt");

  expect(artifacts.files_changed).toEqual(["b.txt"]);
  expect((await undo(runtimes[0], artifacts.undo_id)).error).toBeNull();
});

async function runBeside(runtime: Runtime, cmd: string): Promise<void> {
  const other = await bash(runtime, cmd, { is_background: true });
  const { background_id } = (other.payload?.data ?? {}) as { background_id?: string };
  await vi.waitFor(
    async () => {
      const { payload } = await runtime.call({ name: "background_output", args: { background_id } });
      expect(payload?.data).toMatchObject({ state: "exited" });
    },
    { timeout: 60_000 },
  );
}

/** A command of one chat, with what commands of other chats do while it runs. */
async function besides(parts: { first: string; beside: string; third?: string; last: string }) {
  const { root, runtimes } = await chats("a", "b", "c");
  for (const name of ["one", "two"]) mkdirSync(join(root, name, "deep"), { recursive: true });
  for (const name of ["shared.txt", "one/x.txt", "one/deep/y.txt", "two/z.txt"])
    writeFileSync(join(root, name), "old\n");
  const wait = (name: string): string => `until [ -e ${name} ]; do sleep 0.05; done; sleep 0.2`;
  const running = bash(
    runtimes[0],
    `${parts.first}; sleep 0.3; touch ready; ${wait("over")}; ${parts.last}; rm ready over`,
  );
  await vi.waitFor(() => expect(existsSync(join(root, "ready"))).toBe(true), { timeout: 60_000 });
  // In the background, since a command in the foreground waits for its turn.
  const others = [parts.beside, ...(parts.third === undefined ? [] : [parts.third])];
  await Promise.all(others.map((cmd, at) => runBeside(runtimes[at + 1] as Runtime, cmd)));
  writeFileSync(join(root, "over"), "");
  const result = await running;
  const undone = result.artifacts.undo_id === undefined ? undefined : await undo(runtimes[0], result.artifacts.undo_id);
  const read = (name: string): string => readFileSync(join(root, name), "utf8");
  return { root, result, undone, read };
}

sandboxed(`undo leaves a file that another chat changed before this one did${needs}`, async () => {
  const { result, read, root } = await besides({
    first: "echo a > early.txt",
    beside: "echo b >> shared.txt",
    last: "echo a >> shared.txt",
  });

  expect(result.artifacts.files_changed).toEqual(["early.txt"]);
  expect(result.payload?.stderr).toMatch(/1 more changes: commands of other sessions ran/);
  expect(existsSync(join(root, "early.txt"))).toBe(false);
  expect(read("shared.txt")).toBe("old\nb\na\n");
});

sandboxed(`undo leaves a folder that another chat moved, and does not learn its names${needs}`, async () => {
  const { result, read, root } = await besides({
    first: "echo a > early.txt",
    beside: "mv one moved-by-b; rm two/z.txt; mkdir made-by-b",
    last: "true",
  });

  expect(result.artifacts.files_changed).toEqual(["early.txt"]);
  expect(JSON.stringify(result)).not.toMatch(/moved-by-b|made-by-b|z\.txt|x\.txt/);
  expect(read("moved-by-b/deep/y.txt")).toBe("old\n");
  expect(existsSync(join(root, "made-by-b"))).toBe(true);
});

// oxfmt-ignore
const CONTESTED = [
  { title: "deleted by this chat, made again by another",   first: "rm shared.txt",             beside: "echo b > shared.txt",          left: { "shared.txt": "b\n" } },
  { title: "edited by this chat, deleted by another",       first: "echo a >> shared.txt",      beside: "rm shared.txt",                left: { "shared.txt": undefined } },
  { title: "edited by another chat, deleted by this one",   first: "true", last: "rm shared.txt", beside: "echo b >> shared.txt",       left: { "shared.txt": undefined } },
  { title: "edited in place by another chat, renamed by this one", first: "true", last: "mv shared.txt own.txt", beside: "echo b >> shared.txt", left: { "shared.txt": undefined, "own.txt": "old\nb\n" } },
  { title: "renamed by another chat, edited by this one before", first: "echo a >> shared.txt", beside: "mv shared.txt theirs-b.txt",   left: { "shared.txt": undefined, "theirs-b.txt": "old\na\n" } },
  { title: "renamed by this chat, edited by another under its new name", first: "mv shared.txt own.txt", beside: "echo b >> own.txt",   left: { "own.txt": "old\nb\n" } },
  { title: "renamed over by another chat",                  first: "echo a >> shared.txt",      beside: "mv one/x.txt shared.txt",      left: { "shared.txt": "old\n", "one/x.txt": undefined } },
  { title: "in a folder that another chat removed",         first: "echo a > one/deep/y.txt",   beside: "rm -r one",                    left: { "one/x.txt": undefined, "one/deep/y.txt": undefined } },
  { title: "changed in mode by another chat",               first: "echo a > shared.txt",       beside: "chmod 600 shared.txt",         left: { "shared.txt": "a\n" } },
  { title: "linked by another chat, edited by this one",    first: "true", last: "echo a >> shared.txt", beside: "ln shared.txt theirs-b.txt", left: { "theirs-b.txt": "old\na\n" } },
  { title: "edited by three chats",                         first: "echo a >> shared.txt",      beside: "echo b >> shared.txt", third: "sleep 0.2; echo c >> shared.txt", left: { "shared.txt": "old\na\nb\nc\n" } },
] as const;

for (const { title, left, ...parts } of CONTESTED) {
  sandboxed(`undo skips changes of uncertain origin and restores the rest: a file ${title}${needs}`, async () => {
    const { first, ...others } = { last: "true", ...parts };
    const { root, result, undone, read } = await besides({ first: `echo a > early.txt; ${first}`, ...others });

    const now = Object.keys(left).map((name) => [name, existsSync(join(root, name)) ? read(name) : undefined]);
    expect(Object.fromEntries(now)).toEqual(left);
    expect(existsSync(join(root, "early.txt"))).toBe(false);
    expect(undone?.ok).toBe(false);
    expect(undone?.error?.message).toMatch(/paths skipped: \d+; they changed when commands of other sessions ran/);
    expect(JSON.stringify([result, undone])).not.toMatch(/theirs-b/);
  });
}

/** In the foreground: the second and third one wait for their turn, and begin when the first one takes too long. */
sandboxed(`of three parallel commands, none undoes or reports files of another${needs}`, async () => {
  const { root, runtimes } = await chats("a", "b", "c");
  writeFileSync(join(root, "shared.txt"), "old\n");
  const work = (name: string): string =>
    `echo ${name} > by-${name}.txt; echo ${name} >> shared.txt; until [ -e over ]; do sleep 0.05; done`;
  const running = ["a", "b", "c"].map((name, at) => bash(runtimes[at], work(name)));
  const made = ["a", "b", "c"].map((name) => join(root, `by-${name}.txt`));
  await vi.waitFor(() => expect(made.every((path) => existsSync(path))).toBe(true), { timeout: 120_000 });
  writeFileSync(join(root, "over"), "");
  const results = await Promise.all(running);

  for (const [at, name] of ["a", "b", "c"].entries()) {
    const others = ["a", "b", "c"].filter((each) => each !== name).map((each) => `by-${each}.txt`);
    const { undo_id, files_changed } = results[at]?.artifacts ?? {};
    const undone = await undo(runtimes[at], undo_id ?? (runtimes[at] as Runtime).run_id);

    expect(undone.ok).toBe(false);
    for (const other of others) {
      expect(files_changed).not.toContain(other);
      expect(JSON.stringify([results[at]?.payload, undone])).not.toContain(other);
    }
  }
  // One of them began before the others, and surely made its own file alone.
  expect(made.filter((path) => existsSync(path)).length).toBeGreaterThanOrEqual(2);
  expect(readFileSync(join(root, "shared.txt"), "utf8").split("\n").sort()).toEqual(["", "a", "b", "c", "old"]);
});

/** The note to a background command of another chat about files that run later and were made while it ran. */
async function toldBeside(first: string, made: string) {
  const { root, runtimes } = await chats("a", "b");
  writeFileSync(join(root, "make.sh"), "mkdir -p secret-name && echo a > secret-name/.envrc");
  const go = "touch ready; until [ -e over ]; do sleep 0.05; done; rm ready over";
  writeFileSync(join(root, "wait.sh"), "until [ -e ready ]; do sleep 0.05; done");
  const other = await bash(runtimes[1], "sh wait.sh", { is_background: true });
  const { background_id } = (other.payload?.data ?? {}) as { background_id?: string };
  const running = bash(runtimes[0], `${first}; ${go}`);
  let told = "";
  await vi.waitFor(
    async () => {
      const { payload } = await (runtimes[1] as Runtime).call({ name: "background_output", args: { background_id } });
      told += JSON.stringify(payload);
      expect(payload?.data).toMatchObject({ state: "exited" });
    },
    { timeout: 60_000 },
  );
  writeFileSync(join(root, "over"), "");
  const { artifacts } = await running;
  return { told, isLeft: existsSync(join(root, made)), files: artifacts.files_changed };
}

sandboxed(
  `a file that runs later and was agreed to in one chat is neither set aside nor named in another${needs}`,
  async () => {
    const { told, isLeft } = await toldBeside(
      "mkdir -p secret-name; echo a > secret-name/.envrc",
      "secret-name/.envrc",
    );

    expect(isLeft).toBe(true);
    expect(told).not.toMatch(/secret-name|envrc/);
  },
);

sandboxed(
  `an unapproved run-later file is set aside, and another chat learns its kind, not its name${needs}`,
  async () => {
    const { told, isLeft } = await toldBeside("sh make.sh", "secret-name/.envrc");

    expect(isLeft).toBe(false);
    expect(told).toContain("**/.envrc");
    expect(told).not.toContain("secret-name");
  },
);

test("a command right after a call of another run on the same files can be undone", async () => {
  const { root, runtimes } = await chats("a", "b");
  const { ok } = await (runtimes[0] as Runtime).call({ name: "write", args: { path: "a.txt", content: "one\n" } });
  expect(ok).toBe(true);

  const { artifacts } = await bash(runtimes[1], "echo two > a.txt");
  const undone = await undo(runtimes[1], artifacts.undo_id);

  expect(undone.error).toBe(null);
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("one\n");
});
