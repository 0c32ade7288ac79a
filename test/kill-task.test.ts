import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { verifyAudit } from "@autonous/runtime";
import { buildTree, verifyEvents } from "@autonous/runtime/internal";
import type { RuntimeEvent } from "@autonous/runtime";
import { expect, test } from "vitest";
import { createProvider } from "../packages/autonous/src/model/choose.ts";
import type { ModelProvider, ModelRequest } from "../packages/autonous/src/model/provider.ts";
import { openStore } from "../packages/autonous/src/store/open-store.ts";
import { doTheTask } from "./support/dying-worker.ts";
import type { Death } from "./support/dying-worker.ts";
import { scratchPlace, startProgram, writeScript } from "./support/service.ts";
import type { Place } from "./support/service.ts";

/** kill -9 between every two events of a task, and what the next worker makes of it. */

const DYING_WORKER = join(import.meta.dirname, "support/dying-worker.ts");

const call = (name: string, args: object): object => ({ name, arguments: args });
const SCRIPT = [
  { reply: { tool_calls: [call("ls", { path: "." })] } },
  { reply: { tool_calls: [call("note_once", { line: "one" }), call("note_again", { line: "two" })] } },
  { reply: { tool_calls: [call("note_once", { line: "three" })] } },
  { reply: { final_answer: "all done" } },
];

/**
 * What a process records that does all of it: task.started, agent.started, 4 turns of 3 events, 4 calls of 2,
 * agent.completed, task.completed, reply.sent, and how far the files are.
 */
const ENTRIES = 26;

interface Prepared extends Place {
  readonly traces: string;
  readonly model: string;
  readonly task_id: string;
  readonly run_id: string;
}

async function prepare(): Promise<Prepared> {
  const place = scratchPlace();
  const traces = join(place.path, "traces");
  mkdirSync(traces);
  const model = writeScript(place, SCRIPT);
  const store = await openStore({ file: place.database, clock: Date.now });
  const { task_id, run_id } = await store.inbox.ingest({ source: "test", lane: "chat", text: "do it" });
  await store.close();
  return { ...place, traces, model, task_id, run_id };
}

/** Lets a process do the task up to its death. */
async function die(prepared: Prepared, death: Death): Promise<void> {
  const { root, state_dir, traces, model } = prepared;
  const program = startProgram(prepared, [DYING_WORKER, JSON.stringify({ root, state_dir, traces, model, death })]);
  expect({ ...(await program.ended), said: program.stderr() }).toEqual({ code: null, signal: "SIGKILL", said: "" });
}

interface TaskRemains {
  readonly state: string;
  readonly reply: string | null;
  readonly replies: number;
  readonly events: readonly RuntimeEvent[];
  /** What the model was asked after the last death. */
  readonly asked: readonly ModelRequest[];
  readonly once: readonly string[];
  readonly again: readonly string[];
}

/** Lets a worker that does not die do the rest, and looks at everything that is left. */
async function finish(prepared: Prepared): Promise<TaskRemains> {
  const { state_dir, database, task_id, run_id, traces } = prepared;
  const store = await openStore({ file: database, clock: Date.now });
  try {
    const script = await createProvider(prepared.model);
    const asked: ModelRequest[] = [];
    const provider: ModelProvider = {
      name: script.name,
      complete: (request, options) => {
        asked.push(request);
        return script.complete(request, options);
      },
    };
    await doTheTask({ ...prepared, store, provider });
    const events = (await store.events.read({ run_id, limit: 1000 })).map(({ event }) => event);
    const details = await store.tasks.get(task_id);
    expect(await verifyEvents(run_id, store.journal(run_id).read(), { state_dir })).toMatchObject({
      ok: true,
      records: events.length,
    });
    expect(await verifyAudit(state_dir)).toEqual({ ok: true, records: events.length, problems: [] });
    const lines = readFileSync(join(state_dir, "runs", run_id, "events.jsonl"), "utf8")
      .trimEnd()
      .split("\n");
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(events);
    const replies = countReplies(database);
    const left = { once: linesOf(traces, "note_once"), again: linesOf(traces, "note_again") };
    return { state: details?.task.state ?? "", reply: details?.reply ?? null, replies, events, asked, ...left };
  } finally {
    await store.close();
  }
}

