/** A sandboxed command that exchanges folders with links, in this process or in one of its own. */
import { join } from "node:path";
import type { CommandLimits } from "../../packages/runtime/src/contract/processes.ts";
import type { Launch } from "../../packages/runtime/src/machine/processes/launch.ts";
import { runCommand } from "../../packages/runtime/src/machine/processes/run.ts";
import { openSandbox } from "../../packages/runtime/src/machine/sandbox/sandbox.ts";
import type { Sandbox } from "../../packages/runtime/src/machine/sandbox/sandbox.ts";

const limits: CommandLimits = { memory_bytes: 2e9, processes: 128, file_bytes: 1e9, open_files: 1024 };

/** Exchanges each folder with each of its links, without a pause. Prints how often when a signal ends it. */
const MOVER = `
use strict; use warnings;
my $call = shift; my $count = 0; $| = 1; my $stop = 0;
$SIG{TERM} = sub { $stop = 1 };
until ($stop) {
  for my $flip (@ARGV) {
    for my $link (0 .. 3) {
      my ($one, $other) = ($flip, "$flip-$link");
      $count += 2 if syscall($call, -100, $one, -100, $other, 2) == 0;
      print "moving\\n" if $count == 2;
      select undef, undef, undef, 0.002 * rand;
      syscall($call, -100, $one, -100, $other, 2);
      select undef, undef, undef, 0.02 * rand;
    }
  }
}
open my $out, ">", "count"; print $out $count; close $out;
`;
const RENAMEAT2: Readonly<Record<string, number>> = { x64: 316, arm64: 276 };

interface MoveOptions {
  readonly root: string;
  readonly flips: readonly string[];
  readonly signal: AbortSignal;
  readonly onMoving: () => void;
}

/** Runs until `signal` aborts, which is passed on as a signal to the command. */
export async function moveFolders(sandbox: Sandbox, { root, flips, signal, onMoving }: MoveOptions): Promise<void> {
  const run = ["/usr/bin/perl", "-e", MOVER, `${RENAMEAT2[process.arch] ?? -1}`, ...flips] as const;
  const launch = (): Launch => sandbox.launch({ run, cwd: root });
  await runCommand(launch, { call_id: "move", limits, timeout_ms: 2 ** 31 - 1, signal, onOutput: onMoving });
}

if (import.meta.main) {
  const [folder = "", ...flips] = process.argv.slice(2);
  const at = (name: string): string => join(folder, name);
  const workspace = { roots: [at("root")], home: at("home"), state_dirs: [at("state"), at("mover-state")] };
  const sandbox = await openSandbox({ mode: "required", workspace, state_dir: at("mover-state"), limits });
  const stop = new AbortController();
  process.once("disconnect", () => stop.abort());
  const onMoving = (): void => void process.send?.("moving");
  await moveFolders(sandbox, { root: at("root"), flips, signal: stop.signal, onMoving });
  sandbox.close();
}
