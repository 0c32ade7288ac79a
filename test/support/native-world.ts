import type {
  ModelProvider,
  ModelReply,
  ModelRequest,
  NativeCall,
} from "../../packages/autonous/src/model/provider.ts";
import { runAgent } from "../../packages/autonous/src/agent/loop.ts";
import type { AgentOptions, AgentOutcome } from "../../packages/autonous/src/agent/agent-run.ts";
import { makeWorld, openJournal, recording, startRuntime } from "./agent-world.ts";
import type { Death, World } from "./agent-world.ts";

export type NativeReply = Extract<ModelReply, { readonly kind: "native" }>;

/** A provider with function calling of its own, that answers by the number of the round. */
export function nativeProvider(replies: readonly Partial<NativeReply>[]): ModelProvider {
  return {
    name: "test:native",
    protocol: "native",
    complete: async ({ rounds }) => ({ kind: "native", text: "", calls: [], finish: "stop", ...replies[rounds] }),
  };
}

export function call(id: string, name: string, input: string | object): NativeCall {
  return { id, name, input: typeof input === "string" ? input : JSON.stringify(input) };
}

export const NATIVE_TASK = { text: "Do it", task_id: "task_1", trace_id: "trace_1" };

interface Life {
  readonly world: World;
  readonly replies: readonly Partial<NativeReply>[];
  readonly death?: Death;
  readonly options?: Partial<AgentOptions>;
}

interface Lived {
  /** Undefined: the worker died. */
  readonly outcome: AgentOutcome | undefined;
  readonly requests: ModelRequest[];
}

/** One life of a worker in a world: until its task ends or it dies. */
export async function liveNative({ world, replies, death, options }: Life): Promise<Lived> {
  const journal = openJournal(world, death);
  const runtime = await startRuntime(world, journal);
  const provider = recording(nativeProvider(replies));
  const storedResult = async (id: string) => world.results.get(id);
  const about = { runtime, provider, task: NATIVE_TASK, limits: { max_turns: 10 }, storedResult };
  const running = runAgent({ ...about, ...options });
  const outcome = await Promise.race([running, journal.died.then(() => undefined)]);
  if (outcome === undefined) await new Promise(setImmediate);
  return { outcome, requests: provider.requests };
}

export async function startNative(
  replies: readonly Partial<NativeReply>[],
  options: Partial<AgentOptions> = {},
): Promise<Lived & { readonly world: World }> {
  const world = await makeWorld();
  return { world, ...(await liveNative({ world, replies, options })) };
}

export function nativePayloads({ events }: World, type: string): Readonly<Record<string, unknown>>[] {
  return events.filter((event) => event.type === type).map(({ payload }) => payload);
}

/** Each request as it would be sent, without ids and times, which differ in each world, and without what only programs read. */
export function steady(requests: readonly ModelRequest[]): readonly string[] {
  return requests.map((request) =>
    JSON.stringify(request, (key, value: unknown) => (key === "tool_call_id" || key === "result" ? "" : value)),
  );
}
