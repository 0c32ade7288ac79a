import { makeVisible, REDACTION_MARKER } from "@autonous/runtime/internal";
import type { ApprovalAnswer, ApprovalRequest } from "@autonous/runtime";
import type { InlineKeyboardMarkup } from "grammy/types";

const DIGEST_BOUND = 8;
/** Longer labels are cut by the apps, and what is cut says too little. */
const LABEL_LENGTH = 44;
/** Longer words are not read by the person who presses a button. */
const MAX_EXPLAINED = 240;

type Offer = ApprovalRequest["offers"][number];

/** An offer that has a button. */
interface ButtonOffer {
  readonly choice: `s${number}`;
  readonly label: string;
  readonly words: string;
}

/**
 * The offers with buttons, narrowest first. Words that are redacted, or too long to be read, do not say how far a
 * wider yes goes: such an offer has no button. The narrowest is exactly the call that is shown, and always has one.
 */
export function buttonOffers({ offers }: ApprovalRequest): readonly ButtonOffer[] {
  return offers.flatMap((offer, index): ButtonOffer[] => {
    const isExplained = offer.words.length <= MAX_EXPLAINED && !offer.words.includes(REDACTION_MARKER);
    return index === 0 || isExplained ? [{ choice: `s${index}`, label: labelOf(offer), words: offer.words }] : [];
  });
}

/** In the words of what it allows; where those are too long for a button, in general ones: the text has them all. */
function labelOf({ pattern, offer }: Offer): string {
  const fitting = (label: string, other: string): string => {
    const visible = makeVisible(`Allow ${label} in this chat`);
    return visible.length <= LABEL_LENGTH ? visible : `Allow ${other} in this chat`;
  };
  switch (pattern.kind) {
    case "exact":
      return "Allow exactly this in this chat";
    case "command":
      return fitting(`"${pattern.command}"`, "such commands");
    case "path":
      return fitting(
        `${pattern.tool} ${offer === "folder" ? "below" : "on"} ${pattern.path.replace(/\/\*\*$/, "")}`,
        offer === "folder" ? `${pattern.tool} in this folder` : `${pattern.tool} on this file`,
      );
    case "domain":
      return fitting(`requests to ${pattern.domain}`, "requests to this host");
    case "tool":
      return fitting(pattern.tool, "this tool");
  }
}

const DENY_WITH_REASON = "Deny with a reason…";

/** What a button carries: the choice, what was made up for this message alone, the beginning of the digest, the request. */
export function makeKeyboard(request: ApprovalRequest, nonce: string): InlineKeyboardMarkup {
  const { approval_id, digest } = request;
  const button = (choice: string, text: string) => ({
    text,
    callback_data: [choice, nonce, digest.slice(0, DIGEST_BOUND), approval_id].join(":"),
  });
  return {
    inline_keyboard: [
      [button("y", "Allow once"), button("n", "Deny")],
      ...buttonOffers(request).map(({ choice, label }) => [button(choice, label)]),
      [button("r", DENY_WITH_REASON)],
    ],
  };
}

export interface PressedButton {
  /** `y` once, `n` no, `r` no with a reason, `s0` … the offer of that number, for the chat. */
  readonly choice: string;
  readonly nonce: string;
  readonly digest: string;
  readonly approval_id: string;
}

/** `s` alone is a button of an older version: the narrowest offer. */
const DATA = /^([ynr]|s\d?):([\w-]{8,16}):([0-9a-f]{8}):([\w-]{1,40})$/;

/** Undefined where it is not a button of a question. */
export function readButton(data: string): PressedButton | undefined {
  const [, choice, nonce, digest, approval_id] = DATA.exec(data) ?? [];
  if (choice === undefined || nonce === undefined || digest === undefined || approval_id === undefined)
    return undefined;
  return { choice, nonce, digest, approval_id };
}

export function isBoundTo({ digest }: PressedButton, request: ApprovalRequest): boolean {
  return request.digest.startsWith(digest);
}

/** Undefined where it asks for a reason first, or for an offer that this request has no button for. */
export function answerOf({ choice }: PressedButton, request: ApprovalRequest): ApprovalAnswer | undefined {
  if (choice === "y") return { answer: "grant", scope: "call" };
  if (choice === "n") return { answer: "deny" };
  const wanted = choice === "s" ? "s0" : choice;
  if (!buttonOffers(request).some((each) => each.choice === wanted)) return undefined;
  const offer = request.offers[Number(wanted.slice(1))];
  return offer === undefined ? undefined : { answer: "grant", scope: "session", offer: offer.offer };
}
