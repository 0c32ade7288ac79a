import type { ModelProvider } from "../model/provider.ts";

/**
 * The same provider with at most `limit` parallel requests; the others wait in order. Each of its fallbacks has its
 * own limit.
 */
export function limitInFlight(provider: ModelProvider, limit: number): ModelProvider {
  let inFlight = 0;
  const waiting: (() => void)[] = [];

  async function enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (inFlight < limit) {
      inFlight += 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const proceed = (): void => {
        signal.removeEventListener("abort", giveUp);
        resolve(); // the slot passes to this request, so the count stays
      };
      const giveUp = (): void => {
        waiting.splice(waiting.indexOf(proceed), 1);
        reject(signal.reason as Error);
      };
      waiting.push(proceed);
      signal.addEventListener("abort", giveUp, { once: true });
    });
  }

  function leave(): void {
    const next = waiting.shift();
    if (next === undefined) inFlight -= 1;
    else next();
  }

  const { fallbacks } = provider;
  return {
    ...provider,
    ...(fallbacks === undefined ? {} : { fallbacks: fallbacks.map((each) => limitInFlight(each, limit)) }),
    complete: async (request, options) => {
      await enter(options.signal);
      try {
        return await provider.complete(request, options);
      } finally {
        leave();
      }
    },
  };
}
