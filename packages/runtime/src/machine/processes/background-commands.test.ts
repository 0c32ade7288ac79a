import { spawn } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { marker, processesWith } from "../../../../../test/support/processes.ts";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { NO_CHANGES } from "../../contract/command-changes.ts";
import type { CommandChange, CommandChanges, ChangeDetector } from "../../contract/command-changes.ts";
import type { Command, CommandLimits } from "../../contract/processes.ts";
import { openSandbox } from "../sandbox/sandbox.ts";
import type { SandboxMode } from "../../protocol/configuration.ts";
import { BackgroundCommands } from "./background-commands.ts";
import type { BackgroundOptions } from "./background-commands.ts";
import type { Launch } from "./launch.ts";
import { findProgram, PROGRAMS } from "./programs.ts";

const hasBwrap = (await findProgram("bwrap", { roots: [] })) !== undefined;
const needs = hasBwrap ? "" : ` (skipped: needs bwrap, ${PROGRAMS.bwrap.install})`;
const limits: CommandLimits = { memory_bytes: 4e9, processes: 256, file_bytes: 1e9, open_files: 1024 };
const signal = new AbortController().signal;

const MODES: readonly { mode: SandboxMode; name: string }[] = [
  { mode: "required", name: "in the sandbox" },
  { mode: "off", name: "without a sandbox" },
];

/** In the first `failing` launches the writable folder does not exist, so their sandbox does not start. */
async function background(mode: SandboxMode, options: Partial<BackgroundOptions> = {}, failing = 0) {
  const folder = await scratchFolder();
  await folder.make({ "root/": "", "state/": "" });
  const at = (name: string): string => join(folder.path, name);
  const workspace = { roots: [at("root")], home: at("home"), state_dirs: [at("state")] };
  const sandbox = await openSandbox({ mode, workspace, state_dir: at("state"), limits });
  let launches = 0;
  const launch = (command: Command): Launch =>
    sandbox.launch(launches++ < failing ? { ...command, writable: [at("not-there")] } : command);
  const make = () => new BackgroundCommands({ state_dir: at("state"), limits, launch, ...options });
  const commands = make();
  onTestFinished(async () => {
    await commands.close();
    sandbox.close();
  });
  const start = (run: string, detection?: ChangeDetector) => commands.start({ run, cwd: at("root") }, detection);
  return { ...folder, at, commands, start, make };
}

