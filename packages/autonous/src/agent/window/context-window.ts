import type { Message } from "../../model/provider.ts";
import { cutText, excerptOf } from "./excerpts.ts";
import { sumTokens } from "./tokens.ts";
import type { ModelLimits } from "./window-limits.ts";

/**
 * What of the history the model sees. The history itself is never changed (spec 4, The loop); places in it move forward
 * only, and only in strides: between two strides each request begins with all of the one before it, byte by byte.
 */
export interface WindowState {
  /** Where the task stands. It is always shown. */
  readonly task: number;
  /** What was said before this is shown in short. Never between a call and its result. */
  readonly from: number;
  /** That, in short. */
  readonly summary?: string;
  /** The task that is shown above the summary, since it was said before `from`. */
  readonly summary_task?: number;
  /** Large results, replies and arguments before this are shown as excerpts. */
  readonly whole_from: number;
  /** How many messages there were at the last stride. */
  readonly moved_at?: number;
  /** How many of the messages shown before the last stride are shown unchanged after it, up to its boundary. */
  readonly kept?: number;
  /** Texts that were too long even so. */
  readonly squeezed?: SqueezeLimits;
  /** What the models of the run have said about how much they take, by name. */
  readonly models?: Readonly<Record<string, ModelLimits>>;
  /** Of records of earlier versions: a provider said that it takes no more than this. */
  readonly context_tokens?: number;
}

interface SqueezeLimits {
  /** Messages before this have at most as many characters. */
  readonly before: number;
  readonly tool: number;
  /** Of what the user and the model said. */
  readonly said?: number;
}

/** How a conversation is shown when its next task begins. */
export type HistoryWindow = Omit<WindowState, "task">;

/** The state as rounds record it. The summary is in an event of its own. */
export function placesOf({ summary: _summary, ...places }: WindowState): Omit<WindowState, "summary"> {
  return places;
}

/*
 * Shares of what fits beside the system text and the tools, chosen by `npm run bench -- prompt-cache` (decision 25). The
 * window stands still until it is full. A stride makes room for many turns: the provider's cache is lost with each.
 */
/** What stays as it was said when older results become excerpts. */
const UNCUT = 0.3;
/** Excerpts alone are enough where they leave the window no fuller than this; else the older part is summarised. */
const EXCERPTS_TO = 0.5;
/** What is left beside a summary. */
const KEPT = 0.2;
/** A window that is fuller than this after a stride is squeezed, down to `SQUEEZED_TO`. */
const STILL_FULL = 0.85;
const SQUEEZED_TO = 0.6;
/** Texts up to this many characters are not worth an excerpt. */
const SMALL = 3_000;

export interface Stride {
  readonly state: WindowState;
  /** Up to where the history is to be summarised. */
  readonly summarise_to?: number;
}

/** Where the window moves to now; undefined where all of it still fits. A pure function of history and state. */
export function nextStride(state: WindowState, messages: readonly Message[], budget: number): Stride | undefined {
  if (sumTokens(showWindow(state, messages)) <= budget) return undefined;
  const starts = roundStarts(messages);
  const { squeezed: _squeezed, kept: _kept, ...places } = state;
  const whole = firstWithin(starts, messages, budget * UNCUT) ?? starts.at(-1) ?? 0;
  const excerpted = { ...places, whole_from: Math.max(state.whole_from, whole), moved_at: messages.length };
  if (sumTokens(showWindow(excerpted, messages)) <= budget * EXCERPTS_TO) {
    return { state: { ...excerpted, ...keptOf(state, excerpted, messages) } };
  }
  const later = starts.filter((start) => start > state.from && start > firstSaid(state));
  const shown = messages.map((message, index) => shownAs(excerpted, message, index));
  const summarise_to = firstWithin(later, shown, budget * KEPT) ?? later.at(-1);
  return { state: excerpted, ...(summarise_to === undefined ? {} : { summarise_to }) };
}

/** The state after what came before `from` was summarised. The task stays visible. */
export function withSummary(state: WindowState, from: number, summary: string): WindowState {
  const { summary_task: _before, ...rest } = state;
  const asked = from > state.task ? { summary_task: state.task } : {};
  return { ...rest, ...asked, from, summary, whole_from: Math.max(state.whole_from, from) };
}

