import { closeSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { explainBadEntry } from "../../policy/check-address.ts";
import { ToolError } from "../../protocol/errors.ts";
import { openFolder, realPathOf } from "../system/handle.ts";
import { lifeOf, ownProcess } from "../system/process-owner.ts";
import { startProxy } from "../network/proxy.ts";
import type { NetworkProxy, ProxiedConnection } from "../network/proxy.ts";

interface ProxyOptions {
  /** The folder of the socket. */
  readonly folder: string;
  readonly allow: readonly string[];
  readonly signal: AbortSignal;
  readonly onConnection: (connection: ProxiedConnection) => void;
}

let sockets = 0;

/**
 * Runs the work with a proxy that admits what the allowlist names, and passes it the real path of the proxy's socket.
 * The proxy is gone when this returns. Throws `NetworkDenied` if the list is empty.
 */
export async function withProxy<T>(options: ProxyOptions, use: (socket: string) => Promise<T>): Promise<T> {
  refuseEmpty(options.allow);
  mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  const folder = openFolder(options.folder);
  try {
    const name = `${ownProcess()}.${++sockets}${ENDING}`;
    sweepLost(options.folder);
    const proxy = await openProxy(shortPath(folder, name), options);
    try {
      return await use(join(realPathOf(folder), name));
    } finally {
      await proxy.close();
    }
  } finally {
    closeSync(folder);
  }
}

const ENDING = ".sock";

/**
 * A socket's path has at most 107 bytes, and a workspace may be deep. By pid and not by "self", since the kernel
 * reports the path as it was given: other runtimes on the machine find the socket by it and close it for their
 * commands.
 */
function shortPath(folder: number, name: string): string {
  return `/proc/${process.pid}/fd/${folder}/${name}`;
}

async function openProxy(socket_path: string, options: ProxyOptions): Promise<NetworkProxy> {
  const { allow, signal, onConnection } = options;
  try {
    return await startProxy({ socket_path, allow, signal, onConnection });
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    throw new ToolError(
      "IOError",
      `Cannot give the command the network: cannot create a socket in "${options.folder}" (${code ?? syscall})`,
      { path: options.folder, reason: code ?? syscall },
      error,
    );
  }
}

function refuseEmpty(allow: readonly string[]): void {
  if (allow.some((entry) => explainBadEntry(entry) === undefined)) return;
  const what = allow.length === 0 ? "the network allowlist is empty" : "the network allowlist has no valid entry";
  throw new ToolError("NetworkDenied", `Cannot give the command the network: ${what}`);
}

/** Removes the sockets of killed processes. */
function sweepLost(folder: string): void {
  for (const name of readdirSync(folder).filter((each) => each.endsWith(ENDING))) {
    const owner = name.slice(0, name.lastIndexOf(".", name.length - ENDING.length - 1));
    if (lifeOf(owner) === "gone") rmSync(join(folder, name), { force: true });
  }
}
