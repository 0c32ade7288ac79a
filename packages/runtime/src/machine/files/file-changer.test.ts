import { execFileSync, spawn } from "node:child_process";
import { hash } from "node:crypto";
import { once } from "node:events";
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import type { FilesChange, FileBefore, FileChange } from "../../contract/context.ts";
import type { Access } from "../../contract/tool.ts";
import { createFileChanger } from "./file-changer.ts";
import type { FileChangerOptions } from "./file-changer.ts";
import { ownProcess } from "../system/process-owner.ts";
import { resolvePath } from "../system/resolve.ts";

type Plan = (before: readonly FileBefore[]) => Promise<readonly FileChange[]>;

const text = (content: string): Buffer => Buffer.from(content);

/** A real folder with a file changer. A call declares its paths, resolved as the gate does it. */
async function scratchChanger(options: Partial<FileChangerOptions> = {}) {
  const { path, make, read } = await scratchFolder();
  const root = join(path, "root");
  const state_dir = join(path, "state");
  mkdirSync(root);
  mkdirSync(state_dir);
  const workspace = {
    roots: [root],
    home: "/none",
    state_dirs: [state_dir],
    checkpoint_handler: false,
    sandbox: "none",
  };
  const changer = createFileChanger({ state_dir, clock: Date.now, workspace, ...options });
  onTestFinished(() => changer.close());
  const declare = (paths: readonly string[], access: Access) =>
    paths.map((each) => ({ path: each, access, show_sensitive: false, ...resolvePath(each, root) }));
  return {
    path,
    root,
    state_dir,
    changer,
    workspace,
    make,
    read: (name: string) => read(`root/${name}`),
    declare,
    change: (
      paths: readonly string[],
      plan: Plan,
      more: { signal?: AbortSignal; run_id?: string; access?: Access } = {},
    ): Promise<FilesChange> =>
      changer.applyPlan(
        {
          run_id: more.run_id ?? "run_1",
          tool_call_id: "call_1",
          touches: [...declare(paths, more.access ?? "write")],
          workspace,
          signal: more.signal ?? new AbortController().signal,
          recorded: async () => {},
        },
        paths,
        plan,
      ),
    /** All names below the root, to detect leftover temporary files. */
    names: () => readdirSync(root, { recursive: true, encoding: "utf8" }).sort(),
  };
}

test("a change of several files, including new folders, is applied at once and recorded", async () => {
  const { change, changer, make, read, names, root } = await scratchChanger();
  await make({ "root/old.txt": "old", "root/gone.txt": "gone", "root/log.txt": "one\n" });

  const changed = await change(["old.txt", "gone.txt", "log.txt", "a/b/new.txt"], async (before) => {
    expect(await Promise.all(before.map(async (each) => (await each.read()).toString()))).toEqual([
      "old",
      "gone",
      "one\n",
      "",
    ]);
    expect(before[3]).toMatchObject({ path: "a/b/new.txt", facts: null });
    return [
      { path: "old.txt", content: text("new") },
      { path: "gone.txt", remove: true },
      { path: "log.txt", append: text("two\n") },
      { path: "a/b/new.txt", content: text("here") },
    ];
  });

  expect(names()).toEqual(["a", "a/b", "a/b/new.txt", "log.txt", "old.txt"]);
  expect([await read("old.txt"), await read("log.txt"), await read("a/b/new.txt")]).toEqual([
    "new",
    "one\ntwo\n",
    "here",
  ]);
  expect(changed.files.map(({ path, before, after }) => [path, before?.size, after?.size])).toEqual([
    ["old.txt", 3, 3],
    ["gone.txt", 4, undefined],
    ["log.txt", 4, 8],
    ["a/b/new.txt", undefined, 4],
  ]);
  expect(changed.files[3]?.folders_made).toEqual([join(root, "a"), join(root, "a/b")]);

  const [record] = await changer.undoLog.find({ undo_id: changed.undo_id ?? "" });
  expect(record).toMatchObject({ run_id: "run_1", tool_call_id: "call_1", files: changed.files });
  const kept = await changer.undoLog.content(changed.files[1]?.before?.sha256 ?? "");
  expect(kept?.toString()).toBe("gone");
});

