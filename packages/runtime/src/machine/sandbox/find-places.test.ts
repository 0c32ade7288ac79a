import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { absentPlaces, PlaceFinder } from "./find-places.ts";

async function workspace(files: Readonly<Record<string, string>>) {
  const folder = await scratchFolder();
  await folder.make({ "root/": "", "home/": "", "state/": "", ...files });
  const at = (name: string): string => join(folder.path, name);
  const finder = new PlaceFinder({ roots: [at("root")], home: at("home"), state_dirs: [at("state")] });
  const shorten = (path: string): string => path.replace(`${folder.path}/`, "");
  const find = () => {
    const { hidden, read_only, pinned, left_out } = finder.find();
    const ours = hidden.filter(({ path }) => path.startsWith(folder.path));
    return {
      hidden: ours.map(({ path, kind }) => `${shorten(path)} (${kind})`).sort(),
      read_only: read_only.map(shorten).sort(),
      pinned: pinned.map(shorten).sort(),
      left_out,
    };
  };
  return { ...folder, find, at };
}

test("only what is there is hidden or made read-only", async () => {
  const { find } = await workspace({});

  expect(find()).toEqual({ hidden: ["state (folder)"], read_only: [], pinned: [], left_out: 0 });
});

test("sensitive places are found in the root, at any depth, and in the home folder", async () => {
  const { find } = await workspace({
    "root/.ssh/id": "",
    "root/deep/er/server.key": "",
    "root/plain.txt": "",
    "home/.aws/credentials": "",
    "home/.config/gh/hosts.yml": "",
    "home/id_rsa": "",
    "home/notes.txt": "",
  });

  expect(find().hidden).toEqual([
    "home/.aws (folder)",
    "home/.config/gh (folder)",
    "home/id_rsa (file)",
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

  expect(find()).toMatchObject({ read_only: ["root/.vscode/tasks.json", "root/a/.npmrc"], pinned: ["root/.vscode"] });
});

test("a tree too large to look through says so", async () => {
  const files = Object.fromEntries(Array.from({ length: 450 }, (_, index) => [`root/folder-${index}/`, ""]));
  const { find } = await workspace(files);

  expect(find().left_out).toBeGreaterThan(40);
});

test("places that must not come into being are named while they are not there", async () => {
  const { at, make } = await workspace({});
  const before = absentPlaces([at("root")]);
  await make({ "root/.git/hooks/": "", "root/.ssh/": "" });
  const after = absentPlaces([at("root")]);

  for (const name of [".git/hooks", ".ssh", ".vscode/tasks.json", ".envrc"])
    expect(before).toContain(at(`root/${name}`));
  expect(after).not.toContain(at("root/.git/hooks"));
  expect(after).not.toContain(at("root/.ssh"));
});
