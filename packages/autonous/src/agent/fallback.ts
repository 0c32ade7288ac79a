import type { RuntimeEvent } from "@autonous/runtime";
import { failureReason, REASONS } from "../model/failures/model-failure.ts";
import type { FailureReason } from "../model/failures/model-failure.ts";
import type { ModelProvider } from "../model/provider.ts";
import { NoReply } from "./consult.ts";
import type { ConsultOptions } from "./consult.ts";
import type { ReachedLimit } from "./usage/limits.ts";
import type { Run } from "./agent-run.ts";

/** How long a model is retried if there is a fallback: it may be down, or request a wait, for an hour. */
const PATIENCE_MS = 60_000;

interface FailedModel {
  readonly provider: ModelProvider;
  readonly error: NoReply;
  readonly reason: FailureReason | undefined;
}

/**
 * Asks the model in use; if it is down or out of credit, asks the next one of the list, each at most once. The run
 * continues with the model that replied. Each switch is recorded before the next model is asked. Throws `NoReply`.
 */
export async function withFallback<T>(
  run: Run,
  parent_id: string | null,
  ask: (attempt: ConsultOptions) => Promise<T>,
): Promise<T> {
  const failed: FailedModel[] = [];
  const untried = new Set(run.models.filter((each) => run.meter.canPay(each)));
  for (;;) {
    const { provider } = run;
    untried.delete(provider);
    try {
      return await ask({ parent_id, ...(untried.size === 0 ? {} : { patience_ms: PATIENCE_MS }) });
    } catch (error) {
      // A request for a summary may have switched to another model before that one failed.
      const failure = error instanceof NoReply ? failureOf(error.provider ?? provider, error) : undefined;
      if (failure === undefined) throw error;
      untried.delete(failure.provider);
      failed.push(failure);
      const next = nextOf(run, untried);
      if (next === undefined) throw summarise(failed, run);
      const reached = run.meter.reached(0, next);
      if (reached !== undefined) throw new NoReply(codeOf(reached), reached.message);
      await switchModel(run, { parent_id, failure, next });
    }
  }
}

function codeOf({ code }: ReachedLimit): NoReply["code"] {
  return code === "Timeout" ? code : "LimitReached";
}

/** Undefined: no other model should be asked. */
function failureOf(provider: ModelProvider, error: NoReply): FailedModel | undefined {
  if (error.code !== "ModelFailed") return undefined;
  const reason = failureReason(error.cause);
  return reason !== undefined && !REASONS[reason].fall_back ? undefined : { provider, error, reason };
}

/** The next model of the list after the one in use, cyclically. */
function nextOf({ models, provider }: Run, untried: ReadonlySet<ModelProvider>): ModelProvider | undefined {
  const at = models.indexOf(provider);
  return [...models.slice(at), ...models.slice(0, at)].find((each) => untried.has(each));
}

interface Switch {
  readonly parent_id: string | null;
  readonly failure: FailedModel;
  readonly next: ModelProvider;
}

async function switchModel(run: Run, { parent_id, failure, next }: Switch): Promise<void> {
  const { provider, reason, error } = failure;
  if (run.provider !== provider) return; // another call of the round had the same failure and has switched already
  const why = { ...(reason === undefined ? {} : { reason }), message: run.redact(error.message) };
  await run.write({ type: "model.switched", parent_id, payload: { from: provider.name, to: next.name, ...why } });
  run.provider = next;
}

/** Replays a recorded switch. A model that is no longer in the list is not used. */
export function recallSwitch(run: Run, { payload }: RuntimeEvent): void {
  const next = run.models.find(({ name }) => name === payload["to"]);
  if (next !== undefined) run.provider = next;
}

/** All failures as one, retryable if one of them is. */
function summarise(failed: readonly FailedModel[], run: Run): NoReply {
  const [only] = failed;
  const unpaid = run.models.filter((each) => !run.meter.canPay(each)).map(({ name }) => name);
  if (only !== undefined && failed.length + unpaid.length === 1) return only.error;
  const passing = failed.find(({ reason }) => reason === undefined || REASONS[reason].retry);
  const { error } = passing ?? failed.find(({ reason }) => reason === "breaker_open") ?? failed.at(-1) ?? {};
  const problems = [
    ...failed.map(({ provider, error: { message } }) => `"${provider.name}": ${message}`),
    ...unpaid.map((name) => `"${name}": skipped, since it has no price and the cost is limited`),
  ];
  return new NoReply("ModelFailed", error?.cause, {
    all: `None of the ${problems.length} models answered. ${problems.join("; ")}`,
  });
}
