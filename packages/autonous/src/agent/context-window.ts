import type { Message } from "../model/provider.ts";
import { messageTokens, sumTokens } from "./tokens.ts";

/**
 * What of the history the model sees. The history itself is never changed (spec 4, The loop); all numbers are places
 * in it, and move forward only.
 */
export interface WindowState {
  /** Where the task stands. It is always shown. */
  readonly task: number;
  /** What was said before this is shown in short. Never between a call and its result. */
  readonly from: number;
  /** That, in short. */
  readonly summary?: string;
  /** Large results before this are shown as excerpts. */
  readonly whole_from: number;
  /** A provider said that it takes no more than this. */
  readonly context_tokens?: number;
}

/** How a conversation is shown when its next task begins. */
export type HistoryWindow = Omit<WindowState, "task">;

/** The state as rounds record it. The summary is in an event of its own. */
export function placesOf({ summary: _summary, ...places }: WindowState): Omit<WindowState, "summary"> {
  return places;
}

/** Of what fits beside the system text and the tools. Excerpts at half: what a provider caches then changes seldom. */
const EXCERPTS_ABOVE = 0.5;
const SUMMARY_ABOVE = 0.8;
/** What is left as it is when the rest is summarised. */
const KEPT = 0.3;
/** The last rounds, whose results are whole. */
const RECENT_ROUNDS = 3;
/** Results up to this many characters are not worth an excerpt. */
const SMALL = 3_000;

/** Shows older results as excerpts from now on, where the window fills up. A pure function of history and state. */
export function advanceWindow(state: WindowState, messages: readonly Message[], budget: number): WindowState {
  const used = sumTokens(showWindow(state, messages));
  if (used <= budget * EXCERPTS_ABOVE) return state;
  const rounds = roundStarts(messages);
  const whole_from = Math.max(state.whole_from, rounds.at(-RECENT_ROUNDS) ?? 0);
  return { ...state, whole_from };
}

/** Up to where the history is to be summarised now; undefined where all of it still fits. */
export function whatToSummarise(state: WindowState, messages: readonly Message[], budget: number): number | undefined {
  if (sumTokens(showWindow(state, messages)) <= budget * SUMMARY_ABOVE) return undefined;
  const starts = roundStarts(messages).filter((start) => start > state.from && start > firstSaid(state));
  const fitting = starts.find(
    (start) => sumTokens(messages.slice(start).map((each, at) => shown(state, each, start + at))) <= budget * KEPT,
  );
  return fitting ?? starts.at(-1);
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
  const { task, from, summary } = state;
  const rest = messages.slice(from).map((message, index) => shown(state, message, from + index));
  if (summary === undefined) return rest;
  const said = `What was said and done so far, in short:\n${summary}`;
  const asked = from > task ? messages[task]?.text : undefined;
  return [{ role: "user", text: asked === undefined ? said : `${asked}\n\n${said}` }, ...rest];
}

const excerpts = new WeakMap<Message, Message>();

function shown({ whole_from }: WindowState, message: Message, index: number): Message {
  if (index >= whole_from || message.role !== "tool" || message.text.length <= SMALL) return message;
  const known = excerpts.get(message) ?? excerptOf(message, SMALL);
  excerpts.set(message, known);
  return known;
}

/** The beginning and the end of a long text, and how to get at what is between them. */
function excerptOf(message: Message, limit: number): Message {
  const { text } = message;
  if (text.length <= limit) return message;
  const head = text.slice(0, Math.floor(limit / 2));
  const tail = text.slice(-Math.floor(limit / 4));
  const ref = message.role === "tool" ? message.result.payload?.storage_ref : undefined;
  const how = ref === undefined ? "make the call again to see it" : `the whole is kept as ${ref}`;
  const gap = `[${text.length - head.length - tail.length} characters are left out here${message.role === "tool" ? `; ${how}` : ""}]`;
  return { ...message, text: `${head}\n${gap}\n${tail}`.toWellFormed() };
}

/** How short texts become, step by step, before a window is sent that is too large all the same. */
const SQUEEZED = [12_000, 3_000, 800] as const;

/** A window that fits, where cutting texts can make it: results first, then what people said. */
export function squeeze(window: readonly Message[], budget: number): readonly Message[] {
  let squeezed = window;
  for (const roles of [["tool"], ["tool", "user"]]) {
    for (const limit of SQUEEZED) {
      if (sumTokens(squeezed) <= budget) return squeezed;
      squeezed = window.map((message) => (roles.includes(message.role) ? excerptOf(message, limit) : message));
    }
  }
  return squeezed;
}

/** What was said, as text to be summarised, within so many tokens. */
export function transcriptOf(messages: readonly Message[], tokens: number): string {
  const each = Math.max(200, Math.floor((tokens * 2) / Math.max(1, messages.length)));
  const lines = messages.map((message) => {
    const calls =
      message.role === "assistant" && message.calls !== undefined
        ? ` ${JSON.stringify(message.calls.map(({ name, arguments: args }) => ({ name, arguments: args })))}`
        : "";
    const who = message.role === "tool" ? `result of ${message.name}` : message.role;
    return `${who}: ${excerptOf({ role: "user", text: `${message.text}${calls}` }, each).text}`;
  });
  while (lines.length > 1 && messageTokens({ role: "user", text: lines.join("\n") }) > tokens)
    lines.splice(0, Math.ceil(lines.length / 4));
  return lines.join("\n");
}
