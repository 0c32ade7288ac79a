import type { Message } from "../../model/provider.ts";
import { cutText, excerptOf } from "./excerpts.ts";
import { sumTokens } from "./tokens.ts";
import type { ModelLimits } from "./window-limits.ts";

/**
 * The part of the history that the model sees. The history itself never changes (spec 4, The loop). Positions only
 * move forward, in strides: between two strides, each request starts with all bytes of the previous one.
 */
export interface WindowState {
  /** Position of the task, which is always shown. */
  readonly task: number;
  /** Messages before this are replaced by the summary. Never between a call and its result. */
  readonly from: number;
  /** Summary of the messages before `from`. */
  readonly summary?: string;
  /** The task shown above the summary, if it is before `from`. */
  readonly summary_task?: number;
  /** Large results, replies and arguments before this are shown as excerpts. */
  readonly whole_from: number;
  /** Number of messages at the last stride. */
  readonly moved_at?: number;
  /** How many messages shown before the last stride are unchanged after it, up to its boundary. */
  readonly kept?: number;
  /** Further limits for texts, if the window was still too large. */
  readonly squeezed?: SqueezeLimits;
  /** Known limits of the run's models, by name. */
  readonly models?: Readonly<Record<string, ModelLimits>>;
  /** In records of earlier versions: the limit that a provider reported. */
  readonly context_tokens?: number;
}

interface SqueezeLimits {
  /** The limits, in characters, apply to messages before this. */
  readonly before: number;
  readonly tool: number;
  /** For messages of the user and the model. */
  readonly said?: number;
}

/** How a conversation is shown when its next task starts. */
export type HistoryWindow = Omit<WindowState, "task">;

/** The state as recorded with rounds. The summary has its own event. */
export function placesOf({ summary: _summary, ...places }: WindowState): Omit<WindowState, "summary"> {
  return places;
}

/*
 * Shares of the space beside the system text and the tools, chosen by `npm run bench -- prompt-cache` (decision 25).
 * The window does not move until it is full. A stride makes room for many turns, because each one loses the provider's
 * cache.
 */
/** Share that stays verbatim when older results become excerpts. */
const UNCUT = 0.3;
/** Excerpts are enough if they fill at most this share; otherwise the older part is summarised. */
const EXCERPTS_TO = 0.5;
/** Share that remains beside a summary. */
const KEPT = 0.2;
/** A window that is fuller than this after a stride is squeezed, down to `SQUEEZED_TO`. */
const STILL_FULL = 0.85;
const SQUEEZED_TO = 0.6;
/** Texts up to this length, in characters, get no excerpt. */
const SMALL = 3_000;

export interface Stride {
  readonly state: WindowState;
  /** Messages before this must be summarised. */
  readonly summarise_to?: number;
}

/** The next position of the window; undefined if everything still fits. A pure function of history and state. */
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

/** The state after the messages before `from` were summarised. The task stays visible. */
export function withSummary(state: WindowState, from: number, summary: string): WindowState {
  const { summary_task: _before, ...rest } = state;
  const asked = from > state.task ? { summary_task: state.task } : {};
  return { ...rest, ...asked, from, summary, whole_from: Math.max(state.whole_from, from) };
}

/** The first of these positions from which everything fits into `tokens`. */
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

/** The first message that can be summarised: the task before it stays. */
function firstSaid({ task, from }: WindowState): number {
  return from > task || task === 0 ? task + 1 : from;
}

/** Start of each round: the model's reply. Everything up to the next reply belongs to it. */
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

/** Missing in records of earlier versions. */
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
 * Positions, in shown messages, where a provider's cache is useful for longer than the next request: the end of the
 * excerpts, which later strides by excerpts keep; in the first request after such a stride also the previous end.
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

/** A summary replaces many messages, so it may be longer than one of them. */
const SUMMARY_SQUEEZED = 4;

/** Steps that shorten texts, results first, before an oversized window is sent. */
const SQUEEZES: readonly Omit<SqueezeLimits, "before">[] = [
  { tool: 12_000 },
  { tool: 3_000 },
  { tool: 800 },
  { tool: 800, said: 12_000 },
  { tool: 800, said: 3_000 },
  { tool: 800, said: 800 },
  { tool: 200, said: 200 },
];

/** A window with room for the next turns, if truncating texts can make it. */
export function squeezeWindow(state: WindowState, messages: readonly Message[], budget: number): WindowState {
  if (sumTokens(showWindow(state, messages)) <= budget * STILL_FULL) return state;
  const squeezed = SQUEEZES.map((cut): WindowState => ({ ...state, squeezed: { before: messages.length, ...cut } }));
  const fitting = squeezed.find((each) => sumTokens(showWindow(each, messages)) <= budget * SQUEEZED_TO);
  return fitting ?? squeezed.at(-1) ?? state;
}
