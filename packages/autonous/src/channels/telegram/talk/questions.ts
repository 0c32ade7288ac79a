import { randomBytes } from "node:crypto";
import type { ApprovalRequest } from "@autonous/runtime";
import type { Approval } from "@autonous/runtime/internal";
import { InputFile } from "grammy";
import type { Store, Task } from "../../../store/store.ts";
import { checkOffer } from "../../words/check-offer.ts";
import type { AllowedUsers } from "../access/allowed-users.ts";
import type { TelegramClient } from "../api/client.ts";
import { fileMs } from "../api/client.ts";
import { TelegramFailure } from "../api/telegram-failure.ts";
import type { FailureKind } from "../api/telegram-failure.ts";
import { addressIn, addressOf, inTopic, keyOf, personOf } from "../address.ts";
import type { Address } from "../address.ts";
import { originOf } from "../origin.ts";
import type { Pressed, Written } from "../incoming/read-update.ts";
import { NO_PREVIEW, sendPart } from "../outgoing/show.ts";
import { isSame, OpenQuestions } from "./open-questions.ts";
import type { OpenQuestion } from "./open-questions.ts";
import { answerOf, isBoundTo, makeKeyboard, readButton } from "./question-buttons.ts";
import type { PressedButton } from "./question-buttons.ts";
import { makeQuestion, outcomeOf } from "./question.ts";
import { tellPressed } from "./press.ts";
import type { PressAnswer } from "./press.ts";
import { Reasons } from "./reasons.ts";
import { cut } from "./short-text.ts";

export interface QuestionParts {
  readonly store: Store;
  readonly client: TelegramClient;
  readonly allowed: AllowedUsers;
  readonly clock: () => number;
  readonly onTask: () => void;
  /** There may be a message to be changed. */
  readonly onAnswer: () => void;
}

/** As many characters as an answer may have (`protocol/approval.ts`). */
const MAX_REASON = 2000;
const NOT_YOURS = "Only the person who gave the task can answer";

/** Requests for approval as messages with buttons: asked, answered, and changed to what became of them. */
export class Questions {
  readonly #parts: QuestionParts;
  readonly #reasons: Reasons;
  readonly #open: OpenQuestions;
  /** By request: asked and not recorded yet, because the store failed. Not to be asked again. */
  readonly #asked = new Map<string, { readonly question: OpenQuestion; readonly receipt: string }>();
  /** By key of the record: the request whose file was sent last. */
  readonly #whole = new Map<string, string>();

  constructor(parts: QuestionParts) {
    this.#parts = parts;
    this.#reasons = new Reasons(parts);
    this.#open = new OpenQuestions(parts.store);
  }

