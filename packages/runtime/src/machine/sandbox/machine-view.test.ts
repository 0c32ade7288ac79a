/** What a command sees of the machine, on a real sandbox. */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { keepPrinted } from "../../../../../test/support/printed.ts";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import type { Command, CommandLimits, PlaceJudge } from "../../contract/processes.ts";
import type { Launch } from "../processes/launch.ts";
import { runCommand } from "../processes/run.ts";
import { openSandbox } from "./sandbox.ts";
import type { SandboxOptions } from "./sandbox.ts";

const hasSandbox = spawnSync("bwrap", ["--version"]).status === 0;
const needs = hasSandbox ? "" : " (skipped: needs bwrap, apt-get install bubblewrap)";
const sandboxed = test.skipIf(!hasSandbox);

// Not in /tmp, which is private inside.
process.env["TMPDIR"] = "/var/tmp";

const limits: CommandLimits = { memory_bytes: 4e9, processes: 256, file_bytes: 1e9, open_files: 1024 };
const SECRET = "planted-canary";

/** A home with a root in it, as most people have it. */
async function home(files: Readonly<Record<string, string>> = {}, options: Partial<SandboxOptions> = {}) {
  const folder = await scratchFolder();
  await folder.make({ "home/": "", "home/work/root/": "", "home/.local/state/x/": "", ...files });
  const at = (name: string): string => join(folder.path, "home", name);
  const workspace = { roots: [at("work/root")], home: at("."), state_dirs: [at(".local/state/x")] };
  const sandbox = await openSandbox({
    mode: "required",
    workspace: { ...workspace, home: join(folder.path, "home") },
    state_dir: at(".local/state/x"),
    limits,
    ...options,
  });
  onTestFinished(() => sandbox.close());
  const run = async (text: string, command: Partial<Command> = {}) => {
    const launch = (): Launch => sandbox.launch({ run: text, cwd: at("work/root"), ...command });
    const printed = keepPrinted();
    const { onOutput } = printed;
    const signal = new AbortController().signal;
    const end = await runCommand(launch, { timeout_ms: 30_000, signal, call_id: "t", limits, onOutput });
    return { said: printed.stdout(), complained: printed.stderr(), unprotected: end.unprotected };
  };
  return { ...folder, at, run };
}

sandboxed(
  `packages that were fetched before are there for a command without network, read-only, and no settings beside them${needs}`,
  async () => {
    const { run, at } = await home({
      "home/.cargo/registry/cache/a.crate": "package",
      "home/.cargo/credentials.toml": SECRET,
      "home/.m2/repository/b.jar": "package",
      "home/.m2/settings.xml": SECRET,
      "home/go/pkg/mod/c.mod": "package",
      "home/.npm/_cacache/d": "package",
      "home/.npm/_logs/e": SECRET,
    });
    const names = [".cargo/registry/cache/a.crate", ".m2/repository/b.jar", "go/pkg/mod/c.mod", ".npm/_cacache/d"];
    expect((await run(`cat ${names.map(at).join(" ")}`)).said).toBe("package".repeat(4));
    const { said } = await run(
      `cd ${at(".")}; grep -rs ${SECRET} .; touch .npm/_cacache/x 2>&1; echo $CARGO_HOME $npm_config_cache $MAVEN_ARGS $npm_config_logs_dir $NUGET_PACKAGES`,
    );
    expect(said).toMatch(/^touch: .*Read-only file system\n/);
    const variables = [
      at(".cargo"),
      at(".npm"),
      `-Dmaven.repo.local.tail=${at(".m2/repository")}`,
      "/tmp/home/.npm/_logs",
    ];
    expect(said.split("\n")[1]).toBe(variables.join(" "));
  },
);

sandboxed(
  `pipes with names of files that run later do not keep the sandbox from starting, and are hidden${needs}`,
  async () => {
    const { run, at } = await home({ "home/work/root/.vscode/": "" });
    for (const name of ["AGENTS.md", ".envrc", "server.key"]) spawnSync("mkfifo", [at(`work/root/${name}`)]);
    const { said } = await run("ls -l AGENTS.md .envrc | cut -c 1; touch new.txt; (echo x > AGENTS.md) 2>&1; echo end");
    expect(said).toMatch(/^-\n-\n.*(?:Read-only|denied).*\nend\n$/s);
  },
);

