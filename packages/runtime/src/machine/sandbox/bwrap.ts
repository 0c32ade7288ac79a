import { isInside } from "../../paths/inside.ts";
import type { ViewMount } from "./machine-view.ts";

export interface HiddenPlace {
  readonly path: string;
  readonly kind: "folder" | "file";
}

interface ProxyRelay {
  /** Path of the proxy's socket outside the sandbox. */
  readonly socket: string;
  /** The program that forwards connections to it. */
  readonly program: string;
}

/** Path of the proxy's socket inside. `/dev` is private, regardless of the roots. */
export const PROXY_SOCKET = "/dev/network.sock";

/** Everything that defines a sandbox. All paths are real paths, without links. */
export interface SandboxFacts {
  readonly roots: readonly string[];
  /** Whether the command may write to the roots. */
  readonly writes: boolean;
  readonly cwd: string;
  /** Visible parts of the machine outside the roots, parents first. */
  readonly view: readonly ViewMount[];
  /** Writable mounts of the machine. */
  readonly old_mounts: readonly string[];
  /** Paths that appear empty or unreadable inside. */
  readonly hidden: readonly HiddenPlace[];
  /** Read-only paths inside the roots. */
  readonly read_only: readonly string[];
  /** Folders in read-only paths that stay writable. */
  readonly opened: readonly string[];
  /** Folders inside the roots that stay writable but cannot be renamed: the read-only paths in them would move along. */
  readonly pinned: readonly string[];
  /** Writable folders inside hidden paths: the folder of a script inside the runtime's state. */
  readonly writable: readonly string[];
  /** Single files that appear at another path inside. */
  readonly files: readonly { readonly source: string; readonly path: string }[];
  /** A folder that is `/tmp` inside. Default: an empty one in memory. */
  readonly tmp?: string;
  /** Whether bwrap can limit the size of folders in memory. */
  readonly has_sizes: boolean;
  /** Memory limit of the command, including files in memory. */
  readonly memory_bytes: number;
  /** An empty file and an empty folder that are mounted over hidden paths. */
  readonly closed: { readonly file: string; readonly folder: string };
  /** Set inside only, so that they do not affect the sandbox program itself (`LD_PRELOAD`). */
  readonly variables: Readonly<Record<string, string>>;
  /** Network access through a proxy. Default: none. */
  readonly way_out?: ProxyRelay;
  readonly seccomp_fd: number;
  readonly status_fd: number;
}

/** The private home inside. It is in the private `/tmp`, which persists, unless `/tmp` is the system's own. */
export function sandboxHome(roots: readonly string[]): string {
  return roots.includes("/tmp") ? "/run/home" : "/tmp/home";
}

/** Memory limit for files in `/tmp` and in `/dev/shm`, capped by the command's own limit, which they count against. */
const TMP_BYTES = 1_073_741_824;
const SHM_BYTES = 268_435_456;

/** Private folders of the sandbox. They replace the system's folders of these names. */
const PRIVATE = ["/tmp", "/run", "/dev", "/proc"] as const;

/** Temporary mounts of writable folders inside paths that have to be hidden first. */
const STASH = "/run/writable";
/** Temporary mounts of writable folders inside paths that have to be made read-only first. */
const OPENED = "/run/opened";

// oxfmt-ignore
const APART = [
  "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--unshare-net",
  "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox",
] as const;

/**
 * Root of the machine is root in the sandbox too, without capabilities, and may still write files that belong to root:
 * /proc/sys/kernel/core_pattern names a program that the kernel runs outside. So all of /proc is read-only.
 */
// oxfmt-ignore
const KERNEL_FOLDERS = [
  "--proc", "/proc", "--remount-ro", "/proc",
  "--dev", "/dev",
] as const;
/** Size of a folder in memory that must stay empty. It is also read-only, because its owner can change its mode. */
const EMPTY_BYTES = 4_096;

/** Private writable folders in memory. */
export function foldersInMemory({ roots, tmp }: Pick<SandboxFacts, "roots" | "tmp">): readonly string[] {
  const home = sandboxHome(roots);
  return ["/dev/shm", ...(tmp === undefined ? ["/tmp"] : []), ...(isInside("/run", home) ? ["/run"] : [])];
}

/**
 * Arguments of bwrap, without the command. Their order matters for security. First come names that no command can move:
 * the machine, read-only; private folders; the roots. Then the machine itself is made read-only for bwrap, and only then
 * are names below the roots resolved, which another command may move at any time: wherever they lead, nothing outside
 * the roots can be written. Where they led is checked from inside before the command starts. The environment is passed
 * as bwrap's own environment, not as arguments, which every user can read in `ps`.
 */
