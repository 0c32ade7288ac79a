import type { RuntimeEvent } from "@autonous/runtime";

interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * How long these events waited for a person, counted until `until` while an answer is missing. Parallel waits count
 * once.
 */
export function waitedMs(events: readonly RuntimeEvent[], until: number = Date.parse(events.at(-1)?.ts ?? "")): number {
  const asked = new Map<string, number>();
  const waits: Span[] = [];
  for (const { type, payload, ts } of events) {
    const id = String(payload["tool_call_id"]);
    const from = asked.get(id);
    if (type === "approval_required") asked.set(id, Date.parse(ts));
    else if (from !== undefined && payload["tool_call_id"] !== undefined) {
      waits.push({ from, to: Date.parse(ts) });
      asked.delete(id);
    }
  }
  // No answer yet: later events belong to other calls.
  for (const from of asked.values()) waits.push({ from, to: until });
  return lengthOf(waits);
}

function lengthOf(spans: readonly Span[]): number {
  let covered = Number.NEGATIVE_INFINITY;
  let length = 0;
  for (const { from, to } of [...spans].sort((a, b) => a.from - b.from)) {
    length += Math.max(0, to - Math.max(from, covered));
    covered = Math.max(covered, to);
  }
  return length;
}

/** No work happened before these events: the task was queued, or waited for a worker after a crash. */
const TAKEN_UP: ReadonlySet<string> = new Set(["task.started", "task.resumed", "task.queued"]);

/** Working time of these events, without waits and idle time. */
export function workedMs(events: readonly RuntimeEvent[]): number {
  const first = events[0];
  const last = events.at(-1);
  if (first === undefined || last === undefined) return 0;
  const still = events.flatMap(({ type, ts }, index) => {
    const before = events[index - 1];
    return before !== undefined && TAKEN_UP.has(type) ? [Date.parse(ts) - Date.parse(before.ts)] : [];
  });
  const idle = still.reduce((sum, each) => sum + each, 0);
  return Math.max(0, Date.parse(last.ts) - Date.parse(first.ts) - idle - waitedMs(events));
}
