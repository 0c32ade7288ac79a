import { expect, test } from "vitest";
import { callOf, WORKSPACE } from "../../../../../test/support/calls.ts";
import type { CallFacts, Decision, DecisionSettings } from "../decide.ts";
import { decide } from "../decide.ts";
import { suggest } from "../suggest.ts";

const SETTINGS: DecisionSettings = { profile: "guarded", configuration: { rules: [], quotas: [] } };
const SANDBOXED = { ...WORKSPACE, sandbox: "bwrap" };

interface Facts {
  readonly background?: boolean;
  readonly undo_covers_workspace?: boolean;
}

function factsOf(command: string, { background = false, ...facts }: Facts = {}): CallFacts {
  const call = callOf({ tool: "bash", command });
  return { ...call, ...facts, commands: call.commands?.map((each) => ({ ...each, background })) ?? [] };
}

function decideOn(command: string, facts?: Facts): Decision {
  return decide(factsOf(command, facts), SANDBOXED, SETTINGS);
}

/** Work that is lost in the workspace, and that undo brings back. */
// oxfmt-ignore
const UNDOABLE = [
  "git commit --amend -m x", "git commit --amend --no-edit", "git rebase main", "git rebase -i HEAD~2", "git rebase --onto main a b", "git branch -d topic", "git branch -D topic",
  "git branch -f topic HEAD~1", "git tag -d v1", "git reset --hard origin/main", "git reset --merge", "git checkout -f main", "git checkout -- .", "git switch --discard-changes main", "git restore src",
  "git stash drop", "git stash clear", "git clean -fdx", "git rm -r old", "git update-ref -d refs/heads/topic", "git update-ref refs/heads/main HEAD~1", "git read-tree --reset -u HEAD",
  "git checkout-index -f -a", "git -C sub reset --hard", "cd sub && git rebase main", "rm -rf src", "rm -rf a b c", "cd sub && rm -rf *", "rm -rf src/*",
  "rimraf src", "find src -delete", "chmod -R 000 src", "rsync -a --delete src/ copy/", "rsync -a --remove-source-files src/ copy/", "zip -rm old.zip old", "tar --remove-files -cf old.tar old",
  "7z a -sdel old.7z old", "rar m old.rar old", "sqlite3 app.db 'drop table users'", "hg revert --all", "bash -c 'git reset --hard'", "npm test && git commit --amend --no-edit",
] as const;

test.each(UNDOABLE)("%s runs where undo brings it back, and is asked for where it does not", (command) => {
  expect(decideOn(command)).toMatchObject({ effect: "ALLOW", rule: "profile:guarded:run" });
  expect(decideOn(command, { undo_covers_workspace: true }).effect).toBe("ALLOW");
  for (const facts of [{ undo_covers_workspace: false }, { background: true }]) {
    const decision = decideOn(command, facts);
    expect(decision).toMatchObject({ effect: "REQUIRE_CONFIRMATION", rule: "builtin:risky_commands" });
    expect(decision.reason).toMatch(/undo does not cover it$/);
  }
  expect(decide(factsOf(command), WORKSPACE, SETTINGS).effect).toBe("REQUIRE_CONFIRMATION");
});

/** Asked for in any case: it reaches others, lies outside, or takes what undo is made of. */
// oxfmt-ignore
const BEYOND = [
  "git push --force", "git push origin :topic", "npm publish", "git reflog expire --expire=now --all", "git gc --prune=now", "git filter-branch --all", "git worktree remove ../other",
  "git -C ../other reset --hard", "git --work-tree=/srv/x checkout -f", "git --git-dir=/srv/x/.git branch -D a", "cd ../other && git reset --hard", "cd $X && git clean -fd", "git -C $X reset --hard",
  "cd sub; rm -rf *", "rm -rf ../other", "rm -rf $X", "rm -rf .git/hooks", "shred notes.txt", "chmod -R 000 .", "zip -rm a.zip ../other", "tar --remove-files -cf a.tar ../other",
  "7z a -sdel a.7z ../other", "7z x a.7z -o../other", "rar a -df a.rar ../other", "rsync -a --remove-source-files ../other/ copy/", "git reset --hard; npm publish", "psql -c 'drop table users'",
] as const;

test.each(BEYOND)("%s is asked for although undo covers the workspace", (command) => {
  expect(decideOn(command, { undo_covers_workspace: true }).effect).toBe("REQUIRE_CONFIRMATION");
});

const DENIED = [
  "rm -rf .",
  "rm -rf *",
  "rm -rf .git",
  "git clean -fdx && rm -rf ..",
  "7z a -sdel a.7z .",
  "rar m a.rar /etc",
];

test.each(DENIED)("%s is denied although undo covers the workspace", (command) => {
  expect(decideOn(command, { undo_covers_workspace: true })).toMatchObject({ effect: "DENY", code: "CommandDenied" });
});

test.each(["rsync -a host:x/ copy/ --remove-source-files", "zip -r a.zip src", "7z a a.7z src", "rar a a.rar src"])(
  "%s loses nothing here",
  (command) => {
    expect(decideOn(command, { undo_covers_workspace: false }).reason).not.toMatch(/deletes/);
  },
);

/** Text that bash refuses, with what is wrong with it. */
// oxfmt-ignore
const UNREADABLE = [
  ["echo 'x", /quote/], ['git commit -m "fix', /quote/], ["echo $(ls", /./], ["echo ${x", /./], ["echo ${x y}", /bad substitution/], ['echo "${}"', /bad substitution/], ["if true; then ls", /./],
  ["ls )", /./], ["ls | | wc", /./], ["; ls", /./], ["case x in a) ls", /./], ["f() {", /./], ["cat <<'E\nx\nE", /quote/], ["echo ${ ls", /substitution/], ["[[ -f x", /./], ["bash -c 'ls \"'", /quote/], ["eval 'for'", /./],
  ["sh -c 'ls; )'", /./], ["for in a; do ls; done", /./], ["ls &&", /./],
] as const;

test.each(UNREADABLE)("%s is denied under every profile, with what to do", (command, says) => {
  for (const profile of ["guarded", "autonomous"] as const) {
    const call = factsOf(command);
    const settings = { ...SETTINGS, profile };
    const decision = decide(call, SANDBOXED, settings);
    expect(decision).toMatchObject({ effect: "DENY", code: "CommandDenied", rule: "floor:unreadable_commands" });
    expect(decision.reason).toMatch(
      /cannot be parsed as bash: .*; fix its quoting and brackets, or write it to a script file/,
    );
    expect(decision.reason).toMatch(says);
    const [only] = suggest(decision, { call, workspace: SANDBOXED, settings });
    expect(only?.words).toMatch(/script file/);
  }
});

/** Other grammars than bash's: nothing is known, and nothing is surely wrong. */
const FOREIGN = [
  "fish -c 'if true; ls; end'",
  "zsh -c 'for x (a b) { print $x }'",
  "ssh host 'cat \"'",
  "nu -c 'do { |x| }'",
];

test.each(FOREIGN)("%s is asked for, not denied", (command) => {
  expect(decideOn(command).effect).toBe("REQUIRE_CONFIRMATION");
});
