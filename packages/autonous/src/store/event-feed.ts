import { Notifier } from "./notifier.ts";
import type { RecordedRow } from "./record/event-table.ts";
import type { EventFilter, Events } from "./store.ts";

/** Events that were read together, oldest first. */
export interface EventPage<Event> {
  readonly events: readonly Event[];
  /** Where the next page starts. */
  readonly position: number;
  /** More was recorded when the page was read. */
  readonly hasMore: boolean;
}

interface FeedSource<Event> {
  /** Reads the page after a position. */
  readonly read: (position: number) => Promise<EventPage<Event>>;
  /** The position to start after. A function is called before the first read, and again if it fails. */
  readonly after: number | (() => Promise<number>);
}

interface LiveOptions {
  /** Ends the iteration, also in the middle of a wait. */
  readonly signal: AbortSignal;
  /** Wakes the feed when something was recorded. Without it, the feed only polls. */
  readonly notifier?: Notifier;
  /** The longest wait between two reads. */
  readonly pollMs: number;
}

interface FollowOptions<Event> extends LiveOptions {
  readonly handle: (events: readonly Event[]) => Promise<void>;
  readonly report: (problem: Error) => void;
}

/**
 * Events after a position, as they are recorded. A batch counts as handled when the next one is requested: if its
 * consumer fails or stops, the next iteration starts with the same batch.
 */
export class EventFeed<Event> {
  readonly #source: FeedSource<Event>;
  #position: number | undefined;

  constructor(source: FeedSource<Event>) {
    this.#source = source;
  }

  /** What is recorded now. Ends when everything was delivered. */
  async *backlog(): AsyncGenerator<readonly Event[], void> {
    const { read, after } = this.#source;
    for (;;) {
      this.#position ??= typeof after === "number" ? after : await after();
      const { events, position, hasMore } = await read(this.#position);
      if (events.length > 0) yield events;
      this.#position = position;
      if (!hasMore) return;
    }
  }

  /**
   * What is recorded now and later, until the signal aborts. Before each wait it yields an empty batch, for work that is
   * due while nothing is recorded.
   */
  async *live({ signal, notifier = new Notifier(), pollMs }: LiveOptions): AsyncGenerator<readonly Event[], void> {
    while (!signal.aborted) {
      const since = notifier.count; // before the read, so that no event between read and wait is missed
      for await (const events of this.backlog()) {
        if (signal.aborted) return;
        yield events;
      }
      if (signal.aborted) return;
      yield [];
      await notifier.wait({ since, atMostMs: pollMs, signal });
    }
  }

  /** Handles the batches of `live`. A failure is reported, and its batch is handled again after a wait. */
  async follow({ handle, report, ...options }: FollowOptions<Event>): Promise<void> {
    const { signal, notifier = new Notifier(), pollMs } = options;
    while (!signal.aborted) {
      try {
        for await (const events of this.live({ signal, notifier, pollMs })) await handle(events);
      } catch (error) {
        report(error as Error);
        await notifier.wait({ since: notifier.count, atMostMs: pollMs, signal });
      }
    }
  }
}

/** Reads the audit log of the store, at most `limit` events at a time. */
export function pagesOf(events: Events, filter: EventFilter): (position: number) => Promise<EventPage<RecordedRow>> {
  return async (after) => {
    const rows = await events.rows({ ...filter, after });
    return { events: rows, position: rows.at(-1)?.position ?? after, hasMore: rows.length === filter.limit };
  };
}

/** The position of the newest event; 0 if there is none. */
export async function lastPosition(events: Events): Promise<number> {
  return (await events.lastRows({ limit: 1 }))[0]?.position ?? 0;
}
