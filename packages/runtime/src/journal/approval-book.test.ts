import fc from "fast-check";
import { expect, test } from "vitest";
import { APPROVAL_STATES, canBecome } from "../protocol/approval-states.ts";
import type { ApprovalState } from "../protocol/approval-states.ts";
import type { Approval } from "../protocol/approval.ts";
import { makeRequest } from "../../../../test/support/approval-request.ts";
import { answerIn, endIn, expireIn, openIn, useIn } from "./approval-book.ts";
import type { ApprovalBook } from "./approval-book.ts";

const NOW = Date.parse("2026-01-01T00:00:00.000Z");
const STATES = Object.keys(APPROVAL_STATES) as ApprovalState[];
const ID = "apr_1";

function inState(state: ApprovalState): Approval {
  const request = makeRequest({ approval_id: ID, now: NOW });
  const isAnswered = state === "granted" || state === "denied" || state === "used";
  if (!isAnswered) return { request, state };
  const answer = { answer: state === "denied" ? "deny" : "grant" } as const;
  return { request, state, answer, answered_at: new Date(NOW).toISOString() };
}

/** Every operation, what it turns a request into, and what it says it did. */
// oxfmt-ignore
const OPERATIONS = {
  grant:    { run: (book: ApprovalBook) => { const { book: next, result } = answerIn(book, { approval_id: ID, answer: { answer: "grant" }, now: NOW }); return { book: next, did: result?.won === true }; }, to: "granted",   from: ["pending"] },
  deny:     { run: (book: ApprovalBook) => { const { book: next, result } = answerIn(book, { approval_id: ID, answer: { answer: "deny" },  now: NOW }); return { book: next, did: result?.won === true }; }, to: "denied",    from: ["pending"] },
  use:      { run: (book: ApprovalBook) => { const { book: next, result } = useIn(book, ID, NOW);                                                        return { book: next, did: result }; },               to: "used",      from: ["granted"] },
  withdraw: { run: (book: ApprovalBook) => { const { book: next, result } = endIn(book, { approval_id: ID, state: "withdrawn", now: NOW });              return { book: next, did: result }; },               to: "withdrawn", from: ["pending", "granted"] },
  expire:   { run: (book: ApprovalBook) => { const { book: next, result } = endIn(book, { approval_id: ID, state: "expired", now: NOW });                return { book: next, did: result }; },               to: "expired",   from: ["pending", "granted"] },
} as const;

for (const state of STATES) {
  for (const [name, { run, to, from }] of Object.entries(OPERATIONS)) {
    const isAllowed = (from as readonly string[]).includes(state);
    test(`a request that is ${state} ${isAllowed ? `becomes ${to}` : "stays so"} by ${name}`, () => {
      const { book, did } = run([inState(state)]);
      expect(did).toBe(isAllowed);
      expect(book[0]?.state).toBe(isAllowed ? to : state);
      expect(isAllowed).toBe(canBecome(state, to));
    });
  }
}

for (const state of STATES) {
  const isKept = state !== "used" && state !== "withdrawn";
  test(`the same call made again ${isKept ? "finds its request" : "needs a new request"} that is ${state}`, () => {
    const again = makeRequest({ approval_id: "apr_2", now: NOW });
    const { book, result } = openIn([inState(state)], again, { now: NOW });
    expect(result.request.approval_id).toBe(isKept ? ID : "apr_2");
    expect(result.state).toBe(isKept ? state : "pending");
    expect(book).toHaveLength(isKept ? 1 : 2);
  });

  test(`the same call with other content withdraws a request that is ${state} only if it is open`, () => {
    const other = makeRequest({ approval_id: "apr_2", now: NOW, digest: "f".repeat(64) });
    const { book, result } = openIn([inState(state)], other, { now: NOW });
    expect(result.state).toBe("pending");
    expect(book[0]?.state).toBe(APPROVAL_STATES[state].open ? "withdrawn" : state);
  });

  test(`a request that is ${state} is over after its time, if it was open`, () => {
    const late = Date.parse(makeRequest({ approval_id: ID, now: NOW }).expires_at);
    expect(expireIn([inState(state)], late)[0]?.state).toBe(APPROVAL_STATES[state].open ? "expired" : state);
    expect(expireIn([inState(state)], late - 1)[0]?.state).toBe(state);
  });
}

