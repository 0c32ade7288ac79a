/** The calls that a vendor issued, to detect changed ones. */
import { list, record, text } from "../formats/format.ts";
import type { Json, Problem } from "../formats/format.ts";
import type { Reply } from "../reply.ts";

const MAX_CALLS = 10_000;

export interface Issued {
  add(reply: Reply, calls: readonly Json[]): void;
  /** The thinking before a call; undefined if no call with that id was issued. */
  reasoning(id: string): string | undefined;
  /** The id of a call in the history that was issued under a different id. */
  rewritten(body: Json): { readonly was: string; readonly is: string } | undefined;
}

export function createIssued(): Issued {
  const byId = new Map<string, { readonly reasoning: string }>();
  const byCall = new Map<string, Set<string>>();
  const keyOf = (call: Json): string => {
    const { name, arguments: given } = record(call["function"]);
    return JSON.stringify([name, given]);
  };
  return {
    add({ reasoning }, calls) {
      const ids = calls.map((call) => text(call["id"]));
      for (const [i, call] of calls.entries()) {
        const id = ids[i] ?? "";
        // Clients replace missing and duplicate ids.
        const isOwn = id !== "" && !byId.has(id) && ids.indexOf(id) === ids.lastIndexOf(id);
        if (id !== "") byId.set(id, { reasoning });
        if (!isOwn) continue;
        byCall.set(keyOf(call), (byCall.get(keyOf(call)) ?? new Set()).add(id));
      }
      for (const id of byId.keys()) if (byId.size > MAX_CALLS) byId.delete(id);
      for (const key of byCall.keys()) if (byCall.size > MAX_CALLS) byCall.delete(key);
    },
    reasoning: (id) => byId.get(id)?.reasoning,
    rewritten(body) {
      const calls = list(body["messages"]).flatMap((each) =>
        list(record(each)["tool_calls"]).map((call) => record(call)),
      );
      for (const call of calls) {
        const ids = byCall.get(keyOf(call));
        const is = text(call["id"]);
        if (ids !== undefined && !ids.has(is)) return { was: [...ids][0] ?? "", is };
      }
      return undefined;
    },
  };
}

/** Kimi's models count calls by their ids: with other ids in the history they stop calling. */
export function rewrittenIds(issued: Issued, body: Json): Problem | undefined {
  const found = issued.rewritten(body);
  if (found === undefined) return undefined;
  return {
    message: `The id of a call came back as "${found.is}", and was "${found.was}": the model stops calling tools`,
  };
}