/** The first of these places from which on everything fits into `tokens`. */
function firstWithin(starts: readonly number[], messages: readonly Message[], tokens: number): number | undefined {
  let sum = 0;
  let end = messages.length;
  let found: number | undefined;
  for (const start of starts.toReversed()) {
    sum += sumTokens(messages.slice(start, end));
    if (sum > tokens) break;
    end = start;
    found = start;
  }
  return found;
}

/** The first that can be summarised: the task before it stays. */
function firstSaid({ task, from }: WindowState): number {
  return from > task || task === 0 ? task + 1 : from;
}

/** Where each round begins: with what the model said. What follows, up to the next, belongs to it. */
function roundStarts(messages: readonly Message[]): readonly number[] {
  return messages.flatMap(({ role }, index) => (role === "assistant" ? [index] : []));
}

/** The history as the model sees it. */
export function showWindow(state: WindowState, messages: readonly Message[]): readonly Message[] {
  const { from, summary, squeezed } = state;
  const rest = messages.slice(from).map((message, index) => shownAs(state, message, from + index));
  if (summary === undefined) return rest;
  const limit = (squeezed?.said ?? Number.POSITIVE_INFINITY) * SUMMARY_SQUEEZED;
  const short = summary.length <= limit ? summary : cutText(summary, limit);
  const said = `Summary of the conversation so far:\n${short}`;
  const task = shownTask(state);
  const asked = task === undefined ? undefined : messages[task];
  if (asked === undefined || task === undefined) return [{ role: "user", text: said }, ...rest];
  return [{ role: "user", text: `${shownAs(state, asked, task).text}\n\n${said}` }, ...rest];
}

/** Records of earlier versions do not name it. */
function shownTask({ summary_task, from, task }: WindowState): number | undefined {
  return summary_task ?? (from > task ? task : undefined);
}

function shownAs({ whole_from, squeezed }: WindowState, message: Message, index: number): Message {
  const { role } = message;
  const old = index < whole_from && role !== "user" ? SMALL : Number.POSITIVE_INFINITY;
  const cut =
    squeezed === undefined || index >= squeezed.before ? undefined : squeezed[role === "tool" ? "tool" : "said"];
  const limit = Math.min(old, cut ?? Number.POSITIVE_INFINITY);
  return Number.isFinite(limit) ? excerptOf(message, limit) : message;
}

/**
 * Where a provider's cache is good for more than the next request, as numbers of shown messages: the end of the excerpts,
 * which stay as they are at the next stride that makes do with excerpts; in the first request after such a stride also
 * where they ended before it.
 */
export function stablePlaces(state: WindowState, messages: readonly Message[]): readonly number[] {
  const kept = state.moved_at === messages.length ? (state.kept ?? 0) : 0;
  return [kept, boundaryOf(state)].filter((place) => place > 0);
}

function boundaryOf({ whole_from, from, summary }: WindowState): number {
  return Math.max(0, whole_from - from) + (summary === undefined ? 0 : 1);
}

function keptOf(before: WindowState, after: WindowState, messages: readonly Message[]): { readonly kept?: number } {
  const boundary = boundaryOf(before);
  const now = showWindow(after, messages);
  const isSame = showWindow(before, messages)
    .slice(0, boundary)
    .every((message, index) =>
      index === 0 && before.summary !== undefined ? message.text === now[0]?.text : message === now[index],
    );
  return boundary > 0 && isSame ? { kept: boundary } : {};
}

/** A summary stands for many messages: it keeps more of its text than one of them. */
const SUMMARY_SQUEEZED = 4;

/** How short texts become, step by step, before a window is sent that is too large all the same: results first. */
const SQUEEZES: readonly Omit<SqueezeLimits, "before">[] = [
  { tool: 12_000 },
  { tool: 3_000 },
  { tool: 800 },
  { tool: 800, said: 12_000 },
  { tool: 800, said: 3_000 },
  { tool: 800, said: 800 },
  { tool: 200, said: 200 },
];

/** A window with room for the next turns, where cutting texts can make it. */
export function squeezeWindow(state: WindowState, messages: readonly Message[], budget: number): WindowState {
  if (sumTokens(showWindow(state, messages)) <= budget * STILL_FULL) return state;
  const squeezed = SQUEEZES.map((cut): WindowState => ({ ...state, squeezed: { before: messages.length, ...cut } }));
  const fitting = squeezed.find((each) => sumTokens(showWindow(each, messages)) <= budget * SQUEEZED_TO);
  return fitting ?? squeezed.at(-1) ?? state;
}