export function bwrapArguments(facts: SandboxFacts): readonly string[] {
  const { roots, hidden, writes } = facts;
  const isWhole = roots.includes("/");
  const outer = boundRoots(roots);
  const isBelowRoots = ({ path }: HiddenPlace): boolean =>
    outer.some((root) => isInside(root, path)) || (isWhole && !isPrivate(path));
  const outside = hidden.filter((place) => !isBelowRoots(place) && isSeen(place, facts));
  const stashed = facts.writable.filter((path) => hidden.some((place) => isInside(place.path, path)));
  const bindRoot = writes ? "--bind" : "--ro-bind";
  const args: string[] = [...APART, ...(isWhole ? [bindRoot, "/", "/"] : facts.view.flatMap(show)), ...KERNEL_FOLDERS];
  args.push(...inMemory("/dev/shm", SHM_BYTES, facts));
  if (facts.way_out !== undefined) args.push("--ro-bind", facts.way_out.socket, PROXY_SOCKET);
  for (const { source, path } of facts.files) args.push("--ro-bind-try", source, path);
  args.push("--remount-ro", "/dev");
  args.push(...(facts.tmp === undefined ? inMemory("/tmp", TMP_BYTES, facts) : ["--bind", facts.tmp, "/tmp"]));
  args.push(...emptyRun(facts));
  args.push("--perms", "0700", "--dir", sandboxHome(roots));
  for (const place of outside) args.push(...hide(place, facts));
  for (const root of outer) args.push(bindRoot, root, root);
  for (const path of facts.writable) {
    args.push("--bind", path, stashed.includes(path) ? `${STASH}/${stashed.indexOf(path)}` : path);
  }
  args.push(...showProgram(facts));
  for (const place of facts.old_mounts) args.push("--remount-ro", `/../oldroot${place === "/" ? "" : place}`);
  args.push(...belowRoots(facts, hidden.filter(isBelowRoots)));
  for (const [at, path] of stashed.entries()) args.push("--bind-try", fromInside(`${STASH}/${at}`), path);
  for (const path of closedInMemory(facts)) args.push("--remount-ro", path);
  for (const [name, value] of Object.entries(facts.variables)) args.push("--setenv", name, value);
  args.push("--chdir", facts.cwd, "--seccomp", `${facts.seccomp_fd}`, "--json-status-fd", `${facts.status_fd}`);
  return args;
}

/** Without roots inside another root: they are mounted with it, and their names could be moved. */
function boundRoots(roots: readonly string[]): readonly string[] {
  const isSeen = (root: string): boolean =>
    roots.some((other) => other !== root && isInside(other, root) && (other !== "/" || !isPrivate(root)));
  return roots.filter((root) => root !== "/" && !isSeen(root));
}

/** Each path may be gone before it is mounted: the check from inside detects missing ones. */
function belowRoots(facts: SandboxFacts, hidden: readonly HiddenPlace[]): readonly string[] {
  const args: string[] = [];
  if (facts.writes) {
    for (const path of facts.pinned) args.push("--bind-try", fromInside(path), path);
    // A bind mount from a read-only place is read-only. So these are first bound elsewhere.
    for (const [at, path] of facts.opened.entries()) args.push("--bind-try", fromInside(path), `${OPENED}/${at}`);
    for (const path of facts.read_only) args.push("--ro-bind-try", path, path);
    for (const [at, path] of facts.opened.entries()) args.push("--bind-try", fromInside(`${OPENED}/${at}`), path);
    const isInOpened = (path: string): boolean => facts.opened.some((each) => isInside(each, path));
    for (const path of facts.read_only.filter(isInOpened)) args.push("--ro-bind-try", path, path);
    // Protected paths are not covered in the temporary mounts, so those are hidden again.
    if (facts.opened.length > 0) args.push("--ro-bind", facts.closed.folder, OPENED);
  }
  for (const place of hidden) args.push(...hide(place, facts));
  return args;
}

/** The path inside as a mount source: sources from outside are read-only by then. */
function fromInside(path: string): string {
  return `/../newroot${path}`;
}

function show(mount: ViewMount): readonly string[] {
  if (mount.kind === "link") return ["--symlink", mount.target, mount.path];
  return mount.kind === "bind" ? ["--ro-bind-try", mount.source, mount.path] : ["--tmpfs", mount.path];
}

/**
 * Mounts the program for network access. In a root it is visible anyway, and must not be mounted by name: a command
 * could have replaced it by a link, which would be resolved outside the sandbox.
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

/** Folders in memory that stay empty. Made read-only last, because mount points have to be created in them first. */
function closedInMemory(facts: SandboxFacts): readonly string[] {
  const { roots, view, hidden } = facts;
  const isWhole = roots.includes("/");
  const empty = isWhole ? [] : view.filter(({ kind }) => kind === "empty");
  const closed = hidden.filter(
    (place) => place.kind === "folder" && isSeen(place, facts) && hidesInMemory(place, facts),
  );
  const paths = [...empty, ...closed].map(({ path }) => path);
  return [...(isInside("/run", sandboxHome(roots)) ? [] : ["/run"]), ...paths, ...(isWhole ? [] : ["/"])];
}

function isSeen({ path }: HiddenPlace, { roots }: SandboxFacts): boolean {
  return !isPrivate(path) || roots.some((root) => root !== "/" && isInside(root, path));
}

function isPrivate(path: string): boolean {
  return PRIVATE.some((folder) => isInside(folder, path));
}

/**
 * A hidden folder appears empty, so that walking it does not fail; a hidden file exists but is unreadable, so that git
 * does not report it as deleted.
 */
function hide(place: HiddenPlace, facts: SandboxFacts): readonly string[] {
  const { path, kind } = place;
  if (kind === "file") return ["--ro-bind", facts.closed.file, path];
  return hidesInMemory(place, facts)
    ? [...sizeOf(EMPTY_BYTES, facts), "--perms", "0555", "--tmpfs", path]
    : ["--ro-bind", facts.closed.folder, path];
}

/** Whether a hidden folder needs its own tmpfs because something below it is visible. */
export function hidesInMemory(
  { path }: HiddenPlace,
  { roots, writable }: Pick<SandboxFacts, "roots" | "writable">,
): boolean {
  return [...roots, ...writable].some((each) => isInside(path, each));
}
