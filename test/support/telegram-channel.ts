/** The Telegram channel on a real store and the emulated Bot API, without the rest of the service. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { redact } from "@autonous/runtime";
import { makeId } from "@autonous/runtime/internal";
import type { EventDraft } from "@autonous/runtime/internal";
import { onTestFinished } from "vitest";
import { openTelegram } from "../../packages/autonous/src/channels/telegram/channel.ts";
import type { Telegram, TelegramOptions } from "../../packages/autonous/src/channels/telegram/channel.ts";
import { RateLimit } from "../../packages/autonous/src/channels/telegram/api/rate-limit.ts";
import { OutputFeed } from "../../packages/autonous/src/queue/output-feed.ts";
import { Notifier } from "../../packages/autonous/src/store/notifier.ts";
import { deliver } from "../../packages/autonous/src/queue/deliver.ts";
import { openStore } from "../../packages/autonous/src/store/open-store.ts";
import type { Lease, Store, Task } from "../../packages/autonous/src/store/store.ts";
import { startFakeTelegram } from "../../emulators/fake-telegram/server.ts";
import type { FakeTelegram, FakeTelegramOptions } from "../../emulators/fake-telegram/server.ts";

export interface Place {
  readonly telegram: FakeTelegram;
  readonly store: Store;
  readonly notifier: Notifier;
  readonly state_dir: string;
  readonly lines: string[];
  /** How often the queue was woken to look for tasks. */
  readonly woken: () => number;
  /** Opens the channel and sends the outbox by it; closed when the test ends. */
  open(options?: Partial<TelegramOptions>): Promise<Telegram>;
  /** All tasks, oldest first. */
  tasks(): Promise<readonly Task[]>;
  /** Looks again and again; the tests' own time limit ends it. */
  until<Found>(look: () => Promise<Found | undefined | false> | Found | undefined | false): Promise<Found>;
  /** Takes the next task as a worker does. */
  claim(): Promise<Lease>;
  /** Takes the next task and ends it with this answer, of a model where one is named. */
  answer(text: string, provider?: string): Promise<void>;
}

/** The one who may write. */
export const ADA = 42;

export async function scratchPlace(options: FakeTelegramOptions = {}): Promise<Place> {
  // The bot gets all that is said in groups: what it leaves out, it leaves out by itself.
  const telegram = await startFakeTelegram({ privacy: false, ...options });
  const state_dir = mkdtempSync(join(tmpdir(), "autonous-telegram-"));
  const store = await openStore({ file: join(state_dir, "a.db"), clock: Date.now });
  const notifier = new Notifier();
  const lines: string[] = [];
  let woken = 0;
  const log = (line: string): void => void lines.push(line);
  onTestFinished(async () => {
    await store.close();
    await telegram.close();
    rmSync(state_dir, { recursive: true });
  });

  async function open(given: Partial<TelegramOptions> = {}): Promise<Telegram> {
    const channel = await openTelegram({
      token: telegram.token,
      api_root: telegram.url,
      allowed_users: [ADA],
      groups: "addressed",
      pending_window_seconds: 600,
      pending_max_messages: 50,
      files: { max_files: 10, max_file_bytes: 20_000_000 },
      state_dir,
      store,
      notifier,
      outputs: new OutputFeed(),
      isDirect: false,
      readChanges: (work) => work(() => Promise.resolve([])),
      onTask: () => woken++,
      redact: (text) => redact(text).text,
      listTools: () => Promise.resolve(["ls: Lists a folder."]),
      log,
      rate: new RateLimit({ clock: Date.now, chatMs: 0, groupMs: 0, anyMs: 0 }),
      ...given,
    });
    const stopped = new AbortController();
    const sending = deliver(stopped.signal, { store, sender: channel.sender, notifier, log, clock: Date.now });
    let closing: Promise<void> | undefined;
    const close = async (): Promise<void> => {
      stopped.abort();
      notifier.notify();
      await sending;
      await channel.close();
    };
    const once = (): Promise<void> => (closing ??= close());
    onTestFinished(once);
    return { sender: channel.sender, close: once };
  }

  async function claim(): Promise<Lease> {
    return await until(async () => (await store.inbox.claim("w", 1))[0]);
  }

  return {
    telegram,
    store,
    notifier,
    state_dir,
    lines,
    woken: () => woken,
    open,
    until,
    claim,
    async answer(text, provider) {
      const lease = await claim();
      const { task_id, run_id, trace_id } = lease.task;
      const said: EventDraft = {
        event_id: makeId("evt", Date.now()),
        type: "model.completed",
        ts: new Date().toISOString(),
        task_id,
        run_id,
        trace_id,
        parent_id: null,
        payload: { provider },
      };
      const events = provider === undefined ? [] : [said];
      await store.inbox.finish(lease, { outcome: "done", reply: text, events });
      notifier.notify();
    },
    tasks: async () => (await store.tasks.list({ limit: 1000 })).tasks.toReversed(),
  };
}

async function until<Found>(
  look: () => Promise<Found | undefined | false> | Found | undefined | false,
): Promise<Found> {
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
