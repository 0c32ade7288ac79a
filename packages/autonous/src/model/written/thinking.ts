import { CodeSpans } from "./code-spans.ts";

/** A model's text without the leading thinking. */
export interface SpokenText {
  readonly text: string;
  /** The thinking has no end, so the answer is empty: this is the thinking. */
  readonly unclosed?: string;
}

/** Marks of thinking if the server does not separate it. */
// oxfmt-ignore
const MARKS = [
  ["<think>", "</think>"], ["<thinking>", "</thinking>"], ["<thought>", "</thought>"], ["<reasoning>", "</reasoning>"],
  ["<seed:think>", "</seed:think>"], ["[THINK]", "[/THINK]"], ["◁think▷", "◁/think▷"],
  ["<|begin_of_thought|>", "<|end_of_thought|>"], ["<|channel>thought", "<channel|>"], ["<|START_THINKING|>", "<|END_THINKING|>"],
] as const;
/** Some models think in several blocks. */
const MAX_BLOCKS = 20;
/** End tokens of a reply in various formats. */
const END =
  /(?:<\|(?:im_end|eot_id|eom_id|end|return|endoftext|end_of_text|end_of_turn|END_RESPONSE)\|>|<｜end▁of▁sentence｜>|<end_of_turn>|<\/s>)$/;

/**
 * The answer in a text that may start with thinking, in any marks, with or without the opening one. Only at the start:
 * an answer may mention such marks. `isJson`: the answer is a JSON object, and marks inside it are data. Never throws;
 * linear time.
 */
export function withoutThinking(said: string, { isJson = false }: { readonly isJson?: boolean } = {}): SpokenText {
  const harmony = harmonyAnswer(said);
  if (harmony !== undefined) return harmony;
  let text = said.trimStart();
  for (let blocks = 0; blocks < MAX_BLOCKS; blocks++) {
    const mark = MARKS.find(([open]) => text.startsWith(open));
    if (mark === undefined) break;
    const inner = text.slice(mark[0].length);
    const end = firstEnd(inner, mark[1]);
    if (end === undefined) return { text: "", unclosed: inner };
    text = inner.slice(end).trimStart();
  }
  return { text: withoutEnds(withoutUnopened(text, isJson ? text.indexOf("{") : -1)) };
}

/** Position after the end of a block. Some models open it with one mark and close it with another. */
function firstEnd(text: string, close: string): number | undefined {
  const own = text.indexOf(close);
  if (own !== -1) return own + close.length;
  const other = MARKS.slice(0, 4)
    .map(([, end]) => ({ at: text.indexOf(end), end }))
    .find(({ at }) => at !== -1);
  return other && other.at + other.end.length;
}

/**
 * The template may have opened the thinking, so that the reply contains only its end: on a separate line, or after a
 * sentence.
 */
function withoutUnopened(text: string, data: number): string {
  for (const [open, close] of MARKS) {
    const at = text.indexOf(close);
    if (data !== -1 && at > data) continue;
    if (at === -1 || text.slice(0, at).includes(open) || !endsThought(text, at, close) || isInCode(text, at)) continue;
    return text.slice(at + close.length).trimStart();
  }
  return text;
}

function endsThought(text: string, at: number, close: string): boolean {
  const before = text.slice(Math.max(0, at - 1), at);
  const after = text.slice(at + close.length, at + close.length + 1);
  return /^$|[\n.!?…。)]/.test(before) || /^$|[\r\n]/.test(after);
}

function isInCode(text: string, at: number): boolean {
  const code = new CodeSpans(text);
  for (let span = code.nextFrom(0); span !== undefined && span.start <= at; span = code.nextFrom(span.end)) {
    if (at < span.end) return true;
  }
  return false;
}

const FINAL = "<|channel|>final";
const MESSAGE = "<|message|>";
const CHANNEL = /^\s*(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary|final)/;
const BARE = /^(?:analysis|assistantanalysis)(?=[A-Z])/;
const BARE_FINAL = "assistantfinal";

/** gpt-oss: `<|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>final<|message|>…`. */
function harmonyAnswer(said: string): SpokenText | undefined {
  if (BARE.test(said)) {
    const at = said.indexOf(BARE_FINAL);
    return at === -1 ? undefined : { text: withoutEnds(said.slice(at + BARE_FINAL.length).trim()) };
  }
  if (!CHANNEL.test(said)) return undefined;
  const final = said.indexOf(FINAL);
  const message = final === -1 ? -1 : said.indexOf(MESSAGE, final);
  if (message !== -1) return { text: withoutEnds(said.slice(message + MESSAGE.length).trimStart()) };
  // A server may have removed the marks of the answer, but not those of the thinking.
  const end = said.indexOf("<|end|>");
  const rest = end === -1 ? "" : said.slice(end + "<|end|>".length).trim();
  if (rest !== "" && !rest.includes("<|channel|>")) return { text: withoutEnds(rest) };
  return { text: "", unclosed: said };
}

function withoutEnds(said: string): string {
  let text = said.trimEnd();
  for (let times = 0; times < MAX_BLOCKS; times++) {
    const end = END.exec(text.slice(-40))?.[0];
    if (end === undefined) break;
    text = text.slice(0, -end.length).trimEnd();
  }
  return text;
}