test("a file that already has the wanted content is left alone and not reported as changed", async () => {
  const { change, make, root } = await scratchChanger();
  await make({ "root/a": "same" });
  const { ino } = statSync(join(root, "a"));
  const nothing = { files: [], undo_id: undefined };
  expect(await change(["a"], async () => [{ path: "a", content: text("same") }])).toEqual(nothing);
  expect(await change(["a"], async () => [])).toEqual(nothing);
  expect(await change(["new/x"], async () => [{ path: "new/x", remove: true }])).toEqual(nothing);
  expect(await change([], async () => [])).toEqual(nothing);
  expect(statSync(join(root, "a")).ino).toBe(ino);
  expect(existsSync(join(root, "new"))).toBe(false);
});

test("mode and owner are preserved; a new file gets the default mode, or the requested one", async () => {
  const { change, make, root } = await scratchChanger();
  await make({ "root/tool.sh": "#!/bin/sh\n", "root/secret": "s" });
  chmodSync(join(root, "tool.sh"), 0o751);
  chmodSync(join(root, "secret"), 0o600);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(join(root, "secret"), 65_534, 65_533);
  writeFileSync(join(root, "usual"), "");

  const { files } = await change(["tool.sh", "secret", "new", "new.sh"], async () => [
    { path: "tool.sh", append: text("exit\n") },
    { path: "secret", content: text("t") },
    { path: "new", content: text("n") },
    { path: "new.sh", content: text("n"), mode: 0o755 },
  ]);

  const mode = (name: string): number => statSync(join(root, name)).mode & 0o7777;
  expect(files.map(({ after }) => after?.mode)).toEqual([0o751, 0o600, mode("usual"), 0o755]);
  expect(["tool.sh", "secret", "new", "new.sh"].map(mode)).toEqual([0o751, 0o600, mode("usual"), 0o755]);
  if (isRoot) expect(statSync(join(root, "secret"))).toMatchObject({ uid: 65_534, gid: 65_533 });
});

test("folders created for a file are removed with it if they are empty then", async () => {
  const { change, names, make, root } = await scratchChanger();
  await make({ "root/keep/other": "", "root/keep/a/b/x": "x" });
  const folders = [join(root, "keep/a/b"), join(root, "keep/a"), join(root, "keep"), root];
  await change(["keep/a/b/x"], async () => [{ path: "keep/a/b/x", remove: true, folders }]);
  expect(names()).toEqual(["keep", "keep/other"]);
  await change(["keep/other"], async () => [{ path: "keep/other", remove: true, folders: [join(root, "keep"), root] }]);
  expect(names()).toEqual([]);
  expect(existsSync(root)).toBe(true); // a root is never removed
});

// oxfmt-ignore
const REFUSED = [
  { title: "a folder",                           path: "folder",      code: "InvalidArguments",     says: /it is a folder/ },
  { title: "a pipe",                             path: "pipe",        code: "InvalidArguments",     says: /a pipe, a socket or a device/ },
  { title: "a name below a file",                path: "file/x",      code: "InvalidArguments",     says: /a name above it is a file/ },
  { title: "a file behind a link to the outside", path: "out/x",      code: "PathTraversalBlocked", says: /outside the allowed roots/ },
  { title: "a broken link to the outside",          path: "dangling",    code: "PathTraversalBlocked", says: /outside the allowed roots/ },
  { title: "a closed folder",                     path: ".ssh/config", code: "SensitivePath",        says: /off limits to all tools/ },
  { title: "a name that is too long",            path: "n".repeat(300), code: "IOError",            says: /too long/ },
] as const;

for (const { title, path, code, says } of REFUSED) {
  test(`${title} is refused, and nothing is created`, async () => {
    const { change, make, names, root, path: folder } = await scratchChanger();
    await make({
      "root/folder/": "",
      "root/file": "f",
      "root/out": "-> ../outside",
      "outside/": "",
      "root/dangling": "-> ../outside/new",
    });
    execFileSync("mkfifo", [join(root, "pipe")]);
    const before = names();
    const refused = change([path], async () => [{ path, content: text("x") }]);
    await expect(refused).rejects.toMatchObject({ code, message: expect.stringMatching(says) as string });
    expect(names()).toEqual(before);
    expect(readdirSync(join(folder, "outside"))).toEqual([]);
  });
}

