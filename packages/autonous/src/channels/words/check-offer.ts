import type { ApprovalAnswer, ApprovalRequest } from "@autonous/runtime";

/** What is wrong with the width of a yes. Whoever means more than one call has to say so in the request's own words. */
export function checkOffer(
  { offers }: ApprovalRequest,
  { answer, scope = "call", offer }: ApprovalAnswer,
): string | undefined {
  if (answer === "deny" || offer === undefined) return undefined;
  if (scope === "call") return "An offer needs the scope run or session: a yes to one call is exact";
  if (offers.some((each) => each.offer === offer)) return undefined;
  const known = offers.map((each) => `${each.offer} (${each.words})`).join(", ");
  return `There is no offer "${offer}" for this call: ${known === "" ? "there is none" : `it is one of ${known}`}`;
}
