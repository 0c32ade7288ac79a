import type { CountedResource } from "../../protocol/counted.ts";
import { COUNTED } from "../../protocol/counted.ts";
import type { Clock } from "../../contract/host.ts";
import type { Counts, QuotaHolder, QuotaKeeper } from "../../contract/quotas.ts";
import type { Quota } from "../../protocol/configuration.ts";
import { ToolError } from "../../protocol/errors.ts";
import type { GateParts } from "../parts.ts";
import type { Attempt, Identified, Opened, Permitted } from "../stages.ts";

/** Step 5: checks the quotas. Usage is charged when the call starts, so a refused call costs nothing. */
export async function takeQuota(call: Permitted, { quotas }: GateParts): Promise<Permitted> {
  await quotas.reserve(call);
  return call;
}

/** Whose quotas a call counts against. */
export function quotaHolder({ request, options: { chat, user } }: Opened): QuotaHolder {
  const who = { ...(chat === undefined ? {} : { chat }), ...(user === undefined ? {} : { user }) };
  return inOneForm({ run_id: request.run_id, ...who });
}

/** Unicode forms of the same name are one name, as in rules, and share one account. */
function inOneForm({ run_id, chat, user }: QuotaHolder): QuotaHolder {
  return {
    run_id,
    ...(chat === undefined ? {} : { chat: chat.normalize("NFC") }),
    ...(user === undefined ? {} : { user: user.normalize("NFC") }),
  };
}

interface QuotasOptions {
  readonly quotas: readonly Quota[];
  readonly keeper: QuotaKeeper;
  readonly clock: Clock;
}

interface Reservation {
  readonly holder: QuotaHolder;
  readonly counts: Counts;
}

/**
 * The quotas of a configuration. Checks are serialized, so that parallel calls cannot exceed a quota together. Quota is
 * reserved from the check to the start, also while a person is asked.
 */
export class Quotas {
  readonly #options: QuotasOptions;
  readonly #reserved = new Map<Attempt, Reservation>();
  #line: Promise<unknown> = Promise.resolve();

  constructor(options: QuotasOptions) {
    this.#options = options;
  }

  /** Throws `QuotaExceeded`. */
  async reserve(call: Identified): Promise<void> {
    if (this.#options.quotas.length === 0) return;
    const { required_permissions, side_effects } = call.tool;
    const executions = required_permissions.includes("proc.exec") ? 1 : 0;
    const writes = side_effects.includes("files") || side_effects.includes("process") ? 1 : 0;
    const holder = quotaHolder(call);
    await this.#inLine(async () => {
      // Written bytes and tokens are only known afterwards: such a quota must have something left.
      await this.#refuseOver(call, { calls: 1, executions, tokens: 1, bytes_written: writes });
      this.#reserved.set(call.attempt, { holder, counts: { calls: 1, executions } });
    });
  }

  /** Starts a call. `begin` receives the counts to charge; undefined if nothing is counted. */
  async charge({ attempt }: Opened, begin: (counts: Counts | undefined) => Promise<void>): Promise<void> {
    const reservation = this.#reserved.get(attempt);
    if (reservation === undefined) return await begin(undefined);
    await this.#inLine(async () => {
      await begin(reservation.counts);
      this.#reserved.delete(attempt);
    });
  }

  async add(call: Opened, counts: Counts): Promise<void> {
    const { keeper, clock } = this.#options;
    await keeper.add(quotaHolder(call), counts, clock());
  }

  /** Ends a call, whatever its outcome: charges written bytes and releases unused reservations. */
  async release(call: Opened): Promise<void> {
    if (this.#options.quotas.length === 0) return;
    const { attempt } = call;
    this.#reserved.delete(attempt);
    if (attempt.bytes_written > 0) await this.add(call, { bytes_written: attempt.bytes_written });
  }

  /** Charges usage outside of calls, such as that of a model. The next call takes it into account. */
  async use(holder: QuotaHolder, counts: Counts): Promise<void> {
    const { quotas, keeper, clock } = this.#options;
    if (quotas.length > 0) await keeper.add(inOneForm(holder), counts, clock());
  }

  async #refuseOver(call: Opened, needed: Readonly<Record<CountedResource, number>>): Promise<void> {
    const { quotas, keeper, clock } = this.#options;
    const now = clock();
    for (const quota of quotas) {
      const id = idOf(quota.per, quotaHolder(call));
      if (id === undefined) continue; // no holder to count for
      const window_ms = windowOf(quota);
      const { counts, oldest_ms } = await keeper.used({ per: quota.per, id }, Math.max(0, now - window_ms));
      for (const counted of COUNTED) {
        const limit = quota[counted];
        if (limit === undefined || needed[counted] === 0) continue;
        const used = counts[counted] + this.#reservedFor(quota.per, id, counted);
        if (used + needed[counted] <= limit) continue;
        throw exceeded(call, { quota, counted, limit, used, now, back_ms: (oldest_ms ?? now) + window_ms });
      }
    }
  }

  #reservedFor(per: Quota["per"], id: string, counted: CountedResource): number {
    let sum = 0;
    for (const { holder, counts } of this.#reserved.values()) {
      if (idOf(per, holder) === id) sum += counts[counted] ?? 0;
    }
    return sum;
  }

  /** Runs tasks one after the other, in order; an error of one does not affect the others. */
  async #inLine<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#line.then(work, work);
    this.#line = turn.catch(() => undefined); // reported to the caller of this turn
    return await turn;
  }
}

