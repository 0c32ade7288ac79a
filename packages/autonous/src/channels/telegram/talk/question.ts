import { makeVisible } from "@autonous/runtime";
import type { Approval, ApprovalAnswer, ApprovalRequest, ApprovalState } from "@autonous/runtime";
import type { InlineKeyboardMarkup, MessageEntity } from "grammy/types";
import { requestLines } from "../../terminal/request-lines.ts";
import { MESSAGE_LIMIT } from "../outgoing/split-text.ts";

/** How many characters of what would run stand in the question itself; all of it is sent as a file where it has more. */
const BODY_LIMIT = 3000;
/** No line is broken here: apps do that by themselves, and a file has to hold what would run as it is. */
const COLUMNS = 1_000_000;
const DIGEST_SHOWN = 16;
const DIGEST_BOUND = 8;

export interface Question {
  readonly text: string;
  readonly entities: readonly MessageEntity[];
  /** All of it, where the text has only the beginning. */
  readonly whole?: string;
}

interface Asked {
  readonly now: number;
  /** What became of it. Left out while it is open. */
  readonly outcome?: string;
}

/** What a person is asked to agree to, in the words of the terminal. Nothing in it is hidden or acts on the app. */
export function makeQuestion(request: ApprovalRequest, { now, outcome }: Asked): Question {
  const screen = { paint: (_: unknown, text: string) => text, columns: COLUMNS, rows: Number.MAX_SAFE_INTEGER };
  const [title = "", ...lines] = requestLines(request, { screen, whole: true, now, reserved: 0 });
  const body = [...lines, `  digest     ${request.digest.slice(0, DIGEST_SHOWN)}`].join("\n").toWellFormed();
  const isCut = body.length > BODY_LIMIT;
  const shown = isCut ? cutAtLine(body) : body;
  const remarks = [
    ...(isCut ? ["This is only the beginning: all of it is in the file above. Read it before you answer."] : []),
    outcome ?? widerRemark(request),
  ];
  const head = title.slice(0, MESSAGE_LIMIT - BODY_LIMIT - ROOM_FOR_REMARKS).toWellFormed();
  return {
    text: [head, shown, ...remarks.filter((remark) => remark !== "")].join("\n\n"),
    entities: [
      { type: "bold", offset: 0, length: head.length },
      { type: "pre", offset: head.length + 2, length: shown.length },
    ],
    ...(isCut ? { whole: `${title}\n\n${body}\n` } : {}),
  };
}

const ROOM_FOR_REMARKS = 800;
const WORDS_SHOWN = 300;

function cutAtLine(body: string): string {
  const cut = body.slice(0, BODY_LIMIT);
  const line = cut.lastIndexOf("\n");
  return `${(line > BODY_LIMIT / 2 ? cut.slice(0, line) : cut).toWellFormed()}\n…`;
}

/** How wide the wider yes is. Nobody has to guess what a button means. */
function widerRemark({ offers: [narrowest] }: ApprovalRequest): string {
  if (narrowest === undefined) return "";
  return `"${CHOICES.s.label}" lets through: ${short(narrowest.words)}`;
}

function short(text: string): string {
  const line = makeVisible(text.replaceAll(/\s+/g, " "));
  return (line.length > WORDS_SHOWN ? `${line.slice(0, WORDS_SHOWN)}…` : line).toWellFormed();
}

/** The buttons. Which of its offers a wider yes takes is the narrowest, whose words the question has. */
// oxfmt-ignore
const CHOICES = {
  y: { label: "Allow once",          answer: { answer: "grant", scope: "call" } },
  s: { label: "Allow for this chat", answer: { answer: "grant", scope: "session" } },
  n: { label: "Deny",                answer: { answer: "deny" } },
} as const satisfies Record<string, { readonly label: string; readonly answer: ApprovalAnswer }>;
type Choice = keyof typeof CHOICES;

/** What a button carries: the request, the beginning of its digest, and what was made up for this message alone. */
export function makeKeyboard({ approval_id, digest, offers }: ApprovalRequest, nonce: string): InlineKeyboardMarkup {
  const button = (choice: Choice) => ({
    text: CHOICES[choice].label,
    callback_data: [choice, nonce, digest.slice(0, DIGEST_BOUND), approval_id].join(":"),
  });
  return { inline_keyboard: [[button("y"), button("n")], ...(offers.length === 0 ? [] : [[button("s")]])] };
}

export interface PressedButton {
  readonly choice: Choice;
  readonly nonce: string;
  readonly digest: string;
  readonly approval_id: string;
}

const DATA = /^([ysn]):([\w-]{8,16}):([0-9a-f]{8}):([\w-]{1,40})$/;

/** Undefined where it is no button of ours. */
export function readButton(data: string): PressedButton | undefined {
  const [, choice, nonce, digest, approval_id] = DATA.exec(data) ?? [];
  if (choice === undefined || nonce === undefined || digest === undefined || approval_id === undefined)
    return undefined;
  return { choice: choice as Choice, nonce, digest, approval_id };
}

export function isBoundTo({ digest }: PressedButton, request: ApprovalRequest): boolean {
  return request.digest.startsWith(digest);
}

export function answerOf({ choice }: PressedButton, { offers: [narrowest] }: ApprovalRequest): ApprovalAnswer {
  const { answer } = CHOICES[choice];
  return choice === "s" && narrowest !== undefined ? { ...answer, offer: narrowest.offer } : answer;
}

const FOR = { call: "once", run: "for the rest of the task", session: "for this chat" } as const;

/** What became of a request, for the message that asked. */
// oxfmt-ignore
const OUTCOMES: Readonly<Record<Exclude<ApprovalState, "pending">, (answer: ApprovalAnswer | undefined) => string>> = {
  granted:   (answer) => `Allowed ${FOR[answer?.scope ?? "call"]}${byWhom(answer)}`,
  used:      (answer) => `Allowed ${FOR[answer?.scope ?? "call"]}${byWhom(answer)}`,
  denied:    (answer) => `Denied${byWhom(answer)}`,
  expired:   () => "Nobody answered in time: it was not allowed",
  withdrawn: () => "It is no longer asked for",
};

/** Undefined while it is open. */
export function outcomeOf({ state, answer }: Approval): string | undefined {
  return state === "pending" ? undefined : OUTCOMES[state](answer);
}

function byWhom(answer: ApprovalAnswer | undefined): string {
  if (answer === undefined) return "";
  const where = answer.via === undefined || answer.via === "telegram" ? "" : ` (${short(answer.via)})`;
  return answer.by === undefined ? where : ` by ${short(answer.by)}${where}`;
}
