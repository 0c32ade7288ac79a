import { familyOf, isAlive, isBusy, wordsOf } from "../../support/processes.ts";
import { look } from "./record.ts";
import type { OpenRecord } from "./record.ts";
import type { Stage } from "./stage.ts";
import { Broken, comes } from "./stage.ts";

type Victim = "worker" | "supervisor";

/** Promise P6: nothing is left after 2 seconds. A machine that is busy with other things gets a little more. */
const LEFT_MS = 5000;
/** While one of them waits for the processor or the disk, the time above has not begun; but it does not take longer than this. */
const BUSY_MS = 60_000;
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
  let idleSince = since;
  const isDecided = (): boolean => {
    const left = pids.filter(isAlive);
    if (left.some(isBusy)) idleSince = Date.now();
    return left.length === 0 || Date.now() - idleSince > LEFT_MS;
  };
  await comes(isDecided, BUSY_MS);
  const left = pids.filter(isAlive);
  if (left.length > 0)
    throw new Broken(`Processes were left ${Date.now() - since} ms after a kill: ${left.map(told).join(", ")}`);
  tally.longest_left_ms = Math.max(tally.longest_left_ms, Date.now() - since);
}

function told(pid: number): string {
  try {
    return `${pid} (${wordsOf(pid).slice(0, 200)})`;
  } catch {
    return `${pid} (it has just exited)`;
  }
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
  if (!came) throw new Broken(`No task continued within ${GO_ON_MS} ms of a kill`);
  if (gap !== undefined) tally.gaps.push(gap);
}

function gapIn(record: OpenRecord, { at, position }: Strike): number | undefined {
  const [first] = record.all(
    `select ts from events where position > ${position} and type in ('task.resumed', 'task.started') order by position limit 1`,
  );
  return first === undefined ? undefined : Math.max(0, Date.parse(String(first["ts"])) - at);
}

/** A worker holds a task, or a task is due that no worker holds. */
function hasWork(record: OpenRecord): boolean {
  return record.all(`select lane from lanes where worker is not null or ready_at <= ${Date.now()} limit 1`).length > 0;
}
