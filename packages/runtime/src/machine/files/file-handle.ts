import { closeSync, fstatSync, opendirSync } from "node:fs";
import type { Access } from "../../contract/tool.ts";
import type { FileFacts, Listing, ListOptions, ToolFiles } from "../../contract/context.ts";
import { judgePlace } from "../../policy/paths/check-path.ts";
import type { ResolvedTouch, WorkspaceContext } from "../../policy/decide.ts";
import { placesOf } from "../../policy/paths/skill-places.ts";
import { ToolError } from "../../protocol/errors.ts";
import { realPathChanged } from "../system/concurrent-change.ts";
import type { FileChanger } from "./file-changer.ts";
import { kindOf, openFolder, openHandle, procPath, realBytesOf } from "../system/handle.ts";
import { openFile } from "../system/open-file.ts";
import { SmallestEntries } from "../system/smallest-entries.ts";
import { doing } from "../system/system-error.ts";
import type { Doing } from "../system/system-error.ts";

export interface FilesOptions {
  readonly run_id: string;
  readonly tool_call_id: string;
  /** Loads the changer, at the first change of the call. */
  readonly loadChanger: () => Promise<Pick<FileChanger, "applyPlan">>;
  /** The paths this call may access, with the real paths that were checked. */
  readonly touches: readonly ResolvedTouch[];
  readonly workspace: WorkspaceContext;
  readonly signal: AbortSignal;
  /** Resolves when the start of the call is durably recorded. No file changes before that. */
  readonly recorded: () => Promise<void>;
  /** Why a folder below a declared one may not be read; undefined if it may. */
  readonly judgeBelow: (real: string) => string | undefined;
}

/** Entries that a call reads before it yields to the event loop. */
const ENTRIES_PER_TURN = 16_384;

/**
 * The Files handle of one call. Every operation opens the checked path, asks the kernel for the descriptor's real path,
 * and continues only if it is still the same: the object that was checked is the object that is used.
 */
export function createToolFiles(options: FilesOptions): ToolFiles {
  const { touches, workspace, signal, judgeBelow } = options;
  const turn = takeTurns(signal);
  return {
    // oxlint-disable-next-line typescript/require-await -- makers on other systems have to wait
    async stat(path) {
      const touch = findTouch(touches, path, ["read", "list", "write", "delete"]);
      const fd = openVerified(touch, { below: [], open: openHandle, doing: "open", workspace, judgeBelow });
      try {
        return factsOf(fd);
      } finally {
        closeSync(fd);
      }
    },

    async list(path, options) {
      const touch = findTouch(touches, path, ["list"]);
      const fd = openVerified(touch, {
        below: options.below ?? [],
        open: openFolder,
        doing: "list",
        workspace,
        judgeBelow,
      });
      try {
        return await listFolder(fd, {
          ...options,
          show_sensitive: options.show_sensitive === true && touch.show_sensitive,
          workspace: placesOf(touch, workspace),
          turn,
        });
      } finally {
        closeSync(fd);
      }
    },

    // oxlint-disable-next-line typescript/require-await -- makers on other systems have to wait
    async open(path) {
      const touch = findTouch(touches, path, ["read", "write", "delete"]);
      const fd = openVerified(touch, { below: [], open: openHandle, doing: "read", workspace, judgeBelow });
      try {
        return openFile(fd, path, signal);
      } finally {
        closeSync(fd);
      }
    },

    change: async (paths, plan) => await (await options.loadChanger()).applyPlan(options, paths, plan),
  };
}

function findTouch(
  touches: readonly ResolvedTouch[],
  path: string,
  accesses: readonly [Access, ...Access[]],
): ResolvedTouch {
  const touch = touches.find((each) => each.path === path && accesses.includes(each.access));
  if (touch !== undefined) return touch;
  throw new ToolError("PathTraversalBlocked", `Cannot ${accesses[0]} "${path}": the call did not declare this access`, {
    path,
  });
}

interface OpenOptions {
  readonly doing: Doing;
  readonly below: readonly string[];
  readonly open: (path: Buffer) => number;
  readonly workspace: WorkspaceContext;
  readonly judgeBelow: (real: string) => string | undefined;
}

function openVerified(touch: ResolvedTouch, options: OpenOptions): number {
  const { below, open, workspace, judgeBelow } = options;
  const wanted = [Buffer.from(touch.real).toString("latin1"), ...below].join("/").replace(/^\/\//, "/");
  const path = [touch.path, ...below.map((key) => Buffer.from(key, "latin1").toString("utf8"))].join("/");
  const cannot = `Cannot ${options.doing} "${path}"`;
  const fd = doing(options.doing, path, () => open(Buffer.from(wanted, "latin1")));
  try {
    const real = realBytesOf(fd);
    if (real !== wanted) throw realPathChanged(path, options.doing);
    const place = Buffer.from(real, "latin1").toString("utf8");
    const refusal = judgePlace(place, placesOf(touch, workspace));
    if (refusal !== undefined) throw new ToolError(refusal.code, `${cannot}: ${refusal.reason}`, { path });
    const closed = below.length === 0 ? undefined : judgeBelow(place);
    if (closed !== undefined) throw new ToolError("ToolNotAllowed", closed, { path });
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function factsOf(fd: number): FileFacts {
  const stats = fstatSync(fd);
  return { kind: kindOf(stats), size: stats.size, modified_ms: Math.floor(stats.mtimeMs) };
}

interface FolderOptions extends ListOptions {
  readonly workspace: WorkspaceContext;
  readonly turn: () => Promise<void> | undefined;
}

/** Memory is bounded by the requested number of entries, not by the size of the folder. */
async function listFolder(fd: number, options: FolderOptions): Promise<Listing> {
  const smallest = new SmallestEntries(options, realBytesOf(fd));
  const folder = opendirSync(procPath(fd), { encoding: "latin1" as BufferEncoding, bufferSize: 1024 });
  try {
    for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
      smallest.offer(entry.name, entry);
      const turn = options.turn();
      if (turn !== undefined) await turn;
    }
  } finally {
    folder.closeSync();
  }
  return smallest.listing();
}

/** Counts the entries of one call over all folders, and yields to timers and signals at intervals. */
function takeTurns(signal: AbortSignal): () => Promise<void> | undefined {
  let count = 0;
  return () => (++count % ENTRIES_PER_TURN === 0 ? letOthersRun(signal) : undefined);
}

async function letOthersRun(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  signal.throwIfAborted();
}