test("only declared paths are changed, and only with the declared access", async () => {
  const { change, make, names } = await scratchChanger();
  await make({ "root/a": "a", "root/b": "b", "root/link": "-> a" });
  const undeclared = { code: "PathTraversalBlocked", message: expect.stringMatching(/did not declare/) as string };
  await expect(change(["a"], async () => [{ path: "b", content: text("x") }])).rejects.toMatchObject(undeclared);
  await expect(change(["a"], async () => [], { access: "read" })).rejects.toMatchObject(undeclared);
  const written = change(["a"], async () => [{ path: "a", content: text("x") }], { access: "delete" });
  await expect(written).rejects.toMatchObject(undeclared);
  const twice = change(["a", "link"], async () => [
    { path: "a", content: text("x") },
    { path: "link", content: text("y") },
  ]);
  await expect(twice).rejects.toMatchObject({ code: "InvalidArguments", message: /the same file/ });
  expect(names()).toEqual(["a", "b", "link"]);
});

// oxfmt-ignore
const SWAPS = [
  { title: "the file is swapped for a link",            path: "p/a",   swap: (root: string) => { rmSync(join(root, "p/a")); symlinkSync("../../outside/a", join(root, "p/a")); } },
  { title: "its folder is swapped for a link",          path: "p/a",   swap: (root: string) => { renameSync(join(root, "p"), join(root, "away")); symlinkSync("../outside", join(root, "p")); } },
  { title: "its folder is moved out of the root",       path: "p/a",   swap: (root: string) => renameSync(join(root, "p"), join(root, "../outside/p")) },
  { title: "a folder that is missing becomes a link",   path: "n/m/a", swap: (root: string) => symlinkSync("../outside", join(root, "n")) },
] as const;

for (const when of ["before", "while"] as const) {
  for (const { title, path, swap } of SWAPS) {
    test(`where ${title} ${when} a change is planned, nothing outside is changed`, async () => {
      const { declare, changer, workspace, make, root, path: folder } = await scratchChanger();
      await make({ "root/p/a": "mine", "outside/a": "theirs", "outside/m/": "" });
      const request = {
        run_id: "r",
        tool_call_id: "c",
        workspace,
        signal: new AbortController().signal,
        recorded: async () => {},
      };
      const touches = declare([path], "write");
      let swapped = false;
      const swapOnce = (): void => {
        if (!swapped) swap(root);
        swapped = true;
      };
      if (when === "before") swapOnce();
      const changed = changer.applyPlan({ ...request, touches }, [path], async () => {
        swapOnce();
        return [{ path, content: text("written") }];
      });
      await changed.catch(() => undefined);
      expect(readFileSync(join(folder, "outside/a"), "utf8")).toBe("theirs");
      expect(readdirSync(join(folder, "outside/m"))).toEqual([]);
      if (existsSync(join(folder, "outside/p"))) {
        expect(readdirSync(join(folder, "outside/p"))).toEqual(["a"]);
        expect(readFileSync(join(folder, "outside/p/a"), "utf8")).toBe("mine");
      }
    });
  }
}

test("a file that another process changes during planning is not overwritten: the change is planned again", async () => {
  const { change, make, read, root } = await scratchChanger();
  await make({ "root/a": "1" });
  let tries = 0;
  await change(["a", "b"], async ([a]) => {
    const seen = String(await a?.read());
    if (++tries === 1) writeFileSync(join(root, "a"), "2");
    if (tries === 2) writeFileSync(join(root, "b"), "theirs");
    return [
      { path: "a", content: text(`${seen}+`) },
      { path: "b", append: text("+") },
    ];
  });
  expect(tries).toBe(3);
  expect([await read("a"), await read("b")]).toEqual(["2+", "theirs+"]);
});

test("a change fails as stale if another process changes the file at each attempt", async () => {
  const { change, make, names, root } = await scratchChanger();
  await make({ "root/a": "1" });
  const changed = change(["a", "new/b"], async () => {
    appendFileSync(join(root, "a"), "x");
    return [
      { path: "a", content: text("mine") },
      { path: "new/b", content: text("mine") },
    ];
  });
  await expect(changed).rejects.toMatchObject({ code: "Stale", details: { path: "a" } });
  expect(names()).toEqual(["a"]);
  expect(readFileSync(join(root, "a"), "utf8")).toMatch(/^1x+$/);
});

