import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  isHiddenName,
  isInPackages,
  isInertKey,
  isPublishedKey,
  isRemovableKey,
  judgePlace,
  judgeRoots,
  runsLater,
  mayRunLater,
} from "./check-path.ts";
import { SENSITIVE_PLACES } from "./dangers.ts";
import { foldPath } from "./fold-name.ts";
import { RUN_LATER } from "./run-later.ts";

const HOME = "/home/ann";
const everywhere = { roots: ["/"], home: HOME, state_dirs: ["/work/.agent", "/home/ann/.local/state/autonous"] };

// oxfmt-ignore
const ROOTS = [
  { real: "/work",                 roots: ["/work"],            inside: true },
  { real: "/work/a",               roots: ["/work"],            inside: true },
  { real: "/work/..foo",           roots: ["/work"],            inside: true },
  { real: "/work/...",             roots: ["/work"],            inside: true },
  { real: "/work/a\nb c\u00e9.md", roots: ["/work"],            inside: true },
  { real: "/",                     roots: ["/"],                inside: true },
  { real: "/a",                    roots: ["/"],                inside: true },
  { real: "/two/x",                roots: ["/one", "/two"],     inside: true },
  { real: "/workspace",            roots: ["/work"],            inside: false },
  { real: "/workspace/a",          roots: ["/work"],            inside: false },
  { real: "/wor",                  roots: ["/work"],            inside: false },
  { real: "/WORK/a",               roots: ["/work"],            inside: false },
  { real: "/",                     roots: ["/work"],            inside: false },
  { real: "/work/a",               roots: [],                   inside: false },
  { real: "/work/../etc/passwd",   roots: ["/work"],            inside: false },
  { real: "/work/..",              roots: ["/work"],            inside: false },
  { real: "/work/./a",             roots: ["/work"],            inside: false },
  { real: "/work//a",              roots: ["/work"],            inside: false },
  { real: "/work/",                roots: ["/work"],            inside: false },
  { real: "/work/a\0",             roots: ["/work"],            inside: false },
  { real: "work/a",                roots: ["/work", ""],        inside: false },
  { real: "",                      roots: ["/work", ""],        inside: false },
] as const;

for (const { real, roots, inside } of ROOTS) {
  test(`${JSON.stringify(real)} is ${inside ? "inside" : "outside"} of ${JSON.stringify(roots)}`, () => {
    expect(judgeRoots(real, roots)?.code).toBe(inside ? undefined : "PathTraversalBlocked");
  });
}

