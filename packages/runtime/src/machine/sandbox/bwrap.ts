import { isInside } from "../../paths/inside.ts";

export interface HiddenPlace {
  readonly path: string;
  readonly kind: "folder" | "file";
}

interface WayOut {
  /** Where the proxy listens outside. */
  readonly socket: string;
  /** The program that passes connections on to it. */
  readonly program: string;
}

/** Where the proxy's socket is inside. `/dev` is private whatever the roots are. */
export const PROXY_SOCKET = "/dev/network.sock";

/** Everything that a sandbox is made of. All paths are real ones: nothing in them is a link. */
export interface SandboxFacts {
  /** Writable. */
  readonly roots: readonly string[];
  readonly cwd: string;
  /** Empty and closed inside. */
  readonly hidden: readonly HiddenPlace[];
  /** Inside the roots, to be read only. */
  readonly read_only: readonly string[];
  /** Folders inside the roots that stay writable but cannot be renamed: what is read-only in them would go along. */
  readonly pinned: readonly string[];
  /** Writable although something hides it: the folder of a script inside the runtime's state. */
  readonly writable: readonly string[];
  /** A folder that is `/tmp` inside. Left out: an empty one in memory. */
  readonly tmp?: string;
  /** Whether folders in memory can be bounded. */
  readonly has_sizes: boolean;
  /** That the command may take, files in memory included. */
  readonly memory_bytes: number;
  /** An empty file that nobody may read, shown in the place of hidden files. */
  readonly closed_file: string;
  /** Set inside only, so that the sandbox program itself does not follow them (`LD_PRELOAD`). */
  readonly variables: Readonly<Record<string, string>>;
  /** The way out through a proxy. Left out: there is none. */
  readonly way_out?: WayOut;
  readonly seccomp_fd: number;
  readonly status_fd: number;
}

/** The private home inside. It lies in the private `/tmp`, which lasts, unless `/tmp` is the system's own. */
export function sandboxHome(roots: readonly string[]): string {
  return roots.includes("/tmp") ? "/run/home" : "/tmp/home";
}

/** Memory that files in `/tmp` and in `/dev/shm` may take, and no more than the command may: it counts as the command's. */
const TMP_BYTES = 1_073_741_824;
const SHM_BYTES = 268_435_456;

/** Private folders of the sandbox. What the system has there is out of sight without more. */
const PRIVATE = ["/tmp", "/run", "/dev", "/proc"] as const;

// oxfmt-ignore
const APART = [
  "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--unshare-net",
  "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox",
] as const;

/**
 * Root of the machine is root in here too, without capabilities, and may still write what belongs to root:
 * /proc/sys/kernel/core_pattern names a program that the kernel runs outside. So all of /proc is read-only.
 */
// oxfmt-ignore
const KERNEL_FOLDERS = [
  "--proc", "/proc", "--remount-ro", "/proc",
  "--dev", "/dev",
] as const;
/** Of a folder in memory that nothing is to be written to. It is read-only too, for its owner may change its mode. */
const EMPTY_BYTES = 4_096;

/** Folders inside that are private, in memory and writable. */
export function foldersInMemory({ roots, tmp }: Pick<SandboxFacts, "roots" | "tmp">): readonly string[] {
  const home = sandboxHome(roots);
  return ["/dev/shm", ...(tmp === undefined ? ["/tmp"] : []), ...(isInside("/run", home) ? ["/run"] : [])];
}

/**
 * Arguments of bwrap, without the command. The order is the argument: the system read-only, then what is private, then
 * the roots, then what is read-only and hidden in them and elsewhere, so that no later line opens what an earlier one
 * closed. The environment is the one that bwrap is started with, not arguments: those are for everyone to read in `ps`.
 */
export function bwrapArguments(facts: SandboxFacts): readonly string[] {
  const { roots, hidden } = facts;
  const below = roots.filter((root) => root !== "/").sort((one, other) => one.length - other.length);
  const visible = hidden.filter(({ path }) => !isPrivate(path) || below.some((root) => isInside(root, path)));
  const aboveRoots = visible.filter(({ path }) => below.some((root) => isInside(path, root)));
  const others = visible.filter((place) => !aboveRoots.includes(place));
  const args: string[] = [...APART, roots.includes("/") ? "--bind" : "--ro-bind", "/", "/", ...KERNEL_FOLDERS];
  args.push(...inMemory("/dev/shm", SHM_BYTES, facts));
  if (facts.way_out !== undefined) args.push("--ro-bind", facts.way_out.socket, PROXY_SOCKET);
  args.push("--remount-ro", "/dev");
  args.push(...(facts.tmp === undefined ? inMemory("/tmp", TMP_BYTES, facts) : ["--bind", facts.tmp, "/tmp"]));
  args.push(...emptyRun(facts));
  args.push("--perms", "0700", "--dir", sandboxHome(roots));
  for (const place of aboveRoots) args.push(...hide(place, facts));
  for (const root of below) args.push("--bind", root, root);
  for (const path of facts.pinned) args.push("--bind", path, path);
  for (const path of facts.read_only) args.push("--ro-bind", path, path);
  for (const place of others) args.push(...hide(place, facts));
  for (const path of facts.writable) args.push("--bind", path, path);
  args.push(...showProgram(facts));
  // Last, for what is mounted below needs a folder to be mounted on.
  const empty = visible.filter(({ kind }) => kind === "folder").map(({ path }) => path);
  for (const path of isInside("/run", sandboxHome(roots)) ? empty : ["/run", ...empty]) args.push("--remount-ro", path);
  for (const [name, value] of Object.entries(facts.variables)) args.push("--setenv", name, value);
  args.push("--chdir", facts.cwd, "--seccomp", `${facts.seccomp_fd}`, "--json-status-fd", `${facts.status_fd}`);
  return args;
}

/**
 * The program of the way out, wherever it lies. In a root it is there anyway, and is not named here: a command could
 * have put a link in its place, which would be followed outside the sandbox.
 */
function showProgram({ way_out, roots }: SandboxFacts): readonly string[] {
  if (way_out === undefined || roots.some((root) => isInside(root, way_out.program))) return [];
  return ["--ro-bind", way_out.program, way_out.program];
}

function inMemory(path: string, bytes: number, facts: SandboxFacts): readonly string[] {
  return [...sizeOf(Math.min(bytes, facts.memory_bytes), facts), "--perms", "1777", "--tmpfs", path];
}

function sizeOf(bytes: number, { has_sizes }: SandboxFacts): readonly string[] {
  return has_sizes ? ["--size", `${Math.max(bytes, EMPTY_BYTES)}`] : [];
}

function emptyRun(facts: SandboxFacts): readonly string[] {
  const bytes = isInside("/run", sandboxHome(facts.roots)) ? Math.min(TMP_BYTES, facts.memory_bytes) : EMPTY_BYTES;
  return [...sizeOf(bytes, facts), "--perms", "0555", "--tmpfs", "/run"];
}

function isPrivate(path: string): boolean {
  return PRIVATE.some((folder) => isInside(folder, path));
}

/**
 * A folder is empty inside, so that walking over it is no error; a file is there and closed, so that git does not take
 * it for deleted.
 */
function hide({ path, kind }: HiddenPlace, facts: SandboxFacts): readonly string[] {
  if (kind === "file") return ["--ro-bind", facts.closed_file, path];
  return [...sizeOf(EMPTY_BYTES, facts), "--perms", "0555", "--tmpfs", path];
}
