import { createRuntime, headsFolder } from "@autonous/runtime";
import { createProvider } from "../../model/choose.ts";
import { Mirror } from "../../queue/mirror.ts";
import { runTask } from "../../queue/run-task.ts";
import { Worker } from "../../queue/worker.ts";
import type { WorkerOptions } from "../../queue/worker.ts";
import { openStore } from "../../store/open-store.ts";
import type { Store } from "../../store/store.ts";
import type { FromWorker, ToWorker } from "../../supervisor/messages.ts";
import { WORKER_NAME } from "../../supervisor/messages.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { databaseFile, findWorkplace, runtimeOptions } from "../open-runtime.ts";
import type { Workplace } from "../open-runtime.ts";

const BEAT_MS = 1000;

/** `autonous worker`: does tasks until its supervisor says to stop, or is gone. */
export async function worker(input: CommandInput): Promise<ExitCode> {
  const name = process.env[WORKER_NAME];
  if (name === undefined || process.send === undefined) {
    throw new UsageError("A worker is started by its supervisor: use autonous serve");
  }
  const place = findWorkplace(input);
  const store = await openStore({ file: databaseFile(place.state_dir), clock: Date.now });
  const mirror = new Mirror({ store, state_dir: place.state_dir, heads: headsFolder() });
  const drain = new AbortController();
  const work = new Worker({
    store,
    worker: name,
    runTask: await taskRunner(place, store),
    onRecorded: () => follow(mirror),
    drain: drain.signal,
  });
  const beat = setInterval(() => tell({ type: "alive" }), BEAT_MS);
  process.on("message", (message: ToWorker) => (message.type === "drain" ? drain.abort() : work.wake()));
  process.once("disconnect", () => process.exit(EXIT.failed)); // the supervisor is gone: nobody would end us
  await follow(mirror);
  try {
    await work.run();
    return EXIT.done;
  } finally {
    clearInterval(beat);
    await store.close();
    process.disconnect();
  }
}

async function follow(mirror: Mirror): Promise<void> {
  tell({ type: "recorded" });
  await mirror.catchUp();
  await mirror.save();
}

function tell(message: FromWorker): void {
  if (process.connected) process.send?.(message);
}

async function taskRunner(place: Workplace, store: Store): Promise<WorkerOptions["runTask"]> {
  const { settings } = place.configuration;
  const provider = await createProvider(settings.model);
  const options = runtimeOptions(place);
  return (lease, signal) =>
    runTask(lease, signal, {
      store,
      provider,
      max_turns: settings.max_turns,
      max_attempts: settings.task_max_attempts,
      retry_base_ms: settings.task_retry_base_ms,
      clock: Date.now,
      openRuntime: ({ task }) =>
        createRuntime({
          ...options,
          run_id: task.run_id,
          openJournal: async (run_id) => store.journal(run_id, lease),
          onEvent: () => tell({ type: "recorded" }),
        }),
    });
}
