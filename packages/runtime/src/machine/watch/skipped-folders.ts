import { createHash } from "node:crypto";
import type { Hash } from "node:crypto";
import { decodeKey } from "../system/keys.ts";
import { reasonOf } from "../../protocol/error-reason.ts";
import { pathFor } from "../../paths/inside.ts";
import { childrenIn, statsOf } from "../tree/list-folder.ts";
import { joinKey } from "../tree/tree-snapshot.ts";
import type { TreeSnapshot } from "../tree/tree-snapshot.ts";

/** Limit for compared entries of left-out folders: about a second on a slow disk. Further entries are not compared. */
const MAX_ENTRIES = 200_000;
/** Yield to the event loop this often. */
const TURN_MS = 8;

/** Fingerprints of folders that a snapshot left out, by key: names, sizes, modes and times, at any depth. */
export type FolderFingerprints = ReadonlyMap<string, string>;

/** Reads no contents, so it costs only a few microseconds per entry. */
export async function fingerprintFolders({ left_out }: Pick<TreeSnapshot, "left_out">): Promise<FolderFingerprints> {
  const marks = new Map<string, string>();
  const budget = { left: MAX_ENTRIES, turnMs: performance.now() + TURN_MS };
  for (const key of left_out.keys()) {
    const hash = createHash("sha256");
    await addFolder(hash, key, budget);
    marks.set(key, hash.digest("hex"));
  }
  return marks;
}

interface Budget {
  left: number;
  turnMs: number;
}

async function addFolder(hash: Hash, top: string, budget: Budget): Promise<void> {
  const open = [top];
  for (let key = open.pop(); key !== undefined && budget.left > 0; key = open.pop()) {
    addEntry(hash, key);
    for (const { name, isFolder } of namesIn(hash, key)) {
      if (--budget.left < 0) break;
      if (isFolder) open.push(joinKey(key, name));
      else addEntry(hash, joinKey(key, name));
    }
    if (performance.now() < budget.turnMs) continue;
    await new Promise(setImmediate);
    budget.turnMs = performance.now() + TURN_MS;
  }
}

function addEntry(hash: Hash, key: string): void {
  const stats = statsOf(key);
  hash.update(`${key}\0${stats?.ino} ${stats?.size} ${stats?.mode} ${stats?.mtimeMs} ${stats?.ctimeMs}\n`);
}

function namesIn(hash: Hash, key: string): ReturnType<typeof childrenIn> {
  try {
    return [...childrenIn(key)].sort((one, other) => (one.name < other.name ? -1 : 1));
  } catch (error) {
    hash.update(reasonOf(error)); // gone, or not readable: the facts of the folder itself still count
    return [];
  }
}

/** What changed in folders that both snapshots left out: undo cannot restore it. */
export async function findLost(
  before: FolderFingerprints,
  { left_out }: Pick<TreeSnapshot, "left_out">,
  cwd: string,
): Promise<readonly { readonly path: string; readonly why: string }[]> {
  return [...(await fingerprintFolders({ left_out }))]
    .filter(([key, mark]) => before.has(key) && before.get(key) !== mark)
    .map(([key]) => ({
      path: `${pathFor(decodeKey(key), cwd)}/`,
      why: `${left_out.get(key)}, and its contents changed`,
    }));
}
