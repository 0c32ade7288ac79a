import { renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import type { PlaceJudge } from "../../contract/processes.ts";
import { PlaceFinder } from "./find-places.ts";

async function workspace(files: Readonly<Record<string, string>>, later: readonly string[] = []) {
  const folder = await scratchFolder();
  await folder.make({ "root/": "", "home/": "", "state/": "", ...files });
  const at = (name: string): string => join(folder.path, name);
  const git_places = later.map((name) => ({ path: at(name), why: "this program runs it" }));
  const finder = new PlaceFinder({ roots: [at("root")], home: at("home"), state_dirs: [at("state")], git_places });
  const shorten = (path: string): string => path.replace(`${folder.path}/`, "");
  const find = (judge?: PlaceJudge) => {
    const { hidden, read_only, ruled, pinned, left_out } = finder.find(judge);
    const ours = hidden.filter(({ path }) => path.startsWith(folder.path));
    return {
      hidden: ours.map(({ path, kind }) => `${shorten(path)} (${kind})`).sort(),
      read_only: read_only.map(shorten).sort(),
      ruled: ruled.map(shorten),
      pinned: pinned.map(shorten).sort(),
      left_out,
    };
  };
  return { ...folder, find, at };
}

test("only existing paths are hidden or made read-only", async () => {
  const { find } = await workspace({});

  expect(find()).toEqual({ hidden: ["state (folder)"], read_only: [], ruled: [], pinned: [], left_out: 0 });
});

test("sensitive places are found in the root, at any depth, and by their names in the home folder", async () => {
  const { find } = await workspace({
    "root/.ssh/id": "",
    "root/deep/er/server.key": "",
    "root/plain.txt": "",
    "home/.aws/credentials": "",
    "home/.config/gh/hosts.yml": "",
    "home/notes.txt": "",
  });

  expect(find().hidden).toEqual([
    "home/.aws (folder)",
    "home/.config/gh (folder)",
    "root/.ssh (folder)",
    "root/deep/er/server.key (file)",
    "state (folder)",
  ]);
});

test("of git, hooks and configuration are read-only, and its folder cannot be renamed", async () => {
  const { find } = await workspace({
    "root/.git/config": "",
    "root/.git/hooks/pre-commit": "",
    "root/.git/HEAD": "",
    "root/.git/modules/sub/config": "",
    "root/sub/.git": "gitdir: ../.git/modules/sub",
  });

  expect(find()).toMatchObject({
    read_only: ["root/.git/config", "root/.git/hooks", "root/.git/modules/sub/config", "root/sub/.git"],
    pinned: ["root/.git"],
  });
});

test("paths to hide are found even in read-only folders, and nothing else in them is reported", async () => {
  const { find } = await workspace({
    "root/.codex/auth.json": "",
    "root/.codex/config.toml": "",
    "root/.husky/pre-commit": "",
    "root/.husky/.netrc": "",
    "root/.husky/sub/.envrc": "",
    "root/a/.claude/deep/.aws/credentials": "",
    "root/generated/deep/server.pem": "",
    "root/generated/deep/private/x": "",
    "root/generated/deep/b.txt": "",
  });
  const judge = (path: string) =>
    path.includes("/generated/deep/private") ? "hide" : path.includes("/generated") ? "read_only" : undefined;

  expect(find({ key: "1", judge, forbids: () => false, mayCloseBelow: () => true })).toEqual({
    hidden: [
      "root/.codex/auth.json (file)",
      "root/.husky/.netrc (file)",
      "root/a/.claude/deep/.aws (folder)",
      "root/generated/deep/private (folder)",
      "root/generated/deep/server.pem (file)",
      "state (folder)",
    ],
    read_only: ["root/.codex", "root/.husky", "root/a/.claude"],
    ruled: ["root/generated"],
    pinned: [],
    left_out: 0,
  });
});

test("a path that is hidden because of its parent folders cannot be moved out of them", async () => {
  const { find } = await workspace({ "root/a/.ethereum/keystore/k": "", "root/b/.ssh/id": "" });

  expect(find()).toMatchObject({
    hidden: ["root/a/.ethereum/keystore (folder)", "root/b/.ssh (folder)", "state (folder)"],
    pinned: ["root/a", "root/a/.ethereum"],
  });
});

test("one of our folders in a root is created, hidden, and cannot be moved with its parents", async () => {
  const folder = await scratchFolder();
  await folder.make({ "root/cfg/": "", "home/": "" });
  const at = (name: string): string => join(folder.path, name);
  const own = [at("root/cfg/autonous"), at("root/var/state/autonous"), at("root/var/state/autonous/runs")];
  const finder = new PlaceFinder({ roots: [at("root")], home: at("home"), state_dirs: own });

  const { hidden, pinned } = finder.find();

  expect(hidden.filter(({ path }) => path.startsWith(folder.path)).map(({ path }) => path)).toEqual(own.slice(0, 2));
  expect(pinned).toEqual([at("root/cfg"), at("root/var"), at("root/var/state")]);
});

test("one of our folders that cannot be created is not left to a command", async () => {
  const folder = await scratchFolder();
  await folder.make({ "root/cfg": "a file", "home/": "" });
  const [root, own] = [join(folder.path, "root"), join(folder.path, "root/cfg/autonous")];
  const finder = new PlaceFinder({ roots: [root], home: join(folder.path, "home"), state_dirs: [own] });

  expect(() => finder.find()).toThrow(
    /cannot create the program's folder .*, so it cannot be hidden from the command \(/,
  );
});

test("a link in a root does not hide its target", async () => {
  const { find } = await workspace({ "root/.ssh": "-> /", "root/.vscode": "-> ." });

  expect(find()).toMatchObject({ hidden: ["state (folder)"], read_only: [] });
});

test("the target of a link in the home folder is hidden", async () => {
  const { find } = await workspace({ "dotfiles/netrc": "", "home/.netrc": "-> ../dotfiles/netrc" });

  expect(find().hidden).toEqual(["dotfiles/netrc (file)", "state (folder)"]);
});

test("paths that appear and disappear between two commands are detected", async () => {
  const { find, make } = await workspace({ "root/a/b.txt": "" });
  find();
  await make({ "root/a/.npmrc": "", "root/.vscode/tasks.json": "" });

  expect(find()).toMatchObject({ read_only: ["root/.vscode", "root/a/.npmrc"], pinned: [] });
});

test("every sensitive file is found, even deep in a large tree", async () => {
  const keys = Array.from({ length: 300 }, (_, index) => [`root/keys/${index}.pem`, ""]);
  const folders = Array.from({ length: 600 }, (_, index) => [`root/folder-${index}/`, ""]);
  const { find } = await workspace(Object.fromEntries([...keys, ...folders, ["root/folder-599/deep/er/last.key", ""]]));
  const { hidden } = find();

  expect(hidden).toHaveLength(302);
  expect(hidden).toContain("root/folder-599/deep/er/last.key (file)");
});

test("folders that are only named like git's stores are searched", async () => {
  const { find } = await workspace({
    "root/logs/a.pem": "",
    "root/objects/b.key": "",
    "root/docs/refs/id_rsa": "",
    "root/lfs/c.p12": "",
    "root/.git/HEAD": "",
    "root/.git/refs/d.pem": "",
    "root/.git/objects/": "",
  });

  expect(find().hidden).toEqual([
    "root/docs/refs/id_rsa (file)",
    "root/lfs/c.p12 (file)",
    "root/logs/a.pem (file)",
    "root/objects/b.key (file)",
    "state (folder)",
  ]);
});

test("a folder with a key whose name cannot be an argument is hidden; directly in a root the command is refused", async () => {
  const { find, at } = await workspace({ "root/odd/plain.txt": "" });
  writeFileSync(Buffer.concat([Buffer.from(at("root/odd/")), Buffer.from([0xff]), Buffer.from(".pem")]), "");

  expect(find().hidden).toContain("root/odd (folder)");
  writeFileSync(Buffer.concat([Buffer.from(at("root/")), Buffer.from([0xfe]), Buffer.from(".pem")]), "");
  expect(() => find()).toThrow(/not valid UTF-8/);
});

test("a socket in a root is hidden, regardless of its listener and its name", async () => {
  const { find, at } = await workspace({ "root/run/": "" });
  const server = createServer();
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(at("root/run/first.sock"), resolve));
  renameSync(at("root/run/first.sock"), at("root/run/second"));

  expect(find().hidden).toContain("root/run/second (file)");
});