test("twenty concurrent changes of one file lose nothing and keep their order", async () => {
  const { change, make, read } = await scratchChanger();
  await make({ "root/a": "" });
  const add = (i: number) =>
    change(["a"], async ([a]) => [{ path: "a", content: text(`${String(await a?.read())}${i} `) }]);
  const numbers = Array.from({ length: 20 }, (_, i) => i);
  await Promise.all(numbers.map(add));
  expect(await read("a")).toBe(`${numbers.join(" ")} `);
});

test("changes that share files in all orders lose nothing and never deadlock", async () => {
  const { change, make, read } = await scratchChanger();
  const names = ["a", "b", "c"];
  await make({ "root/a": "0", "root/b": "0", "root/c": "0" });
  const orders = [["a", "b"], ["b", "a"], ["c", "a"], ["b", "c"], ["c", "b", "a"], ["a"]]; // oxfmt-ignore
  await Promise.all(
    [...orders, ...orders].map((paths) =>
      change(paths, async (before) =>
        Promise.all(
          before.map(async (each) => ({ path: each.path, content: text(`${Number(await each.read()) + 1}`) })),
        ),
      ),
    ),
  );
  expect(await Promise.all(names.map(read))).toEqual(["10", "8", "6"]);
});

test("eight processes that increment a counter file lose nothing, and take over the lock of a dead process once", async () => {
  const { make, read, root, state_dir, workspace } = await scratchChanger();
  const lock = hash("sha256", join(root, "count"), "hex").slice(0, 32);
  const dead = ownProcess().replace(/^\d+\.\d+/, `${process.pid}.1`);
  await make({ "root/count": "0", [`state/locks/${lock}`]: dead });
  const program = `
    import { createFileChanger } from ${JSON.stringify(join(import.meta.dirname, "file-changer.ts"))};
    const changer = createFileChanger({ state_dir: ${JSON.stringify(state_dir)}, clock: Date.now });
    const touches = [{ path: "count", real: ${JSON.stringify(join(root, "count"))}, access: "write", show_sensitive: false, exists: true }];
    const request = { run_id: "r", tool_call_id: "c", touches, workspace: ${JSON.stringify(workspace)}, signal: new AbortController().signal, recorded: async () => {} };
    for (let i = 0; i < 25; i++) {
      await changer.applyPlan(request, ["count"], async ([count]) => [
        { path: "count", content: Buffer.from(String(Number(await count.read()) + 1)) },
      ]);
    }
    await changer.close();
  `;
  const children = Array.from({ length: 8 }, () =>
    spawn(process.execPath, ["--input-type=module-typescript", "--eval", program], {
      stdio: ["ignore", "inherit", "inherit"],
    }),
  );
  const codes = await Promise.all(children.map(async (child) => ((await once(child, "close")) as [number])[0]));
  expect(codes).toEqual(children.map(() => 0));
  expect(await read("count")).toBe("200");
  expect(readdirSync(join(state_dir, "locks"))).toEqual([]);
  expect(readdirSync(join(state_dir, "undo/open"))).toEqual([]);
});

// oxfmt-ignore
const FAILING = [
  { title: "cannot be planned",                       third: async (): Promise<FileChange> => Promise.reject(new Error("no")) },
  { title: "is a folder by then",                     third: async (root: string): Promise<FileChange> => { rmSync(join(root, "3")); mkdirSync(join(root, "3")); return { path: "3", content: text("new") }; } },
  { title: "is below an entry that is not a folder",    third: async (root: string): Promise<FileChange> => { writeFileSync(join(root, "new"), ""); return { path: "new/3", content: text("new") }; } },
] as const;

for (const { title, third } of FAILING) {
  test(`where the third of five files ${title}, none is changed and no temporary files remain`, async () => {
    const { change, make, read, names, root } = await scratchChanger();
    await make({ "root/1": "1", "root/2": "2", "root/3": "3", "root/5": "5" });
    const changed = change(["1", "deep/er/2", "3", "new/3", "4", "5"], async () => [
      { path: "1", content: text("new") },
      { path: "deep/er/2", content: text("new") },
      await third(root),
      { path: "4", content: text("new") },
      { path: "5", remove: true },
    ]);
    await expect(changed).rejects.toThrow();
    expect([await read("1"), await read("5")]).toEqual(["1", "5"]);
    expect(names().filter((name) => name !== "new")).toEqual(["1", "2", "3", "5"]);
  });
}

