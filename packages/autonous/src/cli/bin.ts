#!/usr/bin/env node
// The entry point has to parse on any Node.js version, so that an old one gets a clear message.
import { existsSync, realpathSync, statSync } from "node:fs";
import nodeModule from "node:module";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 24 || (major === 24 && minor < 15)) {
  process.stderr.write(
    `autonous needs Node.js 24.15 or newer; this is ${process.versions.node}. Install a newer one, or run bin/autonous.js, which uses the bundled one\n`,
  );
  process.exit(1);
}

/**
 * Cached compiled code runs unchecked, so it is stored where no tool or command can write: in the user's state directory, once that
 * exists. No cache is used if a repository could have placed it there (the home is the workspace or tracked by git).
 */
function codeFolder(): string | undefined {
  const { XDG_STATE_HOME: named = "" } = process.env;
  try {
    const base = isAbsolute(named) ? named : join(homedir(), ".local", "state");
    if (!isAbsolute(base)) return undefined; // startup rejects such a home
    const folder = realpathSync(join(base, "autonous"));
    const { uid, mode } = statSync(folder);
    if (uid !== process.getuid?.() || (mode & 0o022) !== 0) return undefined;
    const here = process.cwd();
    for (let above = folder; above !== dirname(above); above = dirname(above)) {
      if (above === here || existsSync(join(above, ".git"))) return undefined;
    }
    return join(folder, "compiled");
  } catch {
    return undefined; // no state directory yet, or no current folder: startup reports the problem
  }
}

const compiled = process.env["NODE_COMPILE_CACHE"] ?? codeFolder();
if (compiled !== undefined) nodeModule.enableCompileCache(compiled);

// No top-level await: the bundle is CommonJS, which starts faster.
async function start(): Promise<void> {
  const { main } = await import("./main.ts");
  process.exitCode = await main(process.argv.slice(2));
}

void start();
