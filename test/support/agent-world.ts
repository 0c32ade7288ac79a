import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, defineTool } from "@autonous/runtime";
import { chainEvents, EMPTY_TAIL } from "@autonous/runtime/internal";
import type { Runtime, RuntimeEvent, RuntimeOptions, ToolCallResult } from "@autonous/runtime";
import type { EventDraft, Journal } from "@autonous/runtime/internal";
import { onTestFinished, vi } from "vitest";
import { z } from "zod";
import type { ModelProvider, ModelRequest } from "../../packages/autonous/src/model/provider.ts";

export const SECRET = "hunter2-correct-horse-battery";

/** What outlives a worker: the record, the results that the store keeps, and what tools did to the world. */
export interface World {
  readonly folder: string;
  readonly events: RuntimeEvent[];
  readonly results: Map<string, ToolCallResult>;
  /** How often each call took effect, by tool and argument. */
  readonly effects: Map<string, number>;
}

/** When the worker dies: before or right after it records its n-th event. */
export interface Death {
  readonly event: number;
  readonly when: "before" | "after";
}

export async function makeWorld(): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), "autonous-agent-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  vi.stubEnv("XDG_STATE_HOME", join(folder, "user-state"));
  onTestFinished(() => void vi.unstubAllEnvs());
  await mkdir(join(folder, "workspace", "src"), { recursive: true });
  await writeFile(join(folder, "workspace", "src", "a.txt"), "a\n");
  return { folder, events: [], results: new Map(), effects: new Map() };
}

/** A journal on the world. After its death nothing is recorded, and nothing more comes from the worker. */
export function openJournal(world: World, death?: Death): Journal & { readonly died: Promise<void> } {
  const { promise: died, resolve: die } = Promise.withResolvers<void>();
  const never = new Promise<never>(() => {});
  let isDead = false;
  return {
    run_id: "run_1",
    died,
    async append(drafts: readonly EventDraft[], options = {}) {
      if (isDead) return await never;
      const at = world.events.length + drafts.length;
      isDead = death !== undefined && at >= death.event;
      if (isDead) die();
      if (isDead && death?.when === "before") return await never;
      const chained = chainEvents(drafts, world.events.at(-1) ?? EMPTY_TAIL).map(
        ({ line }) => JSON.parse(line) as RuntimeEvent,
      );
      world.events.push(...chained);
      if (options.result !== undefined) world.results.set(options.result.tool_call_id, options.result);
      return isDead ? await never : chained;
    },
    async *read(after = 0) {
      yield* world.events.filter(({ seq }) => seq > after);
    },
    close: async () => {},
  };
}

/** A real runtime on the world's workspace, with a tool that may be run again and one that may not. */
export async function startRuntime(
  world: World,
  journal: Journal = openJournal(world),
  options: Partial<RuntimeOptions> = {},
): Promise<Runtime> {
  const runtime = await createRuntime({
    roots: [join(world.folder, "workspace")],
    state_dir: join(world.folder, "state"),
    run_id: "run_1",
    known_secrets: [SECRET],
    onApproval: () => ({ answer: "grant" }),
    openJournal: async () => journal,
    ...options,
  });
  onTestFinished(() => runtime.close());
  const args = z.strictObject({ mark: z.string() });
  const returns = z.strictObject({});
  for (const idempotent of [true, false]) {
    const name = idempotent ? "look" : "stamp";
    runtime.register(
      defineTool({
        name,
        version: "1.0.0",
        description: `To ${name} at something.`,
        args,
        returns,
        required_permissions: [],
        side_effects: idempotent ? ["none"] : ["message"],
        risk: "low",
        permission_class: idempotent ? "readonly" : "generic", // the latter is asked for, and granted
        idempotent,
        concurrency_safe: idempotent,
        execute: async ({ mark }) => {
          const key = `${name} ${mark}`;
          world.effects.set(key, (world.effects.get(key) ?? 0) + 1);
          return { data: {}, stdout: `${key} done\n` };
        },
      }),
    );
  }
  return runtime;
}

/** Keeps what it was asked. */
export function recording(provider: ModelProvider): ModelProvider & { readonly requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  const complete: ModelProvider["complete"] = (request, options) => {
    requests.push(request);
    return provider.complete(request, options);
  };
  return { ...provider, requests, complete };
}
