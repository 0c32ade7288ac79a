import type { Socket } from "node:net";
import { checkFault, FaultPlan } from "./faults.ts";
import type { FaultInput, FaultKind } from "./faults.ts";
import { RateLimiter } from "./limits.ts";
import type { Limits } from "./limits.ts";
import { SOMEONE } from "./people/groups.ts";
import { createPeople } from "./people/people.ts";
import type { People } from "./people/people.ts";
import { Updates } from "./updates.ts";
import { createWorld } from "./world.ts";
import type { ChatMessage, World } from "./world.ts";

export interface FakeTelegramOptions {
  /** The one token that is right. */
  readonly token?: string;
  readonly username?: string;
  /** Whether the bot gets only what is meant for it in groups, as with Telegram unless it is switched off (true). */
  readonly privacy?: boolean;
  /** Not said: as much as one likes. `TELEGRAM_LIMITS`: about as much as Telegram takes. */
  readonly limits?: Limits;
  /** How long the press of a button waits for its answer (60). */
  readonly query_seconds?: number;
  /** How long a file can be fetched after getFile gave its address (3600). */
  readonly link_seconds?: number;
  readonly max_file_bytes?: number;
  readonly faults?: readonly FaultInput[];
  /** 0, and not said: a free one. */
  readonly port?: number;
  /** How many calls are remembered; the oldest are forgotten first (10,000). */
  readonly keep_calls?: number;
  readonly onCall?: (call: SeenCall) => void;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** A call that came, and what became of it. */
export interface SeenCall {
  readonly method: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly chat: number | undefined;
  /** As `performance.now` counts. */
  readonly received_ms: number;
  /** It came before the time was over that an earlier 429 had asked to wait. */
  readonly is_early: boolean;
  status?: number;
  description?: string;
  fault?: FaultKind;
}

export interface State {
  readonly options: FakeTelegramOptions;
  readonly token: string;
  readonly world: World;
  readonly updates: Updates;
  readonly people: People;
  readonly faults: FaultPlan;
  readonly limiter: RateLimiter | undefined;
  readonly calls: SeenCall[];
  /** By chat and for all: not before this time, as `performance.now` counts. */
  readonly pauses: Map<number | undefined, number>;
  readonly stopping: AbortSignal;
  /** The connections of the bot. */
  readonly sockets: Set<Socket>;
  /** Every connection of the bot is reset. */
  isDown: boolean;
  changed(): void;
}

const TOKEN = "42424242:AAFakeTelegramTokenForTestsOnly_0000000";

export function openState(options: FakeTelegramOptions, stopping: AbortSignal, changed: () => void): State {
  const { token = TOKEN, username = "fake_bot", now = Date.now } = options;
  const bot = { id: Number(/^\d+/.exec(token)?.[0] ?? 42_424_242), username };
  const world = createWorld({ bot, privacy: { isOn: options.privacy ?? true }, now });
  const updates = new Updates(now, changed);
  const faults = new FaultPlan();
  for (const fault of options.faults ?? []) faults.add(checkFault(fault));
  return {
    options,
    token,
    world,
    updates,
    people: createPeople(world, updates, changed),
    faults,
    limiter: options.limits === undefined ? undefined : new RateLimiter(options.limits),
    calls: [],
    pauses: new Map(),
    stopping,
    sockets: new Set(),
    isDown: false,
    changed,
  };
}

/** `kept` is the connection of the request that asks for it. */
export function setDown(state: State, isDown: boolean, kept?: Socket): void {
  state.isDown = isDown;
  if (isDown) for (const socket of state.sockets) if (socket !== kept) socket.resetAndDestroy();
}

export function messagesOf({ chats }: World, chat = SOMEONE): readonly ChatMessage[] {
  return (chats.get(chat)?.messages ?? []).filter(({ isDeleted }) => !isDeleted);
}
