/** Commands that move folders, and others that are started meanwhile, in a real sandbox. */
import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { keepPrinted } from "../../../../../test/support/printed.ts";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import type { Command, CommandLimits } from "../../contract/processes.ts";
import { openSandbox } from "../sandbox/sandbox.ts";
import { suspendMovers, registerMover } from "./suspend-movers.ts";
import type { Launch } from "./launch.ts";
import { stateOf } from "./process-tree.ts";
import { runCommand } from "./run.ts";

const canMove = spawnSync("bwrap", ["--version"]).status === 0 && existsSync("/usr/bin/perl");
const needs = canMove ? "" : " (skipped: needs bwrap and perl)";
const moved = test.skipIf(!canMove);

process.env["TMPDIR"] = "/var/tmp";

const limits: CommandLimits = { memory_bytes: 4e9, processes: 256, file_bytes: 1e9, open_files: 1024 };
const EXCHANGE = process.arch === "arm64" ? 276 : 316;

/** Two ways to name what it exchanges: by one process, and by one that starts another for each exchange. */
const MOVERS = {
  "one process": `$| = 1; my ($one, $other) = qw(flip link); while (1) { syscall(${EXCHANGE}, -100, $one, -100, $other, 2) and die $!; select undef, undef, undef, 0.0005 * rand; $n++ or print "begun\\n" }`,
  "always new processes": `$| = 1; my ($one, $other) = qw(flip link); $SIG{CHLD} = "IGNORE"; while (1) { unless (fork // 1) { syscall(${EXCHANGE}, -100, $one, -100, $other, 2); exit } select undef, undef, undef, 0.001; $n++ or print "begun\\n" }`,
} as const;

for (const [how, script] of Object.entries(MOVERS)) {
  moved(`nothing is created in a folder that a command moves while others start: ${how}${needs}`, async () => {
    const { path, make } = await scratchFolder();
    const at = (name: string): string => join(path, name);
    await make({
      "root/flip/.envrc": "fixed",
      "root/flip/sub/.npmrc": "fixed",
      "root/flip/a.pem": "key",
      "root/.ssh/id_rsa": "key",
      "root/link": "-> .ssh",
      "state/": "",
      "home/": "",
    });
    const workspace = { roots: [at("root")], home: at("home"), state_dirs: [at("state")] };
    const sandbox = await openSandbox({ mode: "required", workspace, state_dir: at("state"), limits });
    onTestFinished(() => sandbox.close());
    const run = async (command: Command["run"], signal = new AbortController().signal, onBegun = () => {}) => {
      const printed = keepPrinted();
      const launch = (): Launch => sandbox.launch({ run: command, cwd: at("root") });
      const onOutput: typeof printed.onOutput = (...given) => {
        onBegun();
        printed.onOutput(...given);
      };
      await runCommand(launch, { timeout_ms: 60_000, signal, call_id: "t", limits, onOutput });
      return printed.stdout();
    };
    const mover = new AbortController();
    onTestFinished(() => mover.abort());
    let isMoving = false;
    const moving = run(["/usr/bin/perl", "-e", script], mover.signal, () => (isMoving = true));
    await vi.waitFor(() => expect(isMoving).toBe(true), { timeout: 20_000 });
    for (let start = 0; start < 40; start++) expect(await run("echo up")).toBe("up\n");
    mover.abort();
    expect(await moving).toBe("begun\n");

    const folder = lstatSync(at("root/flip")).isDirectory() ? "flip" : "link";
    expect(readdirSync(at("root/.ssh"))).toEqual(["id_rsa"]);
    expect(readdirSync(at(`root/${folder}`)).toSorted()).toEqual([".envrc", "a.pem", "sub"]);
    expect(readFileSync(at(`root/${folder}/.envrc`), "utf8")).toBe("fixed");
  });
}

moved(`a suspended command resumes when the one started beside it has started or failed${needs}`, async () => {
  const { path, make } = await scratchFolder();
  const at = (name: string): string => join(path, name);
  await make({ "root/": "", "state/": "", "home/": "" });
  const workspace = { roots: [at("root")], home: at("home"), state_dirs: [at("state")] };
  const sandbox = await openSandbox({ mode: "required", workspace, state_dir: at("state"), limits });
  onTestFinished(() => sandbox.close());
  const launchOf = (run: string, cwd: string) => (): Launch => sandbox.launch({ run, cwd });
  const signal = new AbortController().signal;
  const options = { timeout_ms: 60_000, signal, call_id: "t", limits };
  const first = runCommand(launchOf("touch begun; until [ -e go ]; do sleep 0.02; done", at("root")), options);
  await vi.waitFor(() => expect(existsSync(at("root/begun"))).toBe(true), { timeout: 20_000 });
  const second = runCommand(launchOf("touch two; until [ -e go ]; do sleep 0.02; done", at("root")), options);
  mkdirSync(at("root/gone"));
  const refused = runCommand(() => sandbox.launch({ run: "true", cwd: at("nowhere") }), options);
  await expect(refused).rejects.toMatchObject({ code: "NotFound" });
  await vi.waitFor(() => expect(existsSync(at("root/two"))).toBe(true), { timeout: 20_000 });
  writeFileSync(at("root/go"), "");

  expect((await first).exit_code).toBe(0);
  expect((await second).exit_code).toBe(0);
});

test("only commands that share a root are suspended, each until the last suspension ends", () => {
  const stopped: string[] = [];
  const one = registerMover(["/somewhere/one"], { shut: () => false, open: () => {} });
  onTestFinished(() => one.end());
  const child = spawnChild();
  one.started(child.pid ?? 0);
  expect(suspendMovers(["/somewhere/other"])).toBeUndefined();
  const [first, second] = [suspendMovers(["/somewhere"]), suspendMovers(["/somewhere/one/below"])];
  stopped.push(stateOf(child.pid ?? 0) ?? "");
  first?.();
  first?.();
  stopped.push(stateOf(child.pid ?? 0) ?? "");
  second?.();
  stopped.push(stateOf(child.pid ?? 0) ?? "");

  expect(stopped).toEqual(["T", "T", expect.not.stringMatching(/T/)]);
});

function spawnChild(): ChildProcess {
  const child = spawn("sleep", ["60"], { stdio: "ignore" });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}
