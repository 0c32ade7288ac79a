import { machineFacts } from "@autonous/runtime/internal";
import type { CheckResult } from "./checks.ts";
import { commandLimits } from "../session/open-runtime.ts";
import type { Workplace } from "../session/open-runtime.ts";

const MEBIBYTE = 1_048_576;

/** The resource limits of commands, and whether they protect this machine. */
export function checkLimits({ configuration }: Pick<Workplace, "configuration">): CheckResult {
  const { memory_bytes = 0, file_bytes = 0, processes = 0, open_files = 0 } = commandLimits(configuration.settings);
  const machine = machineFacts();
  const limits = `a command gets ${megabytes(memory_bytes)} of memory, ${processes} processes, files of ${megabytes(file_bytes)}, ${open_files} open files`;
  const here = `this machine has ${megabytes(machine.memory_bytes)} of memory and ${machine.processors} processors`;
  if (memory_bytes < machine.memory_bytes) return { check: "limits", outcome: "ok", message: `${limits}; ${here}` };
  const way = "set AUTONOUS_COMMAND_MEMORY_MEGABYTES lower";
  return { check: "limits", outcome: "warning", message: `${limits}; ${here}, so one command can use it up: ${way}` };
}

function megabytes(bytes: number): string {
  return `${Math.floor(bytes / MEBIBYTE)} MiB`;
}
