import { closeSync, constants, fstatSync, openSync } from "node:fs";
import type { OpenedFile } from "../../contract/context.ts";
import { ToolError } from "../../protocol/errors.ts";
import { readSpan } from "./bytes.ts";
import { identityOf, kindOf, openHandle, procPath } from "./handle.ts";
import { doing } from "./system-error.ts";

/** Bytes that one reader gets before it yields to timers and signals. */
const BYTES_PER_TURN = 8 << 20;

const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/**
 * Opens the file of a verified handle for reading; the caller still closes the handle. The handle reveals the kind of
 * entry without opening it: opening a pipe would block until a writer appears, and opening a device may trigger it.
 */
export function openFile(handle: number, path: string, signal: AbortSignal): OpenedFile {
  const stats = fstatSync(handle, { bigint: true });
  const kind = kindOf(stats);
  if (kind !== "file") throw notAFile(path, kind);
  const fd = doing("read", path, () => openSync(procPath(handle), FLAGS));
  const size = Number(stats.size);
  let untilTurn = BYTES_PER_TURN;
  let isOpen = true;
  return {
    size,
    identity: identityOf(stats),
    async read(position, length, into) {
      if (!isOpen) throw new Error(`Cannot read "${path}": it was closed`);
      // Some system files, such as those in /proc, report size 0 but have content.
      const span = { position, length: size === 0 ? length : Math.max(0, Math.min(length, size - position)), into };
      const bytes = await readSpan(fd, span, signal);
      untilTurn -= bytes.length;
      if (untilTurn <= 0) {
        untilTurn = BYTES_PER_TURN;
        await new Promise(setImmediate);
      }
      return bytes;
    },
    close() {
      if (isOpen) closeSync(fd);
      isOpen = false;
    },
  };
}

/** Opens one of the runtime's own files, without a policy check. The caller closes it. */
export function openOwnFile(path: string): OpenedFile {
  const handle = doing("read", path, () => openHandle(path));
  try {
    return openFile(handle, path, new AbortController().signal);
  } finally {
    closeSync(handle);
  }
}

function notAFile(path: string, kind: "directory" | "link" | "other"): ToolError {
  const why =
    kind === "directory"
      ? "it is a folder; list it with ls"
      : "it is not a regular file but a pipe, a socket or a device";
  return new ToolError("InvalidArguments", `Cannot read "${path}": ${why}`, { path, kind });
}
