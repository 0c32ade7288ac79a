import type { ModelUsage, ModelRequest } from "../model/provider.ts";
import { failureReason } from "../model/failures/model-failure.ts";
import { NoReply, consult } from "./consult.ts";
import type { Consultation, ConsultOptions } from "./consult.ts";
import { recallSwitch, withFallback } from "./fallback.ts";
import { placesOf } from "./window/context-window.ts";
import type { WindowState } from "./window/context-window.ts";
import { readRecord, readReply, recordedRound } from "./replies/reply.ts";
import type { ReadReply, Round } from "./replies/reply.ts";
import type { RecordedTurn } from "./resume.ts";
import type { Run } from "./agent-run.ts";
import { ToolError } from "@autonous/runtime";
import { cutPromptNotice } from "../model/vendors/cut-prompt.ts";
import { estimatedTokens, limitsOf, nextRequest, windowUse, withLimits } from "./window/request.ts";
import { fitWindow } from "./window/summary.ts";
import { learnFromOverflow, learnFromReply } from "./window/window-limits.ts";
import type { OverflowNumbers } from "./window/window-limits.ts";

/** Asks the model, and records the reply before it is processed. */
export async function askModel(run: Run, parent_id: string): Promise<Round> {
  await run.enter("model_round");
  const startedMs = run.now();
  let consulted: Consultation;
  try {
    consulted = await withFallback(run, parent_id, (attempt) => askWithin(run, parent_id, attempt));
  } catch (error) {
    if (!(error instanceof NoReply)) throw error;
    const failure = failedRound(run, error);
    await run.write({ type: "model.failed", parent_id, payload: { ...failure, latency_ms: run.now() - startedMs } });
    return failure;
  }
  const { reply, about } = consulted;
  const { round, record } = consulted.isRepetitive ? repetitiveRound(run, reply.text) : readReply(run, reply);
  const payload = { ...record, ...about, window: placesOf(run.window) };
  await run.write({ type: "model.completed", parent_id, payload });
  const { notice: content } = consulted;
  if (content !== undefined) await run.write({ type: "display", parent_id, payload: { level: "warning", content } });
  return round;
}

/** Replays a recorded round: counts its usage and restores what the model saw. */
export function recallRound(run: Run, { asked, model }: Pick<RecordedTurn, "asked" | "model">): Round | undefined {
  for (const event of asked) {
    if (event.type === "model.switched") recallSwitch(run, event);
    const { kind, usage, cost, provider, window, text } = event.payload as unknown as RecordedWindow;
    if (usage) run.meter.count(usage, cost ?? null, provider ?? run.provider.name);
    if (window === undefined) continue;
    const said = kind === "summary" ? text : run.window.summary;
    run.window = { ...window, task: run.window.task, ...(said === undefined ? {} : { summary: said }) };
  }
  return model && recordedRound(model);
}

/** The fields of our own events that every round has. */
interface RecordedWindow {
  readonly kind?: string;
  /** Missing in records of earlier versions. */
  readonly provider?: string;
  readonly usage?: ModelUsage | null;
  readonly cost?: number | null;
  readonly window?: Omit<WindowState, "summary">;
  readonly text: string;
}

/** Only the beginning is stored: the model would repeat the rest again. */
const MAX_STORED_REPETITION = 500;

function repetitiveRound(run: Run, text: string): ReadReply {
  const message = "Cannot use the reply: it repeated itself and was stopped; say it once";
  const kept = run.redact(text).slice(0, MAX_STORED_REPETITION).toWellFormed();
  return readRecord({ kind: "invalid", transport: "plain", text: kept, message, redacted: !text.startsWith(kept) });
}

function failedRound(run: Run, { code, message, cause, all }: NoReply): Round & { readonly kind: "failed" } {
  const { name } = run.provider;
  const messages = {
    Cancelled: "The run was cancelled during a model request",
    Timeout: `${run.meter.reached(0, run.provider)?.message ?? "Stopped: the run timed out"}; the model had not answered yet`,
    LimitReached: message,
    ModelFailed: run.redact(all ?? `The model "${name}" did not answer: ${message}`),
  };
  const reason = code === "ModelFailed" ? failureReason(cause) : undefined;
  return { kind: "failed", code, message: messages[code], ...(reason === undefined ? {} : { reason }) };
}

