import { join } from "node:path";
import { readOwnFile } from "../../own-files/read-own-file.ts";
import { stateFolders } from "../system/state-folders.ts";
import type { GitTrees } from "../git/git-trees.ts";
import type { ObjectStore } from "../git/object-store.ts";
import { decodeKey } from "../system/keys.ts";
import type { IgnoreRules } from "../tree/ignore-rules.ts";
import { ContentStore } from "../tree/content-store.ts";
import type { Span } from "../tree/content-store.ts";
import type { FolderFingerprints } from "./skipped-folders.ts";
import { KINDS, PLACES } from "./snapshot-store.ts";
import type { StoredEntry, StoredFacts, StoredLine } from "./snapshot-store.ts";
import type { Facts, TreeEntry, TreeFolder, TreeSnapshot } from "../tree/tree-snapshot.ts";

/** The snapshot before a command whose process is gone. */
export interface StoredSnapshot {
  readonly snapshot: TreeSnapshot;
  readonly leftOut: FolderFingerprints;
  /** Keys of paths that rules closed to it. */
  readonly closed: ReadonlySet<string>;
  /** The caller releases it. */
  readonly contents: ContentStore;
}

interface SnapshotFile {
  readonly state_dir: string;
  /** The file name that `SnapshotStore` returned. */
  readonly name: string;
  /** ID of the command. */
  readonly id: string;
  readonly git: GitTrees;
}

/** Not identical to the rules of any folder, so that those are read again. */
const UNKNOWN_RULES: IgnoreRules = [];

/** `<random>@<process>`, the names of `SnapshotStore` and `ContentStore`: none can lead out of their folder. */
export const SNAPSHOT_FILE = /^[0-9a-f]+@(?<owner>[\w.:[\]-]+)\.(?:look|contents)$/;

/** Undefined where it is missing or incomplete. Throws system errors. */
export function readSnapshot({ state_dir, name, id, git }: SnapshotFile): StoredSnapshot | undefined {
  const { looks } = stateFolders(state_dir);
  if (!SNAPSHOT_FILE.test(name)) return undefined;
  const folders = new Map<string, TreeFolder>();
  const spans = new Map<string, Span>();
  const stores: ObjectStore[] = [];
  for (const line of linesOf(join(looks, name))) {
    if ("store" in line) stores[line.store] = git.reopen(line.key, trailersOf(line.trailers));
    else if ("kept" in line) for (const [sha256, at, size] of line.kept) spans.set(sha256, { at, size });
    else if ("folder" in line) folders.set(line.folder, folderOf(line, stores));
    else if ("gone" in line) folders.delete(line.gone);
    else if (line.look === id) {
      if (line.contents !== null && !SNAPSHOT_FILE.test(line.contents)) return undefined;
      const contents =
        line.contents === null
          ? new ContentStore(state_dir)
          : ContentStore.reopen(state_dir, join(looks, line.contents), spans);
      return {
        snapshot: { folders, left_out: new Map(line.left_out.map(([key, why]) => [key, why])) },
        leftOut: new Map(line.left_out.map(([key, , mark]) => [key, mark])),
        closed: new Set(line.closed),
        contents,
      };
    }
  }
  return undefined;
}

function* linesOf(path: string): Iterable<StoredLine> {
  const bytes = readOwnFile(path);
  for (let at = 0; ;) {
    const end = bytes.indexOf(0x0a, at);
    if (end < 0) return; // the rest is an incomplete line
    yield JSON.parse(bytes.toString("utf8", at, end)) as StoredLine;
    at = end + 1;
  }
}

function trailersOf(trailers: readonly (readonly [string, string])[]): ReadonlyMap<string, Buffer> {
  return new Map(trailers.map(([name, bytes]) => [name, Buffer.from(bytes, "hex")]));
}

type FolderLine = Extract<StoredLine, { readonly folder: string }>;

function folderOf({ folder, facts, flags, entries }: FolderLine, stores: readonly ObjectStore[]): TreeFolder {
  const [isYoung, isLater, isIgnored] = flags;
  return {
    key: folder,
    real: decodeKey(folder),
    facts: factsOf(facts),
    isYoung,
    isLater,
    isIgnored,
    above: UNKNOWN_RULES,
    rules: UNKNOWN_RULES,
    entries: new Map(entries.map((entry) => [entry[0], entryOf(entry, stores)])),
  };
}

function factsOf([kind, inode, size, modified, touched, mode, owner, group, links]: StoredFacts): Facts {
  return { kind: KINDS[kind] ?? "other", inode, size, modified, touched, mode, owner, group, links };
}

function entryOf(stored: StoredEntry, stores: readonly ObjectStore[]): TreeEntry {
  const [, facts, place, young, sha256, source, target] = stored;
  const store = source === 0 ? undefined : stores[source[0]];
  return {
    ...factsOf(facts),
    place: PLACES[place],
    isYoung: young === 1,
    sha256: sha256 === 0 ? undefined : sha256,
    target: target === 0 ? undefined : target,
    ...(source === 0 || store === undefined
      ? {}
      : { git: source[1] === "oid" ? { store, oid: source[2] } : { store, name: source[2] } }),
  };
}
