import { chmodSync, existsSync, lstatSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import type { Command } from "../../contract/processes.ts";
import type { GitPlaces } from "../../policy/facts.ts";
import { findProgram, PROGRAMS } from "../processes/programs.ts";
import { runCommand } from "../processes/run.ts";
import { makePackageCaches } from "./writable-caches.ts";
import { openSandbox } from "./sandbox.ts";

const hasBwrap = (await findProgram("bwrap", { roots: [] })) !== undefined;
const needs = hasBwrap ? "" : ` (skipped: needs bwrap, ${PROGRAMS.bwrap.install})`;
const limits = { memory_bytes: 4e9, processes: 256, file_bytes: 1e9, open_files: 1024 };

const PROJECT = {
  "state/": "",
  "home/": "",
  "root/node_modules/own/x.js": "own",
  "root/node_modules/zod/index.js": "zod",
  "root/node_modules/vite/index.js": "vite",
  "root/node_modules/.bin/own": "-> ../own/x.js",
  "root/node_modules/.pnpm/zod/index.js": "zod",
  "root/node_modules/.package-lock.json": "{}",
  "root/node_modules/.odd/own/index.js": "odd",
  "root/node_modules/.mine/kept": "kept",
  "root/node_modules/.link": "-> zod",
} as const;

interface ProjectOptions {
  readonly files?: Record<string, string>;
  readonly closes?: Command["closes"];
  readonly state?: string;
}

/** A project with this program in its packages, and commands in it. */
async function project({ files = {}, closes, state = "state" }: ProjectOptions = {}) {
  const folder = await scratchFolder();
  await folder.make({ ...PROJECT, ...files });
  const root = join(folder.path, "root");
  const place = (path: string, more: object = {}): GitPlaces[number] => ({
    path: join(root, "node_modules", path),
    why: "this program runs it",
    is_program: true,
    ...more,
  });
  const git_places = [place("own"), place("", { is_packages: true }), place(".odd", { is_packages: true })];
  const workspace = { roots: [root], home: join(folder.path, "home"), state_dirs: [join(folder.path, state)] };
  const sandbox = await openSandbox({
    mode: "auto",
    workspace: { ...workspace, git_places },
    state_dir: join(folder.path, state),
    limits,
  });
  onTestFinished(() => sandbox.close());
  const run = async (cmd: string, more: Partial<Command> = {}) => {
    const command = { run: cmd, cwd: root, ...(closes && { closes }), ...more };
    const signal = new AbortController().signal;
    return await runCommand(() => sandbox.launch(command), { timeout_ms: 20_000, signal, call_id: "t", limits });
  };
  const make = (): void => makePackageCaches({ roots: [root], git_places });
  return { ...folder, root, run, make };
}

test.skipIf(!hasBwrap)(`a command writes to caches among packages that are read-only for it${needs}`, async () => {
  const { make, run, read, root } = await project();
  make();
  const end = await run(
    "set -e; cd node_modules; for d in .cache .vite .vite-temp .mine; do mkdir -p $d/a/b; echo $d > $d/a/b/x; mv $d/a/b/x $d/y; rm -r $d/a; done; rm .mine/kept",
  );
  expect(end).toMatchObject({ exit_code: 0, packages_closed: true });
  expect(await read("root/node_modules/.cache/y")).toBe(".cache\n");
  expect(await read("root/node_modules/.vite-temp/y")).toBe(".vite-temp\n");
  expect(existsSync(join(root, "node_modules/.mine/kept"))).toBe(false);
  // A command that only looks writes to none of them.
  expect((await run("touch node_modules/.cache/z", { read_only: true })).exit_code).not.toBe(0);
});

const ATTACKS = [
  { how: "a package is planted", lines: "mkdir zzz; cp .mine/kept zzz/index.js" },
  { how: "a package is changed", lines: "echo bad > zod/index.js" },
  { how: "a cache is moved onto a package", lines: "mkdir .cache/zod; mv -fT .cache/zod zod; mv -fT .cache zod" },
  { how: "packages are moved into a cache", lines: "mv zod .cache/zod" },
  { how: "a cache is moved away", lines: "mv .cache zzz; mv .mine zzz" },
  { how: "a cache is replaced by a link", lines: "rm -r .cache; rmdir .cache; ln -s zod .cache; ln -sfn zod .mine" },
  {
    how: "a package is written through a link in a cache",
    lines: "ln -s ../zod .cache/z; echo bad > .cache/z/index.js",
  },
  { how: "a package is written through a hard link", lines: "ln zod/index.js .cache/h && echo bad > .cache/h" },
  { how: "a link that has the name of a cache is written through", lines: "echo bad > .link/index.js" },
  { how: "a program is planted", lines: "echo bad > .bin/own; ln -sf ../.mine/kept .bin/own; mkdir .bin/d" },
  { how: "a store of packages is written to", lines: "echo bad > .pnpm/zod/index.js; mkdir .pnpm/zzz" },
  { how: "a store of another name is written to", lines: "echo bad > .odd/own/index.js; mkdir .odd/zzz" },
  { how: "new names with a dot are made", lines: "mkdir .new .store .hooks .git; touch .modules.yaml" },
  { how: "state of a package manager is changed", lines: "echo bad > .package-lock.json" },
  { how: "the folder is replaced", lines: "cd ..; mv node_modules old; cp -r old node_modules; rm -rf node_modules" },
  {
    how: "a cache is entered by where it waited",
    lines: "ls -d /run/opened/*/../zod && echo bad > /run/opened/0/../zod/x",
  },
  {
    how: "it is mounted again",
    lines: "mount -o remount,rw,bind . ; mount --bind .cache zod; umount zod; unshare -rm true",
  },
] as const;

test.skipIf(!hasBwrap)(`caches lead to no package, program or store beside them${needs}`, async () => {
  const { make, run, read, root } = await project();
  make();
  for (const { how, lines } of ATTACKS) {
    await run(`cd node_modules; ${lines}; true`);
    for (const [name, content] of Object.entries(PROJECT)) {
      if (!content.startsWith("->") && !name.endsWith("/") && !name.includes(".mine")) {
        expect({ how, name, content: await read(name) }).toEqual({ how, name, content });
      }
    }
    for (const name of [
      "zzz",
      ".new",
      ".store",
      ".hooks",
      ".git",
      ".modules.yaml",
      ".bin/d",
      ".pnpm/zzz",
      ".odd/zzz",
    ]) {
      expect({ how, name, isThere: existsSync(join(root, "node_modules", name)) }).toMatchObject({ isThere: false });
    }
    for (const name of [".cache", ".mine", "zod"]) {
      expect({ how, name, is: lstatSync(join(root, "node_modules", name)).isDirectory() }).toMatchObject({ is: true });
    }
    expect(lstatSync(join(root, "node_modules/.bin/own")).isSymbolicLink()).toBe(true);
  }
});

test.skipIf(!hasBwrap)(`a rule closes a cache, or what is in one, all the same${needs}`, async () => {
  const files = { "root/node_modules/.cache/open": "", "root/node_modules/.cache/closed/x": "x" };
  const closing = (ends: string): Command["closes"] => ({
    key: ends,
    forbids: () => false,
    judge: (path: string) => (path.endsWith(ends) ? "read_only" : undefined),
    mayCloseBelow: () => true,
  });
  const inside = await project({ files, closes: closing("/.cache/closed") });
  await inside.run("cd node_modules/.cache; echo new > open; echo new > closed/x");
  expect(await inside.read("root/node_modules/.cache/open")).toBe("new\n");
  expect(await inside.read("root/node_modules/.cache/closed/x")).toBe("x");
  const whole = await project({ files, closes: closing("/node_modules/.cache") });
  await whole.run("cd node_modules; echo new > .cache/open; echo new > .mine/kept");
  expect(await whole.read("root/node_modules/.cache/open")).toBe("");
  expect(await whole.read("root/node_modules/.mine/kept")).toBe("new\n");
});

test.skipIf(!hasBwrap)(`what a rule closes in a cache is closed by every path to it${needs}`, async () => {
  const how = { "/.cache/a/hidden": "hide", "/.cache/a/kept": "read_only" } as const;
  const { run, read } = await project({
    files: { "root/node_modules/.cache/a/hidden/x": "hidden", "root/node_modules/.cache/a/kept/x": "kept" },
    closes: {
      key: "closed",
      forbids: () => false,
      judge: (path) => Object.entries(how).find(([end]) => path.endsWith(end))?.[1],
      mayCloseBelow: () => true,
    },
  });
  await run(
    "for x in node_modules/.cache/a /run/*/*/a; do cat $x/hidden/x $x/kept/x >>found; echo new >$x/kept/x; echo new >$x/hidden/x; done",
  );
  expect(await read("root/node_modules/.cache/a/kept/x")).toBe("kept");
  expect(await read("root/found")).toBe("kept");
  expect(await read("root/node_modules/.cache/a/hidden/x")).toBe("hidden");
});

test.skipIf(!hasBwrap)(`state in a cache is neither reached nor moved${needs}`, async () => {
  const { run, read, root } = await project({
    files: { "root/node_modules/.cache/a/b/state/grants": "grants" },
    state: "root/node_modules/.cache/a/b/state",
  });
  const state = join(root, "node_modules/.cache/a/b/state");
  await run(
    "cat node_modules/.cache/a/b/state/grants /run/*/*/a/b/state/grants >found; for x in node_modules/.cache/a /run/*/*/a; do echo bad >$x/b/state/grants; mv $x/b $x/c; mv $x ${x}2; done; touch node_modules/.cache/a/new",
  );
  expect(await read("root/node_modules/.cache/a/b/state/grants")).toBe("grants");
  expect(lstatSync(state).isDirectory()).toBe(true);
  expect(await read("root/found")).toBe("");
  expect(await read("root/node_modules/.cache/a/new")).toBe("");
});

test.skipIf(!hasBwrap)(`a command is stopped where it makes in a cache what a rule forbids${needs}`, async () => {
  const isForbidden = (path: string): boolean => path.endsWith("/.cache/secret");
  const { make, run } = await project({
    closes: {
      key: "secret",
      forbids: isForbidden,
      judge: (path) => (isForbidden(path) ? "hide" : undefined),
      mayCloseBelow: () => true,
    },
  });
  make();
  const end = await run("mkdir node_modules/.cache/secret; sleep 15");
  expect(end.unprotected).toContain("/node_modules/.cache/secret");
});

test.skipIf(!hasBwrap)(`unreadable packages and caches do not prevent a command${needs}`, async () => {
  for (const name of ["node_modules/.mine", "node_modules"]) {
    const { make, run, root } = await project();
    chmodSync(join(root, name), 0o000);
    make();
    const { exit_code } = await run("echo x > a.txt");
    chmodSync(join(root, name), 0o755);
    expect({ name, exit_code }).toEqual({ name, exit_code: 0 });
  }
});

test("caches are created for installed tools, and nothing is created in place of a link or a file", async () => {
  const { make, root, path } = await project({ files: { "root/node_modules/.cache": "-> ../../home" } });
  make();
  make();
  const at = (name: string): string => join(root, "node_modules", name);
  expect(lstatSync(at(".cache")).isSymbolicLink()).toBe(true);
  expect([".vite", ".vite-temp", ".tmp", ".vitest", ".astro"].map((name) => existsSync(at(name)))).toEqual([
    true,
    true,
    true,
    false,
    false,
  ]);
  // Packages that a link leads to elsewhere are not this project's to change.
  const linked = join(path, "elsewhere");
  makePackageCaches({
    roots: [linked],
    git_places: [{ path: join(linked, "node_modules"), why: "", is_packages: true }],
  });
  expect(existsSync(linked)).toBe(false);
});
