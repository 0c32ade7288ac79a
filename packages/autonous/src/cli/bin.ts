#!/usr/bin/env node
// The program's first lines: they have to work on any Node, so that an old one is told and does not just break.
import nodeModule from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 24 || (major === 24 && minor < 15)) {
  process.stderr.write(
    `autonous needs Node.js 24.15 or newer; this is ${process.versions.node}. Install a newer one from https://nodejs.org\n`,
  );
  process.exit(1);
}

// Compiled code is kept in the user's own folder: one in /tmp could be prepared by somebody else.
const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
nodeModule.enableCompileCache(process.env["NODE_COMPILE_CACHE"] ?? join(cache, "autonous", "compile-cache"));

// No await at the top: the bundle is CommonJS, which starts faster.
async function start(): Promise<void> {
  const { main } = await import("./main.ts");
  process.exitCode = await main(process.argv.slice(2));
}

void start();
