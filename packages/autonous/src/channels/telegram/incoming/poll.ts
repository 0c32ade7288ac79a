import type { Update, UserFromGetMe } from "grammy/types";
import type { Store } from "../../../store/store.ts";
import { StoreError } from "../../../store/store-error.ts";
import type { GroupMode } from "./addressing.ts";
import { Backlog } from "./backlog.ts";
import { BOT_NAME } from "../access/access-book.ts";
import type { Access } from "../access/allowed-users.ts";
import type { TelegramClient } from "../api/client.ts";
import { MENU } from "../talk/commands.ts";
import { TelegramFailure } from "../api/telegram-failure.ts";
import { readUpdate, WANTED_UPDATES } from "./read-update.ts";
import type { Incoming } from "./read-update.ts";
import { showPlain } from "../outgoing/show.ts";
import { readWebhook, webhookProblem } from "../webhook.ts";
import { pauseUntilAborted } from "@autonous/runtime/internal";

export interface PollOptions {
  readonly client: TelegramClient;
  readonly store: Store;
  readonly clock: () => number;
  readonly log: (line: string) => void;
  readonly redact: (text: string) => string;
  readonly allowed: Access;
  readonly groups: GroupMode;
  /** Before it is read. */
  readonly onUpdate?: (update: Update) => Promise<void>;
  readonly window_ms: number;
  readonly max_messages: number;
  /** Undefined: Telegram could not be asked yet. */
  readonly bot: UserFromGetMe | undefined;
  readonly take: (incoming: Incoming, bot_id: number) => Promise<void>;
}

/** What Telegram gives at once, at most. */
const BATCH_SIZE = 100;
const LONG_POLL_SECONDS = 30;
/** What a long poll may take beyond its own time. */
const SLACK_MS = 15_000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
/** After a longer silence what has come meanwhile is looked at as after a stop. */
const OUTAGE_MS = 60_000;
/** Attempts at a message that fails by a bug of ours. Then it is skipped, so that it does not block the others. */
const MAX_TRIES = 3;
const REMEMBERED = 1000;
const FAILED = "This message was skipped because of an internal error; see the service log.";

interface Batch {
  /** Those that are new, oldest first. */
  readonly updates: readonly Update[];
  /** No more wait at Telegram. */
  readonly isAll: boolean;
}

interface CatchingUp {
  readonly backlog: Backlog;
  readonly bot: UserFromGetMe;
  readonly isAll: boolean;
}

/**
 * Takes messages in, in order. The offset, by which Telegram forgets them, moves only when they are on record; whatever
 * is given twice is known by its number. Goes on until stopped, whatever the network does.
 */
export class Poller {
  readonly #options: PollOptions;
  #bot: UserFromGetMe | undefined;
  /** Set while what came in our absence has not been looked at. */
  #backlog: Backlog | undefined;
  #offset: number | undefined;
  /** Of late. Nothing that Telegram gives again is done again. */
  readonly #passed = new Set<number>();
  /** When Telegram last answered. */
  #heardAt: number | undefined;
  #told = "";
  #failing = { update_id: -1, tries: 0 };

  constructor(options: PollOptions) {
    this.#options = options;
  }

  async run(stopped: AbortSignal): Promise<void> {
    let waitMs = FIRST_WAIT_MS;
    while (!stopped.aborted) {
      try {
        await this.#round(stopped);
        this.#tell("");
        waitMs = FIRST_WAIT_MS;
      } catch (error) {
        if (stopped.aborted) return;
        this.#tell(await wordsFor(error, this.#options.client));
        const retryMs = error instanceof TelegramFailure ? error.retryAfterMs : undefined;
        await pauseUntilAborted(retryMs ?? waitMs, stopped); // stopped: the loop ends
        waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
      }
    }
  }

  async #round(stopped: AbortSignal): Promise<void> {
    const { client, clock } = this.#options;
    const bot = (this.#bot ??= await this.#introduce(stopped));
    await this.#openBacklog(bot);
    const { updates, isAll } = await this.#getUpdates(this.#backlog === undefined ? LONG_POLL_SECONDS : 0, stopped);
    await this.#openBacklog(bot); // the machine may have slept for hours while it was asked
    this.#heardAt = clock();
    if (this.#backlog !== undefined) await this.#catchUp(updates, { backlog: this.#backlog, bot, isAll });
    else
      for (const update of updates) {
        if (client.closing.aborted || stopped.aborted) return;
        await this.#options.onUpdate?.(update);
        await this.#take(update.update_id, this.#read(update, bot), bot);
        this.#pass(update.update_id);
      }
  }

  /** It is on record, or nothing for us. */
  #pass(update_id: number): void {
    this.#offset = update_id + 1;
    this.#passed.add(update_id);
    for (const oldest of this.#passed) {
      if (this.#passed.size <= REMEMBERED) break;
      this.#passed.delete(oldest);
    }
  }

  /** Who we are. Before the first answer nothing is known of what came in our absence. */
  async #introduce(stopped: AbortSignal): Promise<UserFromGetMe> {
    const { client } = this.#options;
    const bot = this.#options.bot ?? (await client.call((api, signal) => api.getMe(signal), { stopped }));
    await setMenu(client, stopped);
    await this.#options.store.kv.set(BOT_NAME, bot.username); // the command line makes links of it
    return bot;
  }

