import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** A number of seconds that no other process sleeps for, by which processes are found again. */
export function marker(): string {
  return `60.${BigInt(`0x${randomBytes(6).toString("hex")}`)}`;
}

/** The processes in whose command line a word stands. */
export function processesWith(word: string): string[] {
  return readdirSync("/proc").filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, "latin1").includes(word);
    } catch {
      return false; // it ended meanwhile
    }
  });
}

/** The numbers of all processes that there are. */
function allProcesses(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** The processes whose parent this one is. */
export function childrenOf(pid: number): number[] {
  return allProcesses().filter((each) => statOf(each)?.parent === pid);
}

/** The worker among the children of a supervisor. */
export function workerAmong(supervisor: number): number | undefined {
  return childrenOf(supervisor).find((pid) => {
    try {
      return isAlive(pid) && / worker( |$)/.test(wordsOf(pid));
    } catch {
      return false; // it ended meanwhile
    }
  });
}

/** A process with its children, their children and so on, itself first. */
export function familyOf(pid: number): number[] {
  const family = [pid];
  const parents = allProcesses().map((each) => ({ each, parent: statOf(each)?.parent }));
  for (const member of family)
    family.push(...parents.filter(({ parent }) => parent === member).map(({ each }) => each));
  return family;
}

/** False for a process that has ended and whose parent has not asked for it yet. */
export function isAlive(pid: number): boolean {
  const stat = statOf(pid);
  return stat !== undefined && stat.state !== "Z";
}

/** It runs, or waits for the processor or the disk. */
export function isBusy(pid: number): boolean {
  return ["R", "D"].includes(statOf(pid)?.state ?? "");
}

interface Stat {
  readonly state: string;
  readonly parent: number;
}

function statOf(pid: number): Stat | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state = "", parent = ""] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { state, parent: Number(parent) };
  } catch {
    return undefined; // no such process
  }
}

/** A live process and its words. */
export interface FoundProcess {
  readonly pid: number;
  readonly words: string;
}

/** The command line of a process. Throws when the process does not exist. */
export function wordsOf(pid: number): string {
  return readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ").trim();
}

/** The live processes that belong to a folder: by a word of their environment, by where they work, by their command line. */
export function processesOf({
  path,
  marker: word,
}: {
  readonly path: string;
  readonly marker: string;
}): FoundProcess[] {
  return allProcesses().flatMap((pid) => {
    try {
      const words = wordsOf(pid);
      const isOurs =
        words.includes(path) ||
        readlinkSync(`/proc/${pid}/cwd`).startsWith(path) ||
        readFileSync(`/proc/${pid}/environ`, "latin1").split("\0").includes(word);
      return isOurs && isAlive(pid) && pid !== process.pid ? [{ pid, words }] : [];
    } catch {
      return []; // it ended meanwhile, or is the kernel's
    }
  });
}
