import { randomBytes } from "node:crypto";
import { ToolError } from "@autonous/runtime";
import { makeVisible, showPlainlyLines } from "@autonous/runtime/internal";
import type { Runtime } from "@autonous/runtime";
import type { FileDiff } from "@autonous/runtime/internal";
import type { MessageEntity } from "grammy/types";
import { digestOfUndo } from "../../../queue/undo-task.ts";
import { isObject, parseKept } from "../../../store/sqlite/kept-json.ts";
import type { Store, Task } from "../../../store/store.ts";
import { isOver } from "../../../store/queue/task-states.ts";
import { addressIn, laneOf } from "../address.ts";
import type { AllowedUsers } from "../access/allowed-users.ts";
import type { TelegramClient } from "../api/client.ts";
import type { Pressed, Written } from "../incoming/read-update.ts";
import { writeOrigin } from "../origin.ts";
import { sendPart } from "../outgoing/show.ts";
import { chosenTask, noSuchTask } from "./chosen-task.ts";
import { tellPressed } from "./press.ts";
import type { PressAnswer } from "./press.ts";
import { taskTitle, countOf, shortId, taskLine } from "./task-line.ts";

export interface UndoParts {
  readonly store: Store;
  readonly client: TelegramClient;
  readonly allowed: AllowedUsers;
  readonly onTask: () => void;
  /** What the chat calls a person of the record. */
  readonly nameOf: (person: string) => string;
  /** Gives what runs changed, and what undoing them would change. */
  readonly readChanges: <Result>(work: (changes: Runtime["changes"]) => Promise<Result>) => Promise<Result>;
}

/** A preview with a button, on record before it is sent. */
interface Preview {
  readonly nonce: string;
  readonly lane: string;
  readonly user: number;
  readonly task_id: string;
  readonly run_id: string;
  readonly digest: string;
}

const KEPT = "telegram:undos";
/** Older buttons say that they are out of date. */
const MAX_KEPT = 50;
/** How many tasks back the last change is looked for. */
const MAX_SEARCHED = 20;
const DIFF_LENGTH = 2500;
const MAX_NAMED = 10;
const DIGEST_BOUND = 8;
const DATA = /^u:([\w-]{8,16}):([0-9a-f]{8})$/;

/** Undoing what a task changed: shown first, then done by a task of its own once its button is pressed. */
export class Undos {
  readonly #parts: UndoParts;

  constructor(parts: UndoParts) {
    this.#parts = parts;
  }

  /** Whether a button is one of these. */
  isMine({ data }: Pressed): boolean {
    return data.startsWith("u:");
  }

