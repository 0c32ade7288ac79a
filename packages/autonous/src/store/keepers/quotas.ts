import { COUNTED } from "@autonous/runtime/internal";
import type { Counts, QuotaHolder, QuotaKeeper, QuotaUse } from "@autonous/runtime/internal";
import type { Database, Queries } from "../sqlite/database.ts";

/** Usage within this span is summed in one row, and leaves a window together. */
const SPAN_MS = 10_000;
/** Longer than any window, so older rows are not needed. */
const RETENTION_MS = 367 * 86_400_000;

const ADD = `insert into quota_use (per, holder, since, calls, executions, tokens, bytes_written)
  values (?, ?, ?, ?, ?, ?, ?)
  on conflict (per, holder, since) do update set calls = calls + excluded.calls,
    executions = executions + excluded.executions, tokens = tokens + excluded.tokens,
    bytes_written = bytes_written + excluded.bytes_written`;
const USED = `select coalesce(sum(calls), 0) as calls, coalesce(sum(executions), 0) as executions,
    coalesce(sum(tokens), 0) as tokens, coalesce(sum(bytes_written), 0) as bytes_written, min(since) as oldest_ms
  from quota_use where per = ? and holder = ? and since > ?`;
const FORGET = "delete from quota_use where per = ? and holder = ? and since < ?";

export function createQuotas(database: Database): QuotaKeeper {
  return {
    used: ({ per, id }, since_ms) =>
      database.read("read the use of a quota", async (queries) => {
        const row = await queries.one<QuotaUse["counts"] & Pick<QuotaUse, "oldest_ms">>(USED, [per, id, since_ms]);
        if (row === undefined) throw new Error("A sum has one row");
        const { oldest_ms, ...counts } = row;
        return { counts, oldest_ms };
      }),
    add: (holder, counts, now) =>
      database.transaction("count the use of a quota", (queries) => charge(queries, { holder, counts, now })),
  };
}

interface Charge {
  readonly holder: QuotaHolder;
  readonly counts: Counts;
  readonly now: number;
}

export async function charge(queries: Queries, { holder, counts, now }: Charge): Promise<void> {
  const since = now - (now % SPAN_MS);
  const values = COUNTED.map((name) => counts[name] ?? 0);
  for (const [per, id] of [
    ["run", holder.run_id],
    ["chat", holder.chat],
    ["user", holder.user],
  ] as const) {
    if (id === undefined) continue;
    await queries.run(ADD, [per, id, since, ...values]);
    await queries.run(FORGET, [per, id, now - RETENTION_MS]);
  }
}
