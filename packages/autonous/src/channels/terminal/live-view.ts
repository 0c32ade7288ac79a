import { join } from "node:path";
import { makeVisible } from "@autonous/runtime/internal";
import type { RuntimeEvent, ToolCallResult } from "@autonous/runtime";
import type { AttachedFile, EventType, Progress } from "@autonous/runtime/internal";
import { changeLines } from "./change-lines.ts";
import { callWords, problemOf } from "../words/event-words.ts";
import { noteLines } from "./note-lines.ts";
import { outputLines } from "./command-output.ts";
import { problemOfReply } from "../../model/failures/reply-words.ts";
import { skillWords } from "../../store/record/skill-words.ts";
import { switchWords } from "../../store/record/switch-words.ts";
import { createProgressView } from "./progress-view.ts";
import type { Layout } from "./plain-layout.ts";
import type { Screen } from "./screen.ts";
import { createStreamView } from "./stream-view.ts";
import { cutTo, wrap } from "../words/width.ts";

type Payload = RuntimeEvent["payload"];

/** A run as it happens. */
export interface LiveView {
  /** `result`: of the call that the event ends. */
  event(event: RuntimeEvent, result?: ToolCallResult): void;
  progress(progress: Progress): void;
  /** A piece of the streamed reply, redacted. */
  delta(delta: { readonly kind: "text" | "reasoning"; readonly text: string }): void;
  /** The model request is retried. */
  retry(retry: { readonly wait_ms: number; readonly reason: string }): void;
  /** Whether the complete answer of the last turn is on the screen already. */
  readonly isAnswerShown: boolean;
}

export interface LiveViewOptions {
  /** The folder of a run, for the paths of its files. */
  readonly folderOf?: (run_id: string) => string;
  /** Shows all output of commands, and complete changes. */
  readonly verbose?: boolean;
  /** Layout of replies. Default: plain text. */
  readonly layout?: Layout;
}

export function createLiveView(screen: Screen, options: LiveViewOptions = {}): LiveView {
  const { folderOf = (run_id) => run_id, verbose = false } = options;
  const running = new Map<string, Payload>();
  const bar = createProgressView(screen, {
    nameOf: (id) => textOr(running.get(id)?.["tool_name"], ""),
    titleOf: (id) => fit(screen, `running ${callWords(running.get(id) ?? {})}`),
    verbose,
  });
  const stream = createStreamView(screen, {
    verbose,
    ...(options.layout === undefined ? {} : { layout: options.layout }),
  });
  let isAnswerShown = false;
  /** An answer that was cut off arrives in pieces. */
  let arePiecesShown = true;

  /** Streamed text is not shown again. */
  function settle({ type, payload }: RuntimeEvent): boolean {
    if (type === "model.failed" || type === "model.switched") stream.drop();
    if (type !== "model.completed") return false;
    const isPiece = payload["kind"] === "cut";
    const isAnswer = isPiece || payload["kind"] === "final";
    const isShown = stream.settle(textOr(payload[isAnswer ? "answer" : "progress"], ""));
    arePiecesShown = !isAnswer || (arePiecesShown && isShown);
    isAnswerShown = isAnswer && arePiecesShown;
    if (payload["kind"] === "final") arePiecesShown = true;
    return isShown && payload["kind"] === "tool_calls";
  }
  return {
    event(event, result) {
      if (settle(event)) return;
      const tool_call_id = String(event.payload["tool_call_id"]);
      let isOutputShown = false;
      if (event.type === "tool_call.started") running.set(tool_call_id, event.payload);
      if (event.type === "tool_call.completed" || event.type === "tool_call.failed") {
        running.delete(tool_call_id);
        isOutputShown = bar.over(tool_call_id);
      }
      const context = { screen, result, folder: folderOf(event.run_id), verbose, isOutputShown };
      screen.print(LIVE[event.type]?.(event.payload, context) ?? []);
      const underWay = UNDER_WAY[event.type]?.(event.payload);
      if (underWay !== undefined) screen.status(fit(screen, `  ${underWay}`));
    },
    progress: (progress) => bar.show(progress),
    delta: ({ kind, text }) => (kind === "text" ? stream.push(text) : stream.think(text)),
    retry({ wait_ms, reason }) {
      stream.drop();
      const wait = `${(wait_ms / 1000).toFixed(1)} s`;
      screen.print(paragraph(screen, `retrying the model in ${wait}: ${reason}`, { indent: "  ", style: "yellow" }));
    },
    get isAnswerShown() {
      return isAnswerShown;
    },
  };
}

