import { openKept } from "../../../received/kept-files.ts";
import { notTaken, readReceived, writeReceived } from "../../../received/received-files.ts";
import type { ReceivedFile } from "../../../received/received-files.ts";
import type { Store, Task } from "../../../store/store.ts";
import type { TelegramClient } from "../api/client.ts";
import { downloadFile, NoSuchFileError, ShortFileError, TooLargeError } from "../api/download.ts";
import { TelegramFailure } from "../api/telegram-failure.ts";
import { HOLD_MS, tooLarge } from "./file-limits.ts";
import type { FileLimits } from "./file-limits.ts";
import { pauseUntilAborted } from "@autonous/runtime/internal";

export interface DownloadsOptions {
  readonly store: Store;
  readonly client: TelegramClient;
  readonly state_dir: string;
  readonly limits: FileLimits;
  readonly clock: () => number;
  /** Nothing else changes a task that waits, meanwhile. */
  readonly inLine: <Result>(work: () => Promise<Result>) => Promise<Result>;
  readonly onTask: () => void;
  readonly log: (line: string) => void;
}

/** Side by side: a slow one holds up no other chat. */
const MAX_AT_ONCE = 4;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
/** How long Telegram may be out of reach before a file is given up, and the task begins without it. */
const PATIENCE_MS = 600_000;
/** Addresses of files expire, and a file may end early: how often a new address is requested. */
const MAX_ADDRESSES = 3;

type Settled = Pick<ReceivedFile, "kept"> | Pick<ReceivedFile, "problem">;

/**
 * Gets the files of tasks that wait for them into the folders of their runs, then lets the tasks begin. What a kill cut
 * short is begun again at the next start: until a task is released, it waits.
 */
export class Downloads {
  readonly #options: DownloadsOptions;
  readonly #stopped = new AbortController();
  /** By task: until when more parts of it may come. */
  readonly #quietUntil = new Map<string, number>();
  readonly #working = new Map<string, Promise<void>>();
  #free = MAX_AT_ONCE;
  readonly #waiting: (() => void)[] = [];

  constructor(options: DownloadsOptions) {
    this.#options = options;
  }

  /**
   * Resumes what an earlier process left: files that are missing, and tasks that were not released. Called before the
   * worker starts, so that no task begins without its files.
   */
  async open(): Promise<void> {
    const { store, clock } = this.#options;
    for (const task of await store.revisions.withFiles("telegram")) {
      const isHeld = task.attempts === 0 && task.run_at > clock();
      if (!isHeld && !filesOf(task).some(isOpen)) continue;
      await store.revisions.revise(task.task_id, { run_at: clock() + HOLD_MS });
      this.add(task.task_id, clock());
    }
  }

  /** The files of a task are wanted; it begins when all are settled, and not before that time. */
  add(task_id: string, quiet_until: number): void {
    this.#quietUntil.set(task_id, quiet_until);
    if (this.#working.has(task_id)) return;
    const working = this.#work(task_id).finally(() => {
      if (this.#working.get(task_id) === working) this.#forget(task_id);
    });
    this.#working.set(task_id, working);
  }

