import { randomBytes } from "node:crypto";
import type { ChangeDetector, CommandChanges } from "../../contract/command-changes.ts";
import type {
  Background,
  BackgroundFacts,
  BackgroundOutput,
  Command,
  CommandLimits,
  OutputRedactor,
} from "../../contract/processes.ts";
import { ToolError } from "../../protocol/errors.ts";
import { ownProcess } from "../system/process-owner.ts";
import { backgroundFolder, dropOld, readRecord, readRecords, writeRecord } from "./background-records.ts";
import type { BackgroundRecord } from "./background-records.ts";
import type { Child, ChildEnd } from "./child.ts";
import type { Launch } from "./launch.ts";
import { LogWriter, logEnd, readLog } from "./log-segments.ts";
import { startFresh } from "./start-fresh.ts";

export interface BackgroundOptions {
  readonly state_dir: string;
  readonly limits: CommandLimits;
  readonly launch: (command: Command) => Launch;
  /** Default: output is stored unredacted. */
  readonly redactor?: OutputRedactor;
  /** Size limit of the log of one command. Default 16 MiB. */
  readonly log_bytes?: number;
  /** Maximum number of running commands. Default 20. */
  readonly most?: number;
}

const UNREDACTED: OutputRedactor = {
  text: (text) => text,
  stream: () => ({ push: (piece) => piece, end: () => new Uint8Array() }),
};

const LOG_BYTES = 16_777_216;
const MAX_RUNNING = 20;
/** Maximum number of bytes per read. */
const OUTPUT_BYTES = 1_048_576;

/** A command started by this process, running or ended. */
interface OwnCommand {
  record: BackgroundRecord;
  readonly child: Child;
  readonly log: LogWriter;
  readonly detection: ChangeDetector | undefined;
  /** Writes output that the redactor held back. */
  readonly flush: () => void;
  isStopped: boolean;
  /** Wakes callers that wait for new output. */
  readonly waiting: Set<() => void>;
  done: Promise<void>;
}

/** Runs commands that outlive their calls, until this process ends. `close` stops them. */
export class BackgroundCommands implements Background {
  readonly #options: BackgroundOptions;
  readonly #own = new Map<string, OwnCommand>();
  #folder: string | undefined;

  constructor(options: BackgroundOptions) {
    this.#options = options;
  }