// oxfmt-ignore
const CLOSED = [
  "/work/.ssh", "/work/.ssh/id_rsa.pub", "/work/deep/er/.ssh/config", "/work/.SSH/config", "/work/.s\u200dsh/x", "/work/SSH~1/x", "/work/.ssh./x",
  "/work/.gnupg", "/work/.aws/credentials", "/work/.azure", "/work/.kube/config", "/work/.config/gcloud/x", "/work/.Config/GH/hosts.yml", "/work/.config/op",
  "/work/.docker/config.json", "/work/.netrc", "/work/_netrc", "/work/.git-credentials", "/work/.pgpass", "/work/.my.cnf", "/work/.config/rclone/rclone.conf",
  "/work/.terraform.d/credentials.tfrc.json", "/work/.vault-token", "/work/.password-store/mail.gpg", "/work/.local/share/keyrings/login.keyring",
  "/Users/ann/Library/Keychains/login.keychain-db", "/work/old.keychain", "/work/.mozilla/firefox", "/work/.config/google-chrome/Default", "/work/.config/google-chrome-beta",
  "/work/.config/chromium", "/work/.config/BraveSoftware", "/Users/ann/Library/Application Support/Google/Chrome/Default", "/work/.thunderbird",
  "/work/.bitcoin/wallet.dat", "/work/wallet.dat", "/work/.ethereum/keystore/UTC--1",
  "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d/ann", "/etc/ssh/ssh_host_rsa_key", "/run/user/1000/keyring/control",
  "/proc", "/proc/self/environ", "/proc/1/root/etc", "/sys/kernel", "/dev", "/dev/sda", "/dev/mem", "/dev/fd/3", "/dev/nullx", "/DEV/sda",
  "/home/ann/.npmrc", "/home/ann/.pypirc", "/home/ann/.cargo/credentials", "/home/ann/.cargo/credentials.toml", "/home/ann/.gem/credentials",
  "/home/ann/.bash_history", "/home/ann/.zsh_history", "/home/ann/.config/autonous/config.json", "/home/ANN/.NPMRC",
  "/work/id_rsa", "/work/id_dsa", "/work/id_ecdsa", "/work/id_ed25519", "/work/id_rsa.bak", "/work/id_ed25519_work", "/work/id_ed25519_sk", "/work/ID_RSA", "/work/keys.pub/id_rsa",
  "/work/a.pem", "/work/.pem", "/work/server.key", "/work/a.p12", "/work/a.pfx", "/work/a.jks", "/work/a.keystore", "/work/a.kdbx", "/work/a.ppk", "/work/secring.gpg",
  "/work/me.agekey", "/work/vpn.ovpn", "/work/service-account.json", "/work/service-account-prod.json", "/work/client_secret_1.json", "/work/\u94a5\u5319.PEM", "/work/a.pem. ", "/work/a.pem/inside",
  "/work/.agent", "/work/.agent/runs/1/events.jsonl", "/work/.AGENT/runs", "/work/.agent./x", "/home/ann/.local/state/autonous/db",
] as const;

for (const real of CLOSED) {
  test(`${JSON.stringify(real)} is closed, and hidden in its folder`, () => {
    expect(judgePlace(real, everywhere)?.code).toBe("SensitivePath");
    expect(isHiddenName(...folderAndName(real), everywhere)).toBe(true);
  });
}

// oxfmt-ignore
const OPEN = [
  "/", "/work", "/work/.env", "/work/.env.example", "/work/.env.local", "/work/keys.ts", "/work/keyboard.md", "/work/ssh.md", "/work/.sshx", "/work/my.ssh", "/work/x.ssh/a", "/work/ssh/config",
  "/work/aws/x", "/work/kube.yaml", "/work/secrets.md", "/work/tokens.css", "/work/credentials.ts", "/work/id_rsa.pub", "/work/id_ed25519_work.pub", "/work/id_rsa_parser.ts", "/work/id_rs",
  "/work/.gitignore", "/work/.github/workflows/ci.yml", "/work/.git/config", "/work/.config/other", "/work/.config", "/work/gh/hosts.yml", "/work/other/gh", "/work/.config/x/gh", "/work/pem.ts", "/work/pem",
  "/work/key", "/work/a.keys", "/work/a.key.ts", "/work/..foo", "/work/a b", "/work/a\nb", "/work/\u6587\u4ef6.md", "/work/.docker/compose.yml", "/work/.docker", "/work/config.json",
  "/work/proc/x", "/work/sys", "/work/dev/sda", "/work/etc/shadow", "/etc", "/etc/passwd", "/etc/xshadow", "/process", "/system", "/device",
  "/dev/null", "/dev/zero", "/dev/urandom", "/dev/shm", "/dev/shm/work/a.ts",
  "/work/.npmrc", "/work/.bash_history", "/work/home/ann/.npmrc", "/home/anna/.npmrc", "/home/ann", "/home/ann/sub/.npmrc", "/home/ann/.cargo/config.toml", "/home/ann/.config",
  "/work/service-account.yaml", "/work/service-account.example.json", "/work/a.gpg", "/work/agent", "/work/.agents", "/work/.agent-x", "/work/sub/.agent", "/home/ann/.local/state", "/etc/ssh/ssh_host_rsa_key.pub",
  "/work/library/keychain.md", "/work/package.json", "/work/Makefile", "/work/foo~1", "/work/git~1",
] as const;

