import type { ToolNetwork } from "../contract/network.ts";

interface LazyOptions {
  readonly allow: readonly string[];
  readonly signal: AbortSignal;
  /** Contains the proxy settings. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Network access, loaded on first use: most processes do not need it, and start faster without it. */
export function createLazyNetwork(options: LazyOptions): ToolNetwork {
  return {
    async request(request) {
      const { createToolNetwork } = await import("../machine/network/fetch.ts");
      return await createToolNetwork(options).request(request);
    },
  };
}
