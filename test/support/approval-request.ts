import type { ApprovalRequest } from "@autonous/runtime";

interface RequestFields extends Partial<ApprovalRequest> {
  readonly now: number;
}

/** A request as the gate makes it, good for an hour. */
export function makeRequest({ now, ...given }: RequestFields): ApprovalRequest {
  return {
    approval_id: "apr_1",
    tool_call_id: "call_1",
    run_id: "run_1",
    trace_id: "0".repeat(32),
    task_id: null,
    chat: null,
    user: null,
    tool: "bash",
    version: "1.0.0",
    risk: "high",
    reason: "Running this needs approval",
    rule: "profile:guarded:run",
    params: { cmd: "ls" },
    touches: [],
    scope: "call",
    offers: [
      {
        offer: "exact",
        words: "exactly this call again",
        pattern: { kind: "exact", call_digest: "c".repeat(64) },
      },
    ],
    digest: "d".repeat(64),
    call_digest: "c".repeat(64),
    policy_version: "p".repeat(64),
    requested_at: new Date(now).toISOString(),
    expires_at: new Date(now + 3_600_000).toISOString(),
    replay: "",
    ...given,
  };
}
