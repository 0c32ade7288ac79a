import { readdirSync, readFileSync } from "node:fs";
import type { CommandLimits } from "../../contract/processes.ts";
import { THREADS_PER_PROCESS } from "./watchdog.ts";

export interface PrologueFacts {
  /** The descriptor of the prologue: the last one of ours. */
  readonly fd: number;
  /** The descriptor of the lifeline. Undefined without a sandbox that must be tied to this process. */
  readonly lifeline_fd?: number;
  /** Bash lines that exit if the sandbox is not as intended. Nothing else runs before them. */
  readonly checks?: readonly string[];
  /** Descriptors used only by the checks. */
  readonly check_fds?: readonly number[];
  /** Bash lines. */
  readonly helper?: readonly string[];
  /**
   * Receives a word when all processes are tied to the runtime, and another when setup is done and the command starts.
   */
  readonly status_fd?: number;
}

/**
 * What bash does before the command: it sets limits that every process inherits, and closes descriptors that are not
 * for the command. Passed as a file, so that the command's text and line numbers stay unchanged. `helper` starts our
 * own helpers for the command, which the limits do not apply to; they get no stray descriptors either.
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

/** The first byte of the status file while the command must not start. */
export const SHUT = "|";

/**
 * Exits if the runtime is gone. `--die-with-parent` is not effective from the start: a runtime that dies before
 * bubblewrap has called prctl leaves a sandbox that nothing ends. The first process inside has called it once it has as
 * many seccomp filters as this shell, since bubblewrap installs its own next; the process outside has called it before.
 * From then on both die with the runtime. Nothing is ever sent through the lifeline, so only its end can be read.
 * Afterwards it waits while its gate is shut.
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

/** In the units of `ulimit`, and not above our own limit, which cannot be exceeded. */
function within(name: string, wanted: number, unit: number): number {
  const line = readFileSync("/proc/self/limits", "latin1")
    .split("\n")
    .find((each) => each.startsWith(name));
  const hard = Number(line?.slice(name.length).trim().split(/\s+/)[1]);
  return Math.floor((Number.isNaN(hard) ? wanted : Math.min(hard, wanted)) / unit);
}

/** Inherited descriptors that children would inherit too: our own are close-on-exec. */
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
    return 0o2000000; // it was the descriptor of the listing itself
  }
}
