import { lstatSync } from "node:fs";
import type { FileVersion, RestoreItem } from "../../contract/undo-keeper.ts";
import { isFileVersion, isSameContent, isSameVersion } from "../../contract/versions.ts";
import { keyOf } from "../system/keys.ts";
import { inodeOf, stateAt } from "./entry-state.ts";
import type { EntryState } from "./entry-state.ts";
import type { KeyFolders } from "../system/key-folders.ts";

/** The keys of all items restored together, and their folders. */
interface Links {
  readonly keys: ReadonlySet<string>;
  readonly folders: KeyFolders;
}

export function linksAmong(items: readonly Pick<RestoreItem, "key" | "real">[], folders: KeyFolders): Links {
  return { keys: new Set(items.map(({ key, real }) => key ?? keyOf(real))), folders };
}

/** Whether nothing needs to be restored: content, mode and hard links are already as before. */
export function isAsBefore(item: RestoreItem, now: EntryState, links: Links): boolean {
  const { to } = item;
  if (!isSameVersion(now.version, to) || isToStandAlone(item, now)) return false;
  if (!isFileVersion(to) || to.linked === undefined) return true;
  return to.linked.every((key) => {
    const at = links.folders.at(key);
    const stats = at === undefined ? undefined : lstatSync(at, { bigint: true, throwIfNoEntry: false });
    if (stats === undefined) return !links.keys.has(key); // restored with this one, or removed otherwise
    return !stats.isFile() || inodeOf(stats) === now.file?.inode;
  });
}

/** Whether a file without other hard links became a hard link of another file with the same content. */
export function isToStandAlone({ from, to }: RestoreItem, { version, file }: EntryState): boolean {
  if (!isFileVersion(to) || !isFileVersion(from) || to.linked !== undefined || from.linked === undefined) return false;
  return isSameContent(to, version) && file !== undefined && file.links > 1;
}

interface Partner {
  readonly at: string | Buffer;
  readonly inode: string;
}

/** The file that a restored one should be a hard link of. Undefined if it already is, or if no candidate matches. */
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
