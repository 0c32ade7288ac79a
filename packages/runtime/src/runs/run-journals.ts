import type { Journal, OpenJournal } from "../contract/journal.ts";
import type { LeftChange } from "../machine/files/recover-changes.ts";
import type { RuntimeEvent } from "../protocol/event-record.ts";
import { makeId, makeTraceId } from "../protocol/ids.ts";
import type { Redactor } from "../redact/redact.ts";
import type { ToolCallResult } from "../protocol/result.ts";

interface LeftOptions {
  readonly journal: Journal;
  readonly now: number;
  readonly redactor: Pick<Redactor, "redact">;
}

/** Messages about interrupted changes that others have modified since. */
export function leftTexts(left: readonly LeftChange[]): readonly string[] {
  return left.map(
    ({ undo_id, tool_call_id, files, why }) =>
      `An interrupted change (${undo_id}, call ${tool_call_id}) was not recovered: ${why}${files.length === 0 ? "" : `: ${namesOf(files)}`}`,
  );
}

/** Records the interrupted changes, for a person to review. */
export async function tellLeft(left: readonly string[], { journal, now, redactor }: LeftOptions): Promise<void> {
  if (left.length === 0) return;
  const about = { trace_id: makeTraceId(), task_id: null, run_id: journal.run_id, parent_id: null };
  const ts = new Date(now).toISOString();
  const drafts = left.map((text) => {
    const payload = { level: "warning", content: redactor.redact(text).text };
    return { event_id: makeId("evt", now), ts, type: "display", ...about, payload } as const;
  });
  await journal.append(drafts);
}

const MAX_NAMED = 20;

function namesOf(files: readonly string[]): string {
  const more = files.length > MAX_NAMED ? ` and ${files.length - MAX_NAMED} more` : "";
  return `${files.slice(0, MAX_NAMED).join(", ")}${more}`;
}

/** With the result of the call that the event ends. */
export type OnEvent = (event: RuntimeEvent, result?: ToolCallResult) => void;

/** A journal that reports each recorded event. */
export function telling(openJournal: OpenJournal, onEvent: OnEvent | undefined): OpenJournal {
  if (onEvent === undefined) return openJournal;
  return async (run_id) => {
    const journal = await openJournal(run_id);
    return {
      run_id,
      ...(journal.commits === true ? { commits: true } : {}),
      async append(drafts, options) {
        const events = await journal.append(drafts, options);
        for (const event of events) tell(() => onEvent(event, options?.result));
        return events;
      },
      ...(journal.sync === undefined ? {} : { sync: journal.sync.bind(journal) }),
      ...(journal.callState === undefined ? {} : { callState: journal.callState.bind(journal) }),
      read: (after) => journal.read(after),
      close: () => journal.close(),
    };
  };
}

/** An error in the host's callback is left to the host; the event stays recorded. */
function tell(view: () => void): void {
  try {
    view();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

export function lazyJournal(run_id: string, open: () => Promise<Journal>): Journal {
  return {
    run_id,
    append: async (drafts, options) => await (await open()).append(drafts, options),
    async *read(after) {
      yield* (await open()).read(after);
    },
    close: async () => {}, // `runtime.close()` closes it
  };
}
