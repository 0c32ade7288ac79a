import { makeVisible } from "@autonous/runtime/internal";
import type { RuntimeEvent } from "@autonous/runtime";
import type { EventType } from "@autonous/runtime/internal";
import { isObject, parseKept } from "../../../store/sqlite/kept-json.ts";
import type { Store } from "../../../store/store.ts";
import { switchWords } from "../../../store/record/switch-words.ts";
import type { OutputLine } from "../../../store/record/outgoing.ts";
import { activityOf } from "../../words/call-words.ts";
import { farText } from "../../words/event-words.ts";
import type { TelegramClient } from "../api/client.ts";
import { addressOf, inTopic } from "../address.ts";
import type { Address } from "../address.ts";
import { cut } from "./short-text.ts";
import { elapsedText } from "./task-line.ts";

export interface ProgressOptions {
  readonly store: Store;
  readonly client: TelegramClient;
  readonly clock: () => number;
  /** How long a task is at work before it is worth a message. */
  readonly firstMs?: number;
}

const FIRST_MS = 2000;
/** Between two changes of the message, by the age of the task: the elapsed time alone changes it. */
// oxfmt-ignore
const INTERVALS = [
  { beforeMs: 60_000,                   everyMs: 4000 },
  { beforeMs: 600_000,                  everyMs: 10_000 },
  { beforeMs: Number.POSITIVE_INFINITY, everyMs: 30_000 },
] as const;
/** Telegram's "typing…" lasts five seconds. */
const TYPING_MS = 4500;
const CALL_LENGTH = 200;
const MANY_TASKS = 10_000;
const KEPT = "telegram:progress";

interface ShownProgress {
  readonly to: Address;
  readonly task_id: string;
  readonly since: number;
  /** That another model is asked, and why. */
  fallback: string;
  call: string;
  call_id: unknown;
  callSince: number;
  /** How far the call says it is, or the last line that it printed. */
  far: string;
  message?: Sent;
  text: string;
  nextAt: number;
  typingAt: number;
}

/** A message that says how far a task is. */
interface Sent {
  /** The number that the chat had then. */
  readonly chat: number;
  readonly message_id: number;
}

type Change = (shown: ShownProgress, payload: RuntimeEvent["payload"], now: number) => void;

/** What the events of a task change in what is shown of it. */
// oxfmt-ignore
const CHANGES: Readonly<Partial<Record<EventType, Change>>> = {
  "task.started":        () => undefined,
  "task.resumed":        () => undefined,
  "turn.started":        () => undefined,
  "model.switched":      (shown, payload) => { shown.fallback = short(switchWords(payload), CALL_LENGTH); },
  "tool_call.started":   (shown, payload, now) => showCall(shown, { id: payload["tool_call_id"], text: short(activityOf(payload), CALL_LENGTH), now }),
  "progress":            (shown, payload) => { if (payload["tool_call_id"] === shown.call_id) shown.far = short(farText(payload), CALL_LENGTH); },
  "tool_call.completed": (shown, payload) => endCall(shown, payload["tool_call_id"]),
  "tool_call.failed":    (shown, payload) => endCall(shown, payload["tool_call_id"]),
};

interface ShownCall {
  readonly id: unknown;
  readonly text: string;
  readonly now: number;
}

function showCall(shown: ShownProgress, { id, text, now }: ShownCall): void {
  shown.call_id = id;
  shown.call = text;
  shown.callSince = now;
  shown.far = "";
}

/** Of several calls at a time the one that began last is shown. */
function endCall(shown: ShownProgress, id: unknown): void {
  if (id === shown.call_id) showCall(shown, { id: undefined, text: "", now: 0 });
}

/** After these nothing of the task goes on, for a while or for good. Its answer or a question follows. */
const ENDS: ReadonlySet<EventType> = new Set([
  "task.waiting_approval",
  "task.retry_scheduled",
  "task.completed",
  "task.failed",
  "task.cancelled",
  "task.dead_lettered",
]);

/** One message for each chat that says how far its task is, changed now and then and removed at the end. */
export class Progress {
  readonly #options: Required<ProgressOptions>;
  readonly #shown = new Map<string, ShownProgress>();
  /** Messages of tasks that have ended, until Telegram has removed them. */
  #leaving: readonly Sent[] = [];
  /** The lanes of tasks; null for tasks of other channels. */
  readonly #lanes = new Map<string, string | null>();

  constructor(options: ProgressOptions) {
    this.#options = { firstMs: FIRST_MS, ...options };
  }

