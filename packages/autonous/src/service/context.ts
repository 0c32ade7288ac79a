import type { Settings } from "../config/settings.ts";
import type { Notifier } from "../store/notifier.ts";
import type { OutputFeed } from "../queue/output-feed.ts";
import type { Store } from "../store/store.ts";
import type { Logger } from "../supervisor/logger.ts";
import type { ListedTool } from "../supervisor/messages.ts";
import type { WorkerStatus } from "../supervisor/supervisor.ts";
import type { Telemetry } from "./telemetry.ts";

/** The service cannot start for a reason outside the program. The message says what to do. */
export class CannotServe extends Error {}

/** The roots, state folder and settings that a service runs with. */
export interface ServicePlace {
  readonly roots: readonly string[];
  readonly state_dir: string;
  readonly settings: Settings;
  /** The worker's environment, which carries its settings. */
  readonly environment: NodeJS.ProcessEnv;
  /** Receives messages for the operator, one line at a time. */
  readonly log: (line: string) => void;
}

/** The tools that the modules of the last worker added. Empty until one has reported. */
export class ModuleTools {
  #tools: readonly ListedTool[] = [];

  set(tools: readonly ListedTool[]): void {
    this.#tools = tools;
  }

  list(): readonly ListedTool[] {
    return this.#tools;
  }
}

/** Shared by all parts of a running service. */
export interface ServiceContext {
  readonly roots: readonly string[];
  /** A real path, without links. */
  readonly state_dir: string;
  readonly settings: Settings;
  readonly environment: NodeJS.ProcessEnv;
  readonly store: Store;
  /** Notified when something was recorded. */
  readonly notifier: Notifier;
  /** Output of running commands. */
  readonly outputs: OutputFeed;
  readonly moduleTools: ModuleTools;
  /** `logger.part("telegram")` returns the logger of one part. */
  readonly logger: Logger;
  /** A task was added or may continue: wakes the worker. */
  readonly onTask: () => void;
  /** Applied to user text before it is stored. */
  readonly redact: (text: string) => string;
  /** Metrics and traces of the service. */
  readonly telemetry: Telemetry;
  /** State of the worker, for `/healthz` and `/metrics`. */
  readonly workerStatus: () => WorkerStatus;
}
