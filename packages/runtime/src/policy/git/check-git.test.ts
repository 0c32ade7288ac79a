import { normalize } from "node:path/posix";
import { expect, test } from "vitest";
import { callOf } from "../../../../../test/support/calls.ts";
import type { PolicyRule } from "../../protocol/configuration.ts";
import { decide } from "../decide.ts";
import type { Decision, DecisionSettings, WorkspaceContext } from "../decide.ts";
import { nameCommand } from "../commands/name-command.ts";
import { suggest } from "../suggest.ts";

const WORKSPACE: WorkspaceContext = {
  roots: ["/work"],
  home: "/home/ann",
  state_dirs: [],
  checkpoint_handler: false,
  sandbox: "bwrap",
};

/** The repository is `/work`; git knows these. */
const TRACKED = {
  top: "/work",
  isThere: (path: string): boolean => !path.includes("gone"),
  files: ["/work/.aws/credentials", "/work/a.txt", "/work/lib/site-packages/certifi/cacert.pem"].concat(
    ["/work/notes/b.md", "/work/secrets/a.txt", "/work/secrets/b.txt", "/work/src/c.ts", "/work/src/test/d.key"],
    ["/outside/e.key"],
  ),
};
/** Nothing of these is hidden for what it is. */
const HARMLESS = { ...TRACKED, files: ["/work/a.txt", "/work/secrets/a.txt", "/work/src/c.ts"] };

interface CaseInput {
  readonly rules?: readonly PolicyRule[];
  readonly sandbox?: string;
  readonly folder?: string;
  readonly tracked?: typeof TRACKED | null;
}

function factsOf(text: string, { folder = "/work", tracked = TRACKED, sandbox = "bwrap", rules = [] }: CaseInput) {
  const resolve = (path: string): string => normalize(path).replace(/(?<=.)\/$/, "");
  const ground = { roots: WORKSPACE.roots, home: WORKSPACE.home, folder, network: false, resolve };
  const named = nameCommand(text, tracked === null ? ground : { ...ground, tracked: () => tracked });
  const settings: DecisionSettings = { profile: "guarded", configuration: { rules: [...rules], quotas: [] } };
  return {
    call: { ...callOf({ tool: "bash", risk: "medium" }), commands: [named] },
    workspace: { ...WORKSPACE, sandbox },
    settings,
  };
}

function decided(text: string, given: CaseInput = {}): Decision {
  const { call, workspace, settings } = factsOf(text, given);
  return decide(call, workspace, settings);
}

/** A closed file in git's objects, by every way to name it. */
// oxfmt-ignore
const NAMED = [
  "git show HEAD:.aws/credentials", "git show HEAD~3:./.aws/credentials", "git show :.aws/credentials", "git show :0:.AWS/credentials", "git show 'main@{1}:src/test/d.key'", "cd src && git show HEAD:.aws/credentials", "cd src && git show HEAD:./test/d.key",
  "git -C src show HEAD:.aws/credentials", "/usr/bin/git cat-file -p HEAD:.aws/credentials", "git cat-file blob HEAD:src/test/d.key", "git cat-file --path=.aws/credentials --textconv HEAD", "git diff HEAD -- .aws/credentials", "git diff HEAD~1:.aws/credentials HEAD:.aws/credentials",
  "git log -p -- .aws", "git log --patch .aws/credentials", "git log -L 1,9:.aws/credentials", "git log -S key -- ':(top).aws'", "git whatchanged -p .aws", "git archive HEAD .aws | tar -xO", "git archive --format=zip HEAD src/test/d.key", "git checkout-index --prefix=/tmp/x/ .aws/credentials",
  "git restore --source=HEAD~1 .aws/credentials", "git checkout HEAD -- .aws/credentials", "git blame .aws/credentials", "git annotate src/test/d.key", "git grep key HEAD -- .aws", "git grep -e key HEAD -- .aws", "git stash show -p -- .aws", "git diff-tree -p HEAD -- .aws", "git format-patch -1 -- .aws",
  "env A=1 git show HEAD:.aws/credentials", "sh -c 'git show HEAD:.aws/credentials'", "git fast-export HEAD -- .aws", "git -c alias.x=show x HEAD:.aws/credentials", "git -c alias.p='log -p' p -- .aws", "git --git-dir=.git show HEAD:.aws", "git show stash@{0}:.aws/credentials", "xargs git show <<< HEAD:.aws/credentials",
  "git show --stat -p HEAD -- .aws", "git diff HEAD~1 --name-only --patch -- .aws/credentials", "git log --patch-with-stat -- .aws", "git log --binary -- .aws", "git log --word-diff=plain -- src/test/d.key", "git log --color-words .aws", "git diff-tree --patch-with-raw HEAD -- .aws", "git log --diff-merges=on -- .aws",
  "git range-diff a...b -- .aws", "git read-tree --prefix=x/ HEAD:.aws", "git restore --staged --worktree --source=HEAD .aws/credentials", "git restore -SW src/test/d.key",
];