/** Down to about a tenth of the first size, if the server names no numbers. */
const MAX_SHRINKS = 7;

interface RefusedRequest {
  readonly refusal: NoReply;
  /** Estimated tokens of the request. */
  readonly estimated: number;
}

/**
 * Requests the next round. If the request is too long for the model, it is reduced: to the size that the server names,
 * else step by step. Throws `NoReply` if that does not help.
 */
async function askWithin(run: Run, parent_id: string, attempt: ConsultOptions): Promise<Consultation> {
  let last: RefusedRequest | undefined;
  for (let shrunk = 0; ; shrunk++) {
    if (last !== undefined && hasNoRoom(run)) throw tooLarge(run, last);
    const { provider } = run;
    await fitWindow(run, parent_id);
    if (run.provider !== provider) last = undefined; // the refusal was by another model
    const request = nextRequest(run);
    const estimated = estimatedTokens(run, request);
    if (last !== undefined && (estimated >= last.estimated || shrunk > MAX_SHRINKS)) throw tooLarge(run, last);
    try {
      const consulted = await consult(run, request, attempt);
      return learnFromUsage(run, { request, estimated, consulted });
    } catch (error) {
      if (!(error instanceof NoReply) || !error.isTooLong) throw error;
      run.window = withLimits(run, learnFromOverflow(limitsOf(run), estimated, numbersOf(error)));
      last = { refusal: error, estimated };
    }
  }
}

interface AnsweredRequest {
  readonly request: ModelRequest;
  readonly estimated: number;
  readonly consulted: Consultation;
}

/** Learns from how the server counted the request. If it read only part of it, the user is warned once. */
function learnFromUsage(run: Run, { request, estimated, consulted }: AnsweredRequest): Consultation {
  const known = limitsOf(run);
  const { usage } = consulted.reply;
  const limits = learnFromReply(known, estimated, usage?.input_tokens);
  const isSure = limits.context_tokens !== known.context_tokens;
  const notice = known.cuts === true ? undefined : cutPromptNotice(run.provider.name, { request, usage, isSure });
  const isTold = known.cuts === true || notice !== undefined;
  run.window = withLimits(run, isTold ? { ...limits, cuts: true } : limits);
  return notice === undefined ? consulted : { ...consulted, notice };
}

function numbersOf({ cause }: NoReply): OverflowNumbers {
  const details = cause instanceof ToolError ? (cause.details ?? {}) : {};
  const number = (name: keyof OverflowNumbers): OverflowNumbers => {
    const value = details[name];
    return typeof value === "number" && Number.isSafeInteger(value) ? { [name]: value } : {};
  };
  return { ...number("limit_tokens"), ...number("sent_tokens"), ...number("reply_tokens") };
}

function hasNoRoom(run: Run): boolean {
  const { fixed, room } = windowUse(run);
  return fixed >= room;
}

/** The server's message, with the numbers that tell what to change. */
function tooLarge(run: Run, { refusal, estimated }: RefusedRequest): NoReply {
  const { fixed, room, limit } = windowUse(run);
  // Without a number from the server, the refused size is the limit.
  const isForReply = limit > room && limitsOf(run).refused === undefined;
  const reply = isForReply ? ` and ${count(limit - room)} of its ${count(limit)} are kept for the reply` : "";
  const why = hasNoRoom(run)
    ? `the system text and the tools alone take about ${count(fixed)} tokens, more than the ${count(room)} that fit${reply}; use a larger context window, or offer fewer tools`
    : `a request of about ${count(estimated)} tokens, ${count(fixed)} of them for the system text and the tools, cannot be made smaller`;
  const { cause } = refusal;
  const facts = cause instanceof ToolError ? { ...cause.details, hint: cause.hint } : undefined;
  return new NoReply("ModelFailed", new ToolError("ModelFailed", `${refusal.message} (${why})`, facts, refusal));
}

function count(tokens: number): string {
  return tokens.toLocaleString("en-US");
}
