import type { Stage } from "../stage.ts";
import { checkAnswers } from "./answers.ts";
import { checkCalls, codeOf } from "./calls.ts";
import type { Remains } from "./found.ts";
import { withFound } from "./found.ts";
import { checkModel } from "./model.ts";
import { checkOrder } from "./order.ts";
import { checkPeople } from "./people.ts";
import { checkTelegram, countDuplicates } from "./telegram.ts";
import { checkFiles, checkLanes, checkProcesses, checkRecord } from "./remains.ts";
import { countBy, gapFigures } from "../tally.ts";
import type { Figures } from "../tally.ts";

type Check = (found: Remains) => readonly string[] | Promise<readonly string[]>;

/** What has to hold in the end. */
// oxfmt-ignore
const CHECKS: readonly (readonly [promise: string, check: Check])[] = [
  ["every accepted task is answered",            checkAnswers],
  ["the tasks of a chat are done in order",      checkOrder],
  ["Telegram answers arrive in order",           checkTelegram],
  ["no call is executed twice",                  checkCalls],
  ["no answered round is requested again",       checkModel],
  ["answers of users are respected",             checkPeople],
  ["no lane is stuck",                           checkLanes],
  ["the record is intact",                       checkRecord],
  ["no temporary file is left",                  checkFiles],
  ["no process is left",                         checkProcesses],
];

export interface Verdict {
  readonly problems: readonly string[];
  readonly figures: Figures;
}

/** Looks at everything that a world has left, once its service has ended. */
export async function judge(stage: Stage): Promise<Verdict> {
  return await withFound(stage, async (found) => {
    const problems: string[] = [];
    for (const [promise, check] of CHECKS)
      problems.push(...(await check(found)).map((problem) => `${promise}: ${problem}`));
    return { problems, figures: figuresOf(found) };
  });
}

function figuresOf(found: Remains): Figures {
  const { stage, tasks, events, calls, outbox, approvals } = found;
  const { tally, model, plan } = stage;
  const count = (type: string): number => events.filter((event) => event.type === type).length;
  const replies = outbox.filter(({ kind }) => kind === "text");
  return {
    cycles: tally.cycles,
    kills: tally.kills,
    tasks: tasks.length,
    tasks_by_state: countBy(tasks.map(({ state }) => state)),
    resumed: count("task.resumed"),
    calls: calls.length,
    interrupted: calls.filter((call) => codeOf(call) === "Interrupted").length,
    run_again: calls.filter(({ starts }) => starts > 1).length,
    model_requests: [...(model?.asked.values() ?? [])].reduce((sum, each) => sum + each, 0),
    approvals: countBy(approvals.map(({ state }) => state)),
    answered_while_down: tally.answered_while_down,
    tried_again: plan.all.reduce((sum, { retries }) => sum + retries, 0),
    replies: replies.length,
    duplicates: countDuplicates(found),
    events: events.length,
    restart_gap_ms: gapFigures(tally.gaps),
    longest_left_ms: tally.longest_left_ms,
  };
}
