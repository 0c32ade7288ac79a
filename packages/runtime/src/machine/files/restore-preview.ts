import { closeSync } from "node:fs";
import type { FileSide, PlannedFile } from "../../contract/context.ts";
import type { Version } from "../../contract/undo-keeper.ts";
import { readSpan } from "../system/bytes.ts";
import { openReadable } from "./entry-state.ts";
import type { ContentReader } from "./content-reader.ts";
import type { KeyFolders } from "../system/key-folders.ts";
import type { RestoreStep } from "./restore-steps.ts";
import { isFileVersion } from "../../contract/versions.ts";

/** Number of files shown with content; the rest is shown by size. */
const SHOWN_FILES = 200;
const SHOWN_BYTES = 1 << 20;

/** The preview of a restore that the user sees before approving it. */
export async function planOf(
  steps: readonly RestoreStep[],
  { folders, kept }: { readonly folders: KeyFolders; readonly kept: ContentReader },
): Promise<readonly PlannedFile[]> {
  const planned: PlannedFile[] = [];
  for (const { item, key, now } of steps) {
    const isShown = planned.length < SHOWN_FILES;
    const read = async (version: Version): Promise<Buffer | undefined> => {
      const at = folders.at(key);
      if (!isShown || !isFileVersion(version) || version.size > SHOWN_BYTES || at === undefined) return undefined;
      const fd = openReadable(at, version.mode);
      try {
        return await readSpan(fd, { position: 0, length: version.size }, new AbortController().signal);
      } finally {
        closeSync(fd);
      }
    };
    const readOld = (version: Version): Promise<Buffer | undefined> =>
      Promise.resolve(
        isShown && isFileVersion(version) && version.size <= SHOWN_BYTES ? kept.read(version.sha256) : undefined,
      );
    planned.push({
      path: item.path,
      before: await sideOf(now.version, read),
      after: await sideOf(item.to, readOld),
    });
  }
  return planned;
}

async function sideOf(
  version: Version | null,
  read: (version: Version) => Promise<Buffer | undefined>,
): Promise<FileSide | null> {
  if (version === null) return null;
  if (version.kind === "link") {
    const content = Buffer.from(`link to ${version.target}\n`, "latin1");
    return { size: content.length, mode: undefined, content };
  }
  if (version.kind === "folder") return { size: 0, mode: version.mode };
  if (version.kind === "other") return { size: 0, mode: undefined };
  const content = await read(version);
  return { size: version.size, mode: version.mode, ...(content === undefined ? {} : { content }) };
}