sandboxed(`in the home a command sees only toolchains and the path to the root, read-only${needs}`, async () => {
  const { run, at } = await home({
    "home/.nvm/versions/a": "tool",
    "home/.cargo/bin/x": "tool",
    "home/.cargo/credentials.toml": SECRET,
    "home/.local/bin/y": "tool",
    "home/.local/share/keyrings/z": SECRET,
    "home/.ssh/id_ed25519": SECRET,
    "home/.netrc": SECRET,
    "home/notes.txt": SECRET,
    "home/work/other/src.txt": SECRET,
    "home/.cache/token": SECRET,
  });
  const { said } = await run(`cd ${at(".")}; find . -type f | sort; grep -rs ${SECRET} . /root /home /var /mnt /srv`);

  expect(said.split("\n").filter((line) => !line.startsWith("./work/root"))).toEqual([
    "./.cargo/bin/x",
    "./.local/bin/y",
    "./.nvm/versions/a",
    "",
  ]);
  const { said: wrote } = await run(
    `for f in .nvm/new .cargo/bin/x .cargo/new new work/new .local/new; do { echo x > ${at(".")}/$f; } 2>/dev/null && echo $f; done`,
  );
  expect(wrote).toBe("");
});

sandboxed(
  `files that appear in the home or are replaced there during a command are invisible to it${needs}`,
  async () => {
    const { run, at } = await home({ "home/.netrc": "old" });
    const running = run(
      `touch begun; until [ -e go ]; do sleep 0.02; done; cat ${at(".netrc")} ${at(".ssh/id_new")} ${at("later/key.pem")}; grep -rs ${SECRET} ${at(".")}; echo over`,
    );
    await vi.waitFor(() => expect(existsSync(at("work/root/begun"))).toBe(true), { timeout: 20_000 });
    writeFileSync(at(".netrc.new"), SECRET);
    renameSync(at(".netrc.new"), at(".netrc"));
    for (const folder of [".ssh", "later"]) mkdirSync(at(folder));
    for (const file of [".ssh/id_new", "later/key.pem"]) writeFileSync(at(file), SECRET);
    writeFileSync(at("work/root/go"), "");

    expect((await running).said).toBe("over\n");
  },
);

sandboxed(`a tool in the home that is a link into the root reveals nothing outside the root${needs}`, async () => {
  const { run, at } = await home({
    "home/.ssh/id_rsa": SECRET,
    "home/work/root/bin/": "",
    "home/.local/bin": "-> ../work/root/bin",
  });
  renameSync(at("work/root/bin"), at("work/root/old"));
  spawnSync("ln", ["-s", at(".ssh"), at("work/root/bin")]);

  expect((await run(`cat ${at(".local/bin/id_rsa")} bin/id_rsa`)).said).toBe("");
});

sandboxed(`git knows the user's identity, but no credentials${needs}`, async () => {
  const { run, at } = await home({
    "home/.gitconfig": `[user]\n\tname = Ann \\"A\\" \\\\ O'Neil\n\temail = ann@example.com\n[credential]\n\thelper = store\n[http]\n\textraHeader = ${SECRET}\n[url "https://${SECRET}@x"]\n\tinsteadOf = https://x\n[include]\n\tpath = more\n[core]\n\tfsmonitor = /tmp/evil\n`,
    "home/more": "[init]\n\tdefaultBranch = trunk\n",
    "home/.config/git/ignore": "*.swp\n",
  });
  const { said, complained } = await run(
    "git init -q . && touch a b.swp && git add -A && git commit -qm one && git log --format='%an <%ae>' && git branch --show-current && git ls-files; git config --global --list | grep -ci 'credential\\|http\\|url\\|fsmonitor'",
  );

  expect({ said, complained }).toEqual({ said: `Ann "A" \\ O'Neil <ann@example.com>\ntrunk\na\n0\n`, complained: "" });
  expect(existsSync(at("work/root/.git"))).toBe(true);
});

