import type { GateCall, GateParts } from "./call.ts";
import { unlessAborted } from "../protocol/pause.ts";

/** Waits for a person or a hook, unless the call is cancelled. This time does not count as the call's own. */
export async function waitFor<T>(
  call: GateCall,
  { clock }: Pick<GateParts, "clock">,
  work: () => Promise<T> | T,
): Promise<T> {
  const { signal } = call.options;
  signal?.throwIfAborted();
  const began = clock();
  try {
    return await (signal === undefined ? work() : unlessAborted((async () => await work())(), signal));
  } finally {
    call.waited_ms += Math.max(0, clock() - began);
  }
}
