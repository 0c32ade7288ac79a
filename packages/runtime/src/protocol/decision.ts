/** What the policy can say of a call. */
export const EFFECTS = ["ALLOW", "DENY", "REQUIRE_CONFIRMATION"] as const;
export type Effect = (typeof EFFECTS)[number];

/** How far an approval reaches. */
export const SCOPES = ["call", "run", "session"] as const;
export type Scope = (typeof SCOPES)[number];
