/**
 * The life of a request: every state and what leaves it. The first answer wins; a yes is used once.
 *
 *   pending → granted → used
 *   pending → denied | expired | withdrawn
 */
// oxfmt-ignore
export const APPROVAL_STATES = {
  pending:   { open: true,  to: ["granted", "denied", "expired", "withdrawn"] },
  granted:   { open: true,  to: ["used", "expired", "withdrawn"] }, // given, and the call has not begun
  used:      { open: false, to: [] },
  denied:    { open: false, to: [] },
  expired:   { open: false, to: [] },
  withdrawn: { open: false, to: [] }, // the call was cancelled, or asks for something else by now
} as const satisfies Record<string, { readonly open: boolean; readonly to: readonly string[] }>;
/** The state of a request for approval. */
export type ApprovalState = keyof typeof APPROVAL_STATES;

/** Whether an approval may move from one state to another. */
export function canBecome(from: ApprovalState, to: ApprovalState): boolean {
  const reachable: readonly string[] = APPROVAL_STATES[from].to;
  return reachable.includes(to);
}
