import { ToolError } from "@autonous/runtime";
import type { AppendOptions, CallState, EventDraft, Journal, RuntimeEvent, StartCommit } from "@autonous/runtime";
import { charge } from "../keepers/quotas.ts";
import { appendEvents } from "../record/append-events.ts";
import { stateOfCall } from "../record/calls.ts";
import { readEvents } from "../record/events.ts";
import type { Database, Queries } from "../sqlite/database.ts";
import type { LeaseKey } from "../store.ts";
import { useApproval } from "./approvals.ts";
import { requireLease } from "./lanes.ts";

interface TableJournalOptions {
  readonly run_id: string;
  readonly lease: LeaseKey | undefined;
  readonly clock: () => number;
}

/** Journal on a table: in the service this is the truth. */
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

  /** Always durable: a commit is on disk when it returns. */
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
    return this.#database.read(`look for call "${tool_call_id}"`, (queries) =>
      stateOfCall(queries, this.run_id, tool_call_id),
    );
  }

  /** There is nothing to close: the connection is the store's. */
  async close(): Promise<void> {}
}

/** What the start of a call uses up. A yes that was used before lets nothing begin. */
async function commitStart(queries: Queries, { approval_id, quota }: StartCommit, now: number): Promise<void> {
  if (quota !== undefined) await charge(queries, { ...quota, now });
  if (approval_id === undefined || (await useApproval(queries, approval_id, now))) return;
  throw new ToolError("ApprovalExpired", "Cannot start the call: its approval was already used or revoked", {
    approval_id,
  });
}