for (const { mode, name } of MODES) {
  const tryIt = test.skipIf(mode === "required" && !hasBwrap);
  const title = (text: string): string => `${name} ${text}${mode === "required" ? needs : ""}`;

  tryIt(title("a command continues after its start, and its output is read from the previous position"), async () => {
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

  tryIt(title("stop kills the complete process tree, whatever it does"), async () => {
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

  tryIt(title("a log keeps the end of endless output"), async () => {
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

  tryIt(title("the commands of a killed worker are killed too, and reported as lost, with their logs"), async () => {
    const { path, at, make } = await background(mode);
    const word = marker();
    const source = `
      import { openSandbox } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, "../sandbox/sandbox.ts")).href)};
      import { BackgroundCommands } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, "background-commands.ts")).href)};
      import { runCommand } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, "run.ts")).href)};
      const limits = ${JSON.stringify(limits)}, root = ${JSON.stringify(at("root"))}, state_dir = ${JSON.stringify(at("state"))};
      const workspace = { roots: [root], home: ${JSON.stringify(path)}, state_dirs: [state_dir] };
      const sandbox = await openSandbox({ mode: ${JSON.stringify(mode)}, workspace, state_dir, limits });
      const background = new BackgroundCommands({ state_dir, limits, launch: (each) => sandbox.launch(each) });
      const run = "setsid sleep ${word} & (nohup sleep ${word} >/dev/null 2>&1 &); echo up; sleep ${word}; echo after";
      const { background_id } = await background.start({ run, cwd: root });
      await background.output(background_id, { position: 0, wait_ms: 20000, signal: new AbortController().signal });
      const options = { timeout_ms: 60000, signal: new AbortController().signal, call_id: "call", limits };
      await runCommand(() => sandbox.launch({ run, cwd: root }), { ...options, onOutput: () => console.log(background_id) });
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

    await vi.waitFor(() => expect(processesWith(word)).toEqual([]), { timeout: 2_000 });
    const next = make();
    expect(next.list()).toMatchObject([
      { background_id, state: "lost", changes_problem: expect.stringMatching(/has exited/) as string },
    ]);
    expect((await next.output(background_id, { position: 0, wait_ms: 0, signal })).output.toString()).toBe("up\n");
    expect(await next.stop(background_id)).toMatchObject({ state: "lost" });
  });
}

test("an unknown ID is not found", async () => {
  const { commands } = await background("off");

  for (const id of ["bg_0", "../state", "bg_../x", ""]) {
    await expect(commands.output(id, { position: 0, wait_ms: 0, signal })).rejects.toMatchObject({ code: "NotFound" });
    await expect(commands.stop(id)).rejects.toMatchObject({ code: "NotFound" });
  }
});

test("the number of running commands is limited, and ended ones do not count", async () => {
  const { start, commands } = await background("off", { most: 1 });
  const first = await start("sleep 60");

  await expect(start("true")).rejects.toMatchObject({ code: "LimitReached" });
  await commands.stop(first.background_id);
  expect(await start("true")).toMatchObject({ state: "running" });
});

function change(path: string): CommandChange {
  return { path, real: `/root/${path}`, kind: "file", change: "added", undoable: false };
}

/** A fake detection that returns a given result and records its calls. */
function fakeDetection(find: () => Promise<CommandChanges>) {
  const asked: string[] = [];
  const detection: ChangeDetector = {
    after() {
      asked.push("after");
      return find();
    },
    drop: () => void asked.push("drop"),
  };
  return { detection, asked };
}

const HOW_IT_ENDS = [
  { how: "by itself", run: "exit 3", state: "exited" },
  { how: "because it was stopped", run: "sleep 600", state: "stopped" },
] as const;

for (const { how, run, state } of HOW_IT_ENDS) {
  test(`the changes of a command are known when it has ended ${how}, and stay recorded`, async () => {
    const { start, commands, make } = await background("off");
    const { detection, asked } = fakeDetection(() => Promise.resolve({ ...NO_CHANGES, files: [change("a.txt")] }));
    const { background_id } = await start(run, detection);
    if (state === "stopped") await commands.stop(background_id);
    await vi.waitFor(() => expect(commands.list()[0]?.state).toBe(state));

    const told = { background_id, state, changes: { files: [{ path: "a.txt" }] } };
    expect(commands.list()).toMatchObject([told]);
    const next = make();
    expect(next.list()).toMatchObject([told]);
    expect((await next.output(background_id, { position: 0, wait_ms: 0, signal })).facts).toMatchObject(told);
    expect(asked).toEqual(["after"]);
  });
}

test("a command counts as ended once its changes are known, and waiting for that does not count as stopping it", async () => {
  const { start, commands } = await background("off");
  const found = Promise.withResolvers<CommandChanges>();
  const begun = Promise.withResolvers<void>();
  const { detection } = fakeDetection(() => {
    begun.resolve();
    return found.promise;
  });
  const { background_id } = await start("exit 3", detection);
  await begun.promise;
  expect(commands.list()).toMatchObject([{ state: "running" }]);
  const stopping = commands.stop(background_id);
  found.resolve(NO_CHANGES);

  expect(await stopping).toMatchObject({ state: "exited", exit_code: 3, changes: { files: [] } });
});

test("of many changes the first are recorded, with the number of the others, and without secrets", async () => {
  const redactor = {
    text: (text: string) => text.replace("secret", "***"),
    stream: () => ({ push: (piece: Uint8Array) => piece, end: () => new Uint8Array() }),
  };
  const { start, commands, at } = await background("off", { redactor });
  const files = Array.from({ length: 1500 }, (_, each) => change(`secret-${each}`));
  const { detection } = fakeDetection(() => Promise.resolve({ ...NO_CHANGES, files }));
  const { background_id } = await start("true", detection);
  const { changes } = await commands.stop(background_id);

  expect(changes).toMatchObject({ files_more: 500 });
  expect(changes?.files).toHaveLength(1000);
  expect(readFileSync(at(`state/background/${background_id}.json`), "utf8")).not.toContain("secret");
});

test("if the changes of a command cannot be determined, that is reported", async () => {
  const { start, commands } = await background("off");
  const { detection } = fakeDetection(() => Promise.reject(new Error("no disk")));
  const { background_id } = await start("true", detection);

  expect(await commands.stop(background_id)).toMatchObject({
    changes_problem: "the scan for changes failed (no disk)",
  });
});

test("for a command that never ran, nothing is scanned, and nothing remains", async () => {
  const { start, at } = await background("off");
  const { detection, asked } = fakeDetection(() => Promise.resolve(NO_CHANGES));

  await expect(start(`: ${"x".repeat(200_000)}`, detection)).rejects.toMatchObject({ code: "IOError" });
  expect(asked).toEqual([]); // the caller drops the detection
  expect(readdirSync(at("state/background"))).toEqual([]);
});

for (const { what, failing, state, text } of [
  {
    what: "is set up again, and the command runs once",
    failing: 2,
    state: "exited",
    text: /^ran\nbwrap: said by it\n$/,
  },
  {
    what: "repeatedly is given up on, and the reason is in the log",
    failing: 3,
    state: "failed",
    text: /^Cannot run .*bwrap: /,
  },
]) {
  test.skipIf(!hasBwrap)(`a sandbox that did not start ${what}${needs}`, async () => {
    const { start, commands, at } = await background("required", {}, failing);
    const { background_id, pid } = await start("echo ran >> runs; cat runs; echo bwrap: said by it >&2");
    await vi.waitFor(() => expect(commands.list()[0]).toMatchObject({ state }), { timeout: 20_000 });

    const { output, facts } = await commands.output(background_id, { position: 0, wait_ms: 0, signal });
    expect(output.toString()).toMatch(text);
    expect(facts.pid).not.toBe(pid);
    const recorded = JSON.parse(readFileSync(at(`state/background/${background_id}.json`), "utf8")) as object;
    expect(recorded).toMatchObject({ state, pid: facts.pid });
  });
}
