import { familyOf, isAlive } from "../../support/processes.ts";
import { look } from "./record.ts";
import type { OpenRecord } from "./record.ts";
import type { Stage } from "./stage.ts";
import { Broken, comes } from "./stage.ts";

type Victim = "worker" | "supervisor";

/**
 * Promise P6: nothing is left after 2 seconds, which `longest_left_ms` of the figures shows. A worker whose supervisor was
 * killed ends by itself, which takes as long as it waits for the processor: no limit of a test on a busy machine.
 */
const LEFT_MS = 60_000;
const GO_ON_MS = 45_000;

/** A kill that was done, and where the record stood. */
export interface Strike {
  readonly at: number;
  readonly position: number;
}

/** kill -9, and waits until all that the killed ones had started is gone too. */
export async function strike(stage: Stage, victims: readonly Victim[]): Promise<Strike> {
  const { serving, world } = stage;
  const pids = victims.flatMap((victim) => serving[victim] ?? []);
  const families = [...new Set(pids.flatMap((pid) => familyOf(pid)))];
  const position = look(world, (record) => record.position(), 0);
  for (const pid of pids) kill(stage, pid, "SIGKILL");
  const at = Date.now();
  if (victims.includes("supervisor")) await serving.end("SIGKILL");
  await expectGone(stage, families, at);
  return { at, position };
}

async function expectGone({ tally }: Stage, pids: readonly number[], since: number): Promise<void> {
  const left = (): number[] => pids.filter(isAlive);
  if (!(await comes(() => left().length === 0, LEFT_MS)))
    throw new Broken(`Processes were left ${LEFT_MS} ms after a kill: ${left().join(", ")}`);
  tally.longest_left_ms = Math.max(tally.longest_left_ms, Date.now() - since);
}

export function kill({ tally }: Stage, pid: number, signal: NodeJS.Signals): void {
  tally.strikes.push(Date.now());
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error; // it was quicker
  }
}

/** Waits until a task goes on after a kill, where there is one that can, and takes the time. */
export async function untilWorkGoesOn({ world, tally }: Stage, { at, position }: Strike): Promise<void> {
  let gap: number | undefined;
  const came = await comes(
    () =>
      look(
        world,
        (record) => {
          gap ??= gapIn(record, { at, position });
          return gap !== undefined || !hasWork(record);
        },
        true,
      ),
    GO_ON_MS,
  );
  if (!came) throw new Broken(`No task went on within ${GO_ON_MS} ms of a kill`);
  if (gap !== undefined) tally.gaps.push(gap);
}

function gapIn(record: OpenRecord, { at, position }: Strike): number | undefined {
  const [first] = record.all(
    `select ts from events where position > ${position} and type in ('task.resumed', 'task.started') order by position limit 1`,
  );
  return first === undefined ? undefined : Math.max(0, Date.parse(String(first["ts"])) - at);
}

/** Somebody holds a task, or one is due that nobody holds. */
function hasWork(record: OpenRecord): boolean {
  return record.all(`select lane from lanes where worker is not null or ready_at <= ${Date.now()} limit 1`).length > 0;
}
