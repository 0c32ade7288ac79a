import type { Opened, Stage } from "./stages.ts";

/** Takes one stage and returns the next. Throws to stop the call. */
type Step = (call: never, parts: never) => Stage | Promise<Stage>;

/** The same steps if each takes what the one before it returns. A list in another order does not compile. */
type InOrder<Steps extends readonly unknown[], From = Opened> = Steps extends readonly [infer First, ...infer Rest]
  ? First extends (call: From, parts: never) => infer To
    ? readonly [First, ...InOrder<Rest, Awaited<To>>]
    : readonly [(call: From, parts: never) => Stage, ...Rest]
  : readonly [];

type LastOf<Steps extends readonly unknown[]> = Steps extends readonly [...unknown[], infer Last extends Step]
  ? Awaited<ReturnType<Last>>
  : Opened;

/** What all steps need. */
type PartsOf<Steps extends readonly Step[]> = [Steps[number]] extends [(call: never, parts: infer Parts) => unknown]
  ? Parts
  : never;

type Pipeline<Steps extends readonly Step[]> = (
  call: Opened,
  parts: PartsOf<Steps>,
  /** Called with the stage after each step. */
  onReached?: (stage: Stage) => void,
) => Promise<LastOf<Steps>>;

/** Runs steps one after the other. */
export function pipeline<const Steps extends readonly Step[]>(steps: Steps & InOrder<Steps>): Pipeline<Steps> {
  return async (call, parts, onReached) => {
    let stage: Stage = call;
    for (const step of steps) {
      // `InOrder` has checked the order, so the stage is the one that this step takes.
      const next = step(stage as never, parts as never);
      stage = next instanceof Promise ? await next : next; // awaiting every step would take most of the time of a replay
      onReached?.(stage);
    }
    return stage as LastOf<Steps>;
  };
}