  /** Gives the receipt by which a button is known. Undefined where the request is no longer open. */
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
    const question = { approval_id, ...to, chat: client.numberOf(to.chat), message_id };
    this.#asked.set(approval_id, { question, receipt: receiptFor(message_id, nonce) });
    return await this.#record(approval_id);
  }

  /** Throws when the store does; what was asked is remembered until it is on record. */
  async #record(approval_id: string): Promise<string | undefined> {
    const asked = this.#asked.get(approval_id);
    if (asked === undefined) return undefined;
    const isOver = (each: OpenQuestion): boolean =>
      isSame(each, asked.question) || (each.approval_id === approval_id && this.#isLeft(each));
    const others = (await this.#open.list()).filter((each) => !isOver(each));
    await this.#open.keep([...others, asked.question]);
    this.#asked.delete(approval_id);
    return asked.receipt;
  }

  /**
   * A reply to an open question, or to the prompt for a reason, is the reason for a no, whatever it looks like. False
   * where it is neither, or the request was answered before: then it is a message like any other.
   */
  async reply(written: Written): Promise<boolean> {
    const { store, onTask, onAnswer } = this.#parts;
    const approval_id = (await this.#reasons.taken(written)) ?? (await this.#questionOf(written));
    if (approval_id === undefined) return await this.#reasons.continues(written);
    const approval = await store.approvals.get(approval_id);
    if (approval === undefined || (approval.state !== "pending" && (await this.#reasons.taken(written)) === undefined))
      return await this.#reasons.continues(written);
    if (!(await this.#mayAnswer(written.user, approval.request))) {
      tellQuietly(this.#parts.client, written, `${NOT_YOURS}.`);
      return true;
    }
    await this.#reasons.take(written, approval_id);
    const reason = cut(written.text, MAX_REASON);
    const answer = { answer: "deny", reason, by: personOf(written.user), via: "telegram" } as const;
    const taken = await store.approvals.answer(approval_id, answer);
    if (taken?.won === true) {
      onTask();
      tellQuietly(
        this.#parts.client,
        written,
        written.text.length <= MAX_REASON
          ? "Denied. The agent gets your reason."
          : "Denied. The agent gets the beginning of your reason; the rest is too long.",
      );
    }
    onAnswer();
    return true;
  }

  /** The request that a message replies to. */
  async #questionOf(written: Written): Promise<string | undefined> {
    const { chat, reply_to, text } = written;
    if (reply_to === undefined || text === "") return undefined;
    const number = this.#parts.client.numberOf(chat);
    const question = (await this.#open.list()).find((each) => each.chat === number && each.message_id === reply_to);
    return question?.approval_id ?? (await this.#reasons.find(written));
  }

  async #mayAnswer(user: number, request: ApprovalRequest): Promise<boolean> {
    const task = await this.#taskOf(request);
    return task?.user === String(user);
  }

  async #taskOf({ task_id }: ApprovalRequest): Promise<Task | undefined> {
    return task_id === null ? undefined : (await this.#parts.store.tasks.get(task_id))?.task;
  }

  /** Handles the press of a button, and shows the person the outcome. */
  async press(pressed: Pressed): Promise<void> {
    await tellPressed(pressed, await this.#answer(pressed), this.#parts);
    this.#parts.onAnswer();
  }

  /** Changes the messages whose requests were answered, here or elsewhere, or are over. What fails is done later. */
  async settle(): Promise<void> {
    const settled = new Set<OpenQuestion>();
    for (const question of await this.#open.list()) {
      const approval = await this.#parts.store.approvals.get(question.approval_id);
      const isLeft = this.#isLeft(question);
      if (approval?.state === "pending") {
        if (isLeft) await this.#parts.store.outbox.askAgain(question.approval_id);
        continue;
      }
      const failure = approval === undefined || isLeft ? undefined : await this.#change(question, approval);
      if (failure === "unreachable") break; // the others would only run into their timeouts
      // One that was deleted, or says so already, is as good as changed.
      if (failure !== "busy") settled.add(question);
    }
    if (settled.size > 0) await this.#open.keep((await this.#open.list()).filter((each) => !settled.has(each)));
    await this.#reasons.settle(async (id) => (await this.#parts.store.approvals.get(id))?.state === "pending");
  }

  /** In a group that has become a supergroup: it cannot be pressed there, and its number means another message now. */
  #isLeft({ chat }: OpenQuestion): boolean {
    return this.#parts.client.numberOf(chat) !== chat;
  }

  async #answer(pressed: Pressed): Promise<PressAnswer> {
    const no = (text: string) => ({ text, isAlert: true });
    const { store, allowed, onTask } = this.#parts;
    if (!allowed.has(pressed.user)) return no("You do not have access to this bot");
    const button = readButton(pressed.data);
    const approval = button === undefined ? undefined : await store.approvals.get(button.approval_id);
    if (button === undefined || approval === undefined) return no("Request not found");
    const wrong = await this.#findWrong(pressed, button, approval.request);
    if (wrong !== undefined) return no(wrong);
    if (button.choice === "r") return await this.#askReason(pressed, approval);
    const answer = answerOf(button, approval.request);
    if (answer === undefined) return no("This button belongs to another request");
    const tooWide = checkOffer(approval.request, answer);
    if (tooWide !== undefined) return no(tooWide);
    const by = personOf(pressed.user);
    const taken = await store.approvals.answer(button.approval_id, { ...answer, by, via: "telegram" });
    if (taken === undefined) return no("Request not found");
    if (taken.won) onTask();
    const outcome = await this.#outcomeOf(taken.approval);
    return taken.won ? { text: outcome, isAlert: false } : no(`Too late: ${outcome}`);
  }

  async #askReason({ user, on }: Pressed, approval: Approval): Promise<PressAnswer> {
    const { approval_id } = approval.request;
    if (approval.state !== "pending") return { text: `Too late: ${await this.#outcomeOf(approval)}`, isAlert: true };
    if (on === undefined) return { text: "Request not found", isAlert: true };
    // In a group only the sender of the message that is replied to is asked to reply.
    const task = await this.#taskOf(approval.request);
    const { message_id: reply_to } = (task === undefined ? undefined : originOf(task)) ?? on;
    await this.#reasons.ask({ ...on, approval_id, user, reply_to });
    return { text: "Reply with the reason", isAlert: false };
  }

  /** The record has the number of the person who answered; the chat is told the name that they gave themselves. */
  async #outcomeOf(approval: Approval): Promise<string> {
    const task = await this.#taskOf(approval.request);
    const name = task === undefined ? undefined : originOf(task)?.name;
    const giver = personOf(Number(task?.user));
    return outcomeOf(approval, (by) => (by === giver ? (name ?? by) : by)) ?? "";
  }

  /** A button counts in the chat and on the message that asked, for the person who gave the task, and for what was shown there. */
  async #findWrong(
    { on, user }: Pressed,
    button: PressedButton,
    request: ApprovalRequest,
  ): Promise<string | undefined> {
    const { store } = this.#parts;
    const asked = await store.outbox.receiptOf(button.approval_id);
    if (asked === undefined) return "The question is not recorded yet: press again in a moment";
    // In a topic that was closed meanwhile it is asked in the group: the message is the one that was sent all the same.
    if (on === undefined || addressOf(asked.chat)?.chat !== on.chat)
      return "This button works only in the chat it was sent to";
    if (asked.receipt !== receiptFor(on.message_id, button.nonce))
      return "This button is out of date: use the newest message that asks for this";
    if (!isBoundTo(button, request)) return "This button belongs to another request";
    return (await this.#mayAnswer(user, request)) ? undefined : NOT_YOURS;
  }

  async #change({ chat, message_id }: OpenQuestion, approval: Approval): Promise<FailureKind | undefined> {
    const { client, clock } = this.#parts;
    const outcome = await this.#outcomeOf(approval);
    const { text, entities } = makeQuestion(approval.request, { now: clock(), outcome });
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
    const key = keyOf("whole", to);
    const isMoved = client.numberOf(to.chat) !== to.chat;
    const sent = isMoved ? `${approval_id} ${client.numberOf(to.chat)}` : approval_id;
    if ((this.#whole.get(key) ?? (await store.kv.get(key))) === sent) return;
    const bytes = Buffer.from(whole);
    const file = new InputFile(bytes, `${approval_id}.txt`);
    const options = { caption: "The full text of the question below", ...inTopic(to) };
    const timeoutMs = fileMs(bytes.length);
    await client.send(to.chat, (api, signal) => api.sendDocument(to.chat, file, options, signal), timeoutMs);
    this.#whole.set(key, sent);
    await store.kv.set(key, sent);
  }
}

/** A short silent line that is not recorded. */
function tellQuietly(client: TelegramClient, address: Address, text: string): void {
  const to = addressIn(address);
  client.say(to.chat, "A notice", (api, signal) =>
    sendPart(api, { to, part: { text, entities: [] }, disable_notification: true }, signal),
  );
}

function receiptFor(message_id: number, nonce: string): string {
  return `${message_id}:${nonce}`;
}
