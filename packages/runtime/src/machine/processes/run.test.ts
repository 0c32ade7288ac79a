import { existsSync, statSync } from "node:fs";
import { rename, symlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { marker, processesWith } from "../../../../../test/support/processes.ts";
import { keepPrinted } from "../../../../../test/support/printed.ts";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import type { Command, CommandLimits, CommandOptions } from "../../contract/processes.ts";
import { openSandbox } from "../sandbox/sandbox.ts";
import type { SandboxMode } from "../../protocol/configuration.ts";
import { findProgram, PROGRAMS } from "./programs.ts";
import type { Launch } from "./launch.ts";
import { runCommand } from "./run.ts";

const hasBwrap = (await findProgram("bwrap", { roots: [] })) !== undefined;
const needs = hasBwrap ? "" : ` (skipped: needs bwrap, ${PROGRAMS.bwrap.install})`;

const LIMITS: CommandLimits = { memory_bytes: 4e9, processes: 256, file_bytes: 1e9, open_files: 1024 };
const MODES: readonly { mode: SandboxMode; name: string }[] = [
  { mode: "required", name: "in the sandbox" },
  { mode: "off", name: "without a sandbox" },
];

async function commands(mode: SandboxMode, limits: Partial<CommandLimits> = {}) {
  const folder = await scratchFolder();
  await folder.make({ "root/": "", "state/": "" });
  const at = (name: string): string => join(folder.path, name);
  const all = { ...LIMITS, ...limits };
  const workspace = { roots: [at("root")], home: at("home"), state_dirs: [at("state")] };
  const sandbox = await openSandbox({ mode, workspace, state_dir: at("state"), limits: all });
  onTestFinished(() => sandbox.close());
  const run = async (run: Command["run"], options: Partial<CommandOptions> = {}) => {
    const launch = (): Launch => sandbox.launch({ run, cwd: at("root") });
    const signal = new AbortController().signal;
    const { onOutput, stdout, stderr, bytes } = keepPrinted();
    const given = { timeout_ms: 30_000, signal, call_id: "call-1", limits: all, onOutput, ...options };
    return { ...(await runCommand(launch, given)), stdout, stderr, bytes };
  };
  return { ...folder, at, run, sandbox };
}

for (const { mode, name } of MODES) {
  const tryIt = test.skipIf(mode === "required" && !hasBwrap);
  const title = (text: string): string => `${name} ${text}${mode === "required" ? needs : ""}`;

  tryIt(title("a command's stdout, stderr and exit code are returned separately"), async () => {
    const { run } = await commands(mode);
    const end = await run("echo out; echo err >&2; exit 7");

    expect(end).toMatchObject({ exit_code: 7, signal: null, ended_by: "itself" });
    expect(end.stdout()).toBe("out\n");
    expect(end.stderr()).toBe("err\n");
    expect(end.sandbox).toBe(mode === "off" ? "none" : "bwrap");
  });

  tryIt(title("a command gets empty input, three descriptors and no secrets"), async () => {
    process.env["CANARY_TOKEN"] = "canary-value";
    onTestFinished(() => void delete process.env["CANARY_TOKEN"]);
    const { run } = await commands(mode);
    const end = await run("cat; ls /proc/self/fd | wc -l; env; cat /proc/self/environ");

    // The fourth is the folder that ls itself reads.
    expect(end.stdout()).toMatch(/^4\n/);
    expect(end.stdout()).not.toContain("canary-value");
    expect(end.stdout()).not.toContain("BASH_ENV");
  });

  tryIt(title("binary output is passed on unchanged"), async () => {
    const { run } = await commands(mode);
    const end = await run(String.raw`printf 'a\xff\xfe\x00b'`);

    expect(end.bytes("stdout")).toEqual(Buffer.from([0x61, 0xff, 0xfe, 0x00, 0x62]));
  });

  tryIt(title("both streams can be opened by their names, and many commands run at once"), async () => {
    const { run } = await commands(mode);
    const ends = await Promise.all(
      [1, 2, 3, 4, 5, 6].map((each) => run(`echo ${each} > /dev/stdout; echo err${each} | tee /dev/stderr >/dev/null`)),
    );

    expect(ends.map(({ stdout, stderr }) => stdout() + stderr())).toEqual(
      [1, 2, 3, 4, 5, 6].map((each) => `${each}\nerr${each}\n`),
    );
  });

  tryIt(title("a program with arguments runs without a shell"), async () => {
    const { run } = await commands(mode);
    const end = await run(["/usr/bin/printf", "%s|", "$HOME", "a b", "; exit 3"]);

    expect(end.stdout()).toBe("$HOME|a b|; exit 3|");
  });

  tryIt(title("a shell error is reported with the command's own line numbers"), async () => {
    const { run } = await commands(mode);
    const end = await run("echo one\necho (");

    expect(end.exit_code).not.toBe(0);
    expect(end.stderr()).toMatch(/line 2: .*\n.*line 2: `echo \('\n$/);
  });

  tryIt(title("the signal that ended a command is reported"), async () => {
    const { run } = await commands(mode);

    expect(await run("kill -KILL $$")).toMatchObject({ exit_code: 137, signal: "SIGKILL", ended_by: "itself" });
  });

  tryIt(title("a command that times out is terminated, and its output is kept"), async () => {
    const { run } = await commands(mode);
    const end = await run("trap 'echo bye; exit 3' TERM; echo begin; while :; do sleep 0.02; done", {
      timeout_ms: 300,
    });

    expect(end).toMatchObject({ exit_code: 3, ended_by: "timeout" });
    expect(end.stdout()).toBe("begin\nbye\n");
  });

  tryIt(title("a command that ignores SIGTERM is killed at most 2 s after its timeout"), async () => {
    const { run } = await commands(mode);
    const word = marker();
    const end = await run(
      `trap '' TERM; (trap '' TERM; setsid sleep ${word}) & echo begin; while :; do sleep ${word}; done`,
      {
        timeout_ms: 300,
      },
    );

    expect(end).toMatchObject({ exit_code: 137, signal: "SIGKILL", ended_by: "timeout" });
    expect(end.stdout()).toBe("begin\n");
    expect(end.duration_ms).toBeLessThan(2300);
    expect(processesWith(word)).toEqual([]);
  });

  tryIt(title("a command can be cancelled"), async () => {
    const { run } = await commands(mode);
    const word = marker();
    const cancel = new AbortController();
    const end = await run(`echo begin; sleep ${word}`, { signal: cancel.signal, onOutput: () => cancel.abort() });

    expect(end).toMatchObject({ ended_by: "cancel" });
    expect(processesWith(word)).toEqual([]);
  });

  // oxfmt-ignore
  const LEFT_BEHIND = [
    { how: "in the background",              line: (word: string) => `sleep ${word} & echo done` },
    { how: "with the output closed",         line: (word: string) => `sleep ${word} >/dev/null 2>&1 & echo done` },
    { how: "in its own session",        line: (word: string) => `setsid sleep ${word} & echo done` },
    { how: "with nohup",                     line: (word: string) => `nohup sleep ${word} >/dev/null 2>&1 & disown; echo done` },
    { how: "forked twice",                   line: (word: string) => `(setsid bash -c '(sleep ${word} >/dev/null 2>&1 &) &' &) ; echo done` },
    { how: "with endless output",   line: (word: string) => `(while :; do echo ${word}; done) & echo done` },
    { how: "stopped",                        line: (word: string) => `sleep ${word} & kill -STOP $!; echo done` },
  ];
  for (const { how, line } of LEFT_BEHIND) {
    tryIt(title(`a child left ${how} neither delays the call nor outlives it`), async () => {
      const { run } = await commands(mode);
      const word = marker();
      const end = await run(line(word));

      expect(end).toMatchObject({ exit_code: 0, ended_by: "itself" });
      expect(end.stdout()).toContain("done\n");
      expect(processesWith(word)).toEqual([]);
    });
  }

  tryIt(title("two gigabytes in one line are streamed, not buffered"), async () => {
    const { run } = await commands(mode);
    // What the runtime itself needs for a stream is there now, with the space in which it lets garbage lie.
    await run("head -c 500000000 /dev/zero", { onOutput: () => {} });
    const before = process.memoryUsage.rss();
    let highest = 0;
    let bytes = 0;
    const end = await run("head -c 2147483648 /dev/zero", {
      onOutput(_, piece) {
        bytes += piece.length;
        highest = Math.max(highest, process.memoryUsage.rss());
      },
    });

    expect(end).toMatchObject({ exit_code: 0, ended_by: "itself" });
    expect(bytes).toBe(2_147_483_648);
    expect(highest - before).toBeLessThan(64 * 1024 * 1024);
  });

  tryIt(title("endless output ends with the command's timeout"), async () => {
    const { run } = await commands(mode);

    expect(await run("yes", { timeout_ms: 300, onOutput: () => {} })).toMatchObject({ ended_by: "timeout" });
  });

  tryIt(title("a command that was cancelled before its start does not start"), async () => {
    const { run, at } = await commands(mode);

    await expect(run("touch made", { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: "AbortError" });
    expect(existsSync(at("root/made"))).toBe(false);
  });

  tryIt(title("a file larger than allowed is not written"), async () => {
    const { run, at } = await commands(mode, { file_bytes: 1_048_576 });
    const end = await run("head -c 5000000 /dev/zero > big; echo $?; ulimit -n");

    expect(end.stdout()).toBe("153\n1024\n");
    expect(statSync(at("root/big")).size).toBe(1_048_576);
  });

  tryIt(title("a fork bomb is killed, with the reason"), async () => {
    const { run } = await commands(mode, { processes: 100 });
    const word = marker();
    // It would stop by itself at two thousand processes, should nothing else stop it.
    const bomb = `b() { if [ $1 -gt 10 ]; then sleep ${word}; else b $(($1 + 1)) & b $(($1 + 1)) & fi; }; b 0; sleep ${word}`;
    const end = await run(bomb, { timeout_ms: 5_000 });

    expect(end).toMatchObject({ ended_by: "limit", limit_reached: { limit: "processes", allowed: 100 } });
    await vi.waitFor(() => expect(processesWith(word)).toEqual([]), { timeout: 2_000 });
  });

  tryIt(title("the memory of all processes together is limited"), async () => {
    const { run } = await commands(mode, { memory_bytes: 300_000_000 });
    const one = "(x=$(head -c 60000000 /dev/zero | tr '\\0' x); sleep 20)";
    const end = await run(`${`${one} & `.repeat(8)} wait`);

    expect(end).toMatchObject({ ended_by: "limit", limit_reached: { limit: "memory", allowed: 300_000_000 } });
  });

  tryIt(title("a replaced working folder is not used"), async () => {
    const { sandbox, at, make } = await commands(mode);
    await make({ "root/sub/": "" });
    await rename(at("root/sub"), at("root/was"));
    await symlink("/etc", at("root/sub"));

    expect(() => sandbox.launch({ run: "pwd", cwd: at("root/sub") })).toThrow(
      /its target changed since it was checked/,
    );
    expect(() => sandbox.launch({ run: "pwd", cwd: at("root/none") })).toThrow(/not found/);
  });

  tryIt(title("a command longer than the system allows is an error, not a crash"), async () => {
    const { run } = await commands(mode);

    await expect(run(`: ${"x".repeat(3_000_000)}`)).rejects.toMatchObject({ code: "IOError" });
  });
}
