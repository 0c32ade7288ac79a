/**
 * The states of a request and their transitions. The first answer wins; an approval is used once.
 *
 *   pending → granted → used
 *   pending → denied | expired | withdrawn
 */
// oxfmt-ignore
export const APPROVAL_STATES = {
  pending:   { open: true,  to: ["granted", "denied", "expired", "withdrawn"] },
  granted:   { open: true,  to: ["used", "expired", "withdrawn"] }, // approved, and the call has not started
  used:      { open: false, to: [] },
  denied:    { open: false, to: [] },
  expired:   { open: false, to: [] },
  withdrawn: { open: false, to: [] }, // the call was cancelled or has changed
} as const satisfies Record<string, { readonly open: boolean; readonly to: readonly string[] }>;
/** The state of an approval request. */
export type ApprovalState = keyof typeof APPROVAL_STATES;

/** Whether an approval may move from one state to another. */
export function canBecome(from: ApprovalState, to: ApprovalState): boolean {
  const reachable: readonly string[] = APPROVAL_STATES[from].to;
  return reachable.includes(to);
}