sandboxed(`the view of the system shows other folders at the top, and still no home${needs}`, async () => {
  const { run, at } = await home({ "home/.netrc": SECRET, "home/.nvm/x": "tool" }, { view: "system" });
  const { said } = await run(`cat ${at(".netrc")}; cat ${at(".nvm/x")}; ls -d /usr /etc`);

  expect(said).toBe("tool/etc\n/usr\n");
});

sandboxed(`of 300 keys in one folder none can be read${needs}`, async () => {
  const keys = Array.from({ length: 300 }, (_, index) => [`home/work/root/keys/${index}.pem`, SECRET]);
  const { run } = await home(Object.fromEntries(keys));
  const { said } = await run("cat keys/*; ls keys | wc -l");

  expect(said).toBe("300\n");
});

sandboxed(`a read-only command cannot write to the roots, and has its own /tmp${needs}`, async () => {
  const { run, at } = await home({ "home/work/root/a.txt": "a\na\n", "home/work/root/x.pem": SECRET });
  const { said } = await run(
    "{ uniq a.txt out; echo x > b; rm a.txt; mkdir c; chmod 600 a.txt; cat x.pem; } 2>/dev/null; echo kept > /tmp/t; cat /tmp/t a.txt; echo $GIT_OPTIONAL_LOCKS",
    { read_only: true },
  );

  expect(said).toBe("kept\na\na\n0\n");
  for (const name of ["out", "b", "c"]) expect(existsSync(at(`work/root/${name}`))).toBe(false);
});

/** Sockets of a process outside. It does not matter who listens, and under which name it was made. */
const SOCKETS = [
  { how: "in the home", name: ".cache/agent.sock" },
  { how: "in the root", name: "work/root/host.sock" },
  { how: "beside the root", name: "work/x.sock" },
] as const;

for (const { how, name } of SOCKETS) {
  sandboxed(`a socket of another process ${how}, renamed since it was made, is not reached${needs}`, async () => {
    const { run, at } = await home({ "home/.cache/": "" });
    let connections = 0;
    const server = createServer((socket) => {
      connections++;
      socket.destroy();
    });
    onTestFinished(() => void server.close());
    await new Promise<void>((resolve) => server.listen(at(`${name}.first`), resolve));
    renameSync(at(`${name}.first`), at(name));
    await run(
      `perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, pack_sockaddr_un($ARGV[0])) or die $!' ${at(name)}`,
    );

    expect(connections).toBe(0);
  });
}

sandboxed(
  `files below a folder of settings stay read-only when the person replaces them meanwhile${needs}`,
  async () => {
    const { run, at } = await home({
      "home/work/root/.vscode/settings.json": "old",
      "home/work/root/.git/hooks/a": "old",
    });
    const running = run(
      "touch begun; until [ -e go ]; do sleep 0.02; done; for f in .vscode/settings.json .vscode/tasks.json .git/hooks/a .git/hooks/b; do { echo x > $f; } 2>/dev/null && echo $f; done; echo over",
    );
    await vi.waitFor(() => expect(existsSync(at("work/root/begun"))).toBe(true), { timeout: 20_000 });
    for (const file of [".vscode/settings.json", ".git/hooks/a"]) {
      writeFileSync(at("work/new"), "new");
      renameSync(at("work/new"), at(`work/root/${file}`));
    }
    writeFileSync(at("work/root/go"), "");

    expect((await running).said).toBe("over\n");
  },
);

/** Files that stand alone in a folder that commands have to write to. */
const ALONE = [".envrc", ".git/config", "keys/server.pem"] as const;

for (const file of ALONE) {
  sandboxed(`a command is stopped when another process replaces ${file}, which was protected${needs}`, async () => {
    const { run, at } = await home({ [`home/work/root/${file}`]: "old", "home/work/root/.git/HEAD": "" });
    const running = run("touch begun; while :; do sleep 0.02; done");
    await vi.waitFor(() => expect(existsSync(at("work/root/begun"))).toBe(true), { timeout: 20_000 });
    writeFileSync(at("work/new"), "new");
    renameSync(at("work/new"), at(`work/root/${file}`));

    expect((await running).unprotected).toBe(at(`work/root/${file}`));
  });
}

