import { spawn } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { marker, processesWith } from "../../../../../test/support/processes.ts";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import type { CommandLimits } from "../../contract/processes.ts";
import { openSandbox } from "../sandbox/sandbox.ts";
import type { SandboxMode } from "../../protocol/configuration.ts";
import { BackgroundCommands } from "./background.ts";
import type { BackgroundOptions } from "./background.ts";
import { sweepLost } from "./marks.ts";
import { findProgram, PROGRAMS } from "./programs.ts";

const hasBwrap = (await findProgram("bwrap", { roots: [] })) !== undefined;
const needs = hasBwrap ? "" : ` (skipped: needs bwrap, ${PROGRAMS.bwrap.install})`;
const limits: CommandLimits = { memory_bytes: 4e9, processes: 256, file_bytes: 1e9, open_files: 1024 };
const signal = new AbortController().signal;

const MODES: readonly { mode: SandboxMode; name: string }[] = [
  { mode: "required", name: "in the sandbox" },
  { mode: "off", name: "without a sandbox" },
];

async function background(mode: SandboxMode, options: Partial<BackgroundOptions> = {}) {
  const folder = await scratchFolder();
  await folder.make({ "root/": "", "state/": "" });
  const at = (name: string): string => join(folder.path, name);
  const workspace = { roots: [at("root")], home: at("home"), state_dirs: [at("state")] };
  const sandbox = await openSandbox({ mode, workspace, state_dir: at("state"), limits });
  const make = () =>
    new BackgroundCommands({ state_dir: at("state"), limits, launch: (each) => sandbox.launch(each), ...options });
  const commands = make();
  onTestFinished(async () => {
    await commands.close();
    sandbox.close();
  });
  const start = (run: string) => commands.start({ run, cwd: at("root") });
  return { ...folder, at, commands, start, make };
}

for (const { mode, name } of MODES) {
  const tryIt = test.skipIf(mode === "required" && !hasBwrap);
  const title = (text: string): string => `${name} ${text}${mode === "required" ? needs : ""}`;

  tryIt(title("a command goes on after its start, and its output is read from where one was"), async () => {
    const { start, commands, at } = await background(mode);
    const { background_id, state, pid } = await start(
      "echo one; until [ -e go ]; do sleep 0.01; done; echo two; exit 4",
    );
    const first = await commands.output(background_id, { position: 0, wait_ms: 20_000, signal });

    expect({ state, text: first.output.toString() }).toEqual({ state: "running", text: "one\n" });
    const recorded = JSON.parse(readFileSync(at(`state/background/${background_id}.json`), "utf8")) as object;
    expect(recorded).toMatchObject({ background_id, pid, state: "running", cwd: at("root") });

    const waiting = commands.output(background_id, { position: first.position, wait_ms: 20_000, signal });
    await start("touch go");
    expect((await waiting).output.toString()).toBe("two\n");
    await vi.waitFor(() =>
      expect(commands.list()).toContainEqual(expect.objectContaining({ background_id, state: "exited", exit_code: 4 })),
    );
  });

  tryIt(title("stop ends the whole tree, whatever it does against it"), async () => {
    const { start, commands } = await background(mode);
    const word = marker();
    const { background_id } = await start(
      `trap '' TERM; setsid sleep ${word} & nohup sleep ${word} & echo up; while :; do sleep ${word}; done`,
    );
    await commands.output(background_id, { position: 0, wait_ms: 20_000, signal });
    const facts = await commands.stop(background_id);

    expect(facts).toMatchObject({ state: "stopped", exit_code: 137, signal: "SIGKILL" });
    expect(processesWith(word)).toEqual([]);
  });

  tryIt(title("a log keeps the end of an output without end"), async () => {
    const { start, commands, at } = await background(mode, { log_bytes: 10_000 });
    const { background_id } = await start("seq 1 100000");
    await vi.waitFor(() => expect(commands.list()[0]).toMatchObject({ state: "exited" }), { timeout: 20_000 });
    const all = Array.from({ length: 100_000 }, (_, index) => `${index + 1}\n`).join("");
    const { output, skipped, position } = await commands.output(background_id, { position: 0, wait_ms: 0, signal });

    expect(position).toBe(all.length);
    expect(skipped).toBeGreaterThan(0);
    expect(output.length).toBeGreaterThanOrEqual(5_000);
    expect(all.slice(skipped)).toBe(output.toString());
    const sizes = readdirSync(at("state/background")).map((file) => statSync(at(`state/background/${file}`)).size);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(5_000);
  });

  tryIt(
    title("a worker that is killed takes its commands along, and they are told as lost, with their logs"),
    async () => {
      const { path, at, make } = await background(mode);
      const word = marker();
      const source = `
      import { openSandbox } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, "../sandbox/sandbox.ts")).href)};
      import { BackgroundCommands } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, "background.ts")).href)};
      import { runCommand } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, "run.ts")).href)};
      const limits = ${JSON.stringify(limits)}, root = ${JSON.stringify(at("root"))}, state_dir = ${JSON.stringify(at("state"))};
      const workspace = { roots: [root], home: ${JSON.stringify(path)}, state_dirs: [state_dir] };
      const sandbox = await openSandbox({ mode: ${JSON.stringify(mode)}, workspace, state_dir, limits });
      const background = new BackgroundCommands({ state_dir, limits, launch: (each) => sandbox.launch(each) });
      const run = "setsid sleep ${word} & (nohup sleep ${word} >/dev/null 2>&1 &); echo up; sleep ${word}; echo after";
      const { background_id } = await background.start({ run, cwd: root });
      await background.output(background_id, { position: 0, wait_ms: 20000, signal: new AbortController().signal });
      const options = { timeout_ms: 60000, signal: new AbortController().signal, call_id: "call", limits };
      await runCommand(sandbox.launch({ run, cwd: root }), { ...options, onOutput: () => console.log(background_id) });
    `;
      const worker = spawn(process.execPath, ["--input-type=module", "-e", source], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      onTestFinished(() => void worker.kill("SIGKILL"));
      const background_id = await new Promise<string>((resolve) =>
        worker.stdout.setEncoding("utf8").once("data", (text: string) => resolve(text.trim())),
      );
      const gone = new Promise((resolve) => worker.once("exit", resolve));
      await vi.waitFor(() => expect(processesWith(`sleep\0${word}`).length).toBe(6));

      worker.kill("SIGKILL");
      await gone;
      if (mode === "off") sweepLost(); // what the next runtime does when it starts

      await vi.waitFor(() => expect(processesWith(word)).toEqual([]), { timeout: 2_000 });
      const next = make();
      expect(next.list()).toMatchObject([{ background_id, state: "lost" }]);
      expect((await next.output(background_id, { position: 0, wait_ms: 0, signal })).output.toString()).toBe("up\n");
      expect(await next.stop(background_id)).toMatchObject({ state: "lost" });
    },
  );
}

test("a name that is none of ours finds nothing", async () => {
  const { commands } = await background("off");

  for (const id of ["bg_0", "../state", "bg_../x", ""]) {
    await expect(commands.output(id, { position: 0, wait_ms: 0, signal })).rejects.toMatchObject({ code: "NotFound" });
    await expect(commands.stop(id)).rejects.toMatchObject({ code: "NotFound" });
  }
});

test("no more commands run at once than allowed, and those that ended do not count", async () => {
  const { start, commands } = await background("off", { most: 1 });
  const first = await start("sleep 60");

  await expect(start("true")).rejects.toMatchObject({ code: "LimitReached" });
  await commands.stop(first.background_id);
  expect(await start("true")).toMatchObject({ state: "running" });
});
