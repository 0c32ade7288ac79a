import type { PlaceJudge } from "../../contract/processes.ts";
import type { WorkspaceContext } from "../../policy/decide.ts";
import type { GitTrees } from "../git/git-trees.ts";
import type { KeptContents } from "./kept-contents.ts";
import type { OpenedFolders } from "./opened-folders.ts";
import type { TreeLook } from "./tree-entry.ts";
import type { TreeLimits } from "./tree-limits.ts";

/** What a look at the roots is made with. */
export interface TreeOptions {
  readonly workspace: WorkspaceContext;
  readonly limits: TreeLimits;
  readonly contents: KeptContents;
  /** Folders that were found to hold too much, by key, with their inodes: not counted again. */
  readonly heavy: Map<string, number>;
  /** The look before this one: what has not changed since is taken from it. */
  readonly previous: TreeLook | undefined;
  /** Whether this look is compared with the previous one: what that one left out is then left out again. */
  readonly isAfter: boolean;
  /** Contents of files that run later are kept in any case. */
  readonly keeps: boolean;
  /** What rules close to the command. What they hide is not read, and a folder that they hide is not looked into. */
  readonly closes?: PlaceJudge;
  readonly git: GitTrees;
  /** No other command runs. */
  readonly isAlone: boolean;
  /** The command cannot change the packages that this program loads. A look after it goes by the one before it. */
  readonly keepsPackages: boolean;
  readonly signal: AbortSignal;
  /** Opens folders that the command closed. Left out: they are not looked into. */
  readonly opened?: OpenedFolders | undefined;
}
