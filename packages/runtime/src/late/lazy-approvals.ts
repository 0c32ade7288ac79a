import { mkdirSync } from "node:fs";
import type { ApprovalKeeper } from "../contract/approvals.ts";
import type { Clock } from "../contract/host.ts";
import type { ApprovalFiles } from "../journal/approval-file.ts";
import { stateFolders } from "../machine/system/state-folders.ts";
import { ToolError } from "../protocol/errors.ts";
import { checkState } from "../start/state-place.ts";

interface ApprovalsOptions {
  readonly state_dir: string;
  /** Default: the system clock. */
  readonly clock?: Clock;
}

/**
 * The requests and grants stored as files in a state folder, from all processes. Loaded on first use: most processes
 * never ask for approval, and start faster without it.
 */
export function openApprovals({ state_dir, clock = Date.now }: ApprovalsOptions): ApprovalKeeper {
  let files: Promise<ApprovalFiles> | undefined;
  const load = (): Promise<ApprovalFiles> => (files ??= makeFiles(state_dir, clock));
  return {
    open: async (request, options) => await (await load()).open(request, options),
    get: async (approval_id) => await (await load()).get(approval_id),
    findGranted: async (digest) => await (await load()).findGranted(digest),
    list: async (filter) => await (await load()).list(filter),
    answer: async (approval_id, answer) => await (await load()).answer(approval_id, answer),
    end: async (approval_id, state) => await (await load()).end(approval_id, state),
    use: async (approval_id) => await (await load()).use(approval_id),
    wait: async (approval_id, signal) => await (await load()).wait(approval_id, signal),
    addGrant: async (grant) => await (await load()).addGrant(grant),
    grants: async (holder) => await (await load()).grants(holder),
    revoke: async (grant_id) => await (await load()).revoke(grant_id),
  };
}

async function makeFiles(state_dir: string, clock: Clock): Promise<ApprovalFiles> {
  const problem = checkState({ workspace: "/", state_dir, roots: [] });
  if (problem !== undefined) throw new ToolError("InvalidArguments", `Cannot open the approvals: ${problem}`);
  const [{ ApprovalFiles: Files }, { PathLocks }, { leaveLocks }] = await Promise.all([
    import("../journal/approval-file.ts"),
    import("../machine/system/path-locks.ts"),
    import("../machine/system/lock-files.ts"),
  ]);
  const folder = stateFolders(state_dir).locks;
  // Files are replaced atomically, so a killed process leaves nothing to recover.
  const locks = new PathLocks({ state_dir, recover: () => Promise.resolve() });
  const never = new AbortController().signal;
  return new Files({
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