test("a file too large for memory can still be appended to, hashed and read from its end", async () => {
  const { change, changer, root, names } = await scratchChanger({ limit_bytes: 100_000 });
  const long = Buffer.alloc(3_000_000, "0123456789");
  writeFileSync(join(root, "log"), long, { mode: 0o640 });
  const changed = await change(["log"], async ([log]) => {
    await expect(log?.read()).rejects.toMatchObject({
      code: "FileTooLarge",
      message: expect.stringMatching(/3000000 bytes.*append to it/) as string,
    });
    expect(String(await log?.readEnd(4))).toBe("6789");
    expect(await log?.sha256()).toMatch(/^[0-9a-f]{64}$/);
    return [{ path: "log", append: text("end\n") }];
  });
  expect(readFileSync(join(root, "log")).equals(Buffer.concat([long, text("end\n")]))).toBe(true);
  expect(statSync(join(root, "log")).mode & 0o777).toBe(0o640);
  expect(changed.undo_id).toBeUndefined(); // none of it could be stored
  expect(changed.files[0]).toMatchObject({ not_kept: true, before: { size: 3_000_000 }, after: { size: 3_000_004 } });
  expect(await changer.undoLog.find({ run_id: "run_1" })).toHaveLength(1);
  expect(names()).toEqual(["log"]);
});

test("a long file is stored and appended to in chunks", async () => {
  const { change, changer, root } = await scratchChanger();
  const long = Buffer.alloc(5_000_001, "0123456789");
  writeFileSync(join(root, "log"), long);
  const appended = await change(["log"], async () => [{ path: "log", append: text("end") }]);
  const removed = await change(["log"], async () => [{ path: "log", remove: true }]);
  const contentOf = async ({ files }: FilesChange) => changer.undoLog.content(files[0]?.before?.sha256 ?? "");
  expect((await contentOf(appended))?.equals(long)).toBe(true);
  expect((await contentOf(removed))?.equals(Buffer.concat([long, text("end")]))).toBe(true);
});

test("the same old content is stored once, and a torn copy is rewritten", async () => {
  const { change, changer, make, state_dir } = await scratchChanger();
  const long = "x".repeat(100_000);
  await make({ "root/a": long, "root/b": long, "root/c": long, "root/small": "s", "root/small2": "s" });
  const remove = (path: string) => change([path], async () => [{ path, remove: true }]);
  const first = await remove("a");
  const sha256 = first.files[0]?.before?.sha256 ?? "";
  const object = join(state_dir, "undo/objects", sha256.slice(0, 2), sha256);
  const { ino } = statSync(object);
  await remove("b");
  expect(statSync(object)).toMatchObject({ ino, size: long.length });
  writeFileSync(object, "torn");
  expect(await changer.undoLog.content(sha256)).toBeUndefined();
  await remove("c");
  expect(String(await changer.undoLog.content(sha256))).toBe(long);
  await remove("small");
  await remove("small2");
  const packs = readdirSync(join(state_dir, "undo/packs"));
  expect(packs.map((name) => statSync(join(state_dir, "undo/packs", name)).size)).toEqual([1]);
  expect(statSync(dirname(object)).mode & 0o777).toBe(0o700);
  expect(statSync(object).mode & 0o777).toBe(0o600);
});

