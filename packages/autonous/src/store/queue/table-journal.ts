import { ToolError } from "@autonous/runtime";
import type { RuntimeEvent } from "@autonous/runtime";
import type { AppendOptions, CallState, EventDraft, Journal, StartCommit } from "@autonous/runtime/internal";
import { charge } from "../keepers/quotas.ts";
import { appendEvents } from "../record/append-events.ts";
import { stateOfCall } from "../record/call-table.ts";
import { readEvents } from "../record/event-table.ts";
import type { Database, Queries } from "../sqlite/database.ts";
import type { LeaseKey } from "../store.ts";
import { useApproval } from "./approval-table.ts";
import { requireLease } from "./lanes.ts";

interface TableJournalOptions {
  readonly run_id: string;
  readonly lease: LeaseKey | undefined;
  readonly clock: () => number;
}

/** Journal in a table: the authoritative log of the service. */
export class TableJournal implements Journal {
  readonly run_id: string;
  readonly commits = true;
  readonly #database: Database;
  readonly #clock: () => number;
  readonly #lease: LeaseKey | undefined;

  constructor(database: Database, { run_id, lease, clock }: TableJournalOptions) {
    this.run_id = run_id;
    this.#database = database;
    this.#clock = clock;
    this.#lease = lease;
  }

  /** Always durable: the commit is on disk when this returns. */
  append(drafts: readonly EventDraft[], { result, commit }: AppendOptions = {}): Promise<readonly RuntimeEvent[]> {
    const doing = `record events of run "${this.run_id}"`;
    return this.#database.transaction(doing, async (queries) => {
      if (this.#lease !== undefined) await requireLease(queries, this.#lease, doing);
      if (commit !== undefined) await commitStart(queries, commit, this.#clock());
      return await appendEvents(queries, { run_id: this.run_id, drafts, result });
    });
  }

  read(after = 0): AsyncIterable<RuntimeEvent> {
    return readEvents(this.#database, this.run_id, after);
  }

  callState(tool_call_id: string): Promise<CallState | undefined> {
    return this.#database.read(`find call "${tool_call_id}"`, (queries) =>
      stateOfCall(queries, this.run_id, tool_call_id),
    );
  }

  /** Closes nothing: the connection belongs to the store. */
  async close(): Promise<void> {}
}

/** Uses up the approval of a call at its start. An approval that was used before starts nothing. */
async function commitStart(queries: Queries, { approval_id, quota }: StartCommit, now: number): Promise<void> {
  if (quota !== undefined) await charge(queries, { ...quota, now });
  if (approval_id === undefined || (await useApproval(queries, approval_id, now))) return;
  throw new ToolError("ApprovalExpired", "Cannot start the call: its approval was already used or revoked", {
    approval_id,
  });
}
