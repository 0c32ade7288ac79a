/**
 * The parts of the service that do a task, in one process: worker, delivery, the runs' files. As a program
 * (`node dying-worker.ts <errand>`) it kills itself at a given point of the record.
 */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { defineTool } from "@autonous/runtime";
import { headsFolder } from "@autonous/runtime/internal";
import type { Tool } from "@autonous/runtime";
import { z } from "zod";
import { createProvider } from "../../packages/autonous/src/model/choose.ts";
import type { ModelProvider } from "../../packages/autonous/src/model/provider.ts";
import { Notifier } from "../../packages/autonous/src/store/notifier.ts";
import { createWorker } from "../../packages/autonous/src/queue/create-worker.ts";
import { deliver } from "../../packages/autonous/src/queue/deliver.ts";
import { Mirror } from "../../packages/autonous/src/queue/mirror.ts";
import { databaseFile, openStore } from "../../packages/autonous/src/store/open-store.ts";
import type { Store } from "../../packages/autonous/src/store/store.ts";

/** A point of the record: its n-th entry, counted over everything that this process records. */
export interface Death {
  readonly when: "right after" | "just before";
  readonly entry: number;
}

export interface Errand {
  readonly root: string;
  readonly state_dir: string;
  /** Where the tools leave a line for each time that they ran. */
  readonly traces: string;
  readonly model: string;
  readonly death: Death;
}

/** Leaves one line for each execution. `note_once` is not to be run again after a crash; `note_again` may be. */
function noteTool(name: "note_once" | "note_again", traces: string): Tool {
  return defineTool({
    name,
    version: "1.0.0",
    description: "Leaves a line",
    args: z.strictObject({ line: z.string() }),
    returns: z.strictObject({ left: z.string() }),
    required_permissions: ["fs.write"],
    side_effects: ["files"],
    risk: "low",
    idempotent: name === "note_again",
    async execute({ line }) {
      appendFileSync(join(traces, name), `${line}\n`);
      return { data: { left: line }, stdout: `left ${line}` };
    },
  });
}

export interface WorkOptions extends Omit<Errand, "model" | "death"> {
  readonly store: Store;
  readonly provider: ModelProvider;
}

/** Takes up where the record ends, does the one task that there is, sends its reply and brings the files up to date. */
export async function doTheTask({ store, provider, root, state_dir, traces }: WorkOptions): Promise<void> {
  await store.inbox.recover(Number.NEGATIVE_INFINITY);
  const log: string[] = [];
  const open = (await store.tasks.list({ limit: 1 })).tasks.find(({ finished_at }) => finished_at === null);
  if (open !== undefined) {
    const drain = new AbortController();
    const worker = createWorker({
      store,
      provider,
      worker: `worker ${process.pid}`,
      runtime: { roots: [root], state_dir, config: { rules: [{ effect: "allow", tool: "note_*" }] } },
      tools: [noteTool("note_once", traces), noteTool("note_again", traces)],
      limits: { max_turns: 50, max_attempts: 3, retry_base_ms: 1 },
      onRecorded: () => undefined,
      onFinished: () => drain.abort(),
      onProblem: ({ message }) => log.push(message),
      drain: drain.signal,
    });
    const isOver = async (): Promise<boolean> => (await store.tasks.get(open.task_id))?.task.finished_at !== null; // given up by the claim itself
    const timer = setInterval(() => void isOver().then((over) => over && drain.abort()), 10);
    await worker.run();
    clearInterval(timer);
  }
  const told = { clock: Date.now, log: (line: string) => void log.push(line) };
  const sender = { channel: "test", send: () => Promise.resolve({}) };
  await deliver(AbortSignal.abort(), { store, sender, notifier: new Notifier(), ...told });
  const mirror = new Mirror({ store, state_dir, heads: headsFolder(), ...told });
  await mirror.catchUp();
  await mirror.save();
  if (log.length > 0) throw new Error(log.join("\n"));
}

/** Counts what is recorded, and dies at the given entry. */
function dying(store: Store, { when, entry }: Death): Store {
  let recorded = 0;
  async function record<Result>(work: () => Promise<Result>, entriesOf: (result: Result) => number): Promise<Result> {
    if (when === "just before" && recorded + 1 === entry) process.kill(process.pid, "SIGKILL");
    const result = await work();
    recorded += entriesOf(result);
    if (when === "right after" && recorded >= entry) process.kill(process.pid, "SIGKILL");
    return result;
  }
  const { inbox, outbox, kv } = store;
  return {
    ...store,
    inbox: {
      ...inbox,
      claim: (worker, slots) =>
        record(
          () => inbox.claim(worker, slots),
          (leases) => leases.length,
        ),
      finish: (lease, end) =>
        record(
          () => inbox.finish(lease, end),
          () => 1,
        ),
    },
    outbox: {
      ...outbox,
      markSent: (id) =>
        record(
          () => outbox.markSent(id),
          () => 1,
        ),
    },
    kv: {
      ...kv,
      set: (key, value) =>
        record(
          () => kv.set(key, value),
          () => 1,
        ),
    },
    journal(run_id, lease) {
      const journal = store.journal(run_id, lease);
      return {
        run_id,
        append: (drafts, options) =>
          record(
            () => journal.append(drafts, options),
            (events) => events.length,
          ),
        read: (after) => journal.read(after),
        close: () => journal.close(),
      };
    },
  };
}

if (import.meta.main) {
  const errand = JSON.parse(process.argv[2] ?? "") as Errand;
  const store = await openStore({ file: databaseFile(errand.state_dir), clock: Date.now });
  const provider = await createProvider(errand.model);
  await doTheTask({ ...errand, store: dying(store, errand.death), provider });
  await store.close();
}
