import type { Settings } from "../config/settings.ts";
import type { Bell } from "../queue/bell.ts";
import type { OutputFeed } from "../queue/output-feed.ts";
import type { Store } from "../store/store.ts";
import type { Logger } from "../supervisor/logger.ts";
import type { ListedTool } from "../supervisor/messages.ts";
import type { WorkerStatus } from "../supervisor/supervisor.ts";
import type { Telemetry } from "./telemetry.ts";

/** Why a service cannot start that is not the program's fault, with what to do. */
export class CannotServe extends Error {}

/** Where a service runs, and how. */
export interface ServicePlace {
  readonly roots: readonly string[];
  readonly state_dir: string;
  readonly settings: Settings;
  /** What the worker gets to see; settings pass to it this way. */
  readonly environment: NodeJS.ProcessEnv;
  /** Told what a person who runs the service should know, a line at a time. */
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

/** What every part of a running service may use. */
export interface ServiceContext {
  readonly roots: readonly string[];
  /** Where it really is: no link leads there. */
  readonly state_dir: string;
  readonly settings: Settings;
  readonly environment: NodeJS.ProcessEnv;
  readonly store: Store;
  /** Rings whenever something was recorded. */
  readonly bell: Bell;
  /** What running commands print. */
  readonly outputs: OutputFeed;
  readonly moduleTools: ModuleTools;
  /** `logger.part("telegram")` gives a part its own. */
  readonly logger: Logger;
  /** A task was taken in, or may go on: the worker looks. */
  readonly onTask: () => void;
  /** What people write is stored, so it passes the redactor first. */
  readonly redact: (text: string) => string;
  /** What is told of the service in numbers and traces. */
  readonly telemetry: Telemetry;
  /** How the worker is, for `/healthz` and `/metrics`. */
  readonly workerStatus: () => WorkerStatus;
}
