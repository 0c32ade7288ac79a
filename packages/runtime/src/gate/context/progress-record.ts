import type { EventDraft } from "../../protocol/event-record.ts";
import { draftEvent } from "../draft-event.ts";
import type { GateParts } from "../parts.ts";
import type { Identified } from "../stages.ts";

/** Nothing is recorded in the first second of a call, and then at most once per this time. */
const EVERY_MS = 1_000;
/** Long calls are recorded less often, by this fraction of their age: 1 h gives about 120 events, a day about 190. */
const PART_OF_AGE = 20;
/** A call with a known fraction is recorded at each of these steps. */
const STEPS = 10;
const DETAIL_LENGTH = 500;

interface Report {
  readonly fraction: number | null;
  readonly detail: string;
}

/**
 * Records the progress of a call (`progress`), rate-limited and bounded, whatever its tool reports. The last report is
 * always recorded: `close` returns it, to be recorded with the end of the call. Command output is not recorded here.
 */
export class ProgressRecord {
  readonly #call: Identified;
  readonly #parts: Pick<GateParts, "journal" | "redactor" | "clock">;
  #recorded: Report | undefined;
  #latest: Report | undefined;
  readonly #beganMs: number;
  #waitMs = EVERY_MS;
  #dueMs: number;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<unknown> | undefined;
  #isClosed = false;

  constructor(call: Identified, parts: Pick<GateParts, "journal" | "redactor" | "clock">) {
    this.#call = call;
    this.#parts = parts;
    this.#beganMs = call.attempt.opened_ms + call.attempt.waited_ms;
    this.#dueMs = this.#beganMs + EVERY_MS;
  }

  /** `detail` comes from a tool, which may be untyped JavaScript. */
  report(fraction: number | null, detail: unknown): void {
    this.#latest = { fraction: cleanFraction(fraction), detail: typeof detail === "string" ? detail : "" };
    if (!isStep(this.#recorded, this.#latest)) return;
    const wait_ms = this.#dueMs - this.#parts.clock();
    if (wait_ms <= 0) return this.#record(); // even if the tool blocks the event loop and timers do not fire
    if (this.#timer !== undefined) return;
    // A clock that was set back does not extend the wait.
    this.#timer = setTimeout(() => this.#record(), Math.min(wait_ms, this.#waitMs)).unref();
  }

  /** Waits for pending writes; returns the last report if it is not recorded yet. */
  async close(): Promise<readonly EventDraft[]> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#writing;
    if (this.#latest === undefined || isSame(this.#recorded, this.#latest)) return [];
    return [this.#draft(this.#latest)];
  }

  #record(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#latest === undefined || this.#isClosed) return;
    const now = this.#parts.clock();
    this.#waitMs = Math.max(EVERY_MS, (now - this.#beganMs) / PART_OF_AGE);
    this.#dueMs = now + this.#waitMs;
    this.#recorded = this.#latest;
    const written = this.#parts.journal.append([this.#draft(this.#latest)]);
    // If the record cannot be written, the end of the call fails too and reports it.
    this.#writing = Promise.all([this.#writing, written]).catch(() => {});
  }

  #draft({ fraction, detail }: Report): EventDraft {
    const { text } = this.#parts.redactor.redact(detail);
    const shown = text.length <= DETAIL_LENGTH ? text : `${text.slice(0, DETAIL_LENGTH)}…`;
    const { tool_call_id } = this.#call.request;
    const about = { tool_call_id, tool_name: this.#call.tool.name };
    const payload = { ...about, fraction, detail: shown.toWellFormed() };
    return draftEvent(this.#call, "progress", payload, this.#parts.clock());
  }
}

/** Clamps to 0..1, or null if unknown. */
function cleanFraction(fraction: number | null): number | null {
  return Number.isFinite(fraction) ? Math.min(1, Math.max(0, Number(fraction))) : null;
}

/** Whether a report adds enough to the previous one: another tenth, or a new detail if the fraction is unknown. */
function isStep(before: Report | undefined, { fraction, detail }: Report): boolean {
  if (before === undefined) return true;
  if (fraction === null || before.fraction === null) return fraction !== before.fraction || detail !== before.detail;
  return Math.floor(fraction * STEPS) !== Math.floor(before.fraction * STEPS);
}

function isSame(before: Report | undefined, { fraction, detail }: Report): boolean {
  return before?.fraction === fraction && before.detail === detail;
}
