import { mkdirSync } from "node:fs";
import type { ApprovalKeeper } from "./contract/approvals.ts";
import type { Clock } from "./contract/host.ts";
import type { ApprovalFiles } from "./journal/approval-file.ts";
import { stateFolders } from "./machine/files/state-folders.ts";
import { ToolError } from "./protocol/errors.ts";
import { checkState } from "./state-place.ts";

interface ApprovalsOptions {
  readonly state_dir: string;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/**
 * The requests and grants that are kept on files in a state folder, whichever process made them. Loaded when somebody
 * asks for one: most processes ask nobody, and start faster without.
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
    import("./journal/approval-file.ts"),
    import("./machine/files/path-locks.ts"),
    import("./machine/files/lock-files.ts"),
  ]);
  const folder = stateFolders(state_dir).locks;
  // A file is replaced in one step, so whoever dies leaves nothing half done.
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
        leaveLocks(folder); // nobody closes a keeper
      }
    },
  });
}
