import type { Bell } from "../../queue/bell.ts";
import type { Store } from "../../store/store.ts";
import type { Progress } from "./talk/progress.ts";
import type { Questions } from "./talk/questions.ts";
import type { QueuedNotice } from "./talk/queued-notice.ts";

export interface FollowOptions {
  readonly store: Store;
  readonly bell: Bell;
  readonly progress: Progress;
  readonly questions: Questions;
  readonly queued: QueuedNotice;
  readonly log: (line: string) => void;
}

const PAGE_SIZE = 500;
const LOOK_MS = 1000;

/** Shows in the chats what is recorded: how far tasks are, and what became of questions. Goes on until stopped. */
export async function followEvents(stopped: AbortSignal, options: FollowOptions): Promise<void> {
  const { store, bell, progress, questions, queued, log } = options;
  let position: number | undefined;
  let told = "";
  while (!stopped.aborted) {
    const rung = bell.wait(LOOK_MS);
    let problem = "";
    try {
      if (position === undefined) await Promise.all([progress.open(), queued.open()]);
      position ??= (await store.events.lastRows({ limit: 1 }))[0]?.position ?? 0;
      position = await hearAll(position, options);
      await progress.show();
      await questions.settle();
      await queued.show();
    } catch (error) {
      problem = (error as Error).message;
    }
    if (problem !== "" && problem !== told) log(`Cannot show progress: ${problem}. Retrying`);
    told = problem;
    await rung;
  }
}

async function hearAll(after: number, { store, progress }: FollowOptions): Promise<number> {
  let position = after;
  for (;;) {
    const recorded = await store.events.rows({ after: position, limit: PAGE_SIZE });
    for (const { position: at, event } of recorded) {
      if (!("unreadable" in event)) await progress.hear(event); // damage is reported from the files of the runs
      position = at;
    }
    if (recorded.length < PAGE_SIZE) return position;
  }
}