  #forget(task_id: string): void {
    this.#working.delete(task_id);
    this.#quietUntil.delete(task_id);
  }

  /** What is under way is broken off, and begun again at the next start. */
  async close(): Promise<void> {
    this.#stopped.abort();
    for (const next of this.#waiting.splice(0)) next();
    await Promise.all(this.#working.values());
  }

  async #work(task_id: string): Promise<void> {
    const settled = new Map<string, Settled>();
    let waitMs = FIRST_WAIT_MS;
    while (!this.#stopped.signal.aborted) {
      try {
        if (await this.#settle(task_id, settled)) return;
        waitMs = FIRST_WAIT_MS;
      } catch (error) {
        this.#options.log(`Cannot download the files of task ${task_id}: ${(error as Error).message}. Retrying`);
        await this.#pause(waitMs);
        waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
      }
    }
  }

  /** Whether the task waits no more. */
  async #settle(task_id: string, settled: Map<string, Settled>): Promise<boolean> {
    const { store, inLine, clock } = this.#options;
    const details = await store.tasks.get(task_id);
    if (details === undefined || details.task.state !== "queued") return true;
    const { task } = details;
    const missing = filesOf(task).filter((file) => isOpen(file) && !settled.has(file.id));
    // All of them end first: one that is still being written may not be downloaded a second time.
    const ends = await Promise.allSettled(
      missing.map(async (file) => {
        const end = await this.#download(task, file);
        if (end !== undefined) settled.set(file.id, end);
      }),
    );
    const failed = ends.find(({ status }) => status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
    await this.#pause((this.#quietUntil.get(task_id) ?? 0) - clock());
    if (this.#stopped.signal.aborted) return true;
    return await inLine(() => this.#release(task_id, settled));
  }

  async #release(task_id: string, settled: ReadonlyMap<string, Settled>): Promise<boolean> {
    const { store, onTask } = this.#options;
    const details = await store.tasks.get(task_id);
    if (details === undefined) return true;
    const files = filesOf(details.task).map((file) => ({ ...file, ...settled.get(file.id) }));
    if (files.some(isOpen)) return false; // one more part came
    const notice = notTaken(files);
    await store.revisions.revise(task_id, {
      files: writeReceived({ files }),
      run_at: "now",
      ...(notice === undefined ? {} : { notice }),
    });
    this.#forget(task_id); // still in line: a part that comes next holds the task again, and starts its own download
    onTask();
    return true;
  }

  /** Undefined where it was broken off. */
  async #download({ run_id }: Task, file: ReceivedFile): Promise<Settled | undefined> {
    await this.#takeTurn();
    try {
      return await this.#insist({ ...file, run_id });
    } finally {
      this.#free++;
      this.#waiting.shift()?.();
    }
  }

  async #insist(file: ReceivedFile & { readonly run_id: string }): Promise<Settled | undefined> {
    const giveUpAt = this.#options.clock() + PATIENCE_MS;
    let waitMs = FIRST_WAIT_MS;
    let addresses = 0;
    while (!this.#stopped.signal.aborted) {
      try {
        return { kept: await this.#fetch(file) };
      } catch (error) {
        if (this.#stopped.signal.aborted) return undefined;
        if (error instanceof NoSuchFileError || error instanceof ShortFileError) addresses++;
        const problem = this.#problemOf(error, addresses);
        if (problem !== undefined) return { problem };
        if (this.#options.clock() >= giveUpAt) return { problem: (error as Error).message };
        await this.#pause((error instanceof TelegramFailure ? error.retryAfterMs : undefined) ?? waitMs);
        waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
      }
    }
    return undefined;
  }

  async #fetch({ id, run_id, remote = "" }: ReceivedFile & { readonly run_id: string }) {
    const { client, state_dir, limits } = this.#options;
    const writer = openKept({ state_dir, run_id, id });
    try {
      await downloadFile(client, remote, {
        limit_bytes: limits.max_file_bytes,
        stopped: this.#stopped.signal,
        write: (piece) => writer.write(piece),
      });
      return writer.keep();
    } catch (error) {
      writer.drop();
      throw error;
    }
  }

  /** Undefined where it may help to try again. */
  #problemOf(error: unknown, addresses: number): string | undefined {
    if (error instanceof TooLargeError) return tooLarge(this.#options.limits);
    if (error instanceof ShortFileError) return addresses < MAX_ADDRESSES ? undefined : error.message;
    if (error instanceof NoSuchFileError)
      return addresses < MAX_ADDRESSES ? undefined : "Telegram no longer has it; send it again";
    if (error instanceof TelegramFailure) {
      if (error.kind === "refused" && /too big/i.test(error.message))
        return "bots cannot download files this large from Telegram";
      return error.kind === "refused" || error.kind === "gone" ? error.message : undefined;
    }
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    return `it could not be stored (${code ?? syscall}); check the disk of the state folder`;
  }

  async #takeTurn(): Promise<void> {
    while (this.#free === 0 && !this.#stopped.signal.aborted)
      await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    this.#free--;
  }

  async #pause(ms: number): Promise<void> {
    if (ms <= 0) return;
    await pauseUntilAborted(ms, this.#stopped.signal); // stopped: the caller checks
  }
}

/** Whether it is not known yet what becomes of it. */
function isOpen({ kept, problem }: ReceivedFile): boolean {
  return kept === undefined && problem === undefined;
}

function filesOf({ files }: Task): readonly ReceivedFile[] {
  return (files === null ? undefined : readReceived(files))?.files ?? [];
}
