import type { EventDraft } from "../protocol/event-record.ts";
import type { GateCall, GateParts } from "./call.ts";
import { draftEvent, need } from "./call.ts";

/** Nothing is recorded of the first second of a call, and then at most once in this time. */
const EVERY_MS = 1_000;
/** Long calls are recorded less often, by this part of their age: 1 h gives some 120 events, a day some 190. */
const PART_OF_AGE = 20;
/** A call that knows its fraction is recorded for each of these parts. */
const STEPS = 10;
const DETAIL_LENGTH = 500;

interface Report {
  readonly fraction: number | null;
  readonly detail: string;
}

/**
 * Records how far a call is (`progress`), rate-limited and bounded, whatever its tool reports. The last report is always
 * recorded: `close` gives it, to be recorded with the end of the call. What commands print is not recorded here.
 */
export class ProgressRecord {
  readonly #call: GateCall;
  readonly #parts: Pick<GateParts, "journal" | "redactor" | "clock">;
  #recorded: Report | undefined;
  #latest: Report | undefined;
  readonly #beganMs: number;
  #waitMs = EVERY_MS;
  #dueMs: number;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<unknown> | undefined;
  #isClosed = false;

  constructor(call: GateCall, parts: Pick<GateParts, "journal" | "redactor" | "clock">) {
    this.#call = call;
    this.#parts = parts;
    this.#beganMs = call.opened_ms + call.waited_ms;
    this.#dueMs = this.#beganMs + EVERY_MS;
  }

  /** `detail` is as a tool gave it, and a tool may be plain JavaScript. */
  report(fraction: number | null, detail: unknown): void {
    this.#latest = { fraction: cleanFraction(fraction), detail: typeof detail === "string" ? detail : "" };
    if (!isStep(this.#recorded, this.#latest)) return;
    const wait_ms = this.#dueMs - this.#parts.clock();
    if (wait_ms <= 0) return this.#record(); // also where the tool leaves no time to a timer
    if (this.#timer !== undefined) return;
    // A clock that was set back does not make it wait longer.
    this.#timer = setTimeout(() => this.#record(), Math.min(wait_ms, this.#waitMs)).unref();
  }

  /** Waits for what is being recorded; gives the last report where it is not on record yet. */
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
    // A record that cannot be written is told by the end of the call, which has to be written too.
    this.#writing = Promise.all([this.#writing, written]).catch(() => {});
  }

  #draft({ fraction, detail }: Report): EventDraft {
    const { text } = this.#parts.redactor.redact(detail);
    const shown = text.length <= DETAIL_LENGTH ? text : `${text.slice(0, DETAIL_LENGTH)}…`;
    const { tool_call_id } = this.#call.request;
    const about = { tool_call_id, tool_name: need(this.#call.tool, "tool").name };
    const payload = { ...about, fraction, detail: shown.toWellFormed() };
    return draftEvent(this.#call, "progress", payload, this.#parts.clock());
  }
}

/** Whatever a tool reports, it is from 0 to 1, or not known. */
function cleanFraction(fraction: number | null): number | null {
  return Number.isFinite(fraction) ? Math.min(1, Math.max(0, Number(fraction))) : null;
}

/** Whether a report tells enough more than the one before it: another tenth, or another detail where none is known. */
function isStep(before: Report | undefined, { fraction, detail }: Report): boolean {
  if (before === undefined) return true;
  if (fraction === null || before.fraction === null) return fraction !== before.fraction || detail !== before.detail;
  return Math.floor(fraction * STEPS) !== Math.floor(before.fraction * STEPS);
}

function isSame(before: Report | undefined, { fraction, detail }: Report): boolean {
  return before?.fraction === fraction && before.detail === detail;
}
