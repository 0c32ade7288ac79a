import { posix } from "node:path";
import { isInside } from "../../paths/inside.ts";
import type { GitPlaces } from "../facts.ts";
import type { ShellFolder, ShellWord } from "../../shell/parsed-shell.ts";

/** Where a command works. */
export interface CommandGround {
  /** Real paths. */
  readonly roots: readonly string[];
  readonly home: string;
  /** What git's own configuration names below the roots. */
  readonly git_places?: GitPlaces;
  /** The folder in which the command starts. Left out: the first root. */
  readonly folder?: string;
}

/**
 * How a path relates to the workspace. "machine": `/`, a system folder or anything in one; "home": the home folder, a
 * folder that contains it, or another user's home; "above": a folder that contains a root; "root": a root itself;
 * "repository": its `.git`; "inside"; "scratch": a temporary folder's content; "device"; "outside": anywhere else.
 */
export type PlaceKind =
  | "machine"
  | "home"
  | "above"
  | "root"
  | "repository"
  | "inside"
  | "scratch"
  | "device"
  | "null"
  | "outside";

/** System folders. Entries below count too, at any depth or only one level down. */
// oxfmt-ignore
const SYSTEM = ["/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/sbin", "/sys", "/usr", "/System", "/Library", "/Applications"];
// oxfmt-ignore
const SYSTEM_TOP = new Set(["/var", "/opt", "/srv", "/run", "/mnt", "/media", "/root", "/home", "/Users", "/tmp", "/dev", "/snap", "/private", "/lost+found", "/nix", "/Volumes"]);
// oxfmt-ignore
const VARIABLE = new Set(["/var/lib", "/var/log", "/var/spool", "/var/cache", "/var/run", "/var/mail", "/var/www", "/var/backups", "/var/db", "/var/tmp"]);
const LOCAL = ["/usr/local", "/usr/src", "/etc/skel"];

const NO_DEVICE = /^\/dev\/(?:null|zero|full|stdout|stderr|stdin|tty|fd\/\d+|random|urandom|pts\/\d+)$/;
const BLOCK_DEVICE =
  /^\/dev\/(?:sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme\d|mmcblk\d|loop\d|dm-\d|md\d|sr\d|ram\d|zram\d|nbd\d|disk\d|rdisk\d|mapper\/|disk\/|mem$|kmem$|port$|core$|sda|root$|bus\/|fb\d|watchdog)/;

/** The absolute path that a word resolves to, as text: links are not followed. Undefined if it cannot be known. */
export function resolveWord(
  word: Pick<ShellWord, "value">,
  folder: ShellFolder,
  ground: CommandGround,
): string | undefined {
  const path = spelledPath(word, folder, ground);
  return path === undefined ? undefined : normal(path);
}

/** The same without normalizing `..`, whose target depends on links. */
export function spelledPath(
  { value }: Pick<ShellWord, "value">,
  folder: ShellFolder,
  ground: CommandGround,
): string | undefined {
  const start = ground.folder ?? ground.roots[0] ?? "/";
  const home = homePath(value, ground);
  if (home !== undefined) return home;
  if (value.startsWith("/")) return value.replace(/^\/+/, "/");
  if (folder.path === undefined) return undefined;
  if (folder.path === ".") return `${start}/${value}`;
  const from = homePath(folder.path, ground) ?? (folder.path.startsWith("/") ? folder.path : `${start}/${folder.path}`);
  return `${from}/${value}`;
}

/** A name that is empty, `.` or `..`. */
const NOT_NORMAL = /\/\.{0,2}(?:\/|$)/;

export function normal(path: string): string {
  return NOT_NORMAL.test(path) ? posix.normalize(path) : path;
}

function homePath(value: string, { home }: CommandGround): string | undefined {
  if (!value.startsWith("~")) return undefined;
  const [name = ""] = value.split("/");
  return (name === "~" ? home : name === "~root" ? "/root" : `/home/${name.slice(1)}`) + value.slice(name.length);
}

/** Names that match everything in a folder, including the empty one of `folder/`. */
const PATTERN_NAME = /^(?:\*+|\.\*|\.\?\*|\{[*.,]*\}|\.\[\^?!?\.?\]\*|\?\*|\*\.\*|\[!?\^?\.\]\*|)$/;

