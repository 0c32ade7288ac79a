import type { Notifier } from "../store/notifier.ts";
import type { Store } from "../store/store.ts";
import { deliver } from "./deliver.ts";
import type { Mirror } from "./mirror.ts";
import type { OutboxSender } from "./outbox-sender.ts";
import { RecoveringLog } from "./recovering-log.ts";

export interface FollowRecordOptions {
  readonly store: Store;
  /** Notified when something was recorded; delivery notifies it when a reply was sent. */
  readonly notifier: Notifier;
  readonly mirror: Mirror;
  readonly senders: readonly OutboxSender[];
  readonly log: (line: string) => void;
  /** Default: `Date.now`. */
  readonly clock?: () => number;
}

const POLL_MS = 500;

/**
 * Processes new records: sends replies and updates the run files, in parallel, so that no channel waits for another.
 * Runs until stopped, with a last pass at the end. Failures are logged and retried.
 */
export async function followRecord(stopped: AbortSignal, options: FollowRecordOptions): Promise<void> {
  const { store, notifier, mirror, senders, log, clock = Date.now } = options;
  const problems = new RecoveringLog("Cannot update the run files", log);
  const report = ({ message }: Error): void => problems.report("", message);
  const sent = Promise.all(senders.map((sender) => deliver(stopped, { store, sender, notifier, log, clock })));
  await mirror.feed.follow({
    signal: stopped,
    notifier,
    pollMs: POLL_MS,
    async handle(rows) {
      await mirror.update(rows);
      problems.resolve("");
    },
    report,
  });
  await sent; // so that the last replies are recorded before the last pass
  await mirror
    .catchUp()
    .then(() => mirror.save())
    .catch(report);
}
