import { existsSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { keepPrinted } from "../../../../../test/support/printed.ts";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import type { CommandLimits } from "../../contract/processes.ts";
import type { SandboxMode } from "../../protocol/configuration.ts";
import { openSandbox } from "../sandbox/sandbox.ts";
import type { Launch } from "./launch.ts";
import { findProgram, PROGRAMS } from "./programs.ts";
import { runCommand } from "./run.ts";

const bwrap = await findProgram("bwrap", { roots: [] });
const PERL = "/usr/bin/perl";
const needs = bwrap === undefined ? ` (skipped: needs bwrap, ${PROGRAMS.bwrap.install})` : "";
const sandboxed = test.skipIf(bwrap === undefined);
const withPerl = test.skipIf(bwrap === undefined || !existsSync(PERL) || process.arch !== "x64");

const LIMITS: CommandLimits = { memory_bytes: 300_000_000, processes: 256, file_bytes: 4e9, open_files: 8192 };

interface MemoryCase {
  readonly mode?: SandboxMode;
  /** A bubblewrap that knows no sizes, as those before 0.7. */
  readonly isOld?: boolean;
  readonly limits?: Partial<CommandLimits>;
}

async function commands({ mode = "required", isOld = false, limits = {} }: MemoryCase = {}) {
  const { path, make } = await scratchFolder();
  const at = (name: string): string => join(path, name);
  const refuse = `case " $* " in *" --size "*) echo "bwrap: Unknown option --size" >&2; exit 1;; esac`;
  await make({
    "root/": "",
    "state/": "",
    "root/.ssh/id": "",
    "bin/bwrap": `#!/bin/bash\n${refuse}\nexec ${bwrap} "$@"\n`,
  });
  await chmod(at("bin/bwrap"), 0o755);
  const all = { ...LIMITS, ...limits };
  const sandbox = await openSandbox({
    mode,
    workspace: { roots: [at("root")], home: at("home"), state_dirs: [at("state")] },
    state_dir: at("state"),
    limits: all,
    ...(isOld ? { path: `${at("bin")}:/usr/bin:/bin` } : {}),
  });
  onTestFinished(() => sandbox.close());
  const run = async (text: string) => {
    const { onOutput, stdout, stderr } = keepPrinted();
    const launch = (): Launch => sandbox.launch({ run: text, cwd: at("root") });
    const signal = new AbortController().signal;
    const end = await runCommand(launch, { timeout_ms: 20_000, signal, call_id: "call", limits: all, onOutput });
    return { ...end, stdout: stdout(), stderr: stderr() };
  };
  return { at, run };
}

const OVER = { ended_by: "limit", limit_reached: { limit: "memory", allowed: 300_000_000 } };
const HOLD = "sleep 15";

for (const isOld of [false, true]) {
  const name = isOld ? "with a bubblewrap without sizes" : "with sizes";
  sandboxed(`${name} files in memory count together with the processes${needs}`, async () => {
    const { run } = await commands({ isOld });

    expect(
      await run(`head -c 230000000 /dev/zero > /tmp/a; x=$(head -c 90000000 /dev/zero | tr '\\0' x); ${HOLD}`),
    ).toMatchObject(OVER);
    expect(await run("head -c 100000000 /dev/zero > /tmp/a; sleep 0.4; echo fine")).toMatchObject({ stdout: "fine\n" });
  });

  // oxfmt-ignore
  const PLACES = [
    { title: "/tmp",                       fill: "head -c 3000000000 /dev/zero > /tmp/a" },
    { title: "/dev/shm",                   fill: "head -c 3000000000 /dev/zero > /dev/shm/a" },
    { title: "/tmp and /dev/shm together", fill: "head -c 200000000 /dev/zero > /tmp/a; head -c 200000000 /dev/zero > /dev/shm/a" },
    { title: "a file that has no name",    fill: "exec 7<>/tmp/a; rm /tmp/a; head -c 3000000000 /dev/zero >&7" },
    { title: "/run, whose mode is changed", fill: "chmod 0777 /run; mkdir /run/x; head -c 3000000000 /dev/zero > /run/a" },
  ] as const;
  for (const { title, fill } of PLACES) {
    sandboxed(`${name} the size of ${title} is limited by the command's memory limit${needs}`, async () => {
      const { run } = await commands({ isOld });
      const end = await run(`${fill}; du -sb --total /tmp /dev/shm /run 2>/dev/null | tail -n 1 | cut -f 1`);

      // It is either ended, or has met the end of the folder.
      if (end.ended_by !== "limit") expect(Number(end.stdout)).toBeLessThanOrEqual(310_000_000);
    });
  }

  sandboxed(`${name} a hidden folder stays empty, regardless of its owner${needs}`, async () => {
    const { run, at } = await commands({ isOld });
    const ssh = at("root/.ssh");
    const end = await run(`chmod 0777 ${ssh}; echo x > ${ssh}/a; mkdir ${ssh}/b; ls -A ${ssh} | wc -l`);

    expect(end.stdout).toBe("0\n");
    expect(end.stderr).toMatch(/Read-only file system/);
  });
}

/** Maps memory for all who share it, has the kernel fill it, and gives the pages up: no process is charged for them then. */
const FILL_AND_FORGET = `my $size = 400_000_000; my $at = syscall(9, 0, $size, 3, 0x21, -1, 0); open my $zero, "<", "/dev/zero";
  syscall(0, fileno($zero), $at + $_ * 1_000_000, 1_000_000) for 0 .. 399; syscall(28, $at, $size, 4); sleep 15`;
const MEMFD = `my $name = "x"; my $fd = syscall(319, $name, 0); print "$fd $!\\n"; exit if $fd < 0; open my $file, ">&=", $fd;
  my $piece = "x" x 1_000_000; syswrite $file, $piece for 1 .. 400; sleep 15`;
const SOCKETS = `use Socket; my @kept; for (1 .. 1500) { socketpair(my $one, my $other, AF_UNIX, SOCK_STREAM, 0); push @kept, $one, $other } sleep 15`;

withPerl(`unmapped shared memory counts${needs}`, async () => {
  const { run } = await commands();

  expect(await run(`exec ${PERL} -e '${FILL_AND_FORGET}'`)).toMatchObject(OVER);
});

withPerl(`a sandboxed command gets no unnamed in-memory files, and only small shared segments${needs}`, async () => {
  const { run } = await commands();

  expect((await run(`exec ${PERL} -e '${MEMFD}'`)).stdout).toBe("-1 Function not implemented\n");
  expect(
    (await run(`exec ${PERL} -e 'print syscall(29, 0, 1 << 30, 0600), " ", syscall(29, 0, 56, 0600) >= 0'`)).stdout,
  ).toBe("-1 1");
});

withPerl(`data buffered in many sockets counts${needs}`, async () => {
  const { run } = await commands();

  expect(await run(`exec ${PERL} -e '${SOCKETS}'`)).toMatchObject(OVER);
});

withPerl("without a sandbox, unnamed in-memory files count while they are open", async () => {
  const { run } = await commands({ mode: "off" });

  expect(await run(`exec ${PERL} -e '${MEMFD}'`)).toMatchObject(OVER);
});
