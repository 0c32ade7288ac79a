import { isInside } from "../../paths/inside.ts";
import type { ViewMount } from "./view.ts";

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
  readonly roots: readonly string[];
  /** Whether the command may write to the roots. */
  readonly writes: boolean;
  readonly cwd: string;
  /** What of the machine is seen beside the roots, parents first. */
  readonly view: readonly ViewMount[];
  /** Mounts of the machine that can be written. */
  readonly old_mounts: readonly string[];
  /** Empty and closed inside. */
  readonly hidden: readonly HiddenPlace[];
  /** Inside the roots, to be read only. */
  readonly read_only: readonly string[];
  /** Folders in such places that stay writable. */
  readonly opened: readonly string[];
  /** Folders inside the roots that stay writable but cannot be renamed: what is read-only in them would go along. */
  readonly pinned: readonly string[];
  /** Writable although something hides it: the folder of a script inside the runtime's state. */
  readonly writable: readonly string[];
  /** Single files that are shown somewhere else than they lie. */
  readonly files: readonly { readonly source: string; readonly path: string }[];
  /** A folder that is `/tmp` inside. Left out: an empty one in memory. */
  readonly tmp?: string;
  /** Whether folders in memory can be bounded. */
  readonly has_sizes: boolean;
  /** That the command may take, files in memory included. */
  readonly memory_bytes: number;
  /** An empty file and an empty folder, shown in the place of what is hidden. */
  readonly closed: { readonly file: string; readonly folder: string };
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

/** Where writable folders wait that lie in a place that is hidden first. */
const STASH = "/run/writable";
/** Where folders wait that are writable in a place that is made read-only first. */
const OPENED = "/run/opened";

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
 * Arguments of bwrap, without the command. The order is the argument. First what is made of names that no command can
 * move: the machine, read-only; what is private; the roots. Then the machine itself is made read-only for bwrap, and
 * only then names below the roots are followed, which another command may move at any time: whatever they lead to,
 * nothing outside the roots can be written. What they led to is checked from inside before the command starts. The
 * environment is the one that bwrap is started with, not arguments: those are for everyone to read in `ps`.
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

/** Without those that lie in another one and come with it: their names could be moved. */
function boundRoots(roots: readonly string[]): readonly string[] {
  const isSeen = (root: string): boolean =>
    roots.some((other) => other !== root && isInside(other, root) && (other !== "/" || !isPrivate(root)));
  return roots.filter((root) => root !== "/" && !isSeen(root));
}

/** Each may be gone by the time its turn comes: the check from inside notices what is missing. */
function belowRoots(facts: SandboxFacts, hidden: readonly HiddenPlace[]): readonly string[] {
  const args: string[] = [];
  if (facts.writes) {
    for (const path of facts.pinned) args.push("--bind-try", fromInside(path), path);
    // What is bound in a read-only place is read-only. So it is bound elsewhere before.
    for (const [at, path] of facts.opened.entries()) args.push("--bind-try", fromInside(path), `${OPENED}/${at}`);
    for (const path of facts.read_only) args.push("--ro-bind-try", path, path);
    for (const [at, path] of facts.opened.entries()) args.push("--bind-try", fromInside(`${OPENED}/${at}`), path);
    const isInOpened = (path: string): boolean => facts.opened.some((each) => isInside(each, path));
    for (const path of facts.read_only.filter(isInOpened)) args.push("--ro-bind-try", path, path);
    // Where they waited, nothing in them is closed.
    if (facts.opened.length > 0) args.push("--ro-bind", facts.closed.folder, OPENED);
  }
  for (const place of hidden) args.push(...hide(place, facts));
  return args;
}

/** As a source, the path as it is inside already: what comes from outside is read-only by then. */
function fromInside(path: string): string {
  return `/../newroot${path}`;
}

function show(mount: ViewMount): readonly string[] {
  if (mount.kind === "link") return ["--symlink", mount.target, mount.path];
  return mount.kind === "bind" ? ["--ro-bind-try", mount.source, mount.path] : ["--tmpfs", mount.path];
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

/** Folders in memory that nothing is written to. Made read-only last: what is mounted in them needs its folder first. */
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
 * A folder is empty inside, so that walking over it is no error; a file is there and closed, so that git does not take
 * it for deleted.
 */
function hide(place: HiddenPlace, facts: SandboxFacts): readonly string[] {
  const { path, kind } = place;
  if (kind === "file") return ["--ro-bind", facts.closed.file, path];
  return hidesInMemory(place, facts)
    ? [...sizeOf(EMPTY_BYTES, facts), "--perms", "0555", "--tmpfs", path]
    : ["--ro-bind", facts.closed.folder, path];
}

/** Whether a hidden folder has to be one of its own: something below it is shown. */
export function hidesInMemory(
  { path }: HiddenPlace,
  { roots, writable }: Pick<SandboxFacts, "roots" | "writable">,
): boolean {
  return [...roots, ...writable].some((each) => isInside(path, each));
}
