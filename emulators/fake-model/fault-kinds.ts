/** All kinds of faults. */
export const FAULT_KINDS = [
  "slow_first_byte",
  "slow_drip",
  "hang",
  "hang_in_stream",
  "reset",
  "cut_before_content",
  "cut_after_content",
  "cut_in_call",
  "cut_in_character",
  "rate_limited",
  "server_error",
  "unavailable",
  "overloaded",
  "error_in_stream",
  "malformed_chunk",
  "duplicated_chunks",
  "wrong_content_type",
  "length",
] as const;

export type FaultKind = (typeof FAULT_KINDS)[number];

/** After these the client has a complete reply, and the round is used up. After the others the next request gets it again. */
const HARMLESS: ReadonlySet<string> = new Set(["slow_first_byte", "slow_drip", "duplicated_chunks", "length"]);

export function spendsRound(kind: FaultKind): boolean {
  return HARMLESS.has(kind);
}