test("changes are found by id and by run, newest first, including those of other and earlier processes", async () => {
  const { change, changer, make, state_dir, workspace } = await scratchChanger();
  await make({ "root/a": "0" });
  const write = (content: string, run_id: string) =>
    change(["a"], async () => [{ path: "a", content: text(content) }], { run_id });
  const first = await write("1", "run_1");
  await write("2", "run_2");
  const third = await write("3", "run_1");
  const reverted = await changer.keepRevert({ run_id: "run_1", tool_call_id: "c", tool: "memory", undo: { was: [1] } });
  await changer.close();

  const [log = ""] = readdirSync(join(state_dir, "undo/logs"));
  appendFileSync(join(state_dir, "undo/logs", log), '{"change":{"undo_id":"undo_torn","run_id":"run_1"');
  const later = createFileChanger({ state_dir, clock: Date.now, workspace });
  onTestFinished(() => later.close());

  const found = await later.undoLog.find({ run_id: "run_1" });
  expect(found.map(({ undo_id }) => undo_id)).toEqual([reverted, third.undo_id, first.undo_id]);
  expect(found[0]).toMatchObject({ files: [], revert: { tool: "memory", undo: { was: [1] } } });
  expect(await later.undoLog.find({ undo_id: first.undo_id ?? "" })).toHaveLength(1);
  expect(String(await later.undoLog.content(first.files[0]?.before?.sha256 ?? ""))).toBe("0");
  await expect(later.undoLog.find({ run_id: "run_3" })).rejects.toMatchObject({ code: "NotFound" });
  await expect(later.undoLog.find({ undo_id: "undo_torn" })).rejects.toMatchObject({ code: "NotFound" });
  expect(await later.undoLog.content("../../../etc/passwd")).toBeUndefined();
});

test("a failed change is not found in the undo log", async () => {
  const { change, changer, make, root } = await scratchChanger();
  await make({ "root/a": "1" });
  const controller = new AbortController();
  const stopped = change(
    ["a"],
    async () => {
      queueMicrotask(() => controller.abort(new Error("stopped")));
      return [{ path: "a", content: text("2") }];
    },
    { signal: controller.signal },
  );
  await expect(stopped).rejects.toThrow("stopped");
  expect(readFileSync(join(root, "a"), "utf8")).toBe("1");
  expect(readdirSync(root)).toEqual(["a"]);
  await expect(changer.undoLog.find({ run_id: "run_1" })).rejects.toMatchObject({ code: "NotFound" });
});

test("a caller that waits for a file stops waiting when aborted, and later callers keep their turn", async () => {
  const { change, make, read } = await scratchChanger();
  await make({ "root/a": "" });
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const add = (word: string, signal?: AbortSignal, wait?: Promise<unknown>) =>
    change(
      ["a"],
      async () => {
        await wait;
        return [{ path: "a", append: text(word) }];
      },
      signal ? { signal } : {},
    );
  const controller = new AbortController();
  const first = add("first ", undefined, promise);
  const second = add("second ", controller.signal);
  const third = add("third ");
  controller.abort(new Error("enough"));
  await expect(second).rejects.toThrow("enough");
  resolve(undefined);
  await Promise.all([first, third]);
  expect(await read("a")).toBe("first third ");
});

test("a log that grows too long is closed, and its changes are still found", async () => {
  const now = { ms: Date.now() };
  const { change, changer, make, state_dir } = await scratchChanger({ clock: () => now.ms });
  await make({ "root/a": "0" });
  const first = await change(["a"], async () => [{ path: "a", content: text("1") }]);
  now.ms += 24 * 3_600_000;
  await change(["a"], async () => [{ path: "a", content: text("2") }]);
  expect(readdirSync(join(state_dir, "undo/open"))).toHaveLength(1);
  expect(readdirSync(join(state_dir, "undo/logs"))).toHaveLength(1);
  expect(await changer.undoLog.find({ undo_id: first.undo_id ?? "" })).toHaveLength(1);
});

test("neither changes nor refusals leave a descriptor open", async () => {
  const { change, make, root } = await scratchChanger({ limit_bytes: 2_000_000 });
  await make({ "root/a": "a", "root/b": "b".repeat(200_000), "root/c": "c".repeat(1_500_000), "root/d/": "" });
  await change(["a"], async () => [{ path: "a", content: text("first") }]);
  const open = (): number => readdirSync("/proc/self/fd").length;
  const before = open();
  for (let i = 0; i < 5; i++) {
    await change(["a", "b", "c", `n${i}/x`], async () => [
      { path: "a", content: text(`${i}`) },
      { path: "b", append: text(`${i}`) },
      { path: "c", append: text(`${i}`) },
      { path: `n${i}/x`, content: text("x") },
    ]);
    await change(["a", "d"], async () => []).catch(() => undefined);
    await change(["a", "b"], async () => Promise.reject(new Error("no"))).catch(() => undefined);
    await change(["a", "b", "c"], async () => {
      appendFileSync(join(root, "b"), "x");
      return [
        { path: "b", append: text("y") },
        { path: "c", append: text("y") },
      ];
    }).catch(() => undefined);
  }
  expect(open()).toBe(before);
});

