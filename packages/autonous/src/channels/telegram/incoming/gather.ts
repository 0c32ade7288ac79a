import { createHash } from "node:crypto";
import { readReceived, writeReceived } from "../../../received/received-files.ts";
import type { ReceivedFile, ReceivedFiles } from "../../../received/received-files.ts";
import type { Store, Task } from "../../../store/store.ts";
import { laneOf } from "../address.ts";
import { originOf, writeOrigin } from "../origin.ts";
import type { Gathered } from "../origin.ts";
import { isCommand } from "../talk/commands.ts";
import { fileProblem, HOLD_MS } from "./file-limits.ts";
import type { FileLimits } from "./file-limits.ts";
import type { SentFile } from "./media.ts";
import type { Written } from "./read-update.ts";
import { joinWords } from "./task-words.ts";
import type { TaskWords } from "./task-words.ts";

export interface GatherOptions {
  readonly store: Store;
  readonly clock: () => number;
  readonly redact: (text: string) => string;
  readonly limits: FileLimits;
  /** How long a task waits for what may belong to it. */
  readonly quiet_ms?: number;
  /** Called for a task that waits for its files. */
  readonly onFiles: (task_id: string, quiet_until: number) => void;
  readonly onTask: () => void;
}

/** Parts of an album come with one update after the other, those of a text as fast as the app sends them. */
const QUIET_MS = 1000;
/** Between two parts of a text, by Telegram's clock, which counts whole seconds. */
export const PART_MS = 3000;
/** Tasks of the chat that a part is looked for in: others may write in between. */
const LOOKED_AT = 5;
const MAX_PARTS = 50;

/**
 * Makes one task of messages that belong together: the pictures of an album, and a text that the app split. Each message
 * is on record when the promise is kept, as the task or a part of it; the task waits in its queue for what may follow.
 */
export class Gather {
  readonly #options: GatherOptions;
  /** One change at a time: of parts that come, and of downloads that end. */
  #line: Promise<unknown> = Promise.resolve();

  constructor(options: GatherOptions) {
    this.#options = options;
  }

  /** Puts a message into the queue. */
  async put(written: Written, words: TaskWords, external_id: string): Promise<void> {
    const { store, limits, onFiles, onTask } = this.#options;
    const sent = written.files ?? [];
    const waitsForMore = written.album !== undefined || written.long !== undefined;
    const now = this.#options.clock();
    const hold = sent.length > 0 ? now + HOLD_MS : waitsForMore ? now + this.#quietMs : undefined;
    const { task_id, duplicate } = await store.inbox.ingest({
      source: "telegram",
      external_id,
      lane: laneOf(written),
      text: words.text,
      user: String(written.user),
      origin: writeOrigin({
        ...written,
        ...(waitsForMore
          ? { gathered: { ...gatheredOf(written, words, 1), ...carriedIn({ carried: carriedBy(written) }) } }
          : {}),
      }),
      ...(sent.length === 0 ? {} : { files: writeReceived({ files: withLimits(sent, { limits, before: [] }) }) }),
      ...(hold === undefined ? {} : { run_at: hold }),
    });
    if (sent.length > 0 && !duplicate) onFiles(task_id, waitsForMore ? now + this.#quietMs : now);
    onTask();
  }

  /** Whether the message belongs to a task that waits for more, and is a part of it now. */
  join(written: Written, external_id: string): Promise<boolean> {
    if (written.album === undefined && !mayContinue(written)) return Promise.resolve(false);
    return this.inLine(() => this.#join(written, external_id));
  }

  /** Nothing else changes a task that waits, meanwhile. */
  async inLine<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#line.then(work, work);
    this.#line = turn.catch(() => undefined); // its own caller gets the error
    return await turn;
  }

  async #join(written: Written, external_id: string): Promise<boolean> {
    const { store, limits, redact, clock, onFiles, onTask } = this.#options;
    const { tasks } = await store.tasks.list({ lane: laneOf(written), limit: LOOKED_AT });
    const found = findTask(tasks, written);
    if (found === undefined) return false;
    const { task, gathered } = found;
    const part = carriedBy(written) === gathered.carried ? withoutReplied(written) : written;
    const joined = joinWords({ ...gathered, text: task.text }, part);
    const words = { ...joined, ...redactedWords(joined, redact) };
    const received: ReceivedFiles = (task.files === null ? undefined : readReceived(task.files)) ?? { files: [] };
    const files = [...received.files, ...withLimits(part.files ?? [], { limits, before: received.files })];
    const quiet_until = clock() + this.#quietMs;
    const origin = originOf(task) ?? { message_id: written.message_id };
    const outcome = await store.revisions.revise(task.task_id, {
      text: words.text,
      origin: writeOrigin({
        ...origin,
        gathered: { ...gatheredOf(written, words, gathered.parts + 1), ...carriedIn(gathered) },
      }),
      part: external_id,
      run_at: files.length > 0 ? clock() + HOLD_MS : quiet_until,
      ...(files.length === 0 ? {} : { files: writeReceived({ files }) }),
    });
    if (outcome === "begun") return false;
    if (files.length > 0) onFiles(task.task_id, quiet_until);
    onTask();
    return true;
  }

