import { randomBytes } from "node:crypto";
import type { Approval, ApprovalRequest } from "@autonous/runtime";
import { InputFile } from "grammy";
import { isObject, parseKept } from "../../../store/kept-json.ts";
import type { Store } from "../../../store/store.ts";
import { checkOffer } from "../../check-offer.ts";
import type { TelegramClient } from "../api/client.ts";
import { fileMs } from "../api/client.ts";
import { TelegramFailure } from "../api/failure.ts";
import type { FailureKind } from "../api/failure.ts";
import { inTopic, laneOf, personOf } from "../address.ts";
import type { Address } from "../address.ts";
import type { Pressed } from "../incoming/read-update.ts";
import { answerOf, isBoundTo, makeKeyboard, makeQuestion, outcomeOf, readButton } from "./question.ts";
import type { PressedButton } from "./question.ts";
import { NO_PREVIEW } from "../outgoing/show.ts";

export interface QuestionParts {
  readonly store: Store;
  readonly client: TelegramClient;
  readonly allowed: ReadonlySet<number>;
  readonly clock: () => number;
  readonly onTask: () => void;
  /** There may be a message to be changed. */
  readonly onAnswer: () => void;
}

interface OpenQuestion extends Address {
  readonly approval_id: string;
  readonly message_id: number;
}

/** What whoever pressed a button is told. */
interface Told {
  readonly text: string;
  readonly isAlert: boolean;
}

const KEPT = "telegram:questions";
/** What Telegram shows of it. */
const TELLING_LIMIT = 200;
/** What is said next in the chat waits for it, and Telegram does not take it much later. */
const TELLING_WAIT_MS = 10_000;

/** Requests for approval as messages with buttons: asked, answered, and changed to what became of them. */
export class Questions {
  readonly #parts: QuestionParts;
  #open: readonly OpenQuestion[] | undefined;
  /** By request: asked and not recorded yet, because the store failed. Not to be asked again. */
  readonly #asked = new Map<string, { readonly question: OpenQuestion; readonly receipt: string }>();
  /** By key of the record: the request whose file was sent last. */
  readonly #whole = new Map<string, string>();

  constructor(parts: QuestionParts) {
    this.#parts = parts;
  }

  /** Gives the receipt by which a button is known. Undefined where nobody has to be asked any more. */
  async ask(approval_id: string, to: Address): Promise<string | undefined> {
    if (this.#asked.has(approval_id)) return await this.#record(approval_id);
    const { store, client, clock } = this.#parts;
    const approval = await store.approvals.get(approval_id);
    if (approval === undefined || approval.state !== "pending") return undefined;
    const { request } = approval;
    const { text, entities, whole } = makeQuestion(request, { now: clock() });
    if (whole !== undefined) await this.#sendWholeOnce(request, whole, to);
    const nonce = randomBytes(6).toString("base64url");
    const { message_id } = await client.send(to.chat, (api, signal) =>
      api.sendMessage(
        to.chat,
        text,
        {
          entities: [...entities],
          link_preview_options: NO_PREVIEW,
          reply_markup: makeKeyboard(request, nonce),
          ...inTopic(to),
        },
        signal,
      ),
    );
    const question = { approval_id, ...to, message_id };
    this.#asked.set(approval_id, { question, receipt: receiptFor(message_id, nonce) });
    return await this.#record(approval_id);
  }

  /** Throws when the store does; what was asked is remembered until it is on record. */
  async #record(approval_id: string): Promise<string | undefined> {
    const asked = this.#asked.get(approval_id);
    if (asked === undefined) return undefined;
    const others = (await this.#opened()).filter((each) => !isSame(each, asked.question));
    await this.#keep([...others, asked.question]);
    this.#asked.delete(approval_id);
    return asked.receipt;
  }

  /** Somebody pressed a button. Whoever it was is told what came of it. */
  async press(pressed: Pressed): Promise<void> {
    await this.#tell(pressed, await this.#answer(pressed));
    this.#parts.onAnswer();
  }

  /** Changes the messages whose requests were answered, here or elsewhere, or are over. What fails is done later. */
  async settle(): Promise<void> {
    const settled = new Set<OpenQuestion>();
    for (const question of await this.#opened()) {
      const approval = await this.#parts.store.approvals.get(question.approval_id);
      if (approval?.state === "pending") continue;
      const failure = approval === undefined ? undefined : await this.#change(question, approval);
      if (failure === "unreachable") break; // the others would wait in vain, too
      // One that was deleted, or says so already, is as good as changed.
      if (failure !== "busy") settled.add(question);
    }
    if (settled.size > 0) await this.#keep((await this.#opened()).filter((each) => !settled.has(each)));
  }

  async #tell({ query_id, on, user }: Pressed, { text, isAlert }: Told): Promise<void> {
    const { client, allowed } = this.#parts;
    const told = { text: text.slice(0, TELLING_LIMIT), show_alert: isAlert };
    const work: Parameters<TelegramClient["call"]>[0] = (api, signal) =>
      api.answerCallbackQuery(query_id, told, signal);
    try {
      await client.call(work);
    } catch (error) {
      if (!(error instanceof TelegramFailure)) throw error;
      // One that is too old cannot be answered any more; what it did stands in the message.
      const isSoon = (error.retryAfterMs ?? 0) <= TELLING_WAIT_MS;
      const mayHelp = isSoon && (error.kind === "busy" || error.kind === "unreachable");
      // Whoever is not on the list may not keep others in the chat waiting.
      if (mayHelp && allowed.has(user)) client.say(on?.chat ?? user, "What a button did", work);
    }
  }

