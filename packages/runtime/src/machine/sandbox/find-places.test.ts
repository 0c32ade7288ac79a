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

test("only what is there is hidden or made read-only", async () => {
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

test("what has to be hidden is found in folders that are read-only too, of which nothing else is told", async () => {
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

test("what is hidden for the names above it cannot be moved to where it would not be", async () => {
  const { find } = await workspace({ "root/a/.ethereum/keystore/k": "", "root/b/.ssh/id": "" });

  expect(find()).toMatchObject({
    hidden: ["root/a/.ethereum/keystore (folder)", "root/b/.ssh (folder)", "state (folder)"],
    pinned: ["root/a", "root/a/.ethereum"],
  });
});

test("an own folder in a root is made, hidden, and cannot be moved with those above it", async () => {
  const folder = await scratchFolder();
  await folder.make({ "root/cfg/": "", "home/": "" });
  const at = (name: string): string => join(folder.path, name);
  const own = [at("root/cfg/autonous"), at("root/var/state/autonous"), at("root/var/state/autonous/runs")];
  const finder = new PlaceFinder({ roots: [at("root")], home: at("home"), state_dirs: own });

  const { hidden, pinned } = finder.find();

  expect(hidden.filter(({ path }) => path.startsWith(folder.path)).map(({ path }) => path)).toEqual(own.slice(0, 2));
  expect(pinned).toEqual([at("root/cfg"), at("root/var"), at("root/var/state")]);
});

test("an own folder that cannot be made is not left to a command", async () => {
  const folder = await scratchFolder();
  await folder.make({ "root/cfg": "a file", "home/": "" });
  const [root, own] = [join(folder.path, "root"), join(folder.path, "root/cfg/autonous")];
  const finder = new PlaceFinder({ roots: [root], home: join(folder.path, "home"), state_dirs: [own] });

  expect(() => finder.find()).toThrow(
    /cannot create the program's folder .*, so it cannot be hidden from the command \(/,
  );
});

test("a link in a root hides nothing of what it leads to", async () => {
  const { find } = await workspace({ "root/.ssh": "-> /", "root/.vscode": "-> ." });

  expect(find()).toMatchObject({ hidden: ["state (folder)"], read_only: [] });
});

test("a link in the home folder is hidden where it leads", async () => {
  const { find } = await workspace({ "dotfiles/netrc": "", "home/.netrc": "-> ../dotfiles/netrc" });

  expect(find().hidden).toEqual(["dotfiles/netrc (file)", "state (folder)"]);
});

test("what comes and goes between two commands is seen", async () => {
  const { find, make } = await workspace({ "root/a/b.txt": "" });
  find();
  await make({ "root/a/.npmrc": "", "root/.vscode/tasks.json": "" });

  expect(find()).toMatchObject({ read_only: ["root/.vscode", "root/a/.npmrc"], pinned: [] });
});

test("however many there are, each sensitive file is found, also far down and in a wide tree", async () => {
  const keys = Array.from({ length: 300 }, (_, index) => [`root/keys/${index}.pem`, ""]);
  const folders = Array.from({ length: 600 }, (_, index) => [`root/folder-${index}/`, ""]);
  const { find } = await workspace(Object.fromEntries([...keys, ...folders, ["root/folder-599/deep/er/last.key", ""]]));
  const { hidden } = find();

  expect(hidden).toHaveLength(302);
  expect(hidden).toContain("root/folder-599/deep/er/last.key (file)");
});

test("folders that are called like git's stores are looked into where they are none", async () => {
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

test("a folder with a key whose name cannot be passed on is hidden; in a root itself the command is refused", async () => {
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

test("rules hide places and make them read-only besides the tables", async () => {
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

test("a file that comes right after a look is found by the next one", async () => {
  const { find, at } = await workspace({ "root/a/": "" });
  for (let round = 0; round < 50; round++) {
    find();
    writeFileSync(at(`root/a/${round}.pem`), "");
    expect(find().hidden).toContain(`root/a/${round}.pem (file)`);
  }
});

test("keys that came with packages of Python are not hidden, as pip needs them; what runs later there is read-only", async () => {
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

test("what is known to run later by its path is read-only among packages too, of which nothing else is looked at", async () => {
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
