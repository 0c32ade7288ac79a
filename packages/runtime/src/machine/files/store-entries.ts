import { hash } from "node:crypto";
import { closeSync } from "node:fs";
import { ToolError } from "../../protocol/errors.ts";
import type { ChangeParts } from "./change-attempt.ts";
import { readSpan } from "../system/bytes.ts";
import type { ChangeLog } from "./change-log.ts";
import { openReadable } from "./entry-state.ts";
import type { KeyFolders } from "../system/key-folders.ts";
import { PACKED_BYTES } from "./pack.ts";
import type { Packed } from "./pack.ts";
import type { RestoreStep } from "./restore-steps.ts";
import type { Syncs } from "../system/syncs.ts";
import { isFileVersion, isSameContent } from "../../contract/versions.ts";

interface KeepOptions {
  readonly folders: KeyFolders;
  readonly log: ChangeLog;
  readonly parts: Pick<ChangeParts, "objects" | "limit_bytes">;
  /** Collects descriptors that must be synced before the contents count as stored. */
  readonly syncs: Syncs;
  readonly signal: AbortSignal;
}

interface StoredEntries {
  readonly packed: readonly Packed[];
  /** Keys of files that are too large to store. */
  readonly not_kept: ReadonlySet<string>;
}

/** Read and written in chunks, so the limit can exceed what a tool edits in memory. */
const KEPT_BYTES = 1 << 30;

/** Descriptors waiting for fsync stay open, and the number of open descriptors per process is limited. */
const MAX_WAITING = 128;

/** Stores the current content of files before a restore, so that it can be undone. Throws `Stale` if one changed. */
export async function storeEntries(steps: readonly RestoreStep[], options: KeepOptions): Promise<StoredEntries> {
  const { folders, log, parts, syncs, signal } = options;
  const packed = new Map<string, Packed>();
  const not_kept = new Set<string>();
  for (const { item, key, now } of steps) {
    const version = now.version;
    if (!isFileVersion(version) || isSameContent(version, item.to) || packed.has(version.sha256)) continue;
    if (version.size > Math.max(parts.limit_bytes, KEPT_BYTES) || version.sha256.startsWith("identity:")) {
      not_kept.add(key);
      continue;
    }
    const at = folders.at(key);
    const fd = at === undefined ? undefined : openReadable(at, version.mode);
    if (fd === undefined) throw changed(item.path);
    try {
      if (version.size > PACKED_BYTES) {
        if (!(await parts.objects.putFile(version.sha256, fd, { syncs, signal }))) throw changed(item.path);
      } else {
        const content = await readSpan(fd, { position: 0, length: version.size }, signal);
        if (hash("sha256", content, "hex") !== version.sha256) throw changed(item.path);
        packed.set(version.sha256, log.pack.keep(version.sha256, content));
      }
    } finally {
      closeSync(fd);
    }
    if (syncs.count >= MAX_WAITING) await syncs.run();
  }
  return { packed: [...packed.values()], not_kept };
}

function changed(path: string): ToolError {
  return new ToolError("Stale", `Cannot undo the change of "${path}": it is being changed; nothing was restored`, {
    path,
    hint: "Retry when nothing else writes to it.",
  });
}