interface LiveContext {
  readonly screen: Screen;
  /** State of the run. */
  readonly folder: string;
  readonly result: ToolCallResult | undefined;
  readonly verbose: boolean;
  /** The command's output stays above. */
  readonly isOutputShown: boolean;
}

/** The status line, until the next one replaces it. */
// oxfmt-ignore
const UNDER_WAY: Readonly<Partial<Record<EventType, (payload: Payload) => string>>> = {
  "turn.started":      () => "asking the model",
  "tool_call.started": (payload) => `running ${callWords(payload)}`,
};

/** How events are shown; most are not. A failed model ends the task, and the task's report says why. */
// oxfmt-ignore
const LIVE: Readonly<Partial<Record<EventType, (payload: Payload, context: LiveContext) => readonly string[]>>> = {
  "turn.started":        ({ turn }, { screen }) => [line(screen, "bold", `turn ${String(turn)}`)],
  "model.completed":     modelLines,
  "model.switched":      (payload, { screen }) => paragraph(screen, switchWords(payload), { indent: "  ", style: "yellow" }),
  "tool_call.completed": completedLines,
  "tool_call.failed":    failedLines,
  "approval_granted":    grantedLines,
  "skill.activated":     (payload, { screen }) => [line(screen, "yellow", `  skill ${String(payload["skill"])}: ${skillWords(payload)}`)],
  "display":             displayLines,
  "todo":                (payload, context) => displayLines({ ...payload, level: "progress", title: stepWords(payload) }, context),
};

/** Not shown for answers at this terminal: the user gave them. */
function grantedLines({ tool_name, by, via }: Payload, { screen }: LiveContext): readonly string[] {
  if (via === "terminal") return [];
  const said = `${String(tool_name)}: allowed by ${textOr(by, "a person")}, via ${textOr(via, "the audit log")}`;
  return paragraph(screen, said, { indent: "  ", style: "dim" });
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === "string" ? value : otherwise;
}

/** One line that fits, without terminal control characters. */
function line(screen: Screen, style: Parameters<Screen["paint"]>[0] | undefined, text: string): string {
  const shown = fit(screen, text);
  return style === undefined ? shown : screen.paint(style, shown);
}

function fit({ columns }: Screen, text: string): string {
  const shown = makeVisible(text.replaceAll(/\s*[\n\r]+\s*/g, " "));
  return columns === undefined ? shown : cutTo(shown, columns);
}

const PARAGRAPH_LINES = 6;
const MAX_TEXT_LENGTH = 4000;

interface ParagraphOptions {
  readonly indent?: string;
  readonly style?: Parameters<Screen["paint"]>[0];
}

/** Text wrapped between words, truncated to a short paragraph. */
function paragraph(
  { columns, paint }: Screen,
  text: string,
  { indent = "    ", style }: ParagraphOptions = {},
): readonly string[] {
  const shown = makeVisible(text.replaceAll(/\s*[\n\r]+\s*/g, " ").slice(0, MAX_TEXT_LENGTH));
  const all = columns === undefined ? [shown] : noteLines(shown, Math.max(10, columns - indent.length));
  const rows = all.length > PARAGRAPH_LINES ? [...all.slice(0, PARAGRAPH_LINES), "…"] : all;
  return rows.map((row) => `${indent}${style === undefined ? row : paint(style, row)}`);
}

/** What the model says with its calls. Its answer is the result of the run, and is not shown twice. */
function modelLines({ kind, progress, message }: Payload, { screen }: LiveContext): readonly string[] {
  if (kind === "invalid")
    return [line(screen, "red", "  invalid reply"), ...paragraph(screen, problemOfReply(String(message)))];
  if (kind === "cut") return [line(screen, "dim", "  the reply was cut off at the output limit")];
  return kind === "tool_calls" && progress !== "" ? paragraph(screen, String(progress), { indent: "  " }) : [];
}

