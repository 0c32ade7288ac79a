import type { Journal, OpenJournal } from "./contract/journal.ts";
import type { LeftChange } from "./machine/files/recover.ts";
import type { RuntimeEvent } from "./protocol/event-record.ts";
import { makeId, makeTraceId } from "./protocol/ids.ts";
import type { Redactor } from "./redact/redact.ts";
import type { ToolCallResult } from "./protocol/result.ts";

interface LeftOptions {
  readonly journal: Journal;
  readonly now: number;
  readonly redactor: Pick<Redactor, "redact">;
}

/** What a killed process left half done and others have changed since, in words. */
export function leftTexts(left: readonly LeftChange[]): readonly string[] {
  return left.map(
    ({ undo_id, tool_call_id, files, why }) =>
      `A change that was cut short (${undo_id}, call ${tool_call_id}) was left as it is: ${why}${files.length === 0 ? "" : `: ${namesOf(files)}`}`,
  );
}

/** What a killed process left is for a person to look at. */
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

const MOST_NAMED = 20;

function namesOf(files: readonly string[]): string {
  const more = files.length > MOST_NAMED ? ` and ${files.length - MOST_NAMED} more` : "";
  return `${files.slice(0, MOST_NAMED).join(", ")}${more}`;
}

/** With the result of the call that the event ends. */
export type OnEvent = (event: RuntimeEvent, result?: ToolCallResult) => void;

/** A journal that tells of what it recorded. */
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

/** A view of the host's that breaks is the host's to see, and does not make the event unrecorded. */
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
    close: async () => {}, // it is the runtime's: `runtime.close()` ends it
  };
}