  /** Removes what an earlier process left standing. */
  async open(): Promise<void> {
    const { store } = this.#options;
    // If damaged, the messages stay as they are: their tasks have ended.
    const left = parseKept((await store.kv.get(KEPT)) ?? "{}", areMessages) ?? {};
    this.#leaving = Object.entries(left).flatMap(([chat, ids]) =>
      [ids].flat().map((message_id) => ({ chat: Number(chat), message_id })),
    );
    await this.#removeLeaving();
  }

  async hear({ type, task_id, payload }: RuntimeEvent): Promise<void> {
    const change = CHANGES[type];
    if (task_id === null || (change === undefined && !ENDS.has(type))) return;
    const lane = await this.#laneOf(task_id);
    const to = lane === null ? undefined : addressOf(lane);
    if (lane === null || to === undefined) return;
    if (change === undefined) return await this.#end(lane, task_id);
    change(this.#begin(lane, task_id, to), payload, this.#options.clock());
  }

  /** The last line that a running call has printed. */
  print({ task_id, tool_call_id, line }: OutputLine): void {
    for (const shown of this.#shown.values())
      if (shown.task_id === task_id && shown.call_id === tool_call_id) shown.far = short(line, CALL_LENGTH);
  }

  /** What the task of a chat does now: its call, and how far that is. */
  activityIn(lane: string): string | undefined {
    const shown = this.#shown.get(lane);
    const lines = shown === undefined ? [] : callLines(shown, this.#options.clock());
    return lines.length === 0 ? undefined : lines.join("\n");
  }

  /** Shows what has changed where it is time to. */
  async show(): Promise<void> {
    await this.#removeLeaving();
    const now = this.#options.clock();
    for (const shown of this.#shown.values()) {
      await this.#type(shown, now);
      if (now < shown.nextAt || now < shown.since + this.#options.firstMs) continue;
      const text = textOf(shown, now);
      if (text === shown.text || !this.#options.client.rate.isTurn(shown.to.chat)) continue;
      shown.nextAt = now + everyMsAt(now - shown.since);
      await this.#write(shown, text);
    }
  }

  #begin(lane: string, task_id: string, to: Address): ShownProgress {
    const known = this.#shown.get(lane);
    if (known?.task_id === task_id) return known;
    const call = { call: "", call_id: undefined, callSince: 0, far: "" };
    const fresh = { fallback: "", ...call, text: "", nextAt: 0, typingAt: 0 };
    const shown = { to, task_id, since: this.#options.clock(), ...fresh };
    this.#shown.set(lane, known?.message === undefined ? shown : { ...shown, message: known.message });
    return this.#shown.get(lane) ?? shown;
  }

  async #end(lane: string, task_id: string): Promise<void> {
    const shown = this.#shown.get(lane);
    if (shown?.task_id !== task_id) return;
    this.#shown.delete(lane);
    if (shown.message === undefined) return;
    this.#leaving = [...this.#leaving, shown.message];
    await this.#removeLeaving();
  }

  async #write(shown: ShownProgress, text: string): Promise<void> {
    const { client } = this.#options;
    const { message, to } = shown;
    const { chat } = to;
    if (message !== undefined && !this.#isLeft(message)) {
      const { message_id } = message;
      // Deleted by a person, or the same text: harmless, and the next change follows.
      const isTaken = await client.trySend(chat, (api, signal) =>
        api.editMessageText(chat, message_id, text, {}, signal),
      );
      if (isTaken !== undefined) shown.text = text;
      return;
    }
    const options = { disable_notification: true, ...inTopic(to) };
    const sent = await client.trySend(chat, (api, signal) => api.sendMessage(chat, text, options, signal));
    if (sent === undefined) return;
    shown.message = { chat: client.numberOf(chat), message_id: sent.message_id };
    shown.text = text;
    await this.#keep();
  }

  /** Until there is a message that tells more. */
  async #type(shown: ShownProgress, now: number): Promise<void> {
    if (shown.message !== undefined || now < shown.typingAt) return;
    shown.typingAt = now + TYPING_MS;
    const { to } = shown;
    await this.#options.client.attempt(to.chat, (api, signal) =>
      api.sendChatAction(to.chat, "typing", inTopic(to), signal),
    );
  }

  /** What Telegram does not do now, because it is asked to wait or is away, is done later: also after a restart. */
  async #removeLeaving(): Promise<void> {
    const removed = new Set<Sent>();
    for (const each of this.#leaving) {
      const { chat, message_id } = each;
      // One that a person deleted, or that is too old to be deleted, counts as removed.
      const isOver =
        this.#isLeft(each) ||
        (await this.#options.client.attempt(chat, (api, signal) => api.deleteMessage(chat, message_id, signal)));
      if (isOver) removed.add(each);
    }
    if (removed.size === 0) return;
    this.#leaving = this.#leaving.filter((each) => !removed.has(each));
    await this.#keep();
  }

  async #keep(): Promise<void> {
    const standing = [...this.#shown.values()].flatMap(({ message }) => (message === undefined ? [] : [message]));
    const byChat = Map.groupBy([...this.#leaving, ...standing], ({ chat }) => chat);
    const kept = [...byChat].map(([chat, left]) => [chat, left.map(({ message_id }) => message_id)]);
    await this.#options.store.kv.set(KEPT, JSON.stringify(Object.fromEntries(kept)));
  }

  /** In a group that got another number since, where nothing can be changed. */
  #isLeft({ chat }: Sent): boolean {
    return this.#options.client.numberOf(chat) !== chat;
  }

  async #laneOf(task_id: string): Promise<string | null> {
    const known = this.#lanes.get(task_id);
    if (known !== undefined) return known;
    const task = (await this.#options.store.tasks.get(task_id))?.task;
    const lane = task?.source === "telegram" ? task.lane : null;
    if (this.#lanes.size >= MANY_TASKS) this.#lanes.clear();
    this.#lanes.set(task_id, lane);
    return lane;
  }
}

function everyMsAt(ageMs: number): number {
  return INTERVALS.find(({ beforeMs }) => ageMs < beforeMs)?.everyMs ?? INTERVALS[2].everyMs;
}

function textOf(shown: ShownProgress, now: number): string {
  const head = `Working · ${elapsedText(now - shown.since)}`;
  return [head, shown.fallback, ...callLines(shown, now)].filter((part) => part !== "").join("\n");
}

function callLines({ call, callSince, far }: ShownProgress, now: number): readonly string[] {
  if (call === "") return [];
  return [`${call} · ${elapsedText(now - callSince)}`, ...(far === "" ? [] : [far])];
}

function short(text: string, length: number): string {
  return cut(makeVisible(text.trim()), length);
}

function areMessages(value: unknown): value is Readonly<Record<string, number | readonly number[]>> {
  return isObject(value) && Object.values(value).flat().every(Number.isSafeInteger);
}