test("rules hide paths and make them read-only in addition to the tables", async () => {
  const { find } = await workspace({
    "root/secrets/deep/a.txt": "",
    "root/generated/b.txt": "",
    "root/src/c.secret": "",
    "root/src/d.txt": "",
    "root/node_modules/x/e.secret": "",
    "root/node_modules/x/.envrc": "",
  });
  const judge = (path: string) =>
    path.endsWith("/secrets") || path.endsWith(".secret")
      ? ("hide" as const)
      : path.endsWith("/generated")
        ? ("read_only" as const)
        : undefined;

  const forbids = () => false;

  expect(find({ key: "1", judge, forbids, mayCloseBelow: () => true })).toMatchObject({
    hidden: [
      "root/node_modules/x/e.secret (file)",
      "root/secrets (folder)",
      "root/src/c.secret (file)",
      "state (folder)",
    ],
    read_only: [],
    ruled: ["root/generated"],
    pinned: ["root/node_modules", "root/node_modules/x", "root/src"],
  });
  expect(find({ key: "2", judge, forbids, mayCloseBelow: () => false })).toMatchObject({
    hidden: ["root/secrets (folder)", "root/src/c.secret (file)", "state (folder)"],
    pinned: ["root/src"],
  });
  expect(find()).toMatchObject({ hidden: ["state (folder)"], read_only: [] });
});

