import { makeVisible, showPlainlyLines, visibleJson } from "@autonous/runtime/internal";
import type { ApprovalAnswer, ApprovalRequest } from "@autonous/runtime";
import type { Approval, ApprovalState } from "@autonous/runtime/internal";
import type { MessageEntity } from "grammy/types";
import { wantedOf } from "../../words/call-words.ts";
import { isObject } from "../../../store/sqlite/kept-json.ts";
import { requestLines, riskOf, timeLeft } from "../../terminal/request-lines.ts";
import { buttonOffers } from "./question-buttons.ts";
import { cut, oneLine } from "./short-text.ts";

/** How much of what would run, or change, is in the question itself. The rest is in a file above it. */
const BLOCK = { characters: 2000, lines: 80 } as const;
const SENTENCE_LENGTH = 300;
const WHY_LENGTH = 400;
const DETAILS_LENGTH = 600;
const WORDS_LENGTH = 240;
/** No line is broken in the file: it holds what would run as it is. */
const COLUMNS = 1_000_000;
const DIGEST_SHOWN = 16;

export interface Question {
  readonly text: string;
  readonly entities: readonly MessageEntity[];
  /** All of it, where the text has only the beginning. */
  readonly whole?: string;
}

interface QuestionState {
  readonly now: number;
  /** Its outcome. Absent while it is open. */
  readonly outcome?: string;
}

/** A part of the message, and how it is shown. */
interface Piece {
  readonly text: string;
  readonly entity?:
    | { readonly type: "bold" }
    | { readonly type: "pre"; readonly language: string }
    | { readonly type: "expandable_blockquote" };
}

/**
 * What a person is asked to agree to, for the screen of a phone: one sentence, then exactly what would run or change, why
 * it is asked, what each wider yes allows, and the rest folded. Nothing in it is hidden or acts on the app.
 */
export function makeQuestion(request: ApprovalRequest, { now, outcome }: QuestionState): Question {
  const block = blockOf(request);
  const shown = cutBlock(block.text);
  const details = detailLines(request, now).join("\n");
  const isCut = shown !== block.text || details.length > DETAILS_LENGTH || hasMore(request);
  const pieces: readonly Piece[] = [
    { text: cut(sentenceOf(request), SENTENCE_LENGTH), entity: { type: "bold" } },
    ...(shown === "" ? [] : [{ text: shown, entity: { type: "pre", language: block.language } } as const]),
    ...(isCut ? [{ text: "Truncated: the file above has the full text. Read it before you answer." }] : []),
    { text: cut(`Why you are asked: ${oneLine(request.reason)}`, WHY_LENGTH) },
    ...(outcome === undefined ? offerPieces(request) : []),
    { text: cut(details, DETAILS_LENGTH), entity: { type: "expandable_blockquote" } },
    ...(outcome === undefined ? [] : [{ text: outcome, entity: { type: "bold" } } as const]),
  ];
  return { ...joined(pieces), ...(isCut ? { whole: wholeOf(request, now) } : {}) };
}

/** Who wants to do what. */
function sentenceOf(request: ApprovalRequest): string {
  const { tool, params, commands = [], changes = [] } = request;
  const folders = new Set(commands.map(({ folder }) => folder));
  const [folder = ""] = folders;
  const where = folders.size === 1 ? ` in ${oneLine(folder)}` : "";
  const network = commands.some((each) => each.network) ? ", with network access" : "";
  const files = changes.length > 1 ? ` (${changes.length} files)` : "";
  return `The agent wants to ${wantedOf(tool, params)}${where}${network}${files}.`;
}

interface Block {
  readonly text: string;
  readonly language: string;
}

/** What matters most: the change as a diff, the command, else the arguments. */
function blockOf({ changes = [], commands = [], params, args_json }: ApprovalRequest): Block {
  if (changes.length > 0) return { text: changes.map(diffOf).join("\n").toWellFormed(), language: "diff" };
  const command = commandOf(params, args_json);
  if (command !== undefined) return { text: command, language: "bash" };
  if (commands.length > 0)
    return { text: commands.map((each) => makeVisible(each.command)).join("\n"), language: "bash" };
  const hasArguments = isObject(params) && Object.keys(params).length > 0;
  return { text: hasArguments ? visibleJson(params, 2).toWellFormed() : "", language: "json" };
}

type Change = NonNullable<ApprovalRequest["changes"]>[number];

/** A diff names its file itself; what stands for one does not. */
function diffOf({ path, diff, truncated }: Change): string {
  const text = showPlainlyLines(diff).trimEnd();
  const named = /^(?:---|diff |old mode)/.test(text) ? text : `${makeVisible(path)}: ${text}`;
  return truncated ? `${named}\n… (diff too long to show)` : named;
}

/** With its own line ends where it holds no secret; else as the redacted arguments have it. */
function commandOf(params: unknown, args_json: string | undefined): string | undefined {
  const exact: unknown = args_json === undefined ? params : JSON.parse(args_json);
  const command = isObject(exact) ? exact["cmd"] : undefined;
  return typeof command === "string" ? showPlainlyLines(command).trim().toWellFormed() : undefined;
}

/** Paths and commands beyond those that the details name, and changes that are too long even for the request. */
function hasMore({ touches, commands = [], changes = [] }: ApprovalRequest): boolean {
  return touches.length > LISTED || commands.length > LISTED || changes.some(({ truncated }) => truncated);
}

