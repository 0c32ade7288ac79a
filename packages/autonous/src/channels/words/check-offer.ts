import type { ApprovalAnswer, ApprovalRequest } from "@autonous/runtime";

/** What is wrong with the scope of a grant. A grant for more than one call must name one of the request's offers. */
export function checkOffer(
  { offers }: ApprovalRequest,
  { answer, scope = "call", offer }: ApprovalAnswer,
): string | undefined {
  if (answer === "deny" || offer === undefined) return undefined;
  if (scope === "call") return "An offer needs the scope run or session; approving one call takes no offer";
  if (offers.some((each) => each.offer === offer)) return undefined;
  const known = offers.map((each) => `${each.offer} (${each.words})`).join(", ");
  return `Unknown offer "${offer}" for this call: ${known === "" ? "none is available" : `use one of ${known}`}`;
}
