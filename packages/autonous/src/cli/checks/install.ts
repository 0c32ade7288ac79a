import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { findProgram, PROGRAMS } from "@autonous/runtime/internal";
import type { ProgramName } from "@autonous/runtime/internal";
import type { Print } from "../output/print.ts";

interface PackageManager {
  /** Absolute, because PATH may contain folders that others can write to. */
  readonly program: string;
  readonly refresh?: readonly string[];
  readonly install: readonly string[];
  readonly packages: Readonly<Record<ProgramName, string>>;
}

/** Package managers and their package names. */
// oxfmt-ignore
const MANAGERS: readonly PackageManager[] = [
  { program: "/usr/bin/apt-get", refresh: ["update", "-qq"], install: ["install", "-y", "-qq"],   packages: { rg: "ripgrep", fd: "fd-find", bash: "bash", bwrap: "bubblewrap" } },
  { program: "/usr/bin/dnf",     install: ["install", "-y", "-q"],                                packages: { rg: "ripgrep", fd: "fd-find", bash: "bash", bwrap: "bubblewrap" } },
  { program: "/usr/bin/pacman",  install: ["-S", "--noconfirm", "--needed"],                      packages: { rg: "ripgrep", fd: "fd",      bash: "bash", bwrap: "bubblewrap" } },
  { program: "/sbin/apk",        install: ["add", "--quiet"],                                     packages: { rg: "ripgrep", fd: "fd",      bash: "bash", bwrap: "bubblewrap" } },
];

/** Installs missing programs and prints the commands it runs. Returns what could not be installed, and why. */
export async function installMissing(roots: readonly string[], print: Print): Promise<readonly string[]> {
  const missing: ProgramName[] = [];
  for (const name of Object.keys(PROGRAMS) as ProgramName[]) {
    if ((await findProgram(name, { roots })) === undefined) missing.push(name);
  }
  if (missing.length === 0) return [];
  const manager = MANAGERS.find(({ program }) => existsSync(program));
  if (manager === undefined) return missing.map((name) => `${name}: no supported package manager found`);
  const asRoot = rightsPrefix();
  if (asRoot === undefined) {
    return missing.map((name) => `${name}: needs root; run as root: ${PROGRAMS[name].install}`);
  }
  const packages = missing.map((name) => manager.packages[name]);
  const commands = [...(manager.refresh === undefined ? [] : [manager.refresh]), [...manager.install, ...packages]];
  for (const words of commands) {
    const [program = "", ...args] = [...asRoot, manager.program, ...words];
    print.note(`$ ${[program, ...args].join(" ")}`);
    const { status, stderr } = spawnSync(program, args, { stdio: ["ignore", "ignore", "pipe"], encoding: "utf8" });
    if (status !== 0)
      return missing.map((name) => `${name}: ${stderr.trim().split("\n").at(-1) ?? `exit code ${status}`}`);
  }
  return [];
}

/** The prefix that runs a command as root; undefined if that needs a password. */
function rightsPrefix(): readonly string[] | undefined {
  if (process.getuid?.() === 0) return [];
  const sudo = ["/usr/bin/sudo", "-n"] as const;
  return existsSync(sudo[0]) && spawnSync(sudo[0], ["-n", "true"]).status === 0 ? sudo : undefined;
}
