import type { UserFromGetMe } from "grammy/types";
import type { Notifier } from "../../store/notifier.ts";
import type { OutboxSender } from "../../queue/outbox-sender.ts";
import type { OutputFeed } from "../../queue/output-feed.ts";
import type { Store } from "../../store/store.ts";
import { Access } from "./access/allowed-users.ts";
import { PeopleNames } from "./access/people-names.ts";
import { Strangers } from "./access/strangers.ts";
import { TelegramClient } from "./api/client.ts";
import { TelegramFailure } from "./api/telegram-failure.ts";
import type { GroupMode } from "./incoming/addressing.ts";
import { followEvents } from "./follow-events.ts";
import { Poller } from "./incoming/poll.ts";
import { Progress } from "./talk/progress.ts";
import { Questions } from "./talk/questions.ts";
import type { QuestionParts } from "./talk/questions.ts";
import { Undos } from "./talk/undos.ts";
import type { UndoParts } from "./talk/undos.ts";
import { QueuedNotice } from "./talk/queued-notice.ts";
import { monotonic } from "./api/rate-limit.ts";
import type { RateLimit } from "./api/rate-limit.ts";
import { MovedChats } from "./moved-chats.ts";
import { createOutboxSender } from "./outgoing/send.ts";
import { Downloads } from "./incoming/downloads.ts";
import type { DownloadsOptions } from "./incoming/downloads.ts";
import type { FileLimits } from "./incoming/file-limits.ts";
import { Gather } from "./incoming/gather.ts";
import { takeIncoming } from "./incoming/take.ts";

/** When phones stay quiet, in minutes since midnight. */
export interface QuietHours {
  readonly from_minute: number;
  readonly to_minute: number;
  /** Left out: that of the machine. */
  readonly time_zone?: string;
}

export interface TelegramOptions {
  readonly token: string;
  readonly api_root: string;
  readonly allowed_users: readonly number[];
  /** What is read of groups. */
  readonly groups: GroupMode;
  readonly pending_window_seconds: number;
  readonly pending_max_messages: number;
  /** Hours in which nothing that is sent makes a sound. */
  readonly quiet_hours?: QuietHours;
  /** What is taken of files that people send. */
  readonly files: FileLimits;
  /** How long a task waits for messages that may belong to it. Default: a second. */
  readonly quiet_ms?: number;
  readonly state_dir: string;
  readonly store: Store;
  /** Notified when something was recorded. */
  readonly notifier: Notifier;
  /** What running commands print. */
  readonly outputs: OutputFeed;
  readonly onTask: () => void;
  readonly redact: (text: string) => string;
  readonly listTools: () => Promise<readonly string[]>;
  /** Gives what runs changed, and what undoing them would change. */
  readonly readChanges: UndoParts["readChanges"];
  /** No model answers: each message is a call. */
  readonly isDirect: boolean;
  readonly log: (line: string) => void;
  readonly clock?: () => number;
  /** Default: Telegram's own limits. */
  readonly rate?: RateLimit;
}

export interface Telegram {
  readonly sender: OutboxSender;
  /** Stops polling and flushes what is being said, for at most three seconds. */
  close(): Promise<void>;
}

/** Telegram does not know the token. Waiting does not help. */
export class BadToken extends Error {
  constructor() {
    super(
      "Telegram rejected the token in AUTONOUS_TELEGRAM_TOKEN: copy it again from @BotFather, or unset it to run without Telegram",
    );
  }
}

const FLUSH_MS = 3000;