function cutBlock(text: string): string {
  const lines = text.split("\n");
  const few = lines.length > BLOCK.lines ? `${lines.slice(0, BLOCK.lines).join("\n")}\n…` : text;
  if (few.length <= BLOCK.characters) return few;
  const start = few.slice(0, BLOCK.characters);
  const end = start.lastIndexOf("\n");
  return `${(end > BLOCK.characters / 2 ? start.slice(0, end) : start).toWellFormed()}\n…`;
}

/** What each button for more than this call allows. */
function offerPieces(request: ApprovalRequest): readonly Piece[] {
  const lines = buttonOffers(request).map(
    ({ label, words }) => `${label}: allows ${cut(oneLine(words), WORDS_LENGTH)}`,
  );
  return lines.length === 0 ? [] : [{ text: lines.join("\n") }];
}

const LISTED = 5;

/** The rest, for who unfolds it. */
function detailLines(request: ApprovalRequest, now: number): readonly string[] {
  const { tool, version, rule, touches, commands = [], script, digest, expires_at } = request;
  const others = otherArguments(request);
  return [
    `Risk: ${riskOf(request)}`,
    `Tool: ${oneLine(tool)} ${oneLine(version)}`,
    `Rule: ${oneLine(rule)}`,
    ...commands
      .slice(0, LISTED)
      .map(({ command, found }) => `Command: ${oneLine(command)}${found === undefined ? "" : ` (${oneLine(found)})`}`),
    ...touches.slice(0, LISTED).map(({ path, access }) => `Path: ${access} ${oneLine(path)}`),
    ...(script === undefined
      ? []
      : [`Script: ${oneLine(script.path)} of the skill ${oneLine(script.skill)}, sha256 ${script.sha256}`]),
    `Digest: ${digest.slice(0, DIGEST_SHOWN)}`,
    `Expires in ${timeLeft(expires_at, now)}`,
    ...(others === undefined ? [] : [`Arguments: ${others}`]),
  ];
}

/** Those of a command beside itself. Without a command, all arguments are in the block, or it shows what they change. */
function otherArguments({ changes = [], params }: ApprovalRequest): string | undefined {
  if (changes.length > 0 || !isObject(params) || typeof params["cmd"] !== "string") return undefined;
  const { cmd: _, ...others } = params;
  return Object.keys(others).length === 0 ? undefined : visibleJson(others);
}

function wholeOf(request: ApprovalRequest, now: number): string {
  const screen = { paint: (_: unknown, text: string) => text, columns: COLUMNS, rows: Number.MAX_SAFE_INTEGER };
  const lines = requestLines(request, { screen, whole: true, now, reserved: 0, elsewhere: false });
  return `${sentenceOf(request)}\n\n${lines.slice(1).join("\n").toWellFormed()}\n`;
}

const BETWEEN = "\n\n";

function joined(pieces: readonly Piece[]): Omit<Question, "whole"> {
  const entities: MessageEntity[] = [];
  let text = "";
  for (const piece of pieces) {
    if (text !== "") text += BETWEEN;
    if (piece.entity !== undefined) entities.push({ ...piece.entity, offset: text.length, length: piece.text.length });
    text += piece.text;
  }
  return { text, entities };
}

const FOR = { call: "once", run: "for the rest of the task", session: "in this chat" } as const;
const REASON_SHOWN = 400;

/** The outcome of a request, for the message that asked. */
// oxfmt-ignore
const OUTCOMES: Readonly<Record<Exclude<ApprovalState, "pending">, (approval: Approval, nameOf: NameOf) => string>> = {
  granted:   allowed,
  used:      allowed,
  denied:    ({ answer }, nameOf) => `Denied${byWhom(answer, nameOf)}${reasonIn(answer)}`,
  expired:   () => "Expired: no answer in time, so it was not allowed",
  withdrawn: () => "Withdrawn: the task no longer needs it",
};

/** How a person is called in the chat, by what the record calls them. */
export type NameOf = (by: string) => string;

/** Undefined while it is open. */
export function outcomeOf(approval: Approval, nameOf: NameOf): string | undefined {
  return approval.state === "pending" ? undefined : OUTCOMES[approval.state](approval, nameOf);
}

function allowed({ answer, request: { offers } }: Approval, nameOf: NameOf): string {
  const scope = answer?.scope ?? "call";
  const offer = scope === "call" ? undefined : (offers.find((each) => each.offer === answer?.offer) ?? offers[0]);
  const what = offer === undefined ? "" : `: ${cut(oneLine(offer.words), WORDS_LENGTH)}`;
  return `Allowed ${FOR[scope]}${byWhom(answer, nameOf)}${what}`;
}

function byWhom(answer: ApprovalAnswer | undefined, nameOf: NameOf): string {
  if (answer === undefined) return "";
  const where = answer.via === undefined || answer.via === "telegram" ? "" : ` (${cut(oneLine(answer.via), 100)})`;
  return answer.by === undefined ? where : ` by ${cut(oneLine(nameOf(answer.by)), 100)}${where}`;
}

function reasonIn(answer: ApprovalAnswer | undefined): string {
  const reason = oneLine(answer?.reason ?? "");
  return reason === "" ? "" : `: ${cut(reason, REASON_SHOWN)}`;
}
