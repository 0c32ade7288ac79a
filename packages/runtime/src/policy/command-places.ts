import { posix } from "node:path";
import { isInside } from "../paths/inside.ts";
import type { ShellFolder, ShellWord } from "../shell/parsed-shell.ts";

/** Where a command works. */
export interface CommandGround {
  /** Real paths. */
  readonly roots: readonly string[];
  readonly home: string;
  /** The folder in which the command starts. Left out: the first root. */
  readonly folder?: string;
}

/**
 * What a path is to the workspace. "machine": the top, a part of the system or what lies in one; "home": the home
 * folder, or a folder that holds it, other homes included; "above": a folder that holds a root; "root": a root itself;
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

/** Parts of the system. What lies below is a part as well, at any depth or only one level down. */
// oxfmt-ignore
const SYSTEM = ["/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/sbin", "/sys", "/usr", "/System", "/Library", "/Applications"];
// oxfmt-ignore
const SYSTEM_TOP = new Set(["/var", "/opt", "/srv", "/run", "/mnt", "/media", "/root", "/home", "/Users", "/tmp", "/dev", "/snap", "/private", "/lost+found", "/nix", "/Volumes"]);
// oxfmt-ignore
const VARIABLE = new Set(["/var/lib", "/var/log", "/var/spool", "/var/cache", "/var/run", "/var/mail", "/var/www", "/var/backups", "/var/db", "/var/tmp"]);
const LOCAL = ["/usr/local", "/usr/src", "/etc/skel"];

const BLOCK_DEVICE =
  /^\/dev\/(?:sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme\d|mmcblk\d|loop\d|dm-\d|md\d|sr\d|ram\d|zram\d|nbd\d|disk\d|rdisk\d|mapper\/|disk\/|mem$|kmem$|port$|core$|sda|root$|bus\/|fb\d|watchdog)/;

/** The absolute path that a word leads to, as text: links are not followed. Undefined where it cannot be known. */
export function resolveWord({ value }: ShellWord, folder: ShellFolder, ground: CommandGround): string | undefined {
  const start = ground.folder ?? ground.roots[0] ?? "/";
  const home = homePath(value, ground);
  if (home !== undefined) return posix.normalize(home);
  if (value.startsWith("/")) return posix.normalize(value.replace(/^\/+/, "/"));
  if (folder.path === undefined) return undefined;
  const from = homePath(folder.path, ground) ?? (folder.path.startsWith("/") ? folder.path : `${start}/${folder.path}`);
  return posix.normalize(`${from}/${value}`);
}

function homePath(value: string, { home }: CommandGround): string | undefined {
  if (!value.startsWith("~")) return undefined;
  const [name = ""] = value.split("/");
  return (name === "~" ? home : name === "~root" ? "/root" : `/home/${name.slice(1)}`) + value.slice(name.length);
}

/** A path without the patterns at its end: `/etc/*` is all of `/etc`, and so is `/etc/.` or `/etc/**`. */
export function withoutPattern(path: string): { readonly path: string; readonly isContents: boolean } {
  const plain = path.replace(/(?:\/(?:\*+|\.\*|\.\?\*|\{[*.,]*\}|\.\[\^?!?\.?\]\*|\?\*|\*\.\*|\[!?\^?\.\]\*|))+$/, "");
  return { path: plain === "" ? "/" : plain, isContents: plain !== path.replace(/\/+$/, "") };
}

export function placeOf(path: string, ground: CommandGround): PlaceKind {
  if (/^\/dev\/(?:null|zero|full|stdout|stderr|stdin|tty|fd\/\d+|random|urandom|pts\/\d+)$/.test(path)) return "null";
  if (BLOCK_DEVICE.test(path)) return "device";
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

/** Folders that builds and tools make and can make again. */
const MADE_AGAIN =
  /^(?:node_modules|dist|build|out|target|coverage|tmp|temp|logs?|bin|obj|\.?cache|__pycache__|\.pytest_cache|\.mypy_cache|\.ruff_cache|\.tox|\.nox|\.venv|venv|\.next|\.nuxt|\.output|\.turbo|\.parcel-cache|\.vite|\.svelte-kit|\.angular|\.gradle|\.eggs|htmlcov|\.nyc_output|storybook-static|_site|public\/build|\.terraform|cmake-build-[\w-]+|build-[\w-]+|dist-[\w-]+|\.hypothesis|\.coverage|test-results|playwright-report|\.docusaurus|\.expo|elm-stuff|Pods|DerivedData|vendor\/bundle|\.dart_tool|\.stack-work|dist-newstyle|_build|deps|zig-out|zig-cache|\.zig-cache|site|generated|.*\.egg-info|.*\.dSYM|.*\.tmp|.*\.pyc|.*\.o|.*\.log|.*\.tsbuildinfo)$/;

/** A name that is plainly one file, so that `rm -rf` of it is not more than `rm`. */
const ONE_FILE =
  /[^/]\.(?:json|lock|lockb|ya?ml|[cm]?[jt]sx?|py|rb|go|rs|java|c|h|cpp|txt|md|csv|zip|tgz|gz|xz|tar|html?|css|scss|sh|xml|toml|ini|db|sqlite|png|jpe?g|svg|pdf|sum|patch|diff|bak|orig|out|pid|sock)$/i;

export function isOneFile(path: string): boolean {
  return ONE_FILE.test(path);
}

export function isMadeAgain(path: string): boolean {
  const names = path.split("/").filter((name) => name !== "" && !/^[*?]+$/.test(name));
  return names.some((name) => MADE_AGAIN.test(name));
}
