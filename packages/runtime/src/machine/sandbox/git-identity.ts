import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { lstatSync, mkdirSync, realpathSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isInside } from "../../paths/inside.ts";
import { judgeSensitivity } from "../../policy/paths/check-path.ts";
import { GIT_IDENTITY } from "../../policy/commands/command-view.ts";
import type { Places } from "../../policy/facts.ts";
import type { SandboxFacts } from "./bwrap.ts";

export interface IdentityOptions {
  readonly workspace: Places;
  /** Absolute path of the real git. Undefined if git is not installed. */
  readonly git?: string;
  /** Folder for the file that commands see. */
  readonly folder: string;
}

interface Identity {
  readonly files: SandboxFacts["files"];
  readonly variables: Readonly<Record<string, string>>;
}

/** In `/dev`, which is private, regardless of the roots. */
const CONFIG_INSIDE = "/dev/gitconfig";
const IGNORE_INSIDE = "/dev/gitignore";
const ASK_MS = 3_000;

/** The user's git identity for commands: a separate configuration that contains no credentials. */
export class GitIdentity {
  readonly #options: IdentityOptions;
  #sources = "";
  #identity: Identity | undefined;

  constructor(options: IdentityOptions) {
    this.#options = options;
  }

  /** Queries git again when one of the user's configurations has changed. */
  get(): Identity {
    const { home } = this.#options.workspace;
    const sources = [".gitconfig", ".config/git/config"].map((name) => stampOf(join(home, name))).join();
    if (this.#identity === undefined || this.#sources !== sources) this.#identity = this.#make();
    this.#sources = sources;
    return this.#identity;
  }

  #make(): Identity {
    const settings = this.#ask();
    const ignored = this.#ignoreFile(settings.findLast(([key]) => key === "core.excludesfile")?.[1]);
    const shown = settings.filter(([key]) => GIT_IDENTITY.has(key));
    const text = [...shown, ...(ignored === undefined ? [] : [["core.excludesfile", IGNORE_INSIDE] as const])]
      .map(([key, value]) => line(key, value))
      .join("");
    const source = keep(this.#options.folder, text);
    const files = [{ source, path: CONFIG_INSIDE }];
    if (ignored !== undefined) files.push({ source: ignored, path: IGNORE_INSIDE });
    return { files, variables: { GIT_CONFIG_GLOBAL: CONFIG_INSIDE } };
  }

  /** Resolves includes as they apply to the first root. Git runs no programs for that. */
  #ask(): readonly (readonly [key: string, value: string])[] {
    const { git, workspace } = this.#options;
    if (git === undefined) return [];
    const args = ["config", "--global", "--includes", "--null", "--list"];
    const { status, stdout } = spawnSync(git, args, {
      cwd: workspace.roots[0] ?? "/",
      env: { HOME: workspace.home, PATH: "/usr/bin:/bin" },
      encoding: "utf8",
      timeout: ASK_MS,
      stdio: ["ignore", "pipe", "ignore"],
    });
    if (status !== 0) return []; // missing or unreadable: commands get no identity
    return stdout.split("\0").flatMap((entry) => {
      const end = entry.indexOf("\n");
      return end < 0 ? [] : [[entry.slice(0, end), entry.slice(end + 1)] as const];
    });
  }

  /** The user's global ignore file. */
  #ignoreFile(named: string | undefined): string | undefined {
    const { workspace } = this.#options;
    const path = (named ?? "~/.config/git/ignore").replace(/^~(?=\/)/, workspace.home);
    try {
      const real = realpathSync.native(path);
      const isClosed =
        workspace.roots.some((root) => isInside(root, real)) || judgeSensitivity(real, workspace) !== undefined;
      return isClosed || !lstatSync(real).isFile() ? undefined : real;
    } catch {
      return undefined; // it does not exist
    }
  }
}

/** Escaped, so that git reads back the same value. */
function line(key: string, value: string): string {
  const [section = "", name = ""] = key.split(".");
  const escaped = value
    .replace(/[\\"]/g, String.raw`\$&`)
    .replaceAll("\n", String.raw`\n`)
    .replaceAll("\t", String.raw`\t`);
  return `[${section}]\n\t${name} = "${escaped}"\n`;
}

/** Named by its content, so that a file that is mounted in a sandbox is never replaced. */
function keep(folder: string, text: string): string {
  const path = join(folder, `gitconfig-${createHash("sha256").update(text).digest("hex").slice(0, 16)}`);
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() === true) return path;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, text, { mode: 0o400 });
  renameSync(temporary, path);
  return path;
}

function stampOf(path: string): string {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats === undefined ? "-" : `${stats.ino}:${stats.mtimeMs}:${stats.size}`;
}
