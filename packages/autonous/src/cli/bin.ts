#!/usr/bin/env node
// The program's first lines: they have to work on any Node, so that an old one is told and does not just break.
import { existsSync, realpathSync, statSync } from "node:fs";
import nodeModule from "node:module";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 24 || (major === 24 && minor < 15)) {
  process.stderr.write(
    `autonous needs Node.js 24.15 or newer; this is ${process.versions.node}. Install a newer one, or start bin/autonous.js, which finds the one that came with it\n`,
  );
  process.exit(1);
}

/**
 * Compiled code runs as it is, so it is kept where no tool and no command reaches: in the user's state directory, once that
 * was made. Where a repository may have put it there (the home is the workspace, or tracked by git), none is kept.
 */
function codeFolder(): string | undefined {
  const { XDG_STATE_HOME: named = "" } = process.env;
  try {
    const base = isAbsolute(named) ? named : join(homedir(), ".local", "state");
    if (!isAbsolute(base)) return undefined; // the start refuses such a home
    const folder = realpathSync(join(base, "autonous"));
    const { uid, mode } = statSync(folder);
    if (uid !== process.getuid?.() || (mode & 0o022) !== 0) return undefined;
    const here = process.cwd();
    for (let above = folder; above !== dirname(above); above = dirname(above)) {
      if (above === here || existsSync(join(above, ".git"))) return undefined;
    }
    return join(folder, "compiled");
  } catch {
    return undefined; // no state directory yet, or no current folder: the start tells what is wrong
  }
}

const compiled = process.env["NODE_COMPILE_CACHE"] ?? codeFolder();
if (compiled !== undefined) nodeModule.enableCompileCache(compiled);

// No await at the top: the bundle is CommonJS, which starts faster.
async function start(): Promise<void> {
  const { main } = await import("./main.ts");
  process.exitCode = await main(process.argv.slice(2));
}

void start();