for (const real of OPEN) {
  test(`${JSON.stringify(real)} is open, and shown in its folder`, () => {
    expect(judgePlace(real, everywhere)).toBeUndefined();
    expect(isHiddenName(...folderAndName(real), everywhere)).toBe(false);
  });
}

test("a place outside the roots is told as outside, also when it is sensitive", () => {
  const workspace = { ...everywhere, roots: ["/work"] };
  expect(judgePlace("/home/ann/.ssh/id_rsa", workspace)).toEqual({
    code: "PathTraversalBlocked",
    reason: "it points outside the allowed roots",
  });
  expect(judgePlace("/work/.ssh", workspace)).toEqual({
    code: "SensitivePath",
    reason: 'it is off limits to all tools (".ssh": SSH keys and configuration)',
  });
  expect(judgePlace("/work/.agent", workspace)).toEqual({
    code: "SensitivePath",
    reason: "it is the runtime's own state",
  });
});

// oxfmt-ignore
const STATE_AS_ROOT = [
  { real: "/state",           code: "SensitivePath" },
  { real: "/state/runs/x",    code: "SensitivePath" },
  { real: "/state/not/yet",   code: "SensitivePath" },
  { real: "/STATE/db",        code: "PathTraversalBlocked" }, // elsewhere, or another spelling: closed either way
  { real: "/state/../etc",    code: "PathTraversalBlocked" },
  { real: "/statement",       code: "PathTraversalBlocked" },
  { real: "/other/x",         code: "PathTraversalBlocked" }, // named as a root of ours, but no state of ours
  { real: "/work/a",          code: undefined },
] as const;

for (const { real, code } of STATE_AS_ROOT) {
  test(`${real} is ${code ?? "open"} where the state folder is a root`, () => {
    const places = { roots: ["/work"], home: HOME, state_dirs: ["/state"], own_roots: ["/state", "/other"] };
    expect(judgePlace(real, places)?.code).toBe(code);
  });
}

test("a home at the top of the machine has its private files too", () => {
  const workspace = { roots: ["/"], home: "/", state_dirs: [] };
  expect(judgePlace("/.npmrc", workspace)?.code).toBe("SensitivePath");
  expect(judgePlace("/work/.npmrc", workspace)).toBeUndefined();
});

const oddName = fc
  .oneof(
    fc.constantFrom(
      ".ssh",
      ".SSH",
      "gh",
      ".config",
      "id_rsa",
      "a.pem",
      "null",
      "sda",
      "shadow",
      ".agent",
      ".Agent",
      "src",
      "x",
      ".npmrc",
      "proc",
    ),
    fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 }),
    fc.string({ unit: "binary", minLength: 1, maxLength: 4 }),
  )
  .map((name) => name.replaceAll(/[/\0]/g, "_"))
  .filter((name) => name !== "." && name !== "..");
const oddFolder = fc
  .tuple(
    fc.constantFrom("", "/work", "/home/ann", "/dev", "/etc", "/work/.config"),
    fc.array(oddName, { maxLength: 3 }),
  )
  .map(([start, names]) => [start, ...names].join("/") || "/");

test("a name is hidden exactly when its path is sensitive", () => {
  fc.assert(
    fc.property(oddFolder, oddName, (folder, name) => {
      const path = folder === "/" ? `/${name}` : `${folder}/${name}`;
      expect(isHiddenName(folder, name, everywhere)).toBe(judgePlace(path, everywhere)?.code === "SensitivePath");
    }),
    { numRuns: 3000 },
  );
});

test("everything below a closed place is closed, except for the few open names of /dev", () => {
  fc.assert(
    fc.property(oddFolder, oddName, (folder, name) => {
      fc.pre(foldPath(folder) !== "/dev" && judgePlace(folder, everywhere) !== undefined);
      expect(judgePlace(`${folder}/${name}`, everywhere)).toBeDefined();
    }),
  );
});

