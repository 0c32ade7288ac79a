import { setTimeout as pause } from "node:timers/promises";
import type { Conversation } from "../../../emulators/fake-model/formats/format.ts";
import type { Round } from "../../../emulators/fake-model/script.ts";
import { startFakeModel } from "../../../emulators/fake-model/server.ts";
import { callsOf, kindOf } from "./kinds.ts";
import { look } from "./record.ts";
import type { PlacedEvent } from "./record.ts";
import type { PlannedTask, TaskPlan } from "./task-plan.ts";
import type { World } from "./world.ts";

export interface Model extends AsyncDisposable {
  /** As `AUTONOUS_MODEL` has it. */
  readonly setting: string;
  /** Which tasks it answers to, where their record is. Before the first task. */
  serve(world: World, plan: TaskPlan): void;
  /** How often it was asked: `task/round`. */
  readonly asked: ReadonlyMap<string, number>;
  /** Questions about a round whose answer was on record already. */
  readonly askedInVain: readonly string[];
}

/** Long enough for kills to fall into it. */
const THINKING_MS = 15;

/** A model that knows every task by name, has each done in its rounds, and counts what it is asked. */
export async function startModel(): Promise<Model> {
  const asked = new Map<string, number>();
  const askedInVain: string[] = [];
  let served: { readonly world: World; readonly plan: TaskPlan } | undefined;
  async function respond(conversation: Conversation): Promise<Round | undefined> {
    const planned = plannedOf(conversation, served?.plan);
    if (served === undefined || planned === undefined) throw new Error("A request for an unknown task");
    const round = roundOf(conversation);
    const key = `${planned.task}/${round}`;
    const again = (asked.get(key) ?? 0) + 1;
    asked.set(key, again);
    if (!isOpen(served.world, planned)) askedInVain.push(`${key}, for the ${again}. time`);
    await pause(THINKING_MS);
    const { rounds, fate } = kindOf(planned.kind);
    if (round <= rounds.length) return { calls: [...callsOf(planned, round, again)] };
    if (fate === "retry" && planned.retries === 0) return undefined;
    return { text: answerOf(planned) };
  }
  const server = await startFakeModel({ script: respond, keep_requests: 0 });
  return {
    setting: `compatible:fake@${server.url}/compatible/v1`,
    serve: (world, plan) => void (served = { world, plan }),
    asked,
    askedInVain,
    [Symbol.asyncDispose]: () => server.close(),
  };
}

export function answerOf({ task }: PlannedTask): string {
  return `That was ${task}.`;
}

function plannedOf({ messages }: Conversation, plan: TaskPlan | undefined): PlannedTask | undefined {
  const said = messages.findLast(({ role }) => role === "user")?.text ?? "";
  return plan?.byTask(/\bw\d+\b/.exec(said)?.[0] ?? "");
}

/** From 1. */
function roundOf({ messages }: Conversation): number {
  const since = messages.findLastIndex(({ role }) => role === "user");
  return messages.slice(since + 1).filter(({ role }) => role === "assistant").length + 1;
}

/** Whether the record has a turn of the task that is still to be answered. */
function isOpen(world: World, { task_id }: PlannedTask): boolean {
  if (task_id === undefined) return true; // taken in so recently that the campaign has not been told yet
  const events = look(world, (record) => record.events(task_id), [] as readonly PlacedEvent[]);
  const answered = new Set(
    events.filter(({ type }) => /^model\.(completed|failed)$/.test(type)).map(({ parent_id }) => parent_id),
  );
  return events.some(({ type, event_id }) => type === "turn.started" && !answered.has(event_id));
}
