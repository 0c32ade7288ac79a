import { readdirSync, readFileSync } from "node:fs";
import type { CommandLimits } from "../../contract/processes.ts";
import { THREADS_PER_PROCESS } from "./watchdog.ts";

export interface PrologueFacts {
  /** The descriptor that it is handed over as, the last one of ours. */
  readonly fd: number;
  /** The descriptor of the lifeline. Left out: there is none, because no sandbox has to be tied to it. */
  readonly lifeline_fd?: number;
  /** Lines for bash that end it where the sandbox is not what it was meant to be. Nothing else runs before them. */
  readonly checks?: readonly string[];
  /** Descriptors that only the checks need. */
  readonly check_fds?: readonly number[];
  /** Lines for bash. */
  readonly helper?: readonly string[];
  /** Gets a word when all is tied to the runtime, and another when all is done and the command begins. */
  readonly status_fd?: number;
}

/**
 * What bash does before the command: limits that every process of it inherits, and closing descriptors that are not
 * the command's business. Handed over as a file, so that the command's own text and its line numbers stay as they are.
 * `helper` starts what the command needs beside it: of ours, so the limits do not hold for it, and strays are none of
 * its business either.
 */
export function prologueText(limits: CommandLimits, facts: PrologueFacts): string {
  const { fd, lifeline_fd, checks = [], check_fds = [], helper = [], status_fd } = facts;
  const strays = strayDescriptors().filter((stray) => stray > fd);
  const [memory, files, size, tasks] = [
    within("Max data size", limits.memory_bytes, 1024),
    within("Max open files", limits.open_files, 1),
    within("Max file size", limits.file_bytes, 1024),
    within("Max processes", limits.processes * THREADS_PER_PROCESS, 1),
  ];
  return [
    "unset BASH_ENV",
    ...checks,
    ...(lifeline_fd === undefined || status_fd === undefined ? [] : tiedToRuntime(lifeline_fd, status_fd)),
    `exec ${[fd, ...check_fds, ...strays].map((each) => `${each}<&-`).join(" ")}`,
    ...helper,
    ...(status_fd === undefined ? [] : [`echo ready >&${status_fd}`, `exec ${status_fd}>&-`]),
    `ulimit -c 0 -d ${memory} -n ${files} -f ${size} -u ${tasks}`,
    "",
  ].join("\n");
}

/** The first byte of the status file while the command is not to begin. */
export const SHUT = "|";

/**
 * Ends the shell where the runtime is gone. `--die-with-parent` is not in force from the start: a runtime that dies
 * before bubblewrap asks the kernel for it leaves a sandbox that nothing ends. The first process inside has asked once
 * it has as many filters as this shell, for bubblewrap sets its own next; the one outside has asked before that. A
 * runtime that is alive then takes both along whenever it dies. Nothing is ever sent through the lifeline, so that all
 * that can be read is its end. Then it waits for as long as its gate is shut.
 */
function tiedToRuntime(fd: number, status_fd: number): readonly string[] {
  const filtersOf = (process: string, variable: string): string =>
    `IFS= read -r -d "" "${variable}" </proc/${process}/status; ${variable}=\${${variable}##*Seccomp:}; ${variable}=\${${variable}%%Spec*}`;
  const orEnd = `read -r -t 0.001 -u ${fd} REPLY || [ $? -gt 128 ] || exit 125`;
  return [
    filtersOf("$$", "REPLY[1]"),
    `until ${filtersOf("1", "REPLY")}; [[ $REPLY == "\${REPLY[1]}" ]]; do`,
    `  ${orEnd}`,
    "done",
    `read -t 0 -u ${fd} && exit 125`,
    `echo tied >&${status_fd}`,
    `while IFS= read -r -n 1 REPLY </dev/fd/${status_fd}; [[ $REPLY == "${SHUT}" ]]; do`,
    `  ${orEnd}`,
    "done",
    `exec ${fd}<&-`,
    "unset REPLY",
  ];
}

/** A limit cannot be raised above the one that we have ourselves. In the units of `ulimit`. */
function within(name: string, wanted: number, unit: number): number {
  const line = readFileSync("/proc/self/limits", "latin1")
    .split("\n")
    .find((each) => each.startsWith(name));
  const hard = Number(line?.slice(name.length).trim().split(/\s+/)[1]);
  return Math.floor((Number.isNaN(hard) ? wanted : Math.min(hard, wanted)) / unit);
}

/** Descriptors that we were started with and that children would get: those of our own close by themselves. */
function strayDescriptors(): readonly number[] {
  const CLOSES_BY_ITSELF = 0o2000000;
  return readdirSync("/proc/self/fdinfo")
    .map(Number)
    .filter((fd) => fd > 2 && (flagsOf(fd) & CLOSES_BY_ITSELF) === 0);
}

function flagsOf(fd: number): number {
  try {
    const info = readFileSync(`/proc/self/fdinfo/${fd}`, "latin1");
    return Number.parseInt(/^flags:\s+(\d+)/m.exec(info)?.[1] ?? "0", 8);
  } catch {
    return 0o2000000; // it was the one that listed the others
  }
}
