/**
 * README's "Install", pasted into a fresh clone on the host's own Node.js by a plain user. Where the tests run as root, root
 * then pastes it too. Root skips `npm ci` and the packing, which take most of the time: .ci/run does the first as root, and
 * the file is the same.
 */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "./support/scratch.ts";

const root = join(import.meta.dirname, "..");
const NOBODY_UID = 65_534;
const isRoot = process.getuid?.() === 0;
const MINUTES = 60_000;

interface Person {
  readonly home: string;
  /** A folder of their own that is not the clone. */
  readonly project: string;
  /** Runs a script that has to succeed, and returns what it printed on either output. */
  run(script: string, cwd: string): string;
  start(script: string, cwd: string): ChildProcess;
}

/** A user with an empty home and a copy of npm's cache, so that npm fetches little. */
async function makePerson({ isPlain }: { readonly isPlain: boolean }): Promise<Person> {
  const { path: home } = await scratchFolder();
  const project = join(home, "some project");
  mkdirSync(project);
  const cache = join(npmSetting("cache"), "_cacache");
  if (existsSync(cache)) cpSync(cache, join(home, "cache/_cacache"), { recursive: true });
  const env = environmentOf(home);
  const isOther = isRoot && isPlain;
  if (isOther) execFileSync("chown", ["-R", `${NOBODY_UID}:${NOBODY_UID}`, home]);
  const words: readonly [string, ...string[]] = isOther
    ? ["setpriv", `--reuid=${NOBODY_UID}`, `--regid=${NOBODY_UID}`, "--clear-groups", "bash"]
    : ["bash"];
  return {
    home,
    project,
    start: (script, cwd) =>
      spawn(words[0], [...words.slice(1), "-c", script], { cwd, env, stdio: ["ignore", "pipe", "ignore"] }),
    run(script, cwd) {
      const { status, stdout, stderr } = spawnSync(words[0], [...words.slice(1), "-ec", script], {
        cwd,
        env,
        encoding: "utf8",
      });
      expect({ script, status, printed: `${stdout}${stderr}` }).toMatchObject({ status: 0 });
      return `${stdout}${stderr}`;
    },
  };
}

/** Without what npm and the tests add: the Node.js on the path is the host's. */
function environmentOf(home: string): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(?:npm_|NODE_(?!EXTRA)|XDG_|INIT_CWD)/i.test(name),
  );
  const folders = (process.env["PATH"] ?? "").split(":").filter((each) => !each.includes("node_modules"));
  return {
    ...Object.fromEntries(inherited),
    HOME: home,
    PATH: [`${home}/.local/bin`, ...folders].join(":"),
    npm_config_registry: npmSetting("registry"),
    npm_config_cache: join(home, "cache"),
    npm_config_prefer_offline: "true",
  };
}

function npmSetting(name: string): string {
  const env = { ...process.env, HOME: userInfo().homedir, NODE_OPTIONS: "" };
  return execFileSync("npm", ["config", "get", name], {
    cwd: "/",
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  }).trim();
}

/** The files that git knows or would add, without what was installed or built. */
function cloneFor({ home, run }: Person): string {
  const source = join(home, "clone");
  run(`mkdir "${source}"`, home);
  const copy = 'git ls-files -zco --exclude-standard | xargs -0 cp --parents -t "$1" && chown -R --reference="$1" "$1"';
  execFileSync("bash", ["-c", copy, "bash", source], { cwd: root });
  return source;
}

/** The `bash` blocks of the section on installing, in order. */
function installBlocks(page = "README.md"): readonly string[] {
  const [, section = ""] = /^## (?:Install|安装)\n([\s\S]*?)^## /m.exec(readFileSync(join(root, page), "utf8")) ?? [];
  return [...section.matchAll(/^```bash\n([\s\S]*?)^```$/gm)].map(([, text = ""]) => text);
}

/** The launcher does not stay in between: a signal to its process reaches the service. */
async function expectServing({ project, start }: Person): Promise<void> {
  const service = start("AUTONOUS_HTTP_PORT=0 exec autonous serve --root .", project);
  await new Promise<void>((resolve, reject) => {
    service.stdout?.on("data", (piece: Buffer) => piece.includes("Serving") && resolve());
    service.once("exit", (code) => reject(new Error(`It ended with ${code}`)));
  });
  const ended = new Promise((resolve) => service.once("exit", resolve));
  service.kill("SIGTERM");
  expect(await ended).toBe(0);
}

test("installed as README says, it works in any folder", { timeout: 20 * MINUTES }, async () => {
  const plain = await makePerson({ isPlain: true });
  const others = isRoot ? [await makePerson({ isPlain: false })] : [];
  const people = [plain, ...others];
  const clone = cloneFor(plain);
  const [link = "", pack = ""] = installBlocks();
  for (const { project, run } of people) run("touch a.txt", project);

  // A link to the clone, which has built nothing.
  expect(plain.run(link, clone)).not.toMatch(/EBADENGINE|npm (?:error|warn)/);
  for (const { run } of others) run(withoutLine(link, "npm ci"), clone);
  for (const { project, run } of people) expect(run("autonous call ls", project)).toBe("a.txt\n");
  expect(plain.run("npx autonous doctor", clone)).toMatch(/^ok +node +Node\.js 24\./m);
  expect(plain.run(`node ${clone}/packages/autonous/bin/autonous.js call ls`, plain.project)).toBe("a.txt\n");
  await expectServing(plain);

  // One file; the clone is removed afterwards.
  expect(plain.run(pack, clone)).not.toMatch(/EBADENGINE|npm (?:error|warn)/);
  for (const { run } of others) run(withoutLine(pack, "npm run pack"), clone);
  plain.run(`rm -rf ${clone}`, plain.home);
  for (const { home, project, run } of people) {
    expect(run('autonous call grep \'{"pattern":"a"}\'', project)).toBe("");
    expect(run("readlink -f $(command -v autonous)", project)).toContain(`${home}/.local/lib/node_modules/autonous/`);
    expect(run("autonous doctor", project)).toMatch(/^ok +node +Node\.js 24\./m);
  }
});

function withoutLine(block: string, line: string): string {
  expect(block.split("\n")).toContain(line);
  return block.replace(`${line}\n`, "");
}

test("the systemd unit starts what docs/service.md installs", () => {
  const unit = readFileSync(join(root, "deploy/autonous.service"), "utf8");
  const page = readFileSync(join(root, "docs/service.md"), "utf8");
  const [, program = ""] = /^ExecStart=(\S+) serve$/m.exec(unit) ?? [];

  expect(page).toContain(`npm install --global --prefix ${program.replace(/\/bin\/autonous$/, "")} ./autonous-*.tgz`);
});

test("both languages have the same install commands", () => {
  expect(installBlocks()).toHaveLength(2);
  expect(installBlocks("README.zh-CN.md")).toEqual(installBlocks());
});