for (const state of STATES) {
  const isReleased = state === "pending";
  test(`the same call under another id ${isReleased ? "finds the request" : "needs a new request"} where one is ${state}`, () => {
    const again = makeRequest({ approval_id: "apr_2", now: NOW, tool_call_id: "call_2" });
    const { book, result } = openIn([inState(state)], again, { now: NOW });
    expect(result.request.approval_id).toBe(isReleased ? ID : "apr_2");
    expect(book).toHaveLength(isReleased ? 1 : 2);
    const own = openIn([inState(state)], again, { now: NOW, shared: "none" });
    expect(own.result.request.approval_id).toBe("apr_2");
  });
}

test("the same call needs a new request once the first one has expired", () => {
  const again = makeRequest({ approval_id: "apr_2", now: NOW, tool_call_id: "call_2" });
  const { result } = openIn([inState("pending")], again, { now: Date.parse(again.expires_at) });
  expect(result.request.approval_id).toBe("apr_2");
});

test("a yes is good for as long again as there was to give it", () => {
  const request = makeRequest({ approval_id: ID, now: NOW });
  const answered = Date.parse(request.expires_at) - 1;
  const { book } = answerIn([{ request, state: "pending" }], {
    approval_id: ID,
    answer: { answer: "grant" },
    now: answered,
  });
  const span = Date.parse(request.expires_at) - NOW;
  expect(expireIn(book, answered + span - 1)[0]?.state).toBe("granted");
  expect(expireIn(book, answered + span)[0]?.state).toBe("expired");
});

test("edited arguments and diffs go when a request is over", () => {
  const request = { ...makeRequest({ approval_id: ID, now: NOW }), args_json: "{}", changes: [] };
  const answer = { answer: "grant", args: { secret: "s" } } as const;
  const { book: granted } = answerIn([{ request, state: "pending" }], { approval_id: ID, answer, now: NOW });
  expect(granted[0]).toMatchObject({ answer: { args: { secret: "s" } }, request: { args_json: "{}" } });
  const { book: used } = useIn(granted, ID, NOW);
  expect(JSON.stringify(used)).not.toMatch(/secret|args_json|changes/);
});

test("only a limited number of closed requests is kept, but every open one", () => {
  let book: ApprovalBook = [];
  for (let i = 0; i < 300; i++) {
    const approval_id = `apr_${i}`;
    const request = makeRequest({ approval_id, now: NOW, tool_call_id: `call_${i}`, digest: `digest_${i}` });
    ({ book } = openIn(book, request, { now: NOW }));
    if (i % 2 === 0) ({ book } = endIn(book, { approval_id, state: "withdrawn", now: NOW }));
    else if (i % 3 === 0) ({ book } = answerIn(book, { approval_id, answer: { answer: "deny" }, now: NOW }));
  }
  expect(book.filter(({ state }) => state === "pending")).toHaveLength(100);
  expect(book.length).toBeLessThanOrEqual(301);
});

test("however operations come, a request moves along the table only, and a yes is used at most once", () => {
  const operation = fc.constantFrom(...(Object.keys(OPERATIONS) as (keyof typeof OPERATIONS)[]));
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 12 }), (names) => {
      let book: ApprovalBook = [inState("pending")];
      let used = 0;
      for (const name of names) {
        const before = book[0]?.state ?? "pending";
        const { book: next, did } = OPERATIONS[name].run(book);
        const after = next[0]?.state ?? "pending";
        expect(after === before || canBecome(before, after)).toBe(true);
        expect(did).toBe(after !== before);
        if (name === "use" && did) used++;
        book = next;
      }
      expect(used).toBeLessThanOrEqual(1);
    }),
  );
});