test("a closed changer changes nothing", async () => {
  const { change, changer, make, read } = await scratchChanger();
  await make({ "root/a": "0" });
  await changer.close();
  await expect(change(["a"], async () => [{ path: "a", content: text("1") }])).rejects.toThrow(/closed/);
  expect(await read("a")).toBe("0");
});

test("a full disk leaves the old files and no temporary files, and the next change succeeds", async () => {
  const { make, root, state_dir, workspace, names, read } = await scratchChanger();
  await make({ "root/a": "old", "root/b": "old" });
  const program = `
    import { readdirSync, readFileSync } from "node:fs";
    import { createFileChanger } from ${JSON.stringify(join(import.meta.dirname, "file-changer.ts"))};
    const changer = createFileChanger({ state_dir: ${JSON.stringify(state_dir)}, clock: Date.now });
    const touch = (path) => ({ path, real: ${JSON.stringify(root)} + "/" + path, access: "write", show_sensitive: false, exists: true });
    const request = { run_id: "r", tool_call_id: "c", touches: [touch("a"), touch("b"), touch("n/c")], workspace: ${JSON.stringify(workspace)}, signal: new AbortController().signal, recorded: async () => {} };
    const write = (size) => changer.applyPlan(request, ["a", "b", "n/c"], async () => ["a", "n/c", "b"].map((path) => ({ path, content: Buffer.alloc(path === "b" ? size : 10, "x") })));
    const refused = await write(100_000).catch(({ code, message }) => ({ code, message }));
    const found = readdirSync(${JSON.stringify(root)}).map((name) => name + ":" + readFileSync(${JSON.stringify(root)} + "/" + name, "utf8"));
    if (found.sort().join() !== "a:old,b:old") throw new Error(found.join());
    console.log(JSON.stringify([refused, (await write(20)).files.length]));
    await changer.close();
  `;
  // A file size limit has the effect of a full disk: a partial write, then an error.
  const output = execFileSync(
    "bash",
    ["-c", 'ulimit -f 64; exec "$0" --input-type=module-typescript -e "$1"', process.execPath, program],
    { encoding: "utf8", env: { ...process.env, NODE_COMPILE_CACHE: undefined } },
  );
  expect(JSON.parse(output)).toEqual([{ code: "IOError", message: 'Cannot change "b": file size limit exceeded' }, 3]);
  expect(names()).toEqual(["a", "b", "n", "n/c"]);
  expect([await read("a"), await read("b")]).toEqual(["x".repeat(10), "x".repeat(20)]);
});

test("a file that this process may not write is refused, although its folder would let it be replaced", async ({
  skip,
}) => {
  if (process.getuid?.() !== 0) skip("only root can become another user");
  const { make, root, state_dir, workspace, path } = await scratchChanger();
  await make({ "root/locked": "old" });
  for (const each of [path, root, state_dir]) chmodSync(each, 0o777);
  chmodSync(join(root, "locked"), 0o444);
  const program = `
    process.setuid(65534);
    const { createFileChanger } = await import(${JSON.stringify(join(import.meta.dirname, "file-changer.ts"))});
    const changer = createFileChanger({ state_dir: ${JSON.stringify(state_dir)}, clock: Date.now });
    const touches = [{ path: "locked", real: ${JSON.stringify(join(root, "locked"))}, access: "write", show_sensitive: false, exists: true }];
    const request = { run_id: "r", tool_call_id: "c", touches, workspace: ${JSON.stringify(workspace)}, signal: new AbortController().signal, recorded: async () => {} };
    const refused = await changer.applyPlan(request, ["locked"], async () => [{ path: "locked", content: Buffer.from("new") }]).catch(({ code, message }) => ({ code, message }));
    console.log(JSON.stringify(refused));
  `;
  const output = execFileSync(process.execPath, ["--input-type=module-typescript", "-e", program], {
    encoding: "utf8",
  });
  expect(JSON.parse(output)).toEqual({ code: "IOError", message: 'Cannot change "locked": permission denied' });
});
