import { lstatSync } from "node:fs";
import type { FileVersion, RestoreItem } from "../../contract/undo.ts";
import { isFileVersion, isSameContent, isSameVersion } from "../../contract/versions.ts";
import { keyOf } from "../search/keys.ts";
import { inodeOf, stateAt } from "./entry-state.ts";
import type { EntryState } from "./entry-state.ts";
import type { KeyFolders } from "./key-folders.ts";

/** The keys of all items that are restored together, and the folders that they are in. */
interface Links {
  readonly keys: ReadonlySet<string>;
  readonly folders: KeyFolders;
}

export function linksAmong(items: readonly Pick<RestoreItem, "key" | "real">[], folders: KeyFolders): Links {
  return { keys: new Set(items.map(({ key, real }) => key ?? keyOf(real))), folders };
}

/** Whether there is nothing to do: content, mode and other names are as they were. */
export function isAsBefore(item: RestoreItem, now: EntryState, links: Links): boolean {
  const { to } = item;
  if (!isSameVersion(now.version, to) || isToStandAlone(item, now)) return false;
  if (!isFileVersion(to) || to.linked === undefined) return true;
  return to.linked.every((key) => {
    const at = links.folders.at(key);
    const stats = at === undefined ? undefined : lstatSync(at, { bigint: true, throwIfNoEntry: false });
    if (stats === undefined) return !links.keys.has(key); // restored with this one, or gone for other reasons
    return !stats.isFile() || inodeOf(stats) === now.file?.inode;
  });
}

/** A file that was its own, and became a name of another one that holds the same. */
export function isToStandAlone({ from, to }: RestoreItem, { version, file }: EntryState): boolean {
  if (!isFileVersion(to) || !isFileVersion(from) || to.linked !== undefined || from.linked === undefined) return false;
  return isSameContent(to, version) && file !== undefined && file.links > 1;
}

interface Partner {
  readonly at: string | Buffer;
  readonly inode: string;
}

/** The file that a restored one is to be a name of. Undefined where it is that already, or where no other name holds the same. */
export async function findPartner(key: string, to: FileVersion, folders: KeyFolders): Promise<Partner | undefined> {
  const at = to.linked === undefined ? undefined : folders.at(key);
  const own = at === undefined ? undefined : lstatSync(at, { bigint: true, throwIfNoEntry: false });
  for (const other of own === undefined ? [] : (to.linked ?? [])) {
    const partner = folders.isOpen(other) ? folders.at(other) : undefined;
    if (partner === undefined || other === key) continue;
    const { version, file } = await stateAt(partner, { signal: new AbortController().signal });
    if (file === undefined || !isSameVersion(version, to)) continue;
    return own !== undefined && inodeOf(own) === file.inode ? undefined : { at: partner, inode: file.inode };
  }
  return undefined;
}
