/** The possible decisions of the policy. */
export const EFFECTS = ["ALLOW", "DENY", "REQUIRE_CONFIRMATION"] as const;
export type Effect = (typeof EFFECTS)[number];

/** The scope of an approval. */
export const SCOPES = ["call", "run", "session"] as const;
export type Scope = (typeof SCOPES)[number];