  async #openBacklog(bot: UserFromGetMe): Promise<void> {
    const { store, clock, allowed, window_ms, max_messages } = this.#options;
    const isBehind = this.#heardAt === undefined || clock() - this.#heardAt > OUTAGE_MS;
    if (isBehind && this.#backlog === undefined)
      this.#backlog = await Backlog.open({ store, bot_id: bot.id, clock, allowed, window_ms, max_messages });
  }

  async #getUpdates(timeout: number, stopped: AbortSignal): Promise<Batch> {
    const offset = this.#offset === undefined ? {} : { offset: this.#offset };
    const wanted = { ...offset, timeout, limit: BATCH_SIZE, allowed_updates: WANTED_UPDATES };
    const updates = await this.#options.client.call((api, signal) => api.getUpdates(wanted, signal), {
      timeoutMs: timeout * 1000 + SLACK_MS,
      stopped,
    });
    const fresh = new Map(updates.map((update) => [update.update_id, update]));
    for (const update_id of this.#passed) fresh.delete(update_id);
    const inOrder = [...fresh.values()].toSorted((one, other) => one.update_id - other.update_id);
    return { updates: inOrder, isAll: updates.length < BATCH_SIZE };
  }

  async #catchUp(updates: readonly Update[], { backlog, bot, isAll }: CatchingUp): Promise<void> {
    await this.#options.allowed.refresh();
    for (const update of updates) {
      await this.#options.onUpdate?.(update);
      backlog.add(update.update_id, this.#read(update, bot));
    }
    if (!isAll) await backlog.keep();
    else {
      for (const incoming of backlog.incoming) await this.#take(incoming.update_id, incoming, bot);
      for (const [to, count] of backlog.left) showPlain(this.#options.client, to, this.#leftOut(count));
      await backlog.clear();
      this.#backlog = undefined;
    }
    for (const { update_id } of updates) this.#pass(update_id);
  }

  #read(update: Update, bot: UserFromGetMe): Incoming | undefined {
    const { groups, redact } = this.#options;
    return readUpdate(update, { bot, groups, redact });
  }

  async #take(update_id: number, incoming: Incoming | undefined, bot: UserFromGetMe): Promise<void> {
    if (incoming === undefined) return;
    try {
      await this.#options.take(incoming, bot.id);
    } catch (error) {
      if (error instanceof StoreError) throw error; // it is asked for again, and nothing behind it is taken before
      const tries = this.#failing.update_id === update_id ? this.#failing.tries + 1 : 1;
      this.#failing = { update_id, tries };
      if (tries < MAX_TRIES) throw error;
      this.#options.log(`Message ${update_id} failed and is skipped: ${(error as Error).message}`);
      if (incoming.kind === "written" && this.#options.allowed.has(incoming.user))
        showPlain(this.#options.client, incoming, FAILED);
    }
  }

  #leftOut(count: number): string {
    const { window_ms, max_messages } = this.#options;
    const messages = count === 1 ? "1 message" : `${count} messages`;
    const were = count === 1 ? "was" : "were";
    return `${messages} sent during downtime ${were} skipped: only the last ${Math.round(window_ms / 60_000)} minutes are read, at most ${max_messages} messages. Please resend if still relevant.`;
  }

  /** When it changes, and when it is over. */
  #tell(problem: string): void {
    if (problem === this.#told) return;
    this.#options.log(problem === "" ? "Polling recovered" : `${problem}. Retrying`);
    this.#told = problem;
  }
}

/** The menu of the apps. Messages come in without it. */
async function setMenu(client: TelegramClient, stopped: AbortSignal): Promise<void> {
  try {
    await client.call((api, signal) => api.setMyCommands(MENU, {}, signal), { stopped });
  } catch (error) {
    if (!(error instanceof TelegramFailure) || error.kind === "unreachable") throw error;
  }
}

/** What the person who runs the service can do about it. */
async function wordsFor(error: unknown, client: TelegramClient): Promise<string> {
  const { message } = error as Error;
  const kind = error instanceof TelegramFailure ? error.kind : undefined;
  if (kind === "conflict" && /webhook/i.test(message))
    return `Cannot get messages: ${webhookProblem(await hostOf(client))}`;
  if (kind === "conflict")
    return `Another program polls with this bot's token; stop it, or get a new token: ${message}`;
  if (kind === "bad_token") return `Telegram no longer accepts AUTONOUS_TELEGRAM_TOKEN: ${message}`;
  return message;
}

async function hostOf(client: TelegramClient): Promise<string> {
  try {
    return (await readWebhook(client)) ?? "another server";
  } catch (error) {
    if (error instanceof TelegramFailure) return "another server";
    throw error;
  }
}