  get #quietMs(): number {
    return this.#options.quiet_ms ?? QUIET_MS;
  }
}

function gatheredOf(
  { user, album, sent_at, long }: Written,
  { own, isPlaceholder }: TaskWords,
  parts: number,
): Gathered {
  return {
    user,
    sent_at,
    own,
    parts,
    ...(isPlaceholder === undefined ? {} : { isPlaceholder }),
    ...(album === undefined ? {} : { album }),
    ...(long === undefined ? {} : { long }),
  };
}

/** A secret that was cut in two is seen only in the whole. */
function redactedWords({ text, own }: TaskWords, redact: (text: string) => string): Pick<TaskWords, "text" | "own"> {
  const words = redact(text.slice(0, own));
  return { text: `${words}${text.slice(own)}`, own: words.length };
}

/** A command of the channel, and nothing else: not the rest of a text that happens to begin like one. */
export function isOwnCommand(text: string): boolean {
  const [, command] = /^\/(\w+)(?:\s+\S{1,64})?$/.exec(text) ?? [];
  return command !== undefined && isCommand(command);
}

/** Words, and nothing that a person does on purpose: a command of ours is obeyed. */
function mayContinue(written: Written): boolean {
  if (isOwnCommand(written.text)) return false;
  const { text, files = [], unread } = written;
  return text !== "" && files.every(({ isReplied }) => isReplied === true) && unread === undefined;
}

/** Digest of what the message replies to; undefined where it replies to none. */
function carriedBy({ quotations = [], files = [] }: Written): string | undefined {
  const words = quotations.filter(({ isPassedOn }) => isPassedOn !== true);
  const others = files.filter(({ isReplied }) => isReplied === true).map(({ kind, name, from }) => [kind, name, from]);
  if (words.length === 0 && others.length === 0) return undefined;
  return createHash("sha256")
    .update(JSON.stringify([words, others]))
    .digest("base64url");
}

/** Some apps make a reply of each part: what it replies to came with the first one. */
function withoutReplied({ quotations = [], files = [], ...written }: Written): Written {
  return {
    ...written,
    quotations: quotations.filter(({ isPassedOn }) => isPassedOn === true),
    files: files.filter(({ isReplied }) => isReplied !== true),
  };
}

function carriedIn({ carried }: { readonly carried?: string | undefined }): Pick<Gathered, "carried"> {
  return carried === undefined ? {} : { carried };
}

interface FoundTask {
  readonly task: Task;
  readonly gathered: Gathered;
}

/** The newest task of the same person, if it waits for this message. */
function findTask(tasks: readonly Task[], written: Written): FoundTask | undefined {
  const task = tasks.find(({ user }) => user === String(written.user));
  const gathered = task && originOf(task)?.gathered;
  if (task === undefined || gathered === undefined || gathered.parts >= MAX_PARTS) return undefined;
  return isPartOf(written, gathered) ? { task, gathered } : undefined;
}

function isPartOf(written: Written, gathered: Gathered): boolean {
  if (written.album !== undefined || gathered.album !== undefined) return written.album === gathered.album;
  if (gathered.long === undefined || Math.abs(written.sent_at - gathered.sent_at) > PART_MS) return false;
  const carried = carriedBy(written);
  return carried === undefined || carried === gathered.carried;
}

interface Limiting {
  readonly limits: FileLimits;
  readonly before: readonly ReceivedFile[];
}

function withLimits(sent: readonly SentFile[], { limits, before }: Limiting): readonly ReceivedFile[] {
  return sent.map((file, index) => {
    const number = before.length + index + 1;
    const problem = fileProblem(number, file, limits);
    return { ...file, id: String(number), ...(problem === undefined ? {} : { problem }) };
  });
}
