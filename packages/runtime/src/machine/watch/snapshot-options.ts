import type { PlaceJudge } from "../../contract/processes.ts";
import type { WorkspaceContext } from "../../policy/decide.ts";
import type { GitTrees } from "../git/git-trees.ts";
import type { ContentStore } from "../tree/content-store.ts";
import type { OpenedFolders } from "./opened-folders.ts";
import type { TreeSnapshot } from "../tree/tree-snapshot.ts";
import type { TreeLimits } from "../tree/tree-limits.ts";

/** Options of one snapshot of the roots. */
export interface SnapshotOptions {
  readonly workspace: WorkspaceContext;
  readonly limits: TreeLimits;
  readonly contents: ContentStore;
  /** Folders with too many entries, by key, with their inodes: not counted again. */
  readonly heavy: Map<string, number>;
  /** The previous snapshot: entries unchanged since then are reused. */
  readonly previous: TreeSnapshot | undefined;
  /** Whether this snapshot is compared with the previous one: then folders that the other left out are left out again. */
  readonly isAfter: boolean;
  /** Whether contents are stored. Those of run-later files always are. */
  readonly keeps: boolean;
  /** Paths that rules close to the command. Hidden files are not read, hidden folders are not scanned. */
  readonly closes?: PlaceJudge;
  readonly git: GitTrees;
  /** No other command runs. */
  readonly isAlone: boolean;
  /** The command cannot change the packages that this program loads. A snapshot after it scans what the snapshot before did. */
  readonly keepsPackages: boolean;
  readonly signal: AbortSignal;
  /** Reopens folders that the command closed. Without it they are not scanned. */
  readonly opened?: OpenedFolders | undefined;
}