  async #answer(pressed: Pressed): Promise<Told> {
    const no = (text: string) => ({ text, isAlert: true });
    const { store, allowed, onTask } = this.#parts;
    if (!allowed.has(pressed.user)) return no("You are not on the list of this bot");
    const button = readButton(pressed.data);
    const approval = button === undefined ? undefined : await store.approvals.get(button.approval_id);
    if (button === undefined || approval === undefined) return no("There is no such request");
    const wrong = await this.#findWrong(pressed, button, approval.request);
    if (wrong !== undefined) return no(wrong);
    const answer = answerOf(button, approval.request);
    const tooWide = checkOffer(approval.request, answer);
    if (tooWide !== undefined) return no(tooWide);
    const by = personOf(pressed.user);
    const taken = await store.approvals.answer(button.approval_id, { ...answer, by, via: "telegram" });
    if (taken === undefined) return no("There is no such request");
    if (taken.won) onTask();
    const outcome = outcomeOf(taken.approval) ?? "";
    return taken.won ? { text: outcome, isAlert: false } : no(`Too late: ${outcome}`);
  }

  /** A button counts in the chat and on the message that asked, for whoever's task it is, and for what was shown there. */
  async #findWrong(
    { on, user }: Pressed,
    button: PressedButton,
    request: ApprovalRequest,
  ): Promise<string | undefined> {
    const { store } = this.#parts;
    const asked = await store.outbox.receiptOf(button.approval_id);
    if (asked === undefined) return "The question is not on record yet: press again in a moment";
    if (on === undefined || asked.chat !== laneOf(on)) return "This button counts only in the chat that was asked";
    if (asked.receipt !== receiptFor(on.message_id, button.nonce))
      return "This button is out of date: use the newest message that asks for this";
    if (!isBoundTo(button, request)) return "This button belongs to another request";
    const task = request.task_id === null ? undefined : await store.tasks.get(request.task_id);
    if (task?.task.user !== String(user)) return "Only whoever gave the task can answer";
    return undefined;
  }

  async #change({ chat, message_id }: OpenQuestion, approval: Approval): Promise<FailureKind | undefined> {
    const { client, clock } = this.#parts;
    const { text, entities } = makeQuestion(approval.request, { now: clock(), outcome: outcomeOf(approval) ?? "" });
    try {
      const options = { entities: [...entities], link_preview_options: NO_PREVIEW };
      await client.call((api, signal) => api.editMessageText(chat, message_id, text, options, signal), { chat });
      return undefined;
    } catch (error) {
      if (!(error instanceof TelegramFailure)) throw error;
      return error.kind;
    }
  }

  /** However often the question itself has to be tried. In order within a chat, so one has to be remembered for each. */
  async #sendWholeOnce({ approval_id }: ApprovalRequest, whole: string, to: Address): Promise<void> {
    const { client, store } = this.#parts;
    const key = `telegram:whole:${laneOf(to).slice("telegram:".length)}`;
    if ((this.#whole.get(key) ?? (await store.kv.get(key))) === approval_id) return;
    const bytes = Buffer.from(whole);
    const file = new InputFile(bytes, `${approval_id}.txt`);
    const options = { caption: "All of what is asked for below", ...inTopic(to) };
    const timeoutMs = fileMs(bytes.length);
    await client.send(to.chat, (api, signal) => api.sendDocument(to.chat, file, options, signal), timeoutMs);
    this.#whole.set(key, approval_id);
    await store.kv.set(key, approval_id);
  }

  async #opened(): Promise<readonly OpenQuestion[]> {
    if (this.#open !== undefined) return this.#open;
    const text = await this.#parts.store.kv.get(KEPT);
    // If damaged, the messages keep their buttons: a press is judged by the approval, whatever the message says.
    return (this.#open ??= text === undefined ? [] : (parseKept(text, areQuestions) ?? []));
  }

  async #keep(open: readonly OpenQuestion[]): Promise<void> {
    this.#open = open;
    await this.#parts.store.kv.set(KEPT, JSON.stringify(open));
  }
}

function isSame(one: OpenQuestion, other: OpenQuestion): boolean {
  return one.chat === other.chat && one.message_id === other.message_id;
}

function receiptFor(message_id: number, nonce: string): string {
  return `${message_id}:${nonce}`;
}

function areQuestions(value: unknown): value is readonly OpenQuestion[] {
  const isQuestion = (each: unknown): boolean =>
    isObject(each) &&
    typeof each["approval_id"] === "string" &&
    Number.isSafeInteger(each["chat"]) &&
    Number.isSafeInteger(each["message_id"]);
  return Array.isArray(value) && value.every(isQuestion);
}
