import type { OpenOptions } from "../contract/approvals.ts";
import { APPROVAL_STATES, canBecome } from "../protocol/approval-states.ts";
import type { ApprovalState } from "../protocol/approval-states.ts";
import type { Approval, ApprovalAnswer, ApprovalRequest } from "../protocol/approval.ts";

/** The requests of a run, oldest first. */
export type ApprovalBook = readonly Approval[];

/** A book after an operation, and the operation's result. The same book if nothing changed. */
export interface BookUpdate<T> {
  readonly book: ApprovalBook;
  readonly result: T;
}

/** Closed requests to keep. The journal of the run has all of them. */
const KEPT = 200;

/** See `ApprovalKeeper.open`. */
export function openIn(
  given: ApprovalBook,
  request: ApprovalRequest,
  { now, shared = "run" }: OpenOptions & { readonly now: number },
): BookUpdate<Approval> {
  let book = expireIn(given, now);
  const ofCall = book.filter((each) => each.request.tool_call_id === request.tool_call_id);
  const known = ofCall.findLast(
    ({ request: { digest }, state }) => digest === request.digest && state !== "used" && state !== "withdrawn",
  );
  for (const each of ofCall) {
    if (each.request.digest !== request.digest) ({ book } = move(book, each.request.approval_id, "withdrawn"));
  }
  const found = known ?? (shared === "none" ? undefined : findPending(book, request.digest));
  if (found !== undefined) return { book, result: found };
  const approval: Approval = { request, state: "pending" };
  return { book: forgetOld([...book, approval]), result: approval };
}

/** The request that waits for an answer to the same call. */
export function findPending(book: ApprovalBook, digest: string): Approval | undefined {
  return book.find(({ request, state }) => state === "pending" && request.digest === digest);
}

/** See `ApprovalKeeper.answer`. */
export function answerIn(
  given: ApprovalBook,
  { approval_id, answer, now }: { readonly approval_id: string; readonly answer: ApprovalAnswer; readonly now: number },
): BookUpdate<{ readonly won: boolean; readonly approval: Approval } | undefined> {
  const book = expireIn(given, now);
  const approval = findIn(book, approval_id);
  if (approval === undefined) return { book, result: undefined };
  if (approval.state !== "pending") return { book, result: { won: false, approval } };
  const state = answer.answer === "grant" ? "granted" : "denied";
  const answered: Approval = { ...approval, state, answer, answered_at: new Date(now).toISOString() };
  const kept = APPROVAL_STATES[state].open ? answered : closed(answered);
  return { book: replace(book, kept), result: { won: true, approval: answered } };
}

/** See `ApprovalKeeper.end`. */
export function endIn(
  given: ApprovalBook,
  { approval_id, state, now }: { approval_id: string; state: "expired" | "withdrawn"; now: number },
): BookUpdate<boolean> {
  return move(expireIn(given, now), approval_id, state);
}

/** See `ApprovalKeeper.use`. */
export function useIn(given: ApprovalBook, approval_id: string, now: number): BookUpdate<boolean> {
  return move(expireIn(given, now), approval_id, "used");
}

/** Marks open requests past their deadline as expired. */
export function expireIn(book: ApprovalBook, now: number): ApprovalBook {
  if (!book.some((each) => isOverdue(each, now))) return book;
  return book.map((each) => (isOverdue(each, now) ? closed({ ...each, state: "expired" }) : each));
}

export function isOpen({ state }: Approval): boolean {
  return APPROVAL_STATES[state].open;
}

/** An approval is valid for the same period again: the call that waits for it may also have to wait for its turn. */
function isOverdue({ request, state, answered_at }: Approval, now: number): boolean {
  if (!APPROVAL_STATES[state].open) return false;
  const until = Date.parse(request.expires_at);
  if (answered_at === undefined) return until <= now;
  return Date.parse(answered_at) + until - Date.parse(request.requested_at) <= now;
}

export function findIn(book: ApprovalBook, approval_id: string): Approval | undefined {
  return book.find(({ request }) => request.approval_id === approval_id);
}

/** Refuses a transition that the state table does not have: another process was faster. */
function move(book: ApprovalBook, approval_id: string, state: ApprovalState): BookUpdate<boolean> {
  const approval = findIn(book, approval_id);
  if (approval === undefined || !canBecome(approval.state, state)) return { book, result: false };
  const moved = { ...approval, state };
  return { book: replace(book, APPROVAL_STATES[state].open ? moved : closed(moved)), result: true };
}

function replace(book: ApprovalBook, approval: Approval): ApprovalBook {
  return book.map((each) => (each.request.approval_id === approval.request.approval_id ? approval : each));
}

/** Drops data that only an open request needs: edited arguments, which are not redacted, and the diff. */
function closed({ request, answer, ...rest }: Approval): Approval {
  const { changes: _changes, args_json: _args_json, ...about } = request;
  if (answer === undefined) return { request: about, ...rest };
  const { args: _args, ...said } = answer;
  return { request: about, answer: said, ...rest };
}

function forgetOld(book: ApprovalBook): ApprovalBook {
  const over = book.filter((each) => !isOpen(each));
  if (over.length <= KEPT) return book;
  const forgotten = new Set(over.slice(0, over.length - KEPT));
  return book.filter((each) => !forgotten.has(each));
}
