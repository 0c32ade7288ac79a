import { EventFeed, lastPosition, pagesOf } from "../../store/event-feed.ts";
import type { Notifier } from "../../store/notifier.ts";
import type { Store } from "../../store/store.ts";
import type { Progress } from "./talk/progress.ts";
import type { Questions } from "./talk/questions.ts";
import type { QueuedNotice } from "./talk/queued-notice.ts";

export interface FollowOptions {
  readonly store: Store;
  readonly notifier: Notifier;
  readonly progress: Progress;
  readonly questions: Questions;
  readonly queued: QueuedNotice;
  readonly log: (line: string) => void;
}

const PAGE_SIZE = 500;
const POLL_MS = 1000;

/** Shows in the chats what is recorded: how far tasks are, and what became of questions. Runs until stopped. */
export async function followEvents(stopped: AbortSignal, options: FollowOptions): Promise<void> {
  const { store, notifier, progress, questions, queued, log } = options;
  let told = "";
  const feed = new EventFeed({
    read: pagesOf(store.events, { limit: PAGE_SIZE }),
    async after() {
      await Promise.all([progress.open(), queued.open()]);
      return await lastPosition(store.events);
    },
  });
  await feed.follow({
    signal: stopped,
    notifier,
    pollMs: POLL_MS,
    async handle(rows) {
      for (const { event } of rows) if (!("unreadable" in event)) await progress.hear(event); // damage is reported from the files of the runs
      if (rows.length > 0) return;
      await progress.show();
      await questions.settle();
      await queued.show();
      told = "";
    },
    report({ message }) {
      if (message !== told) log(`Cannot show progress: ${message}. Retrying`);
      told = message;
    },
  });
}
