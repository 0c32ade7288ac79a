import { statfsSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import type { CommandLimits } from "../../contract/processes.ts";
import { ToolError } from "../../protocol/errors.ts";

const MEBIBYTE = 1_048_576;

/** The machine's resources that determine the limits of commands. */
export interface MachineFacts {
  /** Of the machine or of this process's container, whichever is less. */
  readonly memory_bytes: number;
  readonly processors: number;
  /** Of the file system of the current folder. */
  readonly disk_bytes: number;
}

/** Memory and CPUs that this process may use. */
export function machineFacts(): MachineFacts {
  const container = process.constrainedMemory();
  const memory = totalmem();
  return {
    memory_bytes: container > 0 && container < memory ? container : memory,
    processors: availableParallelism(),
    disk_bytes: diskBytes(),
  };
}

function diskBytes(): number {
  try {
    const { blocks, bsize } = statfsSync(".");
    return blocks * bsize;
  } catch {
    return Number.MAX_SAFE_INTEGER; // the current folder is gone: it sets no limit
  }
}

/** Default limits of a command. Whole mebibytes, so that settings can show and repeat them. */
export function machineLimits(facts: MachineFacts = machineFacts()): CommandLimits {
  const mebibytes = (bytes: number, [least, most]: readonly [number, number]): number =>
    MEBIBYTE * Math.min(most, Math.max(least, Math.floor(bytes / MEBIBYTE)));
  return {
    memory_bytes: mebibytes(facts.memory_bytes / 2, [256, 8_192]),
    processes: Math.min(512, 128 + 64 * facts.processors),
    file_bytes: mebibytes(facts.disk_bytes / 4, [256, 8_192]),
    open_files: 8_192,
  };
}

/** A shell does not start below these. */
// oxfmt-ignore
const LEAST: CommandLimits = {
  memory_bytes: 16 * MEBIBYTE,
  processes:    8,
  file_bytes:   MEBIBYTE,
  open_files:   32,
};

/** The effective limits: the configured ones, else the machine's. Throws `InvalidArguments`. */
export function limitsFor(given: Partial<CommandLimits>): CommandLimits {
  const limits = { ...machineLimits(), ...given };
  for (const name of Object.keys(LEAST) as (keyof CommandLimits)[]) {
    if (Number.isSafeInteger(limits[name]) && limits[name] >= LEAST[name]) continue;
    throw new ToolError(
      "InvalidArguments",
      `Cannot limit commands: "command_limits.${name}" has to be a whole number of at least ${LEAST[name]}, not ${String(limits[name]).slice(0, 40)}`,
      { field: `command_limits.${name}` },
    );
  }
  return limits;
}