// oxfmt-ignore
const LATER = [
  { real: "/work/.git/hooks/pre-commit",              says: ".git/**/hooks: git runs it" },
  { real: "/work/.git/hooks",                         says: ".git/**/hooks: git runs it" },
  { real: "/work/.Git/Hooks/x",                       says: ".git/**/hooks: git runs it" },
  { real: "/work/GIT~1/hooks/x",                      says: ".git/**/hooks: git runs it" },
  { real: "/work/.g\u200cit/hooks/x",                 says: ".git/**/hooks: git runs it" },
  { real: "/work/sub/.git/modules/a/hooks/x",         says: ".git/**/hooks: git runs it" },
  { real: "/work/mirror.git/hooks/post-receive",      says: "*.git/hooks: git runs it" },
  { real: "/work/.git/config",                        says: ".git/**/config: it names programs that git runs" },
  { real: "/work/.git/worktrees/a/config.worktree",   says: ".git/**/config.worktree: it names programs that git runs" },
  { real: "/work/.git/info/attributes",               says: ".git/**/info/attributes: it names programs that git runs" },
  { real: "/work/sub/.git",                           says: ".git: it points git to other hooks" },
  { real: "/work/.vscode/tasks.json",                 says: ".vscode/tasks.json: the editor runs what it says" },
  { real: "/work/Jenkinsfile.release",                says: "Jenkinsfile.*: CI runs what it says" },
  { real: "/work/team.code-workspace",                says: "*.code-workspace: the editor runs what it says" },
  { real: "/etc/cron.d/job",                          says: "/etc/cron.d: it runs on a schedule" },
] as const;

for (const { real, says } of LATER) {
  test(`${JSON.stringify(real)} runs later`, () => {
    expect(runsLater(real, { roots: ["/work"] })).toBe(says);
  });
}