function countReplies(file: string): number {
  const database = new DatabaseSync(file, { readOnly: true });
  const row = database.prepare("select count(*) as replies from outbox").get();
  database.close();
  return Number(row?.["replies"]);
}

function linesOf(folder: string, name: string): string[] {
  try {
    return readFileSync(join(folder, name), "utf8").trimEnd().split("\n");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

function checkAnswer({ state, reply, replies, events, asked }: TaskRemains): void {
  expect({ state, reply, replies }).toEqual({ state: "done", reply: "all done", replies: 1 });
  const count = (type: string): number => events.filter((event) => event.type === type).length;
  for (const type of ["agent.completed", "task.completed", "reply.sent"])
    expect([type, count(type)]).toEqual([type, 1]);
  for (const type of ["turn.started", "model.completed", "turn.completed"])
    expect([type, count(type)]).toEqual([type, SCRIPT.length]);
  // Rounds that were on record are not asked again.
  const lastStart = events.findLastIndex(({ type }) => type === "task.started" || type === "task.resumed");
  const rounds = events.slice(lastStart).filter(({ type }) => type === "model.completed").length;
  if (asked.length > 0) expect(asked).toHaveLength(rounds);
}

interface RecordedCall {
  readonly tool: string;
  readonly line: string | undefined;
  readonly starts: number;
  readonly end: RuntimeEvent | undefined;
}

function callsOf(events: readonly RuntimeEvent[]): RecordedCall[] {
  const asked = events.flatMap(
    ({ type, payload }) => (type === "model.completed" ? (payload["calls"] as Call[] | undefined) : undefined) ?? [],
  );
  return asked.map(({ tool_call_id, name, arguments: args }) => {
    const own = events.filter(({ payload }) => payload["tool_call_id"] === tool_call_id);
    const ends = own.filter(({ type }) => type === "tool_call.completed" || type === "tool_call.failed");
    expect(ends).toHaveLength(1);
    const starts = own.filter(({ type }) => type === "tool_call.started").length;
    return { tool: name, line: args.line, starts, end: ends[0] };
  });
}

interface Call {
  readonly tool_call_id: string;
  readonly name: string;
  readonly arguments: { readonly line?: string };
}

/** Every call ended once. What is not idempotent ran once at most, and where that is not known the model was told. */
function checkCalls({ events, asked, once, again }: TaskRemains): void {
  const calls = callsOf(events);
  expect(calls.map(({ tool }) => tool)).toEqual(["ls", "note_once", "note_again", "note_once"]);
  for (const { tool, line = "", starts, end } of calls) {
    const ran = (tool === "note_once" ? once : again).filter((each) => each === line).length;
    const isCut = end?.type === "tool_call.failed";
    if (tool === "note_once") expect(starts).toBe(1);
    if (tool === "note_once" && isCut) {
      expect(end.payload["error"]).toMatchObject({ code: "Interrupted" });
      expect(ran).toBeLessThanOrEqual(1);
      const told = asked.at(-1)?.messages.filter((message) => message.role === "tool") ?? [];
      expect(told.map(({ text }) => text).join("\n")).toContain("Interrupted");
    } else {
      expect(isCut).toBe(false);
      if (tool === "note_once") expect(ran).toBe(1);
      if (tool === "note_again") expect([1, starts]).toContain(ran);
    }
  }
}

/** One tree, from `parent_id` alone: parents come first, and what began has ended. */
function checkTree(events: readonly RuntimeEvent[]): void {
  const known = new Set<string>();
  for (const { event_id, parent_id, seq } of events) {
    expect(parent_id === null).toBe(seq === 1);
    if (parent_id !== null) expect(known.has(parent_id)).toBe(true);
    known.add(event_id);
  }
  const [task, ...others] = buildTree(events);
  expect(others).toEqual([]);
  expect(task?.end?.type).toBe("task.completed");
  const agents = task?.children.filter(({ event }) => event.type === "agent.started") ?? [];
  expect(agents.map(({ end }) => end?.type)).toEqual(["agent.completed"]);
  expect(agents[0]?.children.map(({ end }) => end?.type)).toEqual(SCRIPT.map(() => "turn.completed"));
}

/** Two at a time: the machine may have no more. */
async function inPairs(numbers: readonly number[], work: (number: number) => Promise<void>): Promise<void> {
  const left = [...numbers];
  const lane = async (): Promise<void> => {
    for (let number = left.shift(); number !== undefined; number = left.shift()) {
      try {
        await work(number);
      } catch (error) {
        throw new Error(`At entry ${number}: ${(error as Error).message}`, { cause: error });
      }
    }
  };
  await Promise.all([lane(), lane()]);
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);

for (const when of ["right after", "just before"] as const) {
  test(`a task completes once and correctly when its worker is killed ${when} any entry of the record`, async () => {
    const outcomes: string[] = [];
    await inPairs(upTo(ENTRIES), async (entry) => {
      const prepared = await prepare();
      await die(prepared, { when, entry });
      const found = await finish(prepared);
      checkAnswer(found);
      checkCalls(found);
      checkTree(found.events);
      for (const { tool, line, starts, end } of callsOf(found.events)) {
        const ran = [...found.once, ...found.again].filter((each) => each === line).length;
        outcomes.push(`${tool} started ${starts}, ran ${ran}, ${end?.type}`);
      }
    });
    // The deaths were where they were meant to be: each call was cut once, before its work or after it.
    const ran = when === "right after" ? 0 : 1;
    const count = (outcome: string): number => outcomes.filter((each) => each === outcome).length;
    expect(count(`note_once started 1, ran ${ran}, tool_call.failed`)).toBe(2);
    expect(count(`note_again started 2, ran ${ran + 1}, tool_call.completed`)).toBe(1);
    expect(count("ls started 2, ran 0, tool_call.completed")).toBe(1);
    expect(outcomes.filter((each) => each.endsWith("failed"))).toHaveLength(2);
  });
}

test("nothing is recorded beyond the entries at which a worker is killed", async () => {
  const prepared = await prepare();
  const death: Death = { when: "just before", entry: ENTRIES + 1 };
  const { root, state_dir, traces, model } = prepared;
  const program = startProgram(prepared, [DYING_WORKER, JSON.stringify({ root, state_dir, traces, model, death })]);
  expect({ ...(await program.ended), said: program.stderr() }).toEqual({ code: 0, signal: null, said: "" });
  const found = await finish(prepared);
  checkAnswer(found);
  checkCalls(found);
  expect(found.asked).toEqual([]);
  expect(found.once).toEqual(["one", "three"]);
  expect(found.again).toEqual(["two"]);
});

test("a task that loses four workers still completes", async () => {
  const prepared = await prepare();
  for (const entry of [3, 5, 4, 6]) await die(prepared, { when: "just before", entry });
  const found = await finish(prepared);
  checkAnswer(found);
  checkCalls(found);
  checkTree(found.events);
});

test("a task that loses five workers is dead-lettered, with one reply that says so", async () => {
  const prepared = await prepare();
  for (let i = 0; i < 5; i++) await die(prepared, { when: "right after", entry: 2 });
  const { state, replies, reply, once } = await finish(prepared);
  expect({ state, replies, once }).toEqual({ state: "dead_letter", replies: 1, once: [] });
  expect(reply).toContain("lost 5 times");
});
