import type { ActiveSkill, ActiveSkills } from "../gate/steps/active-skills.ts";
import type { RuntimeParts } from "../start/gate-parts.ts";
import { makeId, makeTraceId } from "../protocol/ids.ts";
import type { Runs } from "./runs.ts";

interface Using extends Pick<RuntimeParts, "skills" | "registry" | "clock" | "redactor"> {
  readonly runs: Runs;
  readonly run_id: string;
  readonly task_id: string | null;
  readonly active: ActiveSkills;
  /** Nothing is recorded. */
  readonly looking: boolean;
}

/** Records that a skill is active in the run, or in one of its tasks, unless that is already recorded. */
export async function useSkill(name: string, using: Using): Promise<void> {
  const { skills, registry, clock, redactor, runs, run_id, task_id, looking } = using;
  const limits = await skills.limitsOf(await skills.find(name), registry.all());
  const skill: ActiveSkill = { ...limits, reason: "the user named it" };
  if (looking) return using.active.add(skill, task_id);
  await runs.use(run_id, async ({ journal, active }) => {
    if (active.isActive(skill.digest, task_id)) return;
    const now = clock();
    const payload = { ...(redactor.redactValue(skill).value as ActiveSkill) };
    const about = { event_id: makeId("evt", now), ts: new Date(now).toISOString(), trace_id: makeTraceId() };
    const draft = { ...about, type: "skill.activated", task_id, run_id, parent_id: null, payload } as const;
    await journal.append([draft], { durable: true });
    active.add(skill, task_id);
  });
}
