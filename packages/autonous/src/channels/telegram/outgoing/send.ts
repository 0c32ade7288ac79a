import type { OutboxSender } from "../../../queue/outbox-sender.ts";
import { DeliveryError } from "../../../queue/outbox-sender.ts";
import { stoppedBy } from "../../../store/queue/stop-task.ts";
import type { Outgoing, ShownMessage } from "../../../store/store.ts";
import { fileMs } from "../api/client.ts";
import { TelegramFailure } from "../api/telegram-failure.ts";
import { addressOf } from "../address.ts";
import { answeredTask } from "./answered-task.ts";
import { asItIs, markdownRich } from "./rich-markdown.ts";
import { joinRich, redactRich } from "./rich-text.ts";
import { sendAsFile, sendFile } from "./send-file.ts";
import { sendParts } from "./sending.ts";
import type { Memory, Receipt, Sending, SendParts } from "./sending.ts";
import { BETWEEN, countJoined, isShown, LOUD, shownText } from "./shown-text.ts";
import { noteUndelivered } from "./undelivered.ts";
import { MESSAGE_LIMIT, splitText } from "./split-text.ts";

/** Telegram's side of the outbox. */
export function createOutboxSender(given: SendParts): OutboxSender {
  const parts = { fileMs, ...given };
  const memory: Memory = { parts: new Map(), late: new Map() };
  return {
    channel: "telegram",
    countJoined,
    async send(row, joined = []) {
      const to = addressOf(row.chat);
      if (to === undefined) throw new DeliveryError(`"${row.chat}" is not a Telegram chat`, { forGood: true });
      try {
        const task = await answeredTask(parts.store, row, parts.moved?.movedAt(to.chat));
        return await sendTo({ row, joined, content: row.content, to, task, parts, memory });
      } catch (error) {
        if (!(error instanceof TelegramFailure)) throw error;
        const isMissed = row.content.kind === "text" || row.content.kind === "file";
        if (error.kind === "gone" && isMissed) await noteUndelivered(parts.store, row.chat);
        throw notSent(error);
      }
    },
  };
}

const NO_TOPIC = /message thread not found|TOPIC_(?:CLOSED|DELETED|ID_INVALID)/i;

/** What was asked in a topic that is closed or deleted by now is answered in the group itself. */
async function sendTo(sending: Sending): Promise<Receipt> {
  const { to } = sending;
  try {
    return await sendContent(sending);
  } catch (error) {
    if (!(error instanceof TelegramFailure) || to.thread === undefined || !NO_TOPIC.test(error.message)) throw error;
    const { message_id: _, ...task } = sending.task; // not a reply: that would lead back to the topic
    return await sendContent({ ...sending, to: { chat: to.chat }, task });
  }
}

function sendContent(sending: Sending): Promise<Receipt> {
  const { content } = sending;
  switch (content.kind) {
    case "text":
      return sendText({ ...sending, content });
    case "file":
      return sendFile({ ...sending, content, isReply: isInGroup(sending) });
    case "approval":
      return sendQuestion({ ...sending, content });
    case "display":
      return sendShown({ ...sending, content });
  }
}

function notSent(failure: TelegramFailure): DeliveryError {
  const forGood = failure.kind === "gone" || failure.kind === "refused";
  const { retryAfterMs } = failure;
  return new DeliveryError(failure.message, {
    forGood,
    cause: failure,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

/** Longer answers are files: each message takes a second, and people do not scroll through more than twenty. */
const MAX_TEXT = 20 * MESSAGE_LIMIT;

/** An answer replies to its question. */
async function sendText(sending: Sending<Extract<Outgoing, { kind: "text" }>>): Promise<Receipt> {
  const { content, task, parts } = sending;
  const answer = { ...sending, isReply: true };
  if (content.text.length > MAX_TEXT) return await sendAsFile(answer, content.text);
  const rich = (task.isMarkdown ? markdownRich : asItIs)(withName(content.text, sending));
  return await sendParts(splitText(redactRich(rich, parts.redact)), answer);
}

/** The record says by id who stopped a task; the chat knows the name. */
function withName(text: string, { task: { stopped_by: by }, parts: { nameOf } }: Sending): string {
  if (by === undefined || nameOf === undefined || !text.startsWith(stoppedBy(by))) return text;
  return `${stoppedBy(nameOf(by))}${text.slice(stoppedBy(by).length)}`;
}

/** In a group several people may have asked; in private it is plain whose task it is about. */
function isInGroup({ to }: Sending): boolean {
  return to.chat < 0;
}

/** Silent unless something is wrong: the answer is what a person is called for. */
async function sendShown(sending: Sending<ShownMessage>): Promise<Receipt> {
  const shown = [sending.content, ...sending.joined.map(({ content }) => content).filter(isShown)];
  const rich = redactRich(joinRich(shown.map(shownText), BETWEEN), sending.parts.redact);
  return await sendParts(splitText(rich), {
    ...sending,
    isReply: isInGroup(sending),
    silent: !shown.some(({ level }) => LOUD.has(level)),
  });
}

async function sendQuestion({
  content,
  to,
  parts,
}: Sending<Extract<Outgoing, { kind: "approval" }>>): Promise<Receipt> {
  const receipt = await parts.questions.ask(content.approval_id, to);
  return receipt === undefined ? {} : { receipt };
}
