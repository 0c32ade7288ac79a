import type { ApprovalKeeper } from "../contract/approvals.ts";
import type { Clock } from "../contract/host.ts";
import { lazy, lazyMethods } from "./lazy.ts";

interface ApprovalsOptions {
  readonly state_dir: string;
  /** Default: the system clock. */
  readonly clock?: Clock;
}

// oxfmt-ignore
const METHODS = [
  "open", "get", "findGranted", "list", "answer", "end", "use", "wait", "addGrant", "grants", "revoke",
] as const satisfies readonly (keyof ApprovalKeeper)[];

/**
 * The requests and grants stored as files in a state folder, from all processes. Loaded on first use: most processes
 * never ask for approval, and start faster without it.
 */
export function openApprovals({ state_dir, clock = Date.now }: ApprovalsOptions): ApprovalKeeper {
  const load = lazy(async (): Promise<ApprovalKeeper> => {
    const { openApprovalFiles } = await import("./approval-files.ts");
    return openApprovalFiles(state_dir, clock);
  });
  return lazyMethods(load, METHODS);
}
