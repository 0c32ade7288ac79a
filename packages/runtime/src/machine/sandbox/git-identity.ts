import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { lstatSync, mkdirSync, realpathSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isInside } from "../../paths/inside.ts";
import { judgeSensitivity } from "../../policy/check-path.ts";
import { GIT_IDENTITY } from "../../policy/command-view.ts";
import type { Places } from "../../policy/facts.ts";
import type { SandboxFacts } from "./bwrap.ts";

export interface IdentityOptions {
  readonly workspace: Places;
  /** The real git, by its absolute path. Left out: there is none. */
  readonly git?: string;
  /** For the file that is shown to commands. */
  readonly folder: string;
}

interface Identity {
  readonly files: SandboxFacts["files"];
  readonly variables: Readonly<Record<string, string>>;
}

/** In `/dev`, which is private whatever the roots are. */
const CONFIG_INSIDE = "/dev/gitconfig";
const IGNORE_INSIDE = "/dev/gitignore";
const ASK_MS = 3_000;

/** Who the person is to git, for commands: a configuration of its own with nothing in it that signs in anywhere. */
export class GitIdentity {
  readonly #options: IdentityOptions;
  #sources = "";
  #identity: Identity | undefined;

  constructor(options: IdentityOptions) {
    this.#options = options;
  }

  /** Asks git again when one of the person's configurations has changed. */
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

  /** With what the configurations include, as it holds for the first root. Git runs nothing for that. */
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
    if (status !== 0) return []; // there is none, or it cannot be read: then the person has no name here
    return stdout.split("\0").flatMap((entry) => {
      const end = entry.indexOf("\n");
      return end < 0 ? [] : [[entry.slice(0, end), entry.slice(end + 1)] as const];
    });
  }

  /** What git ignores for this person, wherever they are. */
  #ignoreFile(named: string | undefined): string | undefined {
    const { workspace } = this.#options;
    const path = (named ?? "~/.config/git/ignore").replace(/^~(?=\/)/, workspace.home);
    try {
      const real = realpathSync.native(path);
      const isClosed =
        workspace.roots.some((root) => isInside(root, real)) || judgeSensitivity(real, workspace) !== undefined;
      return isClosed || !lstatSync(real).isFile() ? undefined : real;
    } catch {
      return undefined; // there is none
    }
  }
}

/** In the form that git reads back as it is. */
function line(key: string, value: string): string {
  const [section = "", name = ""] = key.split(".");
  const escaped = value
    .replace(/[\\"]/g, String.raw`\$&`)
    .replaceAll("\n", String.raw`\n`)
    .replaceAll("\t", String.raw`\t`);
  return `[${section}]\n\t${name} = "${escaped}"\n`;
}

/** By its content: a file that a command has been shown is never replaced. */
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
