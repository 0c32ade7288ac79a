import type { GateCall, GateParts } from "./call.ts";

/** Waits for a person or a hook, unless the call is cancelled. This time does not count as the call's own. */
export async function waitFor<T>(
  call: GateCall,
  { clock }: Pick<GateParts, "clock">,
  work: () => Promise<T> | T,
): Promise<T> {
  const { signal } = call.options;
  signal?.throwIfAborted();
  const began = clock();
  const cancelled = Promise.withResolvers<never>();
  const stop = (): void => cancelled.reject(signal?.reason as Error);
  signal?.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work(), cancelled.promise]);
  } finally {
    signal?.removeEventListener("abort", stop);
    call.waited_ms += Math.max(0, clock() - began);
  }
}