test.each(NAMED)("%s is refused like a tool that reads the file", (command) => {
  const { effect, code, rule, reason } = decided(command);
  expect({ effect, code, rule }).toEqual({ effect: "DENY", code: "SensitivePath", rule: "floor:sensitive_places" });
  expect(reason).toMatch(/^Cannot read ".+" from git: it is off limits to all tools/);
});

/** They give no contents of it, or name something else. */
// oxfmt-ignore
const OPEN = [
  "git show HEAD:src/c.ts", "git show HEAD", "git show --stat HEAD -- .aws", "git log -- .aws", "git log --oneline --grep=.aws", "git log --stat -- .aws/credentials", "git diff --name-only -- .aws", "git ls-files .aws", "git ls-tree HEAD .aws", "git rm --cached .aws/credentials", "git status -- .aws",
  "git cat-file -e HEAD:.aws/credentials", "git cat-file -s HEAD:.aws/credentials", "git grep .aws", "git grep -n .aws -- src", "git grep -l key -- .aws", "git check-ignore .aws/credentials", "git restore --staged .aws/credentials", "git rev-parse HEAD:.aws/credentials", "git log -S .aws -p -- src", "git stash list",
  "git diff --stat --numstat HEAD~1 -- .aws", "git grep -l -c key -- .aws", "git read-tree HEAD", "git log --no-patch -- .aws",
  "git show HEAD:lib/site-packages/certifi/cacert.pem", "git diff --no-index /etc/ssl/private/a.key b", "cat .aws/credentials", "echo git show HEAD:.aws/credentials", "git",
];

test.each(OPEN)("%s gives no contents of a closed file", (command) => {
  expect(decided(command, { tracked: HARMLESS }).effect).not.toBe("DENY");
});

const SECRETS: PolicyRule = { effect: "deny", path: "secrets/**" };

/** A rule binds the object like the file, from wherever the command runs. */
// oxfmt-ignore
const RULED = [
  "git show HEAD:secrets/a.txt", "cd src && git show HEAD:secrets/a.txt", "cd src/deep/er && git cat-file -p HEAD~2:secrets/a.txt", "git -C src show HEAD:secrets/a.txt", "git show HEAD -- 'secr*'", "git log -p -- ':(top)secrets'", "cd src && git diff HEAD~1 -- :/secrets",
  "git archive HEAD 'secrets/*'", "git show ':(glob)secrets/**'", "git restore --source=HEAD secrets/a.txt", "git checkout HEAD -- secrets", `cd ${"deep/".repeat(60)} && git show HEAD:secrets/a.txt`,
];

test.each(RULED)("a rule that denies a path denies %s", (command) => {
  expect(decided(command, { rules: [SECRETS] })).toMatchObject({
    effect: "DENY",
    rule: "rule:1 (deny path=secrets/**)",
  });
});

test("a rule that denies a path leaves other objects alone", () => {
  const rules = [SECRETS];
  for (const command of [
    "git show HEAD:src/c.ts",
    'cd "$x" && git show HEAD:secrets/a.txt',
    "cd src && git show HEAD:./secrets.ts",
    "git diff -- ':!secrets'",
  ])
    expect(decided(command, { rules, tracked: HARMLESS }).effect).toBe("ALLOW");
});

/** They would put the deletion of what is hidden into the next commit, or into a stash. */
// oxfmt-ignore
const RECORDS = [
  "git add -A", "git add .", "git add --all", "git add -u", "git stage .", "git add -A src", "git add /work/src", "git add src/test", "git add '*.key'", "git add SRC", "git add \"$what\"", "cd src && git add -A", "cd notes && git add ../src", "git -C notes add -u :/", "git commit -am x", "git commit -a -m x",
  "git commit --amend --all --no-edit", "git commit -m x src", "git stash", "git stash push -m wip", "git stash save wip", "git stash -u", "git stash push -- src", "sh -c 'git add -A'", "npm test && git add -A && git commit -m x", "git add -A -- . ':!.aws'", "git add -Av", "git add --all :/", "git add notes/..", "git -c core.pager=cat add -A", "(git add -A)", "npm run lint && git commit -qam wip", "git commit --all --message=x", "git stash --keep-index", "git -c alias.s=add s -A", "git add -A ':(exclude).aws'",
  "cd \"$where\" && git add -A",
  "git add -A -- . ':!.aws' ':!*.ke'", "git add -A -- . ':!.aws' ':(exclude,glob)*.key'", "git add -A -- . ':(exclude,attr:x)'", "git add -A -- . ':!.aws' ':!src/test/d.ke?'", "git add . ':!.aws' ':!*d.key.key'", "cd notes && git add -A -- :/ ':!/.aws' ':!*.key'", "git add . ':!.aws' ':!x*/y*.key'",
];