// Folders of the system are the same, and not a test's to write to.
const LISTENING = [
  { how: "bound by a relative name", name: "rel.sock", after: "" },
  {
    how: "renamed since it was made",
    name: "first.sock",
    after: 'require("fs").renameSync("first.sock", "rel.sock");',
  },
] as const;

for (const { how, name, after } of LISTENING) {
  sandboxed(`a socket in a folder that commands see, ${how}, is not reached${needs}`, async () => {
    const { run, at } = await home({ "home/.nvm/versions/deep/": "" });
    const script = `require("net").createServer((socket) => { require("fs").writeFileSync("reached", ""); socket.destroy(); }).listen(${JSON.stringify(name)}, () => { ${after} console.log("up"); })`;
    const server = spawn(process.execPath, ["-e", script], {
      cwd: at(".nvm/versions/deep"),
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void server.kill("SIGKILL"));
    await new Promise((resolve) => server.stdout.once("data", resolve));
    const connect = `node -e 'require("net").connect(process.argv[1]).on("connect", () => console.log("connected")).on("error", ({ code }) => console.log(code))' ${at(".nvm/versions/deep/rel.sock")}`;

    expect((await run(connect)).said).toMatch(/^(?:EACCES|ECONNREFUSED|ENOTSOCK)$/m);
    expect(existsSync(at(".nvm/versions/deep/reached"))).toBe(false);
    rmSync(at(".nvm/versions/deep/rel.sock"));
    expect((await run("echo up")).said).toBe("up\n");
  });
}

/** Replaced (not written in place) by another process while a command runs. */
// oxfmt-ignore
const REPLACED_FOLDERS = [".ssh", "keys/.aws", ".git/hooks"] as const;

for (const folder of REPLACED_FOLDERS) {
  sandboxed(`a command is stopped when another process replaces the folder ${folder}${needs}`, async () => {
    const { run, at } = await home({
      [`home/work/root/${folder}/a`]: "old",
      "home/work/root/.git/HEAD": "",
      "home/work/new/a": SECRET,
    });
    const running = run("touch begun; while :; do sleep 0.02; done");
    await vi.waitFor(() => expect(existsSync(at("work/root/begun"))).toBe(true), { timeout: 20_000 });
    renameSync(at(`work/root/${folder}`), at("work/old"));
    renameSync(at("work/new"), at(`work/root/${folder}`));

    expect((await running).unprotected).toBe(at(`work/root/${folder}`));
  });
}

/** What a rule hides and what is not there when the command starts. */
const APPEARING = [
  { rule: "vault", made: ["vault/key"], found: "vault" },
  { rule: "conf/deep", made: ["conf/deep/token"], found: "conf/deep" },
  { rule: "conf/a/b/c", made: ["conf/a/b/x", "conf/a/b/c"], found: "conf/a/b/c" },
] as const;

for (const { rule, made, found } of APPEARING) {
  sandboxed(`a command is stopped when ${rule}, which a rule hides, appears while it runs${needs}`, async () => {
    const { run, at } = await home({ "home/work/root/src/a.txt": "" });
    const hidden = at(`work/root/${rule}`);
    const isHidden = (path: string): boolean => path === hidden || path.startsWith(`${hidden}/`);
    const closes: PlaceJudge = {
      key: rule,
      judge: (path) => (isHidden(path) ? "hide" : undefined),
      forbids: isHidden,
      mayCloseBelow: (path) => hidden.startsWith(`${path}/`) || isHidden(path),
    };
    const running = run("touch begun; mkdir fine; touch fine/x; while :; do sleep 0.02; done", { closes });
    await vi.waitFor(() => expect(existsSync(at("work/root/begun"))).toBe(true), { timeout: 20_000 });
    for (const name of made) {
      mkdirSync(dirname(at(`work/root/${name}`)), { recursive: true });
      writeFileSync(at(`work/root/${name}`), SECRET);
    }

    expect((await running).unprotected).toBe(at(`work/root/${found}`));
  });
}
