import type { Remains } from "./found.ts";

/** A worker that slept and wakes up sends the request it was about to send; that cannot be prevented. */
const SLEEPERS = ["sleeping worker", "hung both"] as const;

/** Rounds that were answered are not asked, or paid for, again. */
export function checkModel({ stage, eventsOf }: Remains): string[] {
  const { model, tally, plan } = stage;
  if (model === undefined) return [];
  const allowed = SLEEPERS.reduce((sum, kind) => sum + (tally.kills[kind] ?? 0), 0);
  const problems =
    model.askedInVain.length > allowed
      ? model.askedInVain.map((key) => `The model was asked for ${key} although the answer was recorded`)
      : [];
  const byTask = new Map<string, number>();
  for (const [key, count] of model.asked) {
    const task = key.split("/")[0] ?? "";
    byTask.set(task, (byTask.get(task) ?? 0) + count);
  }
  for (const [task, asked] of byTask) {
    const events = eventsOf.get(plan.byTask(task)?.task_id ?? "") ?? [];
    const count = (...types: readonly string[]): number => events.filter(({ type }) => types.includes(type)).length;
    const most = count("model.completed", "model.failed", "task.resumed", "task.cancelled") + allowed;
    if (asked > most)
      problems.push(`The model was asked ${asked} times about ${task}; its record accounts for ${most}`);
  }
  return problems;
}
