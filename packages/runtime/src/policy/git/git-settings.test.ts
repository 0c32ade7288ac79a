import { expect, test } from "vitest";
import { addsOnlyPlain, isPlainSetting, settingKey } from "./git-settings.ts";

// oxfmt-ignore
const HARMLESS = [
  "core.bare=false", "core.logallrefupdates=true", "core.autocrlf=input", "core.filemode=1", "user.name=Ann Ö. O'Neil", "user.email=a+b@example.org",
  "remote.origin.url=https://example.org/a.git", "remote.origin.url=git@example.org:me/a.git", "remote.origin.url=ssh://git@example.org:22/a", "remote.origin.url=/srv/a", "remote.origin.url=../a b/c",
  "remote.a.b.pushurl=file:///srv/a", "remote.origin.fetch=+refs/heads/*:refs/remotes/origin/*", "remote.origin.fetch=^refs/heads/x", "remote.origin.tagopt=--no-tags", "remote.origin.mirror=true",
  "branch.main.remote=origin", "branch.a.b/c.remote=.", "branch.main.merge=refs/heads/main", "branch.x.rebase=true", "branch.x.description=two\nlines $(not run)", "branch.autosetuprebase=always",
  "submodule.lib.url=../lib.git", "submodule.lib.active=true", "submodule.lib.update=none", "init.defaultbranch=main", "pull.rebase=true", "push.default=simple", "commit.gpgsign=false",
  "color.ui=auto", "color.diff.meta=yellow bold", "advice.detachedhead=false", "diff.algorithm=histogram", "merge.conflictstyle=zdiff3",
];

for (const line of HARMLESS) {
  test(`a setting that runs nothing is plain: ${JSON.stringify(line)}`, () => {
    const [key = "", value] = line.split(/=(.*)/s);
    expect(isPlainSetting({ key, value })).toBe(true);
  });
}

// oxfmt-ignore
const RUNS = [
  "core.fsmonitor=x", "core.fsmonitor=true", "core.hookspath=.hooks", "core.sshcommand=x", "core.pager=x", "core.editor=x", "core.askpass=x", "core.gitproxy=x", "core.alternaterefscommand=x", "core.attributesfile=x", "core.worktree=/",
  "core.protecthfs=false", "core.protectntfs=false", "core.commentchar=x", "alias.st=!x", "alias.st=status", "filter.x.clean=x", "filter.x.smudge=x", "filter.x.process=x", "diff.external=x", "diff.x.command=x", "diff.x.textconv=x", "diff.tool=x",
  "merge.x.driver=x", "merge.tool=x", "mergetool.x.cmd=x", "difftool.x.cmd=x", "credential.helper=x", "credential.https://a.helper=x", "include.path=../evil", "includeif.gitdir:/.path=x", "url.ext::x.insteadof=https://", "protocol.ext.allow=always",
  "gpg.program=x", "gpg.ssh.program=x", "uploadpack.packobjectshook=x", "extensions.worktreeconfig=true", "extensions.partialclone=x", "remote.x.uploadpack=x", "remote.x.receivepack=x", "remote.x.vcs=x", "remote.x.proxy=x", "remote.x.promisor=true",
  "remote.x.url=ext::sh -c x", "remote.x.url=EXT::x", "remote.x.url=foo::x", "remote.x.url=foo://x", "remote.x.url=-oProxyCommand=x", "remote.x.url=ssh://-oProxyCommand=x/y", "remote.x.url=ssh://a@-oProxyCommand=x/y", "remote.x.url=-x:y", "remote.x.url=a:-x", "remote.x.url=",
  "branch.x.remote=ext::sh -c x", "branch.x.remote=-x", "branch.x.remote=https://a/b", "branch.-x.remote=origin", "submodule.x.update=!x", "submodule.x.url=ext::x", "commit.gpgsign=true", "commit.template=x", "sequence.editor=x", "pager.log=x", "interactive.difffilter=x",
  "init.templatedir=x", "man.x.cmd=x", "browser.x.cmd=x", "trailer.x.command=x", "trailer.x.cmd=x", "sendemail.smtpserver=x", "http.proxy=x", "http.sslverify=false", "ssh.variant=x", "lfs.customtransfer.x.path=x", "user.signingkey=x", "user.email=$(id)@x", "user.name=a\nb",
  "receive.procreceiverefs=x", "guitool.x.cmd=x", "gc.recentobjectshook=x", "hook.x.command=x", "maintenance.auto=true", "help.autocorrect=immediate", "core.bare.x=true", "bare=true", "core.=1",
];

for (const line of RUNS) {
  test(`a setting that is not known to be harmless is not plain: ${JSON.stringify(line)}`, () => {
    const [key = "", value] = line.split(/=(.*)/s);
    expect(isPlainSetting({ key, value })).toBe(false);
  });
}

// oxfmt-ignore
const CHANGES = [
  { title: "a new plain one",              before: "",                              after: "[core]\nbare = false\n",                          plain: true },
  { title: "a new one that runs",          before: "",                              after: "[core]\nfsmonitor = x\n",                         plain: false },
  { title: "another case",                 before: "",                              after: "[CoRe]\nFSMonitor = x\n",                         plain: false },
  { title: "a value over two lines",       before: "",                              after: "[core]\nbare = \\\nfalse\n\tfsmon\\\nitor = x\n", plain: false },
  { title: "behind a comment that is none", before: "",                             after: "[user]\nname = \"# \\\n\"\n[core] pager = x\n",   plain: false },
  { title: "a branch beside hooks of the person's", before: "[core]\nhooksPath = .husky/_\n", after: "[core]\n\thooksPath = \".husky/_\"\n[branch \"x\"]\nremote = origin\n", plain: true },
  { title: "other hooks than before",      before: "[core]\nhooksPath = .husky/_\n", after: "[core]\nhooksPath = evil\n",                     plain: false },
  { title: "hooks that are not there any more", before: "[core]\nhooksPath = .husky/_\n", after: "",                                         plain: false },
  { title: "the same filters turned round", before: "[filter \"a\"]\nclean = x\n[filter \"b\"]\nclean = y\n", after: "[filter \"b\"]\nclean = y\n[filter \"a\"]\nclean = x\n", plain: false },
  { title: "the same alias twice",         before: "[alias]\nx = y\n",              after: "[alias]\nx = y\nx = y\n",                         plain: false },
  { title: "one that git refuses",         before: "",                              after: "[core\n",                                         plain: false },
  { title: "one that git refused",         before: "[core\n",                       after: "[core]\nbare = true\n",                           plain: false },
  { title: "an include",                   before: "[core]\nbare = false\n",        after: "[core]\nbare = false\n[include]\npath = ../evil\n", plain: false },
] as const;

for (const { title, before, after, plain } of CHANGES) {
  test(`a configuration that became ${title} ${plain ? "stays" : "does not stay"}`, () => {
    expect(addsOnlyPlain(before, after)).toBe(plain);
  });
}

test("a work tree is plain where it may be one", () => {
  const text = "[core]\nworktree = ../../../lib\n";
  expect(addsOnlyPlain("", text)).toBe(false);
  expect(addsOnlyPlain("", text, (path) => path === "../../../lib")).toBe(true);
});

test("a key as it is typed has the form of the reader's", () => {
  expect(settingKey("Branch.Main.Feature.REMOTE")).toBe("branch.Main.Feature.remote");
  expect(settingKey("User.Email")).toBe("user.email");
  expect(settingKey("Bare")).toBe("bare");
});
