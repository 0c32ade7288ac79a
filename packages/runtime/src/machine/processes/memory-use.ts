import { readdirSync, readFileSync, readlinkSync, statfsSync, statSync } from "node:fs";

/** Memory of a command that is not accounted to a process. */
export interface UnchargedMemory {
  /** Files in its private in-memory folders. */
  readonly file_bytes: number;
  /** Buffers of its sockets, at most. */
  readonly socket_bytes: number;
  /** Growth of the machine's shared memory since the command started: an upper bound for its own. */
  readonly shared_growth_bytes: number;
}

/** The kernel's default size of socket buffers. Programs have few sockets, and rarely fill the buffers. */
const SOCKET_BYTES = 212_992;
const FREE_SOCKETS = 1_024;

/** Measures the memory of a sandboxed command outside its processes. */
export class PrivateMemory {
  readonly #folders: readonly string[];
  readonly #sharedAtStart = systemSharedBytes();
  /** Of the machine's own folders with these names, which the first process still sees during sandbox setup. */
  readonly #outside: readonly number[];

  /** `folders`: those that are private and in memory inside. */
  constructor(folders: readonly string[]) {
    this.#folders = folders;
    this.#outside = folders.map((folder) => deviceOf(folder));
  }

  /** Cheap: one system call per folder. `inner`: the first process inside; undefined until it exists. */
  fileBytes(inner: number | undefined): number {
    if (inner === undefined) return 0;
    let bytes = 0;
    for (const [index, folder] of this.#folders.entries()) {
      const path = `/proc/${inner}/root${folder}`;
      const device = deviceOf(path);
      if (device !== -1 && device !== this.#outside[index]) bytes += usedBytes(path);
    }
    return bytes;
  }

  all(inner: number | undefined): UnchargedMemory {
    return {
      file_bytes: this.fileBytes(inner),
      socket_bytes: inner === undefined ? 0 : socketBytes(inner),
      shared_growth_bytes: Math.max(0, systemSharedBytes() - this.#sharedAtStart),
    };
  }
}

function deviceOf(path: string): number {
  try {
    return statSync(path).dev;
  } catch {
    return -1; // gone, or never existed
  }
}

function usedBytes(path: string): number {
  try {
    const { blocks, bfree, bsize } = statfsSync(path);
    return (blocks - bfree) * bsize;
  } catch {
    return 0; // gone
  }
}

function socketBytes(inner: number): number {
  const sockets = numberAfter(read(`/proc/${inner}/net/sockstat`) ?? "", /^sockets: used (\d+)/m);
  return Math.max(0, sockets - FREE_SOCKETS) * SOCKET_BYTES;
}

/** Shared memory of the whole machine: in-memory files, and memory that processes share or could share. */
function systemSharedBytes(): number {
  return 1024 * numberAfter(read("/proc/meminfo") ?? "", /^Shmem:\s+(\d+)/m);
}

/**
 * The memory of several processes together, plus `extra`. Shared memory is counted once per process, unless that
 * exceeds the limit: only then is the slow, exact count worth it.
 */
export function memoryOf(pids: readonly number[], { limit_bytes, uncharged }: MemoryOptions): number {
  const { file_bytes, socket_bytes, shared_growth_bytes } = uncharged;
  let resident = 0;
  for (const pid of pids) resident += residentBytes(pid);
  const roughly = resident + socket_bytes + Math.max(file_bytes, shared_growth_bytes);
  if (roughly <= limit_bytes) return resident + socket_bytes + file_bytes;
  const { own_bytes, mapped_bytes } = proportionalBytes(pids);
  // Pages of a shared mapping stay in memory after unmapping, like those of an open file.
  const unmapped = Math.min(Math.max(0, shared_growth_bytes - file_bytes), sharedBytesOf(pids));
  return own_bytes + socket_bytes + Math.max(mapped_bytes, file_bytes + unmapped);
}

interface MemoryOptions {
  readonly limit_bytes: number;
  readonly uncharged: UnchargedMemory;
}

function residentBytes(pid: number): number {
  const status = read(`/proc/${pid}/status`) ?? "";
  return 1024 * (numberAfter(status, /^VmRSS:\s+(\d+)/m) + numberAfter(status, /^HugetlbPages:\s+(\d+)/m));
}

/** Private memory, plus the proportional share of mapped shared memory. */
function proportionalBytes(pids: readonly number[]): { readonly own_bytes: number; readonly mapped_bytes: number } {
  let own = 0;
  let mapped = 0;
  for (const pid of pids) {
    const rollup = read(`/proc/${pid}/smaps_rollup`);
    if (rollup === undefined) {
      own += residentBytes(pid);
      continue;
    }
    const shared = 1024 * numberAfter(rollup, /^Pss_Shmem:\s+(\d+)/m);
    mapped += shared;
    own += 1024 * numberAfter(rollup, /^Pss:\s+(\d+)/m) - shared;
  }
  return { own_bytes: own, mapped_bytes: mapped };
}

/** A shared mapping without a named file: `… rw-s 00000000 00:01 1043 /dev/zero (deleted)`. */
const SHARED = /^([0-9a-f]+)-([0-9a-f]+) ...s \S+ (\S+ \d+) +(?:\/dev\/zero|\/SYSV|\/memfd:|\/anon_hugepage)/gm;

/** An upper bound for unnamed shared memory that some processes have mapped or open. */
function sharedBytesOf(pids: readonly number[]): number {
  const sizes = new Map<string, number>();
  for (const pid of pids) {
    const mapped = new Map<string, number>();
    for (const [, from = "", to = "", id = ""] of (read(`/proc/${pid}/maps`) ?? "").matchAll(SHARED)) {
      mapped.set(id, (mapped.get(id) ?? 0) + Number.parseInt(to, 16) - Number.parseInt(from, 16));
    }
    for (const [id, bytes] of mapped) sizes.set(id, Math.max(sizes.get(id) ?? 0, bytes));
  }
  let open = 0;
  const seen = new Set<number>();
  for (const pid of pids) {
    for (const { ino, bytes } of openMemoryFiles(pid)) {
      if (!seen.has(ino)) open += bytes;
      seen.add(ino);
    }
  }
  return open + [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
}

function openMemoryFiles(pid: number): readonly { readonly ino: number; readonly bytes: number }[] {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).flatMap((fd) => {
      const path = `${folder}/${fd}`;
      if (!readlinkSync(path).startsWith("/memfd:")) return [];
      const { ino, blocks } = statSync(path);
      return [{ ino, bytes: 512 * blocks }];
    });
  } catch {
    return []; // gone meanwhile
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return undefined; // gone, or another user's
  }
}

function numberAfter(text: string, pattern: RegExp): number {
  return Number(pattern.exec(text)?.[1] ?? 0);
}
