/** Commands through the whole program: what they leave behind, how much they print, and who is killed meanwhile. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ToolCallResult } from "@autonous/runtime";
import { expect, test, vi } from "vitest";
import { autonous, start } from "./support/cli.ts";
import { marker, processesWith } from "./support/processes.ts";
import { scratch, scratchFolder } from "./support/scratch.ts";
import { isAlive, scratchPlace, startService, until, workerOf } from "./support/service.ts";

const hasSandbox = spawnSync("bwrap", ["--version"]).status === 0;
const needs = hasSandbox ? "" : " (skipped: needs bwrap, apt-get install bubblewrap)";

/** Without a sandbox only the profile for disposable machines runs commands without approval. */
// oxfmt-ignore
const MODES = [
  { where: "in the sandbox",    sandbox: "required", profile: "guarded",    needs },
  { where: "without a sandbox", sandbox: "off",      profile: "autonomous", needs: "" },
] as const;

function settingsOf({ sandbox, profile }: (typeof MODES)[number]): Readonly<Record<string, string>> {
  return { AUTONOUS_SANDBOX: sandbox, AUTONOUS_PROFILE: profile };
}

/** Three processes that try to outlive the command, each of which says when it is up. */
function escapees(word: string): string {
  return [
    `setsid bash -c 'echo > by-setsid; exec sleep ${word}' &`,
    `nohup bash -c 'echo > by-nohup; exec sleep ${word}' > /dev/null 2>&1 & disown`,
    `(setsid bash -c '(bash -c "trap : TERM; echo > by-two-forks; sleep ${word}; sleep ${word}" > /dev/null 2>&1 &) &' &)`,
    "until [ -e by-setsid ] && [ -e by-nohup ] && [ -e by-two-forks ]; do :; done",
    "echo up",
  ].join("\n");
}

/** How the command comes to its end, and what the program says of it then. */
// oxfmt-ignore
const ENDS = [
  { end: "it exits",     rest: () => "exit 0",                args: {},                       code: 0 },
  { end: "its time is up", rest: (word: string) => `sleep ${word}`, args: { timeout_seconds: 1 }, code: 124 },
  { end: "it is cancelled", rest: (word: string) => `sleep ${word}`, args: {}, signal: "SIGINT",  code: 130 },
  { end: "the program is killed", rest: (word: string) => `sleep ${word}`, args: {}, signal: "SIGKILL", code: null },
] as const;

for (const mode of MODES) {
  const tryIt = test.skipIf(mode.sandbox === "required" && !hasSandbox);

  for (const { end, rest, args, code, ...more } of ENDS) {
    const signal = "signal" in more ? more.signal : undefined;
    tryIt(`${mode.where} nothing of a command is left when ${end}${mode.needs}`, async () => {
      const { path: cwd } = await scratchFolder();
      const word = marker();
      const cmd = `${escapees(word)}\n${rest(word)}`;
      const env = settingsOf(mode);
      const { child, ended } = start(["call", "bash", JSON.stringify({ cmd, ...args })], { cwd, env });
      child.stdin.end();
      if (signal !== undefined) {
        await vi.waitFor(() => expect(processesWith(`sleep\0${word}`)).toHaveLength(4), { timeout: 20_000 });
        child.kill(signal);
      }
      const { code: got, stderr } = await ended;

      expect({ code: got, stderr: got === code ? "" : stderr }).toEqual({ code, stderr: "" });
      // Without a sandbox no process is left to end them; the next command does it first.
      if (signal === "SIGKILL" && mode.sandbox === "off")
        await autonous(["call", "bash", '{"cmd":"true"}'], { cwd, env });
      const timeout = signal === "SIGKILL" ? 2_000 : 0;
      await vi.waitFor(() => expect(processesWith(word)).toEqual([]), { timeout });
      expect(existsSync(join(cwd, "by-two-forks"))).toBe(true);
    });
  }

  tryIt(`${mode.where} a fork bomb that the policy cannot see is ended with the reason${mode.needs}`, async () => {
    const word = marker();
    const { make, call } = await scratch({ sandbox: mode.sandbox, profile: mode.profile });
    // It would stop by itself at some thousand processes, should nothing else stop it.
    const bomb = `if [ $1 -gt 10 ]; then exec sleep ${word}; fi\nbash $0 $(($1 + 1)) & bash $0 $(($1 + 1)) &\nwait\n`;
    await make({ "root/bomb.sh": bomb });

    const { error } = await call("bash", { cmd: "bash bomb.sh 0", timeout_seconds: 20 });

    expect(error).toMatchObject({ code: "LimitReached", details: { limit: "processes" } });
    await vi.waitFor(() => expect(processesWith(word)).toEqual([]), { timeout: 2_000 });
    expect((await call("bash", { cmd: "echo still here" })).payload?.stdout).toBe("still here\n");
  });

  tryIt(
    `${mode.where} what a cancelled command printed and changed is told and can be undone${mode.needs}`,
    async () => {
      const { make, read, runtime } = await scratch({ sandbox: mode.sandbox, profile: mode.profile });
      await make({ "root/a.txt": "before\n" });
      const cancel = new AbortController();
      const options = { signal: cancel.signal, onProgress: () => cancel.abort() };
      const cmd = `echo after > a.txt; echo begun; sleep ${marker()}; echo never`;

      const { error, payload, artifacts } = await runtime.call({ name: "bash", args: { cmd } }, options);

      expect(error?.code).toBe("Cancelled");
      expect(payload).toMatchObject({ stdout: "begun\n", data: { ended_by: "cancel" } });
      expect(artifacts.files_changed).toEqual(["a.txt"]);
      expect((await runtime.undo(artifacts.undo_id ?? "")).error).toBeNull();
      expect(await read("root/a.txt")).toBe("before\n");
    },
  );
}

