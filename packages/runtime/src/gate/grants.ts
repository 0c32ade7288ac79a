import type { Scope } from "../protocol/decision.ts";

export interface Grant {
  readonly scope: Scope;
  readonly by: string | null;
}

/** Approvals for more than one call, each good for exactly the same call again: same tool, arguments, places and policy. */
export class Grants {
  readonly #byDigest = new Map<string, Grant>();

  find(digest: string): Grant | undefined {
    return this.#byDigest.get(digest);
  }

  add(digest: string, grant: Grant): void {
    if (grant.scope !== "call") this.#byDigest.set(digest, grant);
  }
}
