import { canBecome, pauseUntilAborted } from "@autonous/runtime/internal";
import type { ApprovalAnswer, ApprovalRequest } from "@autonous/runtime";
import type { Approval, ApprovalFilter, ApprovalKeeper, ApprovalState, Grant } from "@autonous/runtime/internal";
import type { Database, Queries } from "../sqlite/database.ts";
import { damagedRow, isObject, parseKept } from "../sqlite/kept-json.ts";
import { putQuestion } from "../record/put-outgoing.ts";
import { wakeWaiting } from "./parked-tasks.ts";

const COLUMNS = "approval_id, run_id, state, request_json, answer_json, answered_at";
const BY_ID = `select ${COLUMNS} from approvals where approval_id = ?`;
const OF_CALL = `select ${COLUMNS} from approvals where run_id = ? and tool_call_id = ? order by position desc`;
/** An approval with changed arguments is for a different call. */
const GRANTED = `select ${COLUMNS} from approvals where digest = ? and state = 'granted'
  and case when json_valid(answer_json) then json_extract(answer_json, '$.args') is null else 0 end order by position limit 1`;
const PENDING = `select ${COLUMNS} from approvals where digest = ? and state = 'pending' and expires_at > ? order by position`;
const ALL = `select ${COLUMNS} from approvals order by position`;
const IN_STATE = `select ${COLUMNS} from approvals where state = ? order by position`;
const OF_RUN = `select ${COLUMNS} from approvals where run_id = ? order by position`;
const INSERT = `insert into approvals (approval_id, run_id, tool_call_id, digest, state, request_json, expires_at)
  values (?, ?, ?, ?, 'pending', ?, ?)`;
const MOVE = "update approvals set state = ? where approval_id = ?";
const ANSWER = "update approvals set state = ?, answer_json = ?, answered_at = ?, expires_at = ? where approval_id = ?";
const OVERDUE = `select ${COLUMNS} from approvals where state in ('pending', 'granted') and expires_at <= ?`;

const ADD_GRANT = `insert into grants (grant_id, scope, run_id, session, grant_json) values (?, ?, ?, ?, ?)
  on conflict (grant_id) do nothing`;
const GRANTS = "select grant_json from grants where revoked_at is null order by position";
const GRANTS_OF = `select grant_json from grants where revoked_at is null
  and ((scope = 'run' and run_id = ?) or (scope = 'session' and session = ?)) order by position`;
const REVOKE = "update grants set revoked_at = ? where grant_id = ? and revoked_at is null";

/** Poll interval of a caller that waits in this process. Tasks do not poll: they are parked. */
const POLL_MS = 250;

interface Row {
  readonly approval_id: string;
  readonly run_id: string;
  readonly state: ApprovalState;
  readonly request_json: string;
  readonly answer_json: string | null;
  readonly answered_at: number | null;
}

/** Requests and grants of the service. An answer makes the waiting task ready in the same transaction. */
export function createApprovals(database: Database, clock: () => number): ApprovalKeeper {
  const get = (approval_id: string): Promise<Approval | undefined> =>
    database.read(`read approval "${approval_id}"`, async (queries) => optional(await find(queries, approval_id)));
  return {
    get,
    open: (request, { shared = "run" } = {}) =>
      database.transaction("ask for an approval", (queries) => open(queries, request, { shared, now: clock() })),
    findGranted: (digest) =>
      database.read("find an approval", async (queries) => optional(await queries.one<Row>(GRANTED, [digest]))),
    list: (filter = {}) => database.read("list approvals", (queries) => list(queries, filter)),
    answer: (approval_id, answer) =>
      database.transaction(`answer approval "${approval_id}"`, (queries) =>
        takeAnswer(queries, { approval_id, answer, now: clock() }),
      ),
    end: (approval_id, state) =>
      database.transaction(`end approval "${approval_id}"`, async (queries) => {
        const row = await find(queries, approval_id);
        if (row !== undefined) await move(queries, row, { state, now: clock() });
      }),
    use: (approval_id) =>
      database.transaction(`use approval "${approval_id}"`, (queries) => useApproval(queries, approval_id, clock())),
    wait: (approval_id, signal) => waitFor(() => get(approval_id), signal),
    addGrant: (grant) =>
      database.transaction("add a grant", async (queries) => {
        const { grant_id, scope, run_id, session } = grant;
        await queries.run(ADD_GRANT, [grant_id, scope, run_id, session, JSON.stringify(grant)]);
      }),
    grants: (holder) =>
      database.read("list grants", async (queries) => {
        const rows =
          holder === undefined
            ? await queries.all<{ readonly grant_json: string }>(GRANTS)
            : await queries.all<{ readonly grant_json: string }>(GRANTS_OF, [holder.run_id, holder.session]);
        return rows.flatMap(({ grant_json }) => parseKept(grant_json, isGrant) ?? []); // a damaged grant allows nothing
      }),
    revoke: (grant_id) =>
      database.transaction(
        `revoke grant "${grant_id}"`,
        async (queries) => (await queries.run(REVOKE, [clock(), grant_id])) > 0,
      ),
  };
}

/** Ends requests that were not answered in time, and approvals that were not used in time. Returns the number. */
export async function expireOverdue(queries: Queries, now: number): Promise<number> {
  const overdue = await queries.all<Row>(OVERDUE, [now]);
  for (const row of overdue) await move(queries, row, { state: "expired", now });
  return overdue.length;
}

/** The run will not be resumed: withdraws its open requests and unused approvals. */
export async function withdrawAll(queries: Queries, run_id: string, now: number): Promise<void> {
  for (const row of await queries.all<Row>(OF_RUN, [run_id])) await move(queries, row, { state: "withdrawn", now });
}

