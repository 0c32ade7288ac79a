import { answerOf } from "../model.ts";
import type { PlannedTask } from "../task-plan.ts";
import type { Remains } from "./found.ts";

/** What a process sent just before it was killed may arrive a little later. */
const ON_ITS_WAY_MS = 2000;

/** Answers by Telegram arrived, in order, and again only where a kill fell between sending one and recording that. */
export function checkTelegram(found: Remains): string[] {
  const { phones } = found.stage;
  if (phones === undefined) return [];
  return phones.chats.flatMap((chat) => checkChat(found, chat));
}

function checkChat(found: Remains, chat: string): string[] {
  const { plan, tally } = found.stage;
  const problems: string[] = [];
  const done = new Set(found.tasks.filter(({ state }) => state === "done").map(({ task_id }) => task_id));
  const firsts: { readonly planned: PlannedTask; readonly at: number; readonly row: number }[] = [];
  for (const planned of plan.all) {
    if (planned.chat !== chat || !done.has(planned.task_id ?? "")) continue;
    const times = arrivalsOf(found, planned);
    const [first] = times;
    if (first === undefined) {
      problems.push(`The answer to ${planned.task} did not arrive in ${chat}`);
      continue;
    }
    for (const [i, at] of times.entries()) {
      const before = times[i - 1];
      if (before !== undefined && !tally.strikes.some((strike) => strike >= before - ON_ITS_WAY_MS && strike <= at))
        problems.push(
          `The answer to ${planned.task} arrived in ${chat} ${times.length} times, with no kill between two of them`,
        );
    }
    firsts.push({
      planned,
      at: first,
      row: found.outbox.findLast(({ task_id }) => task_id === planned.task_id)?.id ?? 0,
    });
  }
  const byArrival = firsts.toSorted((one, other) => one.at - other.at).map(({ planned }) => planned.task);
  const byRecord = firsts.toSorted((one, other) => one.row - other.row).map(({ planned }) => planned.task);
  if (byArrival.join() !== byRecord.join())
    problems.push(
      `The answers in ${chat} arrived as ${byArrival.join(", ")}, but were recorded as ${byRecord.join(", ")}`,
    );
  return problems;
}

/** Where there is a model: the answers of commands are not known beforehand. */
function arrivalsOf({ stage }: Remains, planned: PlannedTask): number[] {
  return (stage.phones?.arrived ?? [])
    .filter(({ chat, text }) => chat === planned.chat && text === answerOf(planned))
    .map(({ at }) => at);
}

/** How many answers came again. */
export function countDuplicates(found: Remains): number {
  const counts = found.stage.plan.all.map((planned) => arrivalsOf(found, planned).length);
  return counts.reduce((sum, count) => sum + Math.max(0, count - 1), 0);
}
