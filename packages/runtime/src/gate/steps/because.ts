/** Formats an optional reason as the end of a sentence. */
export function because(reason: string | undefined): string {
  return reason === undefined || reason === "" ? "" : `: ${reason}`;
}
