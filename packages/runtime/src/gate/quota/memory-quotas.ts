import { COUNTED } from "../../protocol/counted.ts";
import type { CountedResource } from "../../protocol/counted.ts";
import type { Counts, QuotaKeeper, QuotaUse } from "../../contract/quotas.ts";

/** Usage within this time is merged into one entry, so that a year of use stays small. */
const SPAN_MS = 1000;
/** Entries per holder. Above it the older half is merged, and leaves the window later rather than sooner. */
const ENTRIES = 4096;
/** Maximum number of runs, chats and users. The least recently used are dropped first. */
const HOLDERS = 10_000;

interface Used {
  readonly at_ms: number;
  readonly counts: Record<CountedResource, number>;
}

/** Counts in memory, for the lifetime of the process. */
export function createMemoryQuotas(): QuotaKeeper {
  const byHolder = new Map<string, Used[]>();

  function addTo(key: string, counts: Counts, now: number): void {
    const entries = byHolder.get(key) ?? [];
    byHolder.delete(key); // moves it to the end
    byHolder.set(key, entries);
    for (const oldest of byHolder.keys()) {
      if (byHolder.size <= HOLDERS) break;
      byHolder.delete(oldest);
    }
    const last = entries.at(-1);
    const entry = last !== undefined && now - last.at_ms < SPAN_MS ? last : { at_ms: now, counts: none() };
    if (entry !== last) entries.push(entry);
    if (entries.length > ENTRIES) entries.splice(0, ENTRIES / 2, ...inPairs(entries.slice(0, ENTRIES / 2)));
    for (const counted of COUNTED) entry.counts[counted] += counts[counted] ?? 0;
  }

  return {
    // oxlint-disable-next-line typescript/require-await -- other keepers have to wait
    async used({ per, id }, since_ms): Promise<QuotaUse> {
      const within = (byHolder.get(`${per}:${id}`) ?? []).filter(({ at_ms }) => at_ms > since_ms);
      const counts = none();
      for (const entry of within) for (const counted of COUNTED) counts[counted] += entry.counts[counted];
      return { counts, oldest_ms: within[0]?.at_ms ?? null };
    },
    // oxlint-disable-next-line typescript/require-await -- other keepers have to wait
    async add({ run_id, chat, user }, counts, now) {
      for (const [per, id] of Object.entries({ run: run_id, chat, user })) {
        if (id !== undefined) addTo(`${per}:${id}`, counts, now);
      }
    },
  };
}

function inPairs(entries: readonly Used[]): Used[] {
  const pairs: Used[] = [];
  for (let i = 0; i < entries.length; i += 2) {
    const [one, other = one] = [entries[i], entries[i + 1]];
    if (one === undefined || other === undefined) continue;
    const counts = none();
    for (const each of new Set([one, other])) for (const counted of COUNTED) counts[counted] += each.counts[counted];
    pairs.push({ at_ms: other.at_ms, counts });
  }
  return pairs;
}

function none(): Record<CountedResource, number> {
  return { calls: 0, executions: 0, tokens: 0, bytes_written: 0 };
}