  async start(command: Command, detection?: ChangeDetector): Promise<BackgroundFacts> {
    const { most = MAX_RUNNING, redactor = UNREDACTED } = this.#options;
    if (command.network === "allowlist") throw noNetwork();
    if ([...this.#own.values()].filter(({ record }) => record.state === "running").length >= most) {
      throw new ToolError("LimitReached", `Cannot start the command: ${most} are running in the background already`, {
        limit: most,
        hint: "Stop one of them first.",
      });
    }
    const folder = this.#openFolder();
    for (const id of dropOld(folder)) this.#own.delete(id);
    const background_id = `bg_${randomBytes(6).toString("hex")}`;
    const started = this.#startLogged(command, background_id);
    const record: BackgroundRecord = {
      background_id,
      state: "running",
      pid: started.child.pid,
      run: typeof command.run === "string" ? redactor.text(command.run) : command.run,
      cwd: command.cwd,
      sandbox: started.child.launch.sandbox,
      started_at: new Date().toISOString(),
      owner: ownProcess(),
    };
    const own: OwnCommand = { record, ...started, detection, isStopped: false, done: Promise.resolve() };
    own.done = this.#finish(own);
    this.#own.set(background_id, own);
    try {
      writeRecord(folder, record);
    } catch (error) {
      await this.stop(background_id);
      throw error; // an unrecorded command must not run
    }
    return factsOf(record);
  }

  #startLogged(command: Command, background_id: string): Pick<OwnCommand, "child" | "log" | "flush" | "waiting"> {
    const { limits, launch, log_bytes = LOG_BYTES, redactor = UNREDACTED } = this.#options;
    const log = new LogWriter({ folder: this.#openFolder(), id: background_id, limit_bytes: log_bytes });
    const streams = { stdout: redactor.stream(), stderr: redactor.stream() };
    const waiting = new Set<() => void>();
    try {
      const child = startFresh(() => launch(command), {
        call_id: background_id,
        limits,
        onRestart: (pid) => this.#restarted(background_id, pid),
        onOutput(stream, piece) {
          log.add(streams[stream].push(piece));
          for (const wake of waiting) wake();
        },
      });
      const flush = (): void => Object.values(streams).forEach((each) => log.add(each.end()));
      return { child, log, flush, waiting };
    } catch (error) {
      log.discard();
      throw error;
    }
  }

  #restarted(background_id: string, pid: number): void {
    const own = this.#own.get(background_id);
    if (own === undefined) return; // it could not be recorded and is being stopped
    own.record = { ...own.record, pid };
    try {
      writeRecord(this.#openFolder(), own.record);
    } catch {
      // The disk is full: the recorded pid is outdated, and the command is found by its mark.
    }
  }

  async output(
    background_id: string,
    { position, wait_ms, signal }: { position: number; wait_ms: number; signal: AbortSignal },
  ): Promise<BackgroundOutput> {
    const folder = this.#openFolder();
    this.#find(background_id);
    const own = this.#own.get(background_id);
    if (own?.record.state === "running" && wait_ms > 0 && logEnd(folder, background_id) <= position) {
      await waitForNews(own, { wait_ms, signal });
    }
    const facts = factsOf(this.#find(background_id));
    return { facts, ...readLog({ folder, id: background_id }, { position, limit_bytes: OUTPUT_BYTES }) };
  }

  async stop(background_id: string): Promise<BackgroundFacts> {
    this.#find(background_id);
    const own = this.#own.get(background_id);
    if (own?.record.state === "running") {
      own.isStopped = true;
      own.child.stop();
      await own.done;
    }
    return factsOf(this.#find(background_id));
  }

  list(): readonly BackgroundFacts[] {
    const records = readRecords(this.#openFolder());
    return records.map((record) => factsOf(this.#own.get(record.background_id)?.record ?? record));
  }

  /** Stops all of them in parallel: takes as long as stopping one and scanning for its changes. */
  async close(): Promise<void> {
    await Promise.all([...this.#own.keys()].map((id) => this.stop(id)));
  }

  #openFolder(): string {
    return (this.#folder ??= backgroundFolder(this.#options.state_dir));
  }

  #find(background_id: string): BackgroundRecord {
    const record = this.#own.get(background_id)?.record ?? readRecord(this.#openFolder(), background_id);
    if (record !== undefined) return record;
    throw new ToolError("NotFound", `Cannot find the background command "${background_id}": no such command`, {
      background_id,
      hint: "List the existing ones with background_list.",
    });
  }

  async #finish(own: OwnCommand): Promise<void> {
    let end: ChildEnd | undefined;
    try {
      end = await own.child.ended;
    } catch (error) {
      own.log.add(Buffer.from(`${(error as Error).message}\n`)); // it never ran: the reason is its only output
    }
    own.flush();
    own.log.close();
    const facts = { ...endFacts(own, end), ended_at: new Date().toISOString() };
    const found = await this.#changesOf(own, end);
    own.record = { ...own.record, ...facts, ...found };
    try {
      writeRecord(this.#openFolder(), own.record);
    } catch {
      // The disk is full: this process still knows the outcome; for others the command is lost.
    }
    for (const wake of own.waiting) wake();
  }

  /** A failed scan is reported instead of the changes; the command has ended either way. */
  async #changesOf({ detection }: OwnCommand, end: ChildEnd | undefined): Promise<Pick<BackgroundFacts, ChangeFacts>> {
    if (detection === undefined) return {};
    if (end === undefined) {
      detection.drop();
      return {};
    }
    const { redactor = UNREDACTED } = this.#options;
    try {
      return { changes: limitChanges(await detection.after(), redactor) };
    } catch (error) {
      return { changes_problem: redactor.text(`the scan for changes failed (${(error as Error).message})`) };
    }
  }
}

type ChangeFacts = "changes" | "changes_problem";

function noNetwork(): ToolError {
  return new ToolError(
    "NetworkDenied",
    "Cannot give the command the network: it would keep running in the background after the approved call ended",
    { hint: "Fetch what it needs with a foreground command, then start it without network." },
  );
}

function endFacts({ isStopped, log }: OwnCommand, end: ChildEnd | undefined): Partial<BackgroundFacts> {
  return {
    state: end === undefined ? "failed" : isStopped || end.unprotected !== undefined ? "stopped" : "exited",
    ...(end === undefined ? {} : { exit_code: end.exit_code }),
    ...(typeof end?.signal === "string" ? { signal: end.signal } : {}),
    ...(end?.limit_reached === undefined ? {} : { limit_reached: end.limit_reached }),
    ...(end?.unprotected === undefined ? {} : { unprotected: end.unprotected }),
    ...(log.isCut ? { log_cut: true } : {}),
  };
}

function factsOf({ owner: _owner, ...facts }: BackgroundRecord): BackgroundFacts {
  return facts;
}

async function waitForNews(
  { waiting }: OwnCommand,
  { wait_ms, signal }: { readonly wait_ms: number; readonly signal: AbortSignal },
): Promise<void> {
  let wake = (): void => {};
  const news = new Promise<void>((resolve) => (wake = resolve));
  const timer = setTimeout(wake, wait_ms);
  waiting.add(wake);
  signal.addEventListener("abort", wake, { once: true });
  try {
    await news;
  } finally {
    clearTimeout(timer);
    waiting.delete(wake);
    signal.removeEventListener("abort", wake);
  }
  signal.throwIfAborted();
}

/** Maximum number of paths that a record names; the others are counted. */
const MAX_LISTED = { files: 1000, taken_back: 100 } as const;

/** The part of a command's changes that is recorded, with secrets in names redacted. */
function limitChanges(changes: CommandChanges, redactor: Pick<OutputRedactor, "text">): CommandChanges {
  const { files, taken_back, left_out } = changes;
  const named = <T extends { readonly path: string }>(each: T): T => ({ ...each, path: redactor.text(each.path) });
  const placed = <T extends { readonly path: string; readonly real: string }>(each: T): T => ({
    ...named(each),
    real: redactor.text(each.real),
  });
  return {
    ...changes,
    files: files.slice(0, MAX_LISTED.files).map(placed),
    ...(files.length > MAX_LISTED.files ? { files_more: files.length - MAX_LISTED.files } : {}),
    taken_back: taken_back.slice(0, MAX_LISTED.taken_back).map(placed),
    ...(taken_back.length > MAX_LISTED.taken_back
      ? { taken_back_more: taken_back.length - MAX_LISTED.taken_back }
      : {}),
    left_out: left_out.map(named),
  };
}
