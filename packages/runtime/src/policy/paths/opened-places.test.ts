import { expect, test } from "vitest";
import { callOf, WORKSPACE } from "../../../../../test/support/calls.ts";
import { checkConfiguration } from "../check-configuration.ts";
import { decide } from "../decide.ts";
import type { NamedCommand } from "../facts.ts";
import { offersFor } from "../rules/grants.ts";
import { nameCommand } from "../commands/name-command.ts";
import { openedPlaces } from "./opened-places.ts";

const GROUND = { roots: ["/work"], home: "/home/me" };

function named(text: string, folder: string): NamedCommand {
  return nameCommand(text, { ...GROUND, folder, network: false, resolve: (path) => path });
}

function opensOf(text: string, confirmed: boolean) {
  return openedPlaces([named(text, "/work/sub")], { ...GROUND, confirmed });
}

// oxfmt-ignore
const NOT_APPROVED: readonly (readonly [string, "settings" | "work" | undefined])[] = [
  ["git branch -u origin/main",                     "settings"],
  ["git branch -m old new && git remote -v",        "settings"],
  ["git -C a --no-pager remote add x ../y",         "settings"],
  ["git config user.email me@example.org",          "settings"],
  ["git config --unset branch.x.merge",             "settings"],
  ["cd a && git remote rename a b 2>/dev/null",     "settings"],
  ["git checkout -b x --track origin/x",            "work"],
  ["git remote add -f x ../y",                      "work"],
  ["git fetch; git switch x; echo done",            "work"],
  ["git worktree add ../w -b w",                    "work"],
  ["git submodule add ../x x",                      "work"],
  ["git config core.pager x",                       undefined],
  ["git config alias.x '!y'",                       undefined],
  ["git config --global user.name x",               undefined],
  ["git config -f x user.name y",                   undefined],
  ["git config -e",                                 undefined],
  ["git -c core.pager=x branch -m a b",             undefined],
  ["git --git-dir=x branch -m a b",                 undefined],
  ["git --exec-path=x branch -m a b",               undefined],
  ["GIT_DIR=x git branch -m a b",                   undefined],
  ["git branch -m a b; ./x.sh",                     undefined],
  ["git branch -m a b; npm test",                   undefined],
  ["./git branch -m a b",                           undefined],
  ["git() { ./x; }; git branch -m a b",             undefined],
  ["git branch --edit-description",                 undefined],
  ["git branch -m a b > .git/config",               undefined],
  ["git diff --output=.git/config",                 undefined],
  ["git rebase --exec ./x main",                    undefined],
  ["git rebase -x ./x main",                        undefined],
  ["git submodule foreach ./x",                     undefined],
  ["git fetch --upload-pack ./x",                   undefined],
  ["git fetch ext::./x",                            undefined],
  ["git clone --template=x a b",                    undefined],
  ["git difftool -x ./x",                           undefined],
  ["git bisect run ./x",                            undefined],
  ["git $X",                                        undefined],
  ["git branch -u $X",                              undefined],
  ["ls",                                            undefined],
  ["git",                                           undefined],
  ["git branch -m a b; X=1",                        undefined],
  ["git branch -m a b; >x",                         undefined],
  ["git branch -m a b; < x",                        undefined],
  ["git config",                                    "settings"],
  ["git config a b c",                              undefined],
  ["git unheard-of; git branch -m a b",             undefined],
  ["npm test",                                      undefined],
  ["",                                              undefined],
];

for (const [text, git] of NOT_APPROVED) {
  test(`without approval, "${text}" ${git === undefined ? "opens nothing" : `opens git's configuration (${git})`}`, () => {
    expect(opensOf(text, false)).toEqual(git === undefined ? undefined : { git, paths: [] });
  });
}

// oxfmt-ignore
const AGREED = [
  { text: "git config core.pager x",              git: "all",     paths: ["/work/sub/config", "/work/sub/core.pager", "/work/sub/x"] },
  { text: "sudo git lfs install",                 git: "all",     paths: undefined },
  { text: "echo x >> ../.npmrc",                  git: undefined, paths: ["/work/sub/x", "/work/.npmrc"] },
  { text: "rm -rf ../main/*",                     git: undefined, paths: ["/work/sub/-rf", "/work/main"] },
  { text: "curl --output=/work/.envrc x:y",       git: undefined, paths: ["/work/.envrc", "/work/sub/--output=/work/.envrc", "/work/sub/x:y"] },
  { text: "rm -rf .. /work / /etc /workspace ~",  git: undefined, paths: ["/work/sub/-rf"] },
  { text: "bash -c \"$X\" \"$Y\"",                git: undefined, paths: ["/work/sub/-c"] },
  { text: "touch '' a= $X > b",                   git: undefined, paths: ["/work/sub/a=", "/work/sub/b"] },
  { text: "cd $X; touch a",                       git: undefined, paths: [] },
  { text: "X=1",                                  git: undefined, paths: [] },
] as const;

for (const { text, git, paths } of AGREED) {
  test(`where a person said yes, "${text}" opens what it names`, () => {
    const opens = opensOf(text, true);
    expect(opens?.git).toBe(git);
    if (paths !== undefined) expect([...(opens?.paths ?? [])].sort()).toEqual([...paths].sort());
  });
}

test("no command and several commands at once open nothing", () => {
  const command = named("git branch -m a b", "/work");
  expect(openedPlaces([], { ...GROUND, confirmed: true })).toBeUndefined();
  expect(openedPlaces([command, command], { ...GROUND, confirmed: true })).toBeUndefined();
});

test("what asks to change files that run later opens them once a person said yes, and only that", () => {
  const asking: NamedCommand = { ...named("git checkout next", "/work"), later: true };
  const call = { ...callOf({ tool: "bash", touches: [] }), commands: [asking] };
  const workspace = { ...WORKSPACE, sandbox: "bubblewrap" };

  expect(openedPlaces([asking], { ...GROUND, confirmed: true })?.later).toBe(true);
  expect(openedPlaces([asking], { ...GROUND, confirmed: false })?.later).toBeUndefined();
  const { configuration } = checkConfiguration({ rules: [{ effect: "allow", command: "git *" }] });
  for (const profile of ["guarded", "autonomous"] as const) {
    const { effect, rule } = decide(call, workspace, { profile, configuration });
    expect([profile, effect, rule]).toEqual([profile, "REQUIRE_CONFIRMATION", "builtin:files_that_run_later"]);
  }
  expect(offersFor(call, { workspace, call_digest: "digest" })).toHaveLength(1);
});