/** A path without trailing patterns: `/etc/*`, `/etc/.` and `/etc/**` all mean all of `/etc`. */
export function withoutPattern(path: string): { readonly path: string; readonly isContents: boolean } {
  // Most paths end in a plain name.
  if (!/[*}/]$/.test(path)) return { path, isContents: false };
  let end = path.length;
  while (end > 0) {
    const slash = path.lastIndexOf("/", end - 1);
    if (slash < 0 || !PATTERN_NAME.test(path.slice(slash + 1, end))) break;
    end = slash;
  }
  const plain = path.slice(0, end);
  return { path: plain === "" ? "/" : plain, isContents: plain !== path.replace(/\/+$/, "") };
}

export function placeOf(path: string, ground: CommandGround): PlaceKind {
  if (path.startsWith("/dev/")) {
    if (NO_DEVICE.test(path)) return "null";
    if (BLOCK_DEVICE.test(path)) return "device";
  }
  if (ground.roots.includes(path)) return "root";
  const root = ground.roots.find((each) => isInside(each, path));
  if (root !== undefined) return path === `${root === "/" ? "" : root}/.git` ? "repository" : "inside";
  if (path === "/" || /^\/[*?[]/.test(path)) return "machine";
  if (path === ground.home || isInside(path, ground.home) || /^\/(?:home|Users)\/[^/]+$|^\/root$/.test(path))
    return "home";
  if (ground.roots.some((each) => isInside(path, each))) return "above";
  if (SYSTEM_TOP.has(path) || VARIABLE.has(path)) return "machine";
  if (/^\/(?:tmp|var\/tmp|dev\/shm|private\/tmp)\//.test(path)) return "scratch";
  if (LOCAL.some((each) => path !== each && isInside(each, path))) return "outside";
  return SYSTEM.some((each) => isInside(each, path)) ? "machine" : "outside";
}

/** Folders that builds and tools create and can create again. */
// oxfmt-ignore
const MADE_AGAIN = new Set([
  "node_modules", "dist", "build", "out", "target", "coverage", "tmp", "temp", "log", "logs", "bin", "obj", "cache", ".cache", "__pycache__",
  ".pytest_cache", ".mypy_cache", ".ruff_cache", ".tox", ".nox", ".venv", "venv", ".next", ".nuxt", ".output", ".turbo", ".parcel-cache", ".vite",
  ".svelte-kit", ".angular", ".gradle", ".eggs", "htmlcov", ".nyc_output", "storybook-static", "_site", ".terraform", ".hypothesis", ".coverage",
  "test-results", "playwright-report", ".docusaurus", ".expo", "elm-stuff", "Pods", "DerivedData", ".dart_tool", ".stack-work", "dist-newstyle",
  "_build", "deps", "zig-out", "zig-cache", ".zig-cache", "site", "generated",
]);
const MADE_AGAIN_SHAPE = /^(?:(?:cmake-build|build|dist)-[\w-]+|.*\.(?:egg-info|dSYM|tmp|pyc|o|log|tsbuildinfo))$/;

/** A name that is clearly a single file, so `rm -rf` on it does no more than `rm`. */
const ONE_FILE =
  /[^/]\.(?:json|lock|lockb|ya?ml|[cm]?[jt]sx?|py|rb|go|rs|java|c|h|cpp|txt|md|csv|zip|tgz|gz|xz|tar|html?|css|scss|sh|xml|toml|ini|db|sqlite|png|jpe?g|svg|pdf|sum|patch|diff|bak|orig|out|pid|sock)$/i;

export function isOneFile(path: string): boolean {
  return ONE_FILE.test(path);
}

/** Folders above the workspace do not count: nothing can rebuild a workspace just because it is below `build`. */
export function isRegeneratedBelow(roots: readonly string[], path: string): boolean {
  const below = roots.filter((root) => isInside(root, path)).map((root) => path.slice(root.length));
  return isRegenerated(below.reduce((one, other) => (other.length < one.length ? other : one), path));
}

export function isRegenerated(path: string): boolean {
  return path.split("/").some((name) => MADE_AGAIN.has(name) || (/[.-]/.test(name) && MADE_AGAIN_SHAPE.test(name)));
}