  /** `/undo`, `/undo <id>`: shows what would change. */
  async preview(written: Written, rest: string): Promise<string | undefined> {
    const { store, readChanges, nameOf } = this.#parts;
    return await readChanges(async (changes) => {
      const task = await chosenTask({ written, rest, store }, (lane) => this.#lastChanged(lane, changes));
      if (task === undefined) return rest === "" ? "Nothing to undo: no recent task changed files." : noSuchTask(rest);
      if (!isOver(task.state))
        return `Still running, /stop it first: ${taskLine(task, { user: written.user, nameOf })}`;
      try {
        const planned = await changes({ run_id: task.run_id, undone: true });
        if (planned.length === 0) return `Nothing to undo: ${taskLine(task, { user: written.user, nameOf })}`;
        await this.#ask(written, task, planned);
        return undefined;
      } catch (error) {
        if (!(error instanceof ToolError)) throw error;
        return `Cannot undo task ${shortId(task.task_id)}: ${makeVisible(error.message)}`;
      }
    });
  }

  async press(pressed: Pressed): Promise<void> {
    await tellPressed(pressed, await this.#take(pressed), this.#parts);
  }

  /** The newest task whose changes stand. Undoing an undo has to be asked for by its id. */
  async #lastChanged(lane: string, changes: Runtime["changes"]): Promise<Task | undefined> {
    const { tasks } = await this.#parts.store.tasks.list({ lane, limit: MAX_SEARCHED });
    for (const task of tasks) {
      if (task.undoes !== null || task.started_at === null) continue;
      if (await mayHaveChanged(task, changes)) return task;
    }
    return undefined;
  }

  async #ask(written: Written, task: Task, planned: readonly FileDiff[]): Promise<void> {
    const { user } = written;
    const { task_id, run_id } = task;
    const digest = digestOfUndo(run_id, planned);
    const nonce = randomBytes(6).toString("base64url");
    const preview: Preview = { nonce, lane: laneOf(written), user, task_id, run_id, digest };
    await this.#keep([...(await this.#previews()), preview].slice(-MAX_KEPT));
    const to = addressIn(written);
    const part = previewText(task, planned);
    const data = `u:${nonce}:${digest.slice(0, DIGEST_BOUND)}`;
    const button = { text: `Undo ${countOf(planned.length, "file")}`, callback_data: data };
    this.#parts.client.say(to.chat, "The preview of an undo", (api, signal) =>
      sendPart(api, { to, part, reply_markup: { inline_keyboard: [[button]] } }, signal),
    );
  }

  /** A button counts in its chat, for the person who asked, for what was shown, once. */
  async #take({ user, data, on }: Pressed): Promise<PressAnswer> {
    const no = (text: string): PressAnswer => ({ text, isAlert: true });
    const { store, allowed, onTask, client } = this.#parts;
    if (!allowed.has(user)) return no("You do not have access to this bot");
    const [, nonce, digest = ""] = DATA.exec(data) ?? [];
    const preview = (await this.#previews()).find((each) => each.nonce === nonce);
    if (preview === undefined || on === undefined) return no("This button is out of date: send /undo again");
    if (preview.lane !== laneOf(on)) return no("This button works only in the chat it was sent to");
    if (preview.user !== user) return no("Only the person who sent /undo can confirm it");
    if (!preview.digest.startsWith(digest)) return no("This button is out of date: send /undo again");
    const { run_id, task_id, lane } = preview;
    const { chat, message_id, isLeft = false } = on;
    const { duplicate } = await store.inbox.ingest({
      source: "telegram",
      external_id: `undo:${preview.nonce}`,
      lane,
      text: `Undo the file changes of task ${shortId(task_id)}.`,
      user: String(user),
      ...(isLeft ? {} : { origin: writeOrigin({ message_id }) }),
      undoes: { run_id, digest: preview.digest },
    });
    onTask();
    if (!isLeft) await client.attempt(chat, (api, signal) => api.editMessageReplyMarkup(chat, message_id, {}, signal));
    return duplicate ? no("Already confirmed") : { text: "Undoing", isAlert: false };
  }

  async #previews(): Promise<readonly Preview[]> {
    // If damaged, the buttons say that they are out of date.
    return parseKept((await this.#parts.store.kv.get(KEPT)) ?? "[]", arePreviews) ?? [];
  }

  async #keep(previews: readonly Preview[]): Promise<void> {
    await this.#parts.store.kv.set(KEPT, JSON.stringify(previews));
  }
}

/** False for a run whose record was pruned. True where the change cannot be read: the preview then says why. */
async function mayHaveChanged({ run_id }: Task, changes: Runtime["changes"]): Promise<boolean> {
  try {
    return (await changes({ run_id })).length > 0;
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    return error.code !== "NotFound";
  }
}

function previewText(task: Task, planned: readonly FileDiff[]): { text: string; entities: MessageEntity[] } {
  const head = `Undo task ${shortId(task.task_id)} (${taskTitle(task.text)})? This would change ${countOf(planned.length, "file")}:`;
  const names = planned.slice(0, MAX_NAMED).map(({ path }) => `- ${makeVisible(path)}`);
  const more = planned.length > MAX_NAMED ? [`… and ${planned.length - MAX_NAMED} more`] : [];
  const top = [head, ...names, ...more].join("\n").slice(0, 1200).toWellFormed();
  const whole = showPlainlyLines(planned.map(({ diff }) => diff.trimEnd()).join("\n"));
  const isCut = whole.length > DIFF_LENGTH || planned.some(({ truncated }) => truncated);
  const diff = whole.slice(0, DIFF_LENGTH).toWellFormed();
  const text = `${top}\n\n${diff}${isCut ? "\n\nTruncated: not all of it is shown." : ""}`;
  return { text, entities: [{ type: "pre", language: "diff", offset: top.length + 2, length: diff.length }] };
}

function arePreviews(value: unknown): value is readonly Preview[] {
  const isPreview = (each: unknown): boolean =>
    isObject(each) &&
    ["nonce", "lane", "task_id", "run_id", "digest"].every((name) => typeof each[name] === "string") &&
    Number.isSafeInteger(each["user"]);
  return Array.isArray(value) && value.every(isPreview);
}