test("a file created right after a search is found by the next one", async () => {
  const { find, at } = await workspace({ "root/a/": "" });
  for (let round = 0; round < 50; round++) {
    find();
    writeFileSync(at(`root/a/${round}.pem`), "");
    expect(find().hidden).toContain(`root/a/${round}.pem (file)`);
  }
});

test("keys in Python packages are not hidden, as pip needs them; run-later files there are read-only", async () => {
  const packages = "root/.venv/lib/python3.11/site-packages";
  const { find } = await workspace({
    [`${packages}/certifi/cacert.pem`]: "",
    [`${packages}/sitecustomize.py`]: "",
    [`${packages}/x/.ssh/id_rsa`]: "",
    "root/certs/server.pem": "",
  });

  expect(find()).toMatchObject({
    hidden: [`${packages}/x/.ssh (folder)`, "root/certs/server.pem (file)", "state (folder)"],
    read_only: [`${packages}/sitecustomize.py`],
  });
});

test("paths known to run later are read-only in package folders too, which are not searched otherwise", async () => {
  const files = {
    "root/node_modules/autonous/dist/bin/autonous.js": "",
    "root/node_modules/other/server.key": "",
    "root/node_modules/@vscode/ripgrep-linux-x64/bin/rg": "",
    "root/node_modules/@vscode/other/.envrc": "",
  };
  const own = ["root/node_modules/autonous", "root/node_modules/@vscode/ripgrep-linux-x64"];
  const { find } = await workspace(files, own);

  expect(find()).toEqual({
    hidden: ["state (folder)"],
    read_only: [...own].sort(),
    ruled: [],
    pinned: ["root/node_modules", "root/node_modules/@vscode"],
    left_out: 0,
  });
});