/** Speaks with people by Telegram until it is closed. Throws `BadToken`; a network that is down is waited for. */
export async function openTelegram(options: TelegramOptions): Promise<Telegram> {
  const { store, notifier, onTask, redact, listTools, log, clock = Date.now } = options;
  const moved = new MovedChats(store, clock);
  await moved.load();
  const client = openClient(options, moved);
  const asked = await askForBot(client);
  if ("problem" in asked) log(`${asked.problem}. Retrying`);
  const allowed = new Access(options.allowed_users, store);
  await allowed.refresh();
  if (allowed.size === 0) log("No one has access to the bot yet. Let someone in: autonous telegram pair");
  const common = { store, client, allowed, clock, onTask };
  const names = new PeopleNames(store);
  await names.load();
  const nameOf = (person: string): string => names.nameOf(person);
  const { questions, progress, queued, undos } = openTalk(options, { ...common, nameOf });
  const strangers = new Strangers({ store, client, access: allowed, clock, log, names });
  const { gather, downloads } = await openGather(options, common);
  const poller = new Poller({
    ...common,
    log,
    redact,
    groups: options.groups,
    window_ms: options.pending_window_seconds * 1000,
    max_messages: options.pending_max_messages,
    bot: "bot" in asked ? asked.bot : undefined,
    onUpdate: (update) => moved.notice(update),
    take: (incoming, bot_id) =>
      takeIncoming(moved.translate(incoming), {
        ...common,
        bot_id,
        strangers,
        gather,
        listTools,
        isDirect: options.isDirect,
        groups: options.groups,
        names,
        nameOf,
        activityIn: (lane) => progress.activityIn(lane),
        onQueued: (written) => queued.note(written),
        previewUndo: (written, rest) => undos.preview(written, rest),
        press: (pressed) => (undos.isMine(pressed) ? undos : questions).press(pressed),
        answer: (written) => questions.reply(written),
      }),
  });
  const stopped = new AbortController();
  const running = [
    poller.run(stopped.signal),
    followEvents(stopped.signal, { store, notifier, progress, questions, queued, log }),
  ];
  return {
    sender: createOutboxSender({ store, client, moved, questions, redact, nameOf, state_dir: options.state_dir }),
    async close() {
      stopped.abort();
      notifier.notify();
      await downloads.close();
      await client.close(FLUSH_MS);
      await Promise.all(running);
    },
  };
}

type GatherParts = Pick<DownloadsOptions, "store" | "client" | "clock" | "onTask">;

/** What puts messages into the queue, and what gets their files. */
async function openGather(
  { files: limits, state_dir, quiet_ms, redact, log }: TelegramOptions,
  common: GatherParts,
): Promise<{ readonly gather: Gather; readonly downloads: Downloads }> {
  const onFiles = (task_id: string, quiet_until: number): void => downloads.add(task_id, quiet_until);
  const quiet = quiet_ms === undefined ? {} : { quiet_ms };
  const gather = new Gather({ ...common, redact, limits, onFiles, ...quiet });
  const downloads = new Downloads({ ...common, log, state_dir, limits, inLine: (work) => gather.inLine(work) });
  await downloads.open();
  return { gather, downloads };
}

/** What is said beside answers: questions, how far tasks are, how many wait. */
function openTalk(
  { store, notifier, outputs, readChanges }: TelegramOptions,
  common: Omit<QuestionParts, "onAnswer"> & Pick<UndoParts, "nameOf">,
) {
  const { client } = common;
  const progress = new Progress({ store, client, clock: monotonic });
  outputs.listen((output) => progress.print(output));
  return {
    progress,
    undos: new Undos({ ...common, readChanges }),
    questions: new Questions({ ...common, onAnswer: () => notifier.notify() }),
    queued: new QueuedNotice({ store, client, clock: monotonic }),
  };
}

function openClient(options: TelegramOptions, moved: MovedChats): TelegramClient {
  const { token, api_root, log, rate, quiet_hours, clock = Date.now } = options;
  return new TelegramClient({
    token,
    api_root,
    log,
    moved,
    ...(quiet_hours === undefined ? {} : { isQuiet: () => isQuietAt(quiet_hours, clock()) }),
    ...(rate === undefined ? {} : { rate }),
  });
}

/** The end is no longer part of them. They may go past midnight. */
export function isQuietAt({ from_minute, to_minute, time_zone }: QuietHours, now: number): boolean {
  const options = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
  const zone = time_zone === undefined ? {} : { timeZone: time_zone };
  const [hour = 0, minute = 0] = new Intl.DateTimeFormat("en-GB", { ...options, ...zone })
    .format(now)
    .split(":")
    .map(Number);
  const at = hour * 60 + minute;
  return from_minute < to_minute ? at >= from_minute && at < to_minute : at >= from_minute || at < to_minute;
}

const ASK_MS = 5000;

/** Who the bot is, or why that cannot be said now. Throws `BadToken`. */
export async function askForBot(
  client: TelegramClient,
): Promise<{ readonly bot: UserFromGetMe } | { readonly problem: string }> {
  try {
    return { bot: await client.call((api, signal) => api.getMe(signal), { timeoutMs: ASK_MS }) };
  } catch (error) {
    if (!(error instanceof TelegramFailure)) throw error;
    if (error.kind !== "bad_token") return { problem: error.message };
    throw new BadToken();
  }
}
