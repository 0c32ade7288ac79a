import { mkdirSync } from "node:fs";
import type { Clock } from "../contract/host.ts";
import { ApprovalFiles } from "../journal/approval-file.ts";
import { leaveLocks } from "../machine/system/lock-files.ts";
import { PathLocks } from "../machine/system/path-locks.ts";
import { stateFolders } from "../machine/system/state-folders.ts";
import { ToolError } from "../protocol/errors.ts";
import { checkState } from "../start/state-place.ts";

/** Requests and grants as files in a state folder, each changed under a lock that all processes share. */
export function openApprovalFiles(state_dir: string, clock: Clock): ApprovalFiles {
  const problem = checkState({ workspace: "/", state_dir, roots: [] });
  if (problem !== undefined) throw new ToolError("InvalidArguments", `Cannot open the approvals: ${problem}`);
  const folder = stateFolders(state_dir).locks;
  // Files are replaced atomically, so a killed process leaves nothing to recover.
  const locks = new PathLocks({ state_dir, recover: () => Promise.resolve() });
  const never = new AbortController().signal;
  return new ApprovalFiles({
    state_dir,
    clock,
    async hold(path, work) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      try {
        // oxlint-disable-next-line typescript/require-await -- the lock is held for as long as the promise takes
        return await locks.hold([path], never, async () => work());
      } finally {
        leaveLocks(folder); // a keeper has no close()
      }
    },
  });
}
