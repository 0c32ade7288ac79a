import type { RuntimeEvent } from "@autonous/runtime";
import type { ModelProvider, ModelRequest, SpentUsage } from "../../model/provider.ts";
import type { Run } from "../agent-run.ts";

/** Usage of a model. */
export interface ModelSpending {
  readonly provider: ModelProvider;
  readonly usage: SpentUsage;
}

/** Counts and charges it; returns its cost, null if the model has no price. */
export async function charge(run: Run, { provider, usage }: ModelSpending): Promise<number | null> {
  const cost = run.meter.costOf(usage, provider);
  run.meter.count(usage, cost, provider.name);
  const { chat, user } = run.options.task;
  const who = { ...(chat === undefined ? {} : { chat }), ...(user === undefined ? {} : { user }) };
  const tokens = run.meter.billed(usage, provider.name);
  if (tokens > 0) await run.options.runtime.charge({ tokens }, who);
  run.options.onUsage?.(run.meter.totals);
  return cost;
}

interface BilledRequest {
  readonly parent_id: string | null;
  readonly purpose: NonNullable<ModelRequest["purpose"]>;
}

interface BillingRecord extends BilledRequest, RecordedBilling {
  /** `failed`: the model did not reply. */
  readonly outcome: "failed" | "answered";
}

/** Charges a failed attempt. Recorded first, so that it is not lost with the process. */
export async function bookFailed(
  run: Run,
  { provider, usage, ...about }: ModelSpending & BilledRequest,
): Promise<void> {
  const cost = run.meter.costOf(usage, provider);
  await recordBilled(run, { ...about, outcome: "failed", provider: provider.name, usage, cost });
  await charge(run, { provider, usage });
}

/** Records charges outside of rounds, which have events of their own. */
export async function recordBilled(run: Run, { parent_id, usage, ...about }: BillingRecord): Promise<void> {
  await run.write({ type: "model.billed", parent_id, payload: { ...about, usage: { ...usage } } });
}

/** Counts usage that an earlier process recorded. Quotas were charged then. */
export function recallBilled(run: Run, { payload }: RuntimeEvent): void {
  const { usage, cost, provider } = payload as unknown as RecordedBilling;
  run.meter.count(usage, cost, provider);
}

/** Our own event, written by `recordBilled`. */
interface RecordedBilling {
  readonly usage: SpentUsage;
  readonly cost: number | null;
  readonly provider: string;
}