/** For the call that is about to start: true exactly once. */
export async function useApproval(queries: Queries, approval_id: string, now: number): Promise<boolean> {
  const row = await find(queries, approval_id);
  return row !== undefined && (await move(queries, row, { state: "used", now }));
}

async function list(queries: Queries, { state, run_id }: ApprovalFilter): Promise<readonly Approval[]> {
  if (run_id === undefined && state === undefined) return readable(await queries.all<Row>(ALL));
  if (run_id === undefined) return readable(await queries.all<Row>(IN_STATE, [state ?? null]));
  const ofRun = await queries.all<Row>(OF_RUN, [run_id]);
  return readable(ofRun.filter((row) => state === undefined || row.state === state));
}

/** Skips damaged rows; `audit verify` reports them. */
function readable(rows: readonly Row[]): readonly Approval[] {
  return rows.flatMap((row) => readApproval(row) ?? []);
}

interface OpenOptions {
  readonly shared: "run" | "any" | "none";
  readonly now: number;
}

async function open(queries: Queries, request: ApprovalRequest, { shared, now }: OpenOptions): Promise<Approval> {
  const { approval_id, run_id, tool_call_id, digest, expires_at } = request;
  for (const row of await queries.all<Row>(OF_CALL, [run_id, tool_call_id])) {
    const known = readApproval(row); // damaged: it is withdrawn, and approval is requested again
    if (known?.request.digest === digest && known.state !== "used" && known.state !== "withdrawn") return known;
    await move(queries, row, { state: "withdrawn", now });
  }
  const waiting = shared === "none" ? undefined : await findPending(queries, request, { shared, now });
  if (waiting !== undefined) return waiting;
  const text = JSON.stringify(request);
  await queries.run(INSERT, [approval_id, run_id, tool_call_id, digest, text, Date.parse(expires_at)]);
  await putQuestion(queries, request, now);
  return { request, state: "pending" };
}

/** A pending request of another call with the same digest. */
async function findPending(
  queries: Queries,
  { digest, run_id }: ApprovalRequest,
  { shared, now }: OpenOptions,
): Promise<Approval | undefined> {
  for (const row of await queries.all<Row>(PENDING, [digest, now])) {
    const found = shared === "any" || row.run_id === run_id ? readApproval(row) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

interface AnswerRequest {
  readonly approval_id: string;
  readonly answer: ApprovalAnswer;
  readonly now: number;
}

async function takeAnswer(
  queries: Queries,
  { approval_id, answer, now }: AnswerRequest,
): Promise<{ won: boolean; approval: Approval } | undefined> {
  const row = await find(queries, approval_id);
  if (row === undefined) return undefined;
  const approval = approvalOf(row);
  if (row.state !== "pending") return { won: false, approval };
  if (Date.parse(approval.request.expires_at) <= now) {
    await move(queries, row, { state: "expired", now });
    return { won: false, approval: { ...approval, state: "expired" } };
  }
  const state = answer.answer === "grant" ? "granted" : "denied";
  // Valid for the same time again, because the waiting task may also have to wait for a worker.
  const { requested_at, expires_at } = approval.request;
  const until = now + Date.parse(expires_at) - Date.parse(requested_at);
  await queries.run(ANSWER, [state, JSON.stringify(answer), now, until, approval_id]);
  await wakeWaiting(queries, row.run_id, now);
  return { won: true, approval: { ...approval, state, answer, answered_at: new Date(now).toISOString() } };
}

/** False if the state table does not allow the transition: another answer was first. */
async function move(
  queries: Queries,
  { approval_id, run_id, state: from }: Row,
  { state, now }: { readonly state: ApprovalState; readonly now: number },
): Promise<boolean> {
  if (!canBecome(from, state)) return false;
  await queries.run(MOVE, [state, approval_id]);
  if (from === "pending") await wakeWaiting(queries, run_id, now);
  return true;
}

function find(queries: Queries, approval_id: string): Promise<Row | undefined> {
  return queries.one<Row>(BY_ID, [approval_id]);
}

/** Undefined if the row is damaged: it allows nothing and cannot be answered. */
function readApproval({ request_json, state, answer_json, answered_at }: Row): Approval | undefined {
  const request = parseKept(request_json, isRequest);
  const answer = answer_json === null ? null : parseKept(answer_json, isAnswer);
  if (request === undefined || answer === undefined) return undefined;
  return {
    request,
    state,
    ...(answer === null ? {} : { answer }),
    ...(answered_at === null ? {} : { answered_at: new Date(answered_at).toISOString() }),
  };
}

function approvalOf(row: Row): Approval {
  const approval = readApproval(row);
  if (approval !== undefined) return approval;
  throw damagedRow("read the approval", `row "${row.approval_id}" of the table "approvals"`);
}

function isRequest(value: unknown): value is ApprovalRequest {
  if (!isObject(value)) return false;
  const { approval_id, tool_call_id, requested_at, expires_at } = value;
  return [approval_id, tool_call_id, requested_at, expires_at].every((each) => typeof each === "string");
}

function isAnswer(value: unknown): value is ApprovalAnswer {
  return isObject(value);
}

function isGrant(value: unknown): value is Grant {
  return isObject(value) && typeof value["grant_id"] === "string" && typeof value["scope"] === "string";
}

function optional(row: Row | undefined): Approval | undefined {
  return row === undefined ? undefined : approvalOf(row);
}

async function waitFor(look: () => Promise<Approval | undefined>, signal: AbortSignal): Promise<Approval> {
  for (;;) {
    signal.throwIfAborted();
    const approval = await look();
    if (approval === undefined) throw new Error("Cannot wait for an approval that does not exist");
    if (approval.state !== "pending") return approval;
    await pauseUntilAborted(POLL_MS, signal);
  }
}
