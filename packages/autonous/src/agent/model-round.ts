import type { ModelUsage } from "../model/provider.ts";
import { failureReason } from "../model/failures/failure.ts";
import { NoReply } from "./consult.ts";
import type { Consulted } from "./consult.ts";
import { recallSwitch, withFallback } from "./fallback.ts";
import { placesOf } from "./window/context-window.ts";
import type { WindowState } from "./window/context-window.ts";
import { readRecord, readReply, recordedRound } from "./replies/reply.ts";
import type { ReadReply, Round } from "./replies/reply.ts";
import { askWithin } from "./ask-within.ts";
import type { RecordedTurn } from "./resume.ts";
import type { Run } from "./run.ts";

/** Asks the model, and records what it said before anything is made of it. */
export async function askModel(run: Run, parent_id: string): Promise<Round> {
  await run.enter("model_round");
  const askedMs = run.now();
  let consulted: Consulted;
  try {
    consulted = await withFallback(run, parent_id, (asking) => askWithin(run, parent_id, asking));
  } catch (error) {
    if (!(error instanceof NoReply)) throw error;
    const failure = failedRound(run, error);
    await run.write({ type: "model.failed", parent_id, payload: { ...failure, latency_ms: run.now() - askedMs } });
    return failure;
  }
  const { reply, about } = consulted;
  const { round, record } = consulted.isChant ? chant(run, reply.text) : readReply(run, reply);
  const payload = { ...record, ...about, window: placesOf(run.window) };
  await run.write({ type: "model.completed", parent_id, payload });
  const { notice: content } = consulted;
  if (content !== undefined) await run.write({ type: "display", parent_id, payload: { level: "warning", content } });
  return round;
}

/** Goes over a round that is on record: what it used is counted, what the model saw is what it sees from now on. */
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

/** Our own events, as far as every round has it. */
interface RecordedWindow {
  readonly kind?: string;
  /** Not in records of earlier versions. */
  readonly provider?: string;
  readonly usage?: ModelUsage | null;
  readonly cost?: number | null;
  readonly window?: Omit<WindowState, "summary">;
  readonly text: string;
}

/** What is repeated is not kept: it would be repeated again. */
const KEPT_OF_CHANT = 500;

function chant(run: Run, text: string): ReadReply {
  const message = "Cannot use the reply: it repeated itself and was stopped; say it once";
  const kept = run.redact(text).slice(0, KEPT_OF_CHANT).toWellFormed();
  return readRecord({ kind: "invalid", transport: "plain", text: kept, message, redacted: !text.startsWith(kept) });
}

function failedRound(run: Run, { code, message, cause, all }: NoReply): Round & { readonly kind: "failed" } {
  const { name } = run.provider;
  const told = {
    Cancelled: "The run was cancelled during a model request",
    Timeout: `${run.meter.reached(0, run.provider)?.message ?? "Stopped: the run timed out"}; the model had not answered yet`,
    LimitReached: message,
    ModelFailed: run.redact(all ?? `The model "${name}" did not answer: ${message}`),
  };
  const reason = code === "ModelFailed" ? failureReason(cause) : undefined;
  return { kind: "failed", code, message: told[code], ...(reason === undefined ? {} : { reason }) };
}