function completedLines(payload: Payload, context: LiveContext): readonly string[] {
  const { screen, result, folder, verbose, isOutputShown } = context;
  return [
    outcomeLine(payload, { screen, word: "ok", style: "green" }),
    ...(isOutputShown ? [] : outputLines(result, { screen, isFailed: false, all: verbose })),
    ...changeLines(payload, result, { screen, all: verbose }),
    ...attachedLines(payload, folder).map((each) => `    ${each}`),
  ];
}

/** Paths of attached files: not truncated, so that the user can copy them. */
export function attachedLines({ attachments = [] }: Payload, folder: string): readonly string[] {
  return (attachments as readonly AttachedFile[]).map(({ name, artifact, caption }) => {
    const about = caption === undefined ? "" : ` (${caption})`;
    return makeVisible(`attached ${name}${about}: ${join(folder, artifact)}`);
  });
}

function failedLines(payload: Payload, context: LiveContext): readonly string[] {
  const { screen, result, verbose, isOutputShown } = context;
  return [
    outcomeLine(payload, { screen, word: "failed", style: "red" }),
    ...(isOutputShown ? [] : outputLines(result, { screen, isFailed: true, all: verbose })),
    ...paragraph(screen, problemOf(payload)),
    ...changeLines(payload, result, { screen, all: verbose }),
    ...approvalLines(payload),
  ];
}

/** A longer replay command is replaced by a shorter one that does the same. */
const MAX_REPLAY_LENGTH = 300;

/** The command that approves the call: not truncated, so that the user can copy it. */
function approvalLines({ error }: Payload): readonly string[] {
  const { code, replay, details } = Object(error) as Readonly<Record<"code" | "replay" | "details", unknown>>;
  if (code !== "ApprovalRequired") return []; // the answer to any other request was given, or came too late
  const { approval_id } = Object(details) as { readonly approval_id?: unknown };
  if (typeof replay === "string" && replay !== "" && replay.length <= MAX_REPLAY_LENGTH)
    return [makeVisible(`    to approve it: ${replay}`)];
  if (typeof approval_id !== "string") return [];
  return [makeVisible(`    to approve it: autonous approvals grant ${approval_id}`)];
}

function outcomeLine(
  payload: Payload,
  { screen, word, style }: { screen: Screen; word: string; style: "green" | "red" },
): string {
  const { duration_ms } = Object(payload["audit"]) as { readonly duration_ms?: unknown };
  const whole = fit(screen, `  ${word} ${String(duration_ms)} ms  ${callWords(payload)}`);
  return whole.replace(word, () => screen.paint(style, word));
}

/** Style of each level of `display`. */
// oxfmt-ignore
const LEVELS = {
  info:     { mark: "i", style: "cyan" },
  success:  { mark: "+", style: "green" },
  warning:  { mark: "!", style: "yellow" },
  error:    { mark: "x", style: "red" },
  progress: { mark: "…", style: "dim" },
} as const;
const DISPLAY_LINES = 40;

function stepWords({ items }: Payload): string {
  const steps = (Array.isArray(items) ? items : []) as readonly { readonly done?: unknown }[];
  return `steps: ${steps.filter(({ done }) => done === true).length} of ${steps.length} done`;
}

function displayLines({ content, level, title, evidence }: Payload, { screen }: LiveContext): readonly string[] {
  const { mark, style } = LEVELS[String(level) as keyof typeof LEVELS] ?? LEVELS.info;
  const width = Math.max(10, (screen.columns ?? Infinity) - 4);
  const points = Array.isArray(evidence) ? evidence.map((each) => `- ${String(each)}`) : [];
  const texts = [...String(content).trimEnd().split("\n"), ...points];
  const body = texts.slice(0, DISPLAY_LINES).flatMap((text) => wrap(makeVisible(text.replaceAll("\t", "  ")), width));
  const shown = body.slice(0, DISPLAY_LINES);
  const isCut = texts.length > DISPLAY_LINES || body.length > DISPLAY_LINES;
  const head = typeof title === "string" && title !== "" ? [screen.paint(style, cutTo(makeVisible(title), width))] : [];
  const [first = "", ...rest] = [...head, ...shown, ...(isCut ? ["…"] : [])];
  return [`  ${screen.paint(style, mark)} ${first}`, ...rest.map((each) => `    ${each}`)];
}
