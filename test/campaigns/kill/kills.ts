import { setTimeout as pause } from "node:timers/promises";
import { answer, pendingApprovals, submitTasks } from "./people.ts";
import type { Stage } from "./stage.ts";
import { Broken, comes } from "./stage.ts";
import { kill, strike, untilWorkGoesOn } from "./strike.ts";
import type { Strike } from "./strike.ts";
import { isAlive } from "../../support/processes.ts";

interface KillRow {
  readonly often: number;
  readonly meaning: string;
  /** Kills, and leaves the service running again. */
  readonly run: (stage: Stage) => Promise<void>;
}

/** Every way in which processes are ended. */
// oxfmt-ignore
export const KILLS = {
  worker:          { often: 30, meaning: "kill -9 of the worker",                                              run: killWorker },
  supervisor:      { often: 16, meaning: "kill -9 of the supervisor; its worker exits",                  run: (stage) => killAndStart(stage, ["supervisor"]) },
  both:            { often: 16, meaning: "kill -9 of both at once",                                            run: (stage) => killAndStart(stage, ["worker", "supervisor"]) },
  "after ingest":  { often: 10, meaning: "kill -9 of both right after a task was accepted",                     run: killAfterIngest },
  "in start":      { often: 10, meaning: "kill -9 of a service that has just begun to start",                  run: killInStart },
  "next worker":   { often: 6,  meaning: "kill -9 of the worker, and of the next one while it starts",         run: killNextWorker },
  "in drain":      { often: 8,  meaning: "kill -9 of both during a normal shutdown",                       run: killInDrain },
  "worker in drain": { often: 3, meaning: "kill -9 of the worker during a normal shutdown",                run: killWorkerInDrain },
  "sleeping worker": { often: 5, meaning: "the worker sleeps while its supervisor is killed and replaced",     run: killAroundSleeper },
  "sleeping supervisor": { often: 2, meaning: "the supervisor sleeps for a second; the worker may be killed",  run: sleepSupervisor },
  "hung worker":   { often: 1,  meaning: "the worker sleeps longer than its lease and is killed",    run: hangWorker },
  "hung both":     { often: 1,  meaning: "both sleep for longer than a lease, and wake up",                    run: sleepBoth },
  stop:            { often: 2,  meaning: "they end in good order: nothing is killed",                          run: stopAndStart },
} as const satisfies Record<string, KillRow>;

async function killWorker(stage: Stage): Promise<void> {
  await untilWorkGoesOn(stage, await strike(stage, ["worker"]));
}

async function killAndStart(stage: Stage, victims: readonly ("worker" | "supervisor")[]): Promise<void> {
  await startAgain(stage, await strike(stage, victims));
}

/** Some people answer while everything is down, by the command line. */
async function startAgain(stage: Stage, struck: Strike): Promise<void> {
  const { random, serving, tally } = stage;
  if (random.percent(25))
    for (const approval of pendingApprovals(stage).slice(0, 2))
      if (await answer(stage, approval, "command line")) tally.answered_while_down++;
  await serving.start();
  await untilWorkGoesOn(stage, struck);
}

async function killAfterIngest(stage: Stage): Promise<void> {
  const { plan, random } = stage;
  const planned = plan.add("notes", `c${random.below(8)}`);
  await submitTasks(stage);
  if (planned.task_id === undefined) throw new Broken("A service that was not killed did not accept a task");
  await killAndStart(stage, ["worker", "supervisor"]);
}

async function killInStart(stage: Stage): Promise<void> {
  const { serving, random } = stage;
  await strike(stage, ["worker", "supervisor"]);
  serving.launch();
  await pause(random.below(700));
  await killAndStart(stage, ["supervisor", "worker"]);
}

async function killNextWorker(stage: Stage): Promise<void> {
  const { serving, random } = stage;
  await strike(stage, ["worker"]);
  await comes(() => serving.worker !== undefined, 20_000);
  await pause(random.below(300));
  await killWorker(stage);
}

async function killInDrain(stage: Stage): Promise<void> {
  const { serving, random } = stage;
  if (serving.supervisor !== undefined) kill(stage, serving.supervisor, "SIGTERM");
  await pause(random.below(150));
  await killAndStart(stage, ["supervisor", "worker"]);
}

async function killWorkerInDrain(stage: Stage): Promise<void> {
  const { serving, random } = stage;
  if (serving.supervisor !== undefined) kill(stage, serving.supervisor, "SIGTERM");
  await pause(random.below(60));
  const struck = await strike(stage, ["worker"]);
  await serving.end("SIGTERM");
  await startAgain(stage, struck);
}

async function killAroundSleeper(stage: Stage): Promise<void> {
  const { serving, random } = stage;
  const { worker, supervisor } = serving;
  if (worker === undefined || supervisor === undefined) return await killAndStart(stage, ["supervisor"]);
  kill(stage, worker, "SIGSTOP");
  kill(stage, supervisor, "SIGKILL");
  await serving.end("SIGKILL");
  const started = serving.start();
  await pause(random.below(1200)); // while the next one starts, or after it
  kill(stage, worker, "SIGCONT");
  await started;
  if (!(await comes(() => !isAlive(worker), 10_000)))
    throw new Broken(`The worker ${worker} woke up without its supervisor, and is still there`);
}

async function sleepSupervisor(stage: Stage): Promise<void> {
  const { serving, random } = stage;
  const { supervisor, worker } = serving;
  if (supervisor === undefined) return;
  kill(stage, supervisor, "SIGSTOP");
  await pause(random.below(500));
  if (worker !== undefined && random.percent(50)) kill(stage, worker, "SIGKILL");
  await pause(random.below(500));
  kill(stage, supervisor, "SIGCONT");
}

/** A little longer than the supervisor gives a worker that is not heard of, and than a lease. */
const HUNG_MS = 17_000;

async function hangWorker(stage: Stage): Promise<void> {
  const { worker } = stage.serving;
  if (worker === undefined) return;
  const at = Date.now();
  kill(stage, worker, "SIGSTOP");
  if (!(await comes(() => !isAlive(worker), 2 * HUNG_MS)))
    throw new Broken(`The worker ${worker} slept for ${Date.now() - at} ms and was not ended`);
}

async function sleepBoth(stage: Stage): Promise<void> {
  const { worker, supervisor } = stage.serving;
  const pids = [supervisor, worker].filter((pid) => pid !== undefined);
  for (const pid of pids) kill(stage, pid, "SIGSTOP");
  await pause(HUNG_MS);
  for (const pid of pids) kill(stage, pid, "SIGCONT");
}

async function stopAndStart({ serving }: Stage): Promise<void> {
  await serving.end("SIGTERM");
  await serving.start();
}
