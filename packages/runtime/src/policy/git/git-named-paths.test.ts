import { expect, test } from "vitest";
import { placesInConfig } from "./git-named-paths.ts";

const GROUND = { folder: "/work/a/.git", worktrees: ["/work/a"], home: "/home/me" };

// oxfmt-ignore
const CONFIGS: readonly (readonly [config: string, paths: readonly string[]])[] = [
  ["[core]\n\thooksPath = tools/hooks",                          ["/work/a/tools/hooks"]],
  ["[CORE]\n\tHOOKSPATH = ./tools/../scripts/git/",              ["/work/a/scripts/git"]],
  ["[core]\n\thooksPath = /work/b/hooks",                        ["/work/b/hooks"]],
  ["[core]\n\thooksPath = ~/hooks",                              ["/home/me/hooks"]],
  ["[include]\n\tpath = ../team.gitconfig",                      ["/work/a/team.gitconfig"]],
  ["[includeIf \"onbranch:main\"]\n\tpath = extra",              ["/work/a/.git/extra"]],
  ["[core]\n\tattributesFile = conf/attributes",                 ["/work/a/conf/attributes"]],
  ["[init]\n\ttemplateDir = templates/git",                      ["/work/a/templates/git"]],
  ["[core]\n\tfsmonitor = ./evil.sh",                            ["/work/a/evil.sh"]],
  ["[filter \"x\"]\n\tclean = python3 tools/clean.py %f",         ["/work/a/python3?", "/work/a/tools/clean.py", "/work/a/%f?"]],
  ["[filter \"x\"]\n\tprocess = sh -c 'bin/f --conf=conf/f.ini'", ["/work/a/sh?", "/work/a/bin/f", "/work/a/conf/f.ini"]],
  ["[diff \"d\"]\n\ttextconv = tools/show",                       ["/work/a/tools/show"]],
  ["[merge \"m\"]\n\tdriver = ./merge.sh %O %A %B",               ["/work/a/merge.sh", "/work/a/%O?", "/work/a/%A?", "/work/a/%B?"]],
  ["[alias]\n\tst = \"!f() { ./a.sh; }; f\"",                    ["/work/a/f?", "/work/a/a.sh", "/work/a/f?"]],
  ["[gpg]\n\tprogram = bin/gpg",                                 ["/work/a/bin/gpg"]],
  ["[core]\n\tsshCommand = ssh -F conf/ssh -i ~/key",            ["/work/a/ssh?", "/work/a/conf/ssh", "/home/me/key"]],
  ["[credential]\n\thelper = !tools/login.sh",                   ["/work/a/tools/login.sh"]],
  ["[user]\n\tname = a/b\n[remote \"o\"]\n\turl = ../other",     []],
  ["[core]\n\thooksPath\n[core]\n\teditor = \"\"",               []],
  ["[url \"git@h:\"]\n\tinsteadOf = https://h/",                 []],
  ["[broken",                                                    []],
];

test.each(CONFIGS)("%j names %j", (config, paths) => {
  const found = placesInConfig(config, GROUND).map(({ path, if_exists }) => (if_exists ? `${path}?` : path));
  expect(found).toEqual(paths);
});

test("hooks at the top of a working folder are known by their names", () => {
  const found = placesInConfig("[core]\n\thooksPath = .", GROUND).map(({ path }) => path);
  expect(found).toContain("/work/a/pre-commit");
  expect(found).not.toContain("/work/a");
});

test("each working folder has its own, and the reason names the setting", () => {
  const found = placesInConfig("[core]\n\thooksPath = h", { ...GROUND, worktrees: ["/work/a", "/work/b"] });
  expect(found.map(({ path }) => path)).toEqual(["/work/a/h", "/work/b/h"]);
  expect(found[0]?.why).toBe("core.hookspath of git's configuration names it");
});

test("a configuration without end is read so far only", () => {
  const found = placesInConfig(
    `[alias]\n${Array.from({ length: 5000 }, (_, at) => `a${at} = ./x${at}\n`).join("")}`,
    GROUND,
  );
  expect(found.length).toBe(501);
});
