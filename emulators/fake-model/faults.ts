/** Selects which requests fail, and how. */
import { FAULT_KINDS } from "./fault-kinds.ts";
import type { Chaos, Fault } from "./script.ts";

/** These last until the client gives up: a random run would never end. */
const NEVER_AT_RANDOM: ReadonlySet<string> = new Set(["hang", "hang_in_stream"]);

export interface FaultPlan {
  /** The fault for the next request of a round (from 1). Counts it as used. */
  next(round: number): Fault | undefined;
}

export function planFaults(faults: readonly Fault[], chaos: Chaos | undefined): FaultPlan {
  const used = faults.map(() => 0);
  const random = chaos === undefined ? undefined : seededRandom(chaos.seed);
  return {
    next(round) {
      const index = faults.findIndex(
        (fault, i) =>
          (fault.round === undefined || fault.round === round) &&
          (fault.times === "always" || (used[i] ?? 0) < fault.times),
      );
      if (index !== -1) {
        used[index] = (used[index] ?? 0) + 1;
        return faults[index];
      }
      if (chaos === undefined || random === undefined || random() >= chaos.rate) return undefined;
      const kinds = chaos.kinds ?? FAULT_KINDS.filter((kind) => !NEVER_AT_RANDOM.has(kind));
      const kind = kinds[Math.floor(random() * kinds.length)] ?? "server_error";
      return { kind, times: 1, ms: chaos.ms, retry_after_as: "seconds", retry_after_s: 0, clean: random() < 0.5 };
    },
  };
}

/** Mulberry32: the same seed causes the same faults on every machine. */
function seededRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
