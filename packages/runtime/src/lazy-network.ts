import type { ToolNetwork } from "./contract/network.ts";

interface LazyOptions {
  readonly allow: readonly string[];
  readonly signal: AbortSignal;
  /** Where proxies are named. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** The network, loaded when somebody reaches out: most processes do not, and start faster without. */
export function createLazyNetwork(options: LazyOptions): ToolNetwork {
  return {
    async request(request) {
      const { createToolNetwork } = await import("./machine/network/fetch.ts");
      return await createToolNetwork(options).request(request);
    },
  };
}
