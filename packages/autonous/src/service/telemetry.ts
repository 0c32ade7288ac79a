import { readFileSync, statSync } from "node:fs";
import type { RuntimeEvent } from "@autonous/runtime";
import type { BreakerState } from "../model/failures/circuit-breaker.ts";
import type { OutboxSender } from "../queue/outbox-sender.ts";
import { databaseFile } from "../store/open-store.ts";
import type { Store } from "../store/store.ts";
import { TASK_STATE_NAMES, isOver } from "../store/queue/task-states.ts";
import type { Logger } from "../supervisor/logger.ts";
import type { WorkerStatus } from "../supervisor/supervisor.ts";
import { BreakerBoard } from "../telemetry/breakers.ts";
import { EventMetrics } from "../telemetry/metrics.ts";
import { Registry } from "../telemetry/registry.ts";
import { openTraces } from "../telemetry/traces.ts";

/** Metrics for `/metrics`, spans for a collector. */
export interface Telemetry {
  /** Receives recorded events in order. Never throws. */
  readonly observe: (events: readonly RuntimeEvent[]) => void;
  /** Wraps a sender to count what it sends. */
  readonly counting: (sender: OutboxSender) => OutboxSender;
  readonly onBreaker: (breaker: BreakerState) => void;
  readonly onWorkerEnd: () => void;
  /** In the text format of Prometheus. */
  metrics(worker: WorkerStatus): Promise<string>;
  close(): Promise<void>;
}

interface TelemetryParts {
  readonly store: Store;
  readonly state_dir: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly logger: Logger;
}

export async function openTelemetry({ store, state_dir, environment, logger }: TelemetryParts): Promise<Telemetry> {
  const log = logger.part("telemetry").warn;
  const registry = new Registry();
  const fromEvents = new EventMetrics(registry);
  const breakers = new BreakerBoard({ kv: store.kv, log });
  breakers.clear(); // left by an earlier service
  registry.set("autonous_start_time_seconds", {}, Date.now() / 1000);
  const traces = await openTraces({
    environment,
    log,
    findEvent: (run_id, event_id) => findEvent(store, run_id, event_id),
  });
  return {
    observe(events) {
      for (const event of events) {
        fromEvents.observe(event);
        traces?.observe(event);
      }
    },
    counting: (sender) => countSends(sender, registry),
    onBreaker: (breaker) => breakers.put(breaker),
    onWorkerEnd: () => breakers.clear(),
    async metrics(worker) {
      await setQueueGauges(registry, store);
      setWorkerGauges(registry, worker);
      setBreakerGauges(registry, breakers);
      registry.set("autonous_store_bytes", {}, storeBytes(state_dir));
      return registry.text();
    },
    async close() {
      await Promise.all([traces?.close(), breakers.close()]);
    },
  };
}

async function findEvent(store: Store, run_id: string, event_id: string): Promise<RuntimeEvent | undefined> {
  for await (const event of store.journal(run_id).read()) if (event.event_id === event_id) return event;
  return undefined;
}

function countSends(sender: OutboxSender, registry: Registry): OutboxSender {
  const { channel } = sender;
  const count = (outcome: "sent" | "failed"): void => registry.add("autonous_outbox_sends_total", { channel, outcome });
  return {
    ...sender,
    async send(row, joined) {
      try {
        const receipt = await sender.send(row, joined);
        count("sent");
        return receipt;
      } catch (error) {
        count("failed");
        throw error;
      }
    },
  };
}

/** Reported as 0 when no task is in the state, so that graphs have no gap. */
const REPORTED_STATES = TASK_STATE_NAMES.filter((state) => !isOver(state) || state === "dead_letter");

async function setQueueGauges(registry: Registry, store: Store): Promise<void> {
  const counts = await store.tasks.counts();
  const now = Date.now();
  const age = (since: number | null): number => (since === null ? 0 : Math.max(0, now - since) / 1000);
  for (const state of REPORTED_STATES) registry.set("autonous_tasks", { state }, counts.by_state[state] ?? 0);
  registry.set("autonous_oldest_queued_seconds", {}, age(counts.oldest_queued_at));
  registry.set("autonous_outbox_pending", {}, counts.unsent);
  registry.set("autonous_oldest_unsent_seconds", {}, age(counts.oldest_unsent_at));
  registry.set("autonous_approvals_pending", {}, counts.pending_approvals);
}

function setWorkerGauges(registry: Registry, { state, pid, ends }: WorkerStatus): void {
  registry.set("autonous_worker_up", {}, state === "working" ? 1 : 0);
  registry.total("autonous_worker_ends_total", {}, ends);
  registry.clear("autonous_resident_memory_bytes");
  registry.set("autonous_resident_memory_bytes", { process: "supervisor" }, process.memoryUsage.rss());
  const worker = pid === null ? undefined : residentBytes(pid);
  if (worker !== undefined) registry.set("autonous_resident_memory_bytes", { process: "worker" }, worker);
}

const BREAKER_STATES = { closed: 0, half_open: 1, open: 2 } as const;

function setBreakerGauges(registry: Registry, { all }: BreakerBoard): void {
  registry.clear("autonous_breaker_state");
  for (const { provider, state } of all) registry.set("autonous_breaker_state", { provider }, BREAKER_STATES[state]);
}

/** Undefined if the process has exited meanwhile. */
function residentBytes(pid: number): number | undefined {
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH") return undefined;
    throw error;
  }
}

/** The WAL file exists only while a process has the database open. */
function storeBytes(state_dir: string): number {
  const file = databaseFile(state_dir);
  return [file, `${file}-wal`].reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0);
}