// oxfmt-ignore
const LATER_TOO = [
  ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".kshrc", ".config/fish/config.fish", ".envrc", "sub/.envrc",
  ".vscode/settings.json", ".vscode/launch.json", ".idea/runConfigurations/a.xml", ".idea/workspace.xml", ".vimrc", ".nvimrc", ".exrc", ".nvim.lua", ".emacs", ".dir-locals.el",
  ".devcontainer/devcontainer.json", ".fleet/run.json", ".zed/tasks.json", ".github/workflows/ci.yml", ".GitHub/Workflows/ci.yml", ".github/actions/a/action.yml", ".gitlab-ci.yml", ".circleci/config.yml",
  "Jenkinsfile", "azure-pipelines.yml", ".travis.yml", "bitbucket-pipelines.yml", ".drone.yml", ".buildkite/pipeline.yml", ".woodpecker.yml", ".woodpecker/a.yml", "appveyor.yml",
  ".forgejo/workflows/a.yml", ".gitea/workflows/a.yml", ".husky/pre-commit", ".pre-commit-config.yaml", "lefthook.yml", ".lefthook/pre-push/a", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs",
  ".cargo/config.toml", ".gemrc", "pip.conf", ".agent/config.json", ".mcp.json", ".claude/settings.json", ".cursor/mcp.json", ".gemini/settings.json", ".codex/config.toml", ".opencode/a", "opencode.json",
  ".hg/hgrc", ".hgrc", "sub/.jj/repo/config.toml", ".config/jj/config.toml", ".sl/config", ".commitlintrc.js", "commitlint.config.ts", "nano-staged.js", ".gitlint", "cog.toml", ".oh-my-zsh/custom/a.zsh", ".config/starship.toml", ".rvmrc", ".autoenv", ".tmuxp.yaml",
  ".local/share/applications/a.desktop", ".local/share/dbus-1/services/a.service", ".forward", ".jupyter/jupyter_server_config.py", "notes/jupyter_notebook_config.json", ".docker/cli-plugins/docker-x", ".terraformrc", "CMakeLists.txt.user", "gradle/wrapper/gradle-wrapper.jar", ".gradle/init.d/a.gradle", ".valgrindrc",
  "lefthook.toml", "lefthook-local.json", ".lefthook.jsonc", ".config/lefthook.yml", "mise.toml", "mise.local.toml", ".mise.toml", ".mise.prod.toml", ".mise/conf.d/a.toml", "pkg/mise/config.toml", ".config/mise/config.toml", ".pdbrc", ".ghci", ".ocamlinit", ".iex.exs", ".Rprofile",
  ".vscode/c_cpp_properties.json", "crush.json", ".crush.json", ".clinerules", ".clinerules/a.md", ".clinerules-code", ".cursorrules", "AGENTS.md", "pkg/Agents.md", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", "QWEN.md", ".rules", ".goosehints", ".github/copilot-instructions.md", ".github/instructions/a.md",
  "sitecustomize.py", "lib/usercustomize.py", "sitecustomize/__init__.py", ".venv/lib/python3.12/site-packages/sitecustomize.py", ".git/rebase-merge/git-rebase-todo", ".git/worktrees/a/rebase-merge/git-rebase-todo", ".git/modules/m/rebase-merge/git-rebase-todo",
  ".idea/startup.xml", ".run/app.run.xml", "bunfig.toml", "rust-toolchain.toml", ".bazeliskrc", "tools/bazel", ".lintstagedrc.json", ".roomodes", ".kilocode/rules/a.md", ".junie/guidelines.md", ".augment-guidelines", ".factory/droids/a.md", ".mcp.json", ".claude.json", ".direnv/a.rc", ".lazy.lua", ".dir-locals-2.el",
  "pyrightconfig.json", "crates/rust-analyzer.toml", ".luarc.json", "hie.yaml", ".lsp/config.edn", "buildServer.json", "NuGet.Config", ".bazelversion", "uv.toml", ".sbt/1.0/plugins/a.sbt", "ansible.cfg", ".lesskey", ".config/lesskey", ".jdbrc", "renv/activate.R", "web/.user.ini", ".rbenv-vars", ".duckdbrc", "stats/profile.do",
  ".gitlab-ci-deploy.yml", ".gitlab-ci/build.yml", ".taskcluster.yml", "zuul.d/jobs.yaml", ".packit.yaml", "ios/ci_scripts/ci_post_clone.sh", ".mergify.yml", ".github/settings.yml", ".cargo-husky/hooks/pre-push", ".czrc", ".config/zsh/.zshrc", ".config/mpv/scripts/a.lua", ".msmtprc", ".project", "app.kdev4",
  ".openclaw/a.json", ".zencoder/rules/a.md", ".iflow/settings.json", ".forge/skills/a/SKILL.md", ".pochi/config.jsonc", "promptscript.yaml", "mcp.json", ".posit/assistant/a", ".config/opencode/opencode.json", "IFLOW.md", "SOUL.md",
  ".windsurf/a", ".kiro/a", ".aider.conf.yml", ".config/systemd/user/a.service", ".config/autostart/a.desktop", ".gitconfig",
] as const;

for (const path of LATER_TOO) {
  test(`"${path}" runs later`, () => {
    expect(runsLater(`/work/${path}`, { roots: ["/work"] })).toBeTypeOf("string");
  });
}