/** Infinite for a run: it counts from beginning to end. */
function windowOf(quota: Quota): number {
  return "window_seconds" in quota ? quota.window_seconds * 1000 : Number.POSITIVE_INFINITY;
}

function idOf(per: Quota["per"], { run_id, chat, user }: QuotaHolder): string | undefined {
  return { run: run_id, chat, user }[per];
}

interface QuotaExcess {
  readonly quota: Quota;
  readonly counted: CountedResource;
  readonly limit: number;
  readonly used: number;
  readonly now: number;
  /** When the oldest usage leaves the window. */
  readonly back_ms: number;
}

// oxfmt-ignore
const WORDS: Readonly<Record<CountedResource, string>> = {
  calls:         "calls",
  executions:    "executions",
  tokens:        "tokens",
  bytes_written: "bytes written",
};

function exceeded(call: Opened, { quota, counted, limit, used, now, back_ms }: QuotaExcess): ToolError {
  const window_ms = windowOf(quota);
  const isEndless = !Number.isFinite(window_ms);
  const window = isEndless ? "" : ` in ${inWords(window_ms)}`;
  const retry_at = isEndless ? null : new Date(back_ms).toISOString();
  const again = isEndless
    ? "a new run starts at zero"
    : `available again from ${retry_at}, in ${inWords(Math.max(1000, back_ms - now))}`;
  const name = call.request.name;
  return new ToolError(
    "QuotaExceeded",
    `Cannot run "${name}": this ${quota.per} has used ${used} of its ${limit} ${WORDS[counted]}${window}; ${again}`,
    {
      quota: { ...quota },
      counted,
      used,
      limit,
      retry_at,
      hint: isEndless
        ? "Start a new run, or ask the owner to raise the quota."
        : `Wait until ${retry_at}, or ask the owner to raise the quota.`,
    },
  );
}

// oxfmt-ignore
const UNITS = [
  { ms: 86_400_000, one: "day",    many: "days" },
  { ms: 3_600_000,  one: "hour",   many: "hours" },
  { ms: 60_000,     one: "minute", many: "minutes" },
  { ms: 1000,       one: "second", many: "seconds" },
] as const;

/** In the largest unit with a count of at least two, rounded up: "90 minutes", "2 days". */
function inWords(ms: number): string {
  const unit = UNITS.find((each) => ms >= 2 * each.ms) ?? UNITS.find((each) => ms >= each.ms) ?? UNITS[3];
  const count = Math.ceil(ms / unit.ms);
  return `${count} ${count === 1 ? unit.one : unit.many}`;
}
