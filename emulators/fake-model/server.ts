/** A model server on loopback that speaks four wire formats and plays many vendors, for tests without a model. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Billed } from "./books.ts";
import { serve } from "./exchange.ts";
import { openState } from "./state.ts";
import type { FakeModelOptions, SeenRequest } from "./state.ts";

export { readLoop } from "./behaviours.ts";
export type { FakeModelOptions, SeenRequest } from "./state.ts";

export interface FakeModel {
  /**
   * Without a path: clients add `/v1` or `/v1beta`; `/compatible/v1` is chat completions that overlook unknown fields.
   * `/<vendor>/v1` is a vendor: `vendors/vendors.ts` lists them.
   */
  readonly url: string;
  readonly requests: readonly SeenRequest[];
  /** The sum of all that was billed. */
  readonly billed: Billed;
  /** Ends what is under way too. */
  close(): Promise<void>;
}

export async function startFakeModel(options: FakeModelOptions = {}): Promise<FakeModel> {
  const state = openState(options);
  const stopping = new AbortController();
  const server = createServer((request, response) => {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const signal = AbortSignal.any([gone.signal, stopping.signal]);
    serve(state, { request, response, signal }).catch((error: unknown) => {
      // A mistake of the script's function, most likely: said where it is seen.
      const message = `fake-model: ${error instanceof Error ? error.message : String(error)}`;
      if (response.headersSent) response.destroy();
      else response.writeHead(500, { "content-type": "application/json" }).end(JSON.stringify({ error: { message } }));
    });
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: state.requests,
    get billed() {
      return state.billed;
    },
    async close() {
      stopping.abort();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