// oxfmt-ignore
const NOT_LATER = [
  ".bsp/sbt.json", ".merlin", "locales/global.json", "sql/login.sql", ".lsp/.cache/db", ".posit/notes", ".swiftpm/xcode/a", "a.less", "styles.lesskey.md", "project", "forge/a.ts", "mcp.ts", "zuul.md", ".config/readme", "tests/startup.ts", "nuget.md",
  "package.json", "Makefile", "src/index.ts", ".gitignore", ".gitattributes", ".gitmodules", ".github/README.md", ".github/ISSUE_TEMPLATE/bug.md", ".vscode/extensions.json", "hooks/use-state.ts", "src/hooks/a.ts", "config",
  "src/config", ".git/HEAD", ".git/info/exclude", ".git/refs/heads/main", "git/hooks/a", ".env", "bashrc", "profile", "docs/.gitkeep", "workflows/ci.yml", "config.toml", ".editorconfig", "tasks.json", "Jenkinsfiles.md", "a\nb", "README.md", "..foo",
  "CMakeLists.txt", "gradlew", "build.gradle.kts", "gradle/libs.versions.toml", "jupyter.py", "starship/a.ts", "commitlint.md", "profile.user", ".hgignore", ".jj/working_copy/tree_state",
  "node_modules/a/AGENTS.md", "node_modules/@a/b/CLAUDE.md", ".venv/lib/python3.12/site-packages/a/AGENTS.md", ".venv/lib/python3.12/site-packages/ddtrace/bootstrap/sitecustomize.py", "site-packages.md", "docs/agents-guide.md", "src/agents/AGENTS.ts", "misery.toml", "mise-notes.md", "lefthooks/a.ts", "customize.py", "conftest.py", "Vagrantfile",
  "Cargo.toml", "pyproject.toml", "flake.nix", "Dockerfile", "compose.yaml", ".git/rebase-merge/done", ".git/sequencer/todo", ".vscode/launch.md", "src/rules/a.ts", "crush.ts", "tools/bazel.md", "pnpm-workspace.yaml", "tsconfig.json", "eslint.config.js", ".prettierrc", ".nvmrc", ".node-version", "debian/control", "gbp.conf",
] as const;

for (const path of NOT_LATER) {
  test(`${JSON.stringify(path)} is everyday work`, () => {
    expect(runsLater(`/work/${path}`, { roots: ["/work"] })).toBeUndefined();
  });
}

test("a root inside such a place is a workspace like any other", () => {
  const roots = ["/home/ann", "/home/ann/.claude/worktrees/a"];
  expect(runsLater("/home/ann/.claude/worktrees/a/src/x.ts", { roots })).toBeUndefined();
  expect(runsLater("/home/ann/.claude/worktrees/a/.claude/settings.json", { roots })).toBeTypeOf("string");
  expect(runsLater("/home/ann/.claude/settings.json", { roots })).toBeTypeOf("string");
  expect(runsLater("/srv/a.git/hooks/update", { roots: ["/srv/a.git"] })).toBeTypeOf("string");
  expect(runsLater("/.bashrc", { roots: ["/"] })).toBeTypeOf("string");
});

test("packages lie below a root; a root among packages is a workspace like any other", () => {
  const among = (path: string, root: string): boolean => isInPackages(path, { roots: [root] });
  expect(among("/work/node_modules/a/.npmrc", "/work")).toBe(true);
  expect(among("/work/pkg/node_modules/.bin/a", "/work")).toBe(true);
  expect(among("/work/node_modules_old/a", "/work")).toBe(false);
  expect(among("/srv/node_modules/a/x", "/work")).toBe(false);
  expect(among("/srv/node_modules/a/x", "/srv/node_modules/a")).toBe(false);
});

const GIT_PLACES = [{ path: "/work/tools/Hooks", why: "core.hookspath names it" }];

// oxfmt-ignore
const NAMED = [
  { real: "/work/tools/Hooks/pre-commit", says: "/work/tools/Hooks: core.hookspath names it" },
  { real: "/work/tools/hooks",            says: "/work/tools/Hooks: core.hookspath names it" },
  { real: "/work/tools/hooks.md",         says: undefined },
  { real: "/work/tools",                  says: undefined },
] as const;

for (const { real, says } of NAMED) {
  test(`what git's configuration names runs later: ${real}`, () => {
    expect(runsLater(real, { roots: ["/work"], git_places: GIT_PLACES })).toBe(says);
  });
}