test.skipIf(!hasSandbox)(
  `a worker of the service that is killed in mid-command takes the command along, and the task goes on${needs}`,
  async () => {
    const place = scratchPlace();
    const service = await startService(place, { environment: { AUTONOUS_SANDBOX: "required" } });
    const word = marker();
    const told = service.ask({ text: `/bash ${JSON.stringify({ cmd: `${escapees(word)}\nsleep ${word}` })}` });
    await vi.waitFor(() => expect(processesWith(`sleep\0${word}`)).toHaveLength(4), { timeout: 20_000 });
    const worker = await workerOf(service);
    process.kill(worker, "SIGKILL");
    await until(() => !isAlive(worker), "the worker to be gone");

    await vi.waitFor(() => expect(processesWith(word)).toEqual([]), { timeout: 2_000 });
    const { reply, events } = await told;
    // How far it got is unknown, so it is not run a second time.
    expect(reply?.text).toMatch(/interrupted|not known|unknown/i);
    expect(events.filter(({ type }) => type === "tool_call.started")).toHaveLength(1);
    expect(processesWith(word)).toEqual([]);
  },
);

/**
 * V8 lets what it could collect lie until its space for young objects is full, and that is 48 MB by itself. With little
 * of such space the highest mark is what the program holds on to.
 */
const LITTLE_GARBAGE = { NODE_OPTIONS: "--max-semi-space-size=4" };
const MAX_GROWTH_KB = 64 * 1024;

// oxfmt-ignore
const FLOODS = [
  { what: "two gigabytes",          cmd: `yes "$(head -c 4000 /dev/zero | tr '\\0' x)" | head -c 2147483648`, bytes: 2_147_483_648 },
  { what: "a gigabyte in one line", cmd: "head -c 1073741824 /dev/zero | tr '\\0' x",                         bytes: 1_073_741_824 },
] as const;

for (const { what, cmd, bytes } of FLOODS) {
  const mode = hasSandbox ? MODES[0] : MODES[1];

  test(`a command that prints ${what} needs no more memory than one that prints little`, async () => {
    const { path: cwd } = await scratchFolder();
    const env = { ...settingsOf(mode), ...LITTLE_GARBAGE };
    const { child, lines, ended } = start(["call", "-"], { cwd, env });
    const ask = (line: string): void =>
      void child.stdin.write(`${JSON.stringify({ name: "bash", args: { cmd: line } })}\n`);
    ask("seq 1 200000");
    await lines(1);
    const before = highestMark(child.pid);
    ask(cmd);
    const [, answer = ""] = await lines(2);
    const grown = highestMark(child.pid) - before;
    child.stdin.end();
    await ended;

    const { ok, payload } = JSON.parse(answer) as ToolCallResult;
    expect({ ok, truncated: payload?.truncated_bytes }).toEqual({ ok: true, truncated: true });
    expect(answer.length).toBeLessThan(200_000);
    const left = Number(/, (\d+) bytes left out/.exec(payload?.stdout ?? "")?.[1]);
    expect(left).toBeGreaterThan(bytes - 100_000);
    expect(grown).toBeLessThan(MAX_GROWTH_KB);
  });
}

/** The most memory that a process ever had, in KB. */
function highestMark(pid: number | undefined): number {
  return Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}

test.skipIf(!hasSandbox)(
  `doctor lists each way out of the sandbox that it tried, and how that ended${needs}`,
  async () => {
    const { path: cwd } = await scratchFolder();
    const { stdout, code } = await autonous(["doctor", "--json"], { cwd });
    const { checks } = JSON.parse(stdout) as {
      checks: readonly { check: string; outcome: string; attempts?: object[] }[];
    };
    const { outcome, attempts = [] } = checks.find(({ check }) => check === "sandbox") ?? {};

    expect({ code, outcome }).toEqual({ code: 0, outcome: "ok" });
    expect(attempts.length).toBeGreaterThanOrEqual(25);
    for (const attempt of attempts) {
      expect(attempt).toEqual({
        attempt: expect.stringMatching(/\w/) as string,
        outcome: expect.stringMatching(/^(?:blocked|not_tried)$/) as string,
        detail: expect.any(String) as string,
      });
    }
  },
);