test.each(RECORDS)("%s is refused while what it would record as deleted is hidden", (command) => {
  const { effect, code, rule, reason } = decided(command);
  if (command.startsWith('cd "$where"')) return expect(effect).not.toBe("DENY"); // where that is is known only then
  expect({ effect, code, rule }).toEqual({ effect: "DENY", code: "CommandDenied", rule: "floor:hidden_tracked_files" });
  expect(reason).toMatch(/src\/test\/d\.key/);
  expect(reason).not.toMatch(/cacert|outside/);
});

/** Nothing that is hidden is among what they record. */
// oxfmt-ignore
const LEAVES = [
  "git add a.txt notes", "git add src/c.ts", "git add", "git add -n .", "git add -p", "git add --ignore-removal .", "git add '*.md'", "git commit -m x", "git commit -m 'src .' a.txt", "git commit --dry-run -a", "git stash list", "git stash pop", "git stash push -- notes", "git stash -p", "git stash --staged",
  "git add -A -- . ':!.aws' ':!src/test'", "git add -A -- :/ ':(top,exclude).aws' ':(top,exclude)src/test/d.key'", "git add -A -- . ':!.aws' ':!*.key'", "git add -A -- :/ ':(top,exclude)*redentials' ':(top,exclude,icase)src/*/d.*'", "git add . ':!*/credentials' ':!s*c/*.key'", "cd notes && git add .", "cd notes && git add -A -- :/ ':!/.aws' ':^/src'", "git status", "git", "git -C /elsewhere add notes", "ls",
];

test.each(LEAVES)("%s leaves what is hidden as it is", (command) => {
  expect(decided(command).effect).not.toBe("DENY");
});

test("the refusal says what to do, and names no more than a person reads", () => {
  const many = { ...TRACKED, top: "/", files: Array.from({ length: 9 }, (_, at) => `/work/k${at}.key`) };
  expect(decided("git commit -am x", { tracked: many }).reason).toMatch(
    /\("work\/k0\.key", .*"work\/k4\.key" and 4 more\)\. Name the files to commit, or: git add -A -- :\/ ':\(top,exclude\)\*\.key', then commit without -a$/,
  );
  expect(decided("git add .", { tracked: TRACKED }).reason).toMatch(
    /leave them out: ':\(top,exclude\)\.aws\/credentials'/,
  );
  const facts = factsOf("git add -A", {});
  expect(suggest(decide(facts.call, facts.workspace, facts.settings), facts)[0]?.words).toMatch(
    /leave the hidden files out/,
  );
});

test("files that rules hide count as well; one that a yes opens is asked for", () => {
  const given = { tracked: HARMLESS };
  expect(decided("git add -A", given).effect).toBe("ALLOW");
  expect(decided("git add -A", { ...given, rules: [SECRETS] })).toMatchObject({
    effect: "DENY",
    rule: "floor:hidden_tracked_files",
  });
  const asks: PolicyRule = { effect: "confirm", path: "secrets/**" };
  expect(decided("git add -A", { ...given, rules: [asks] })).toMatchObject({
    effect: "REQUIRE_CONFIRMATION",
    rule: "builtin:hidden_tracked_files",
  });
  expect(decided("git add src", { ...given, rules: [asks] }).effect).toBe("ALLOW");
});

test("the deletion of a file that is not there any more may be recorded", () => {
  const tracked = { ...TRACKED, files: ["/work/gone.key", "/work/secrets/gone.txt"] };
  const asks: PolicyRule = { effect: "confirm", path: "secrets/**" };
  expect(decided("git add -A", { tracked, rules: [asks] }).effect).toBe("ALLOW");
});

test("without a sandbox nothing is hidden, and where git's index cannot be read nothing is known", () => {
  expect(decided("git add -A", { sandbox: "none" }).rule).not.toBe("floor:hidden_tracked_files");
  expect(decided("git add -A", { tracked: null }).effect).toBe("ALLOW");
});