test("a path of one name over and over is answered, not waited for", () => {
  const path = `/work/${"hooks/".repeat(50_000)}id_rsa`;
  expect(runsLater(path, { roots: ["/work"] })).toBeUndefined();
  expect(judgePlace(path, everywhere)?.code).toBe("SensitivePath");
});

for (const { why, paths } of SENSITIVE_PLACES) {
  test(`every place of "${why}" (${paths[0]} …) is closed`, () => {
    for (const path of paths) expect(judgePlace(exampleOf(path), everywhere)?.reason).toContain(why);
  });
}

for (const { why, paths } of RUN_LATER) {
  test(`every file of "${why}" (${paths[0]} …) runs later`, () => {
    for (const path of paths) expect(runsLater(exampleOf(path), { roots: ["/"] })).toContain(why);
  });
}

function exampleOf(path: string): string {
  const filled = path.replace("~/", `${HOME}/`).replaceAll("**", "a/b").replaceAll("*", "x");
  return filled.startsWith("/") ? filled : `/work/sub/${filled}`;
}

function folderAndName(real: string): [string, string] {
  const slash = real.lastIndexOf("/");
  return [real.slice(0, slash) || "/", real.slice(slash + 1)];
}

test("a name that begins or ends no place that runs later is told fast, in any spelling", () => {
  for (const name of [".envrc", ".ENVRC", "hooks", "config", ".Git"]) expect(mayRunLater(name)).toBe(true);
  for (const name of ["index.ts", "README.md", "src"]) expect(mayRunLater(name)).toBe(false);
});

// oxfmt-ignore
const KEYS = [
  { real: "/work/server.pem",                 inert: true,  removable: true },
  { real: "/work/.venv/certifi/cacert.PEM",   inert: true,  removable: true },
  { real: "/work/id_rsa",                     inert: true,  removable: true },
  { real: "/work/x.pem/in",                   inert: true,  removable: false },
  { real: "/work/a.txt",                      inert: false, removable: false },
  { real: "/work/.ssh/id_rsa",                inert: false, removable: false },
  { real: "/work/x.pem/.ssh/authorized_keys", inert: false, removable: false },
  { real: "/work/x.pem/.git/hooks/pre-push",  inert: false, removable: false },
  { real: "/work/.kube/config",               inert: false, removable: false },
  { real: "/work/.agent/x.pem",               inert: false, removable: false },
  { real: "/elsewhere/x.pem",                 inert: true,  removable: false },
] as const;

for (const { real, inert, removable } of KEYS) {
  test(`${real} is ${inert ? "closed by the name of a key alone" : "not a key by its name alone"}`, () => {
    const workspace = { ...everywhere, roots: ["/work"] };

    expect(isInertKey(real, workspace)).toBe(inert);
    expect(isRemovableKey(real, workspace)).toBe(removable);
  });
}

// oxfmt-ignore
const PUBLISHED = [
  { real: "/work/.venv/lib/python3.11/site-packages/certifi/cacert.pem", published: true },
  { real: "/work/lib/dist-packages/x/test.key",                          published: true },
  { real: "/work/.venv/lib/python3.11/site-packages/x/.ssh/id_rsa",      published: false },
  { real: "/work/.venv/lib/python3.11/site-packages/x/plain.py",         published: false },
  { real: "/work/certs/server.pem",                                      published: false },
  { real: "/elsewhere/site-packages/certifi/cacert.pem",                 published: false },
  { real: "/lib/site-packages/own/server.pem",                           published: false },
] as const;

for (const { real, published } of PUBLISHED) {
  test(`${real} ${published ? "came with a package" : "is not a key of a package"}`, () => {
    expect(isPublishedKey(real, { ...everywhere, roots: ["/work", "/lib/site-packages/own"] })).toBe(published);
  });
}
