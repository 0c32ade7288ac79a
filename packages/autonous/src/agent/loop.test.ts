import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createRuntime, defineTool, ToolError } from "@autonous/runtime";
import { headsFolder, replaceHead } from "@autonous/runtime/internal";
import type { RuntimeEvent, ToolCallResult } from "@autonous/runtime";
import { expect, test } from "vitest";
import { z } from "zod";
import { makeWorld, openJournal, recording, SECRET, startRuntime } from "../../../../test/support/agent-world.ts";
import type { Death, World } from "../../../../test/support/agent-world.ts";
import { createDirectProvider } from "../model/scripted/direct.ts";
import type { ModelProvider, ModelRequest } from "../model/provider.ts";
import { loadScriptProvider } from "../model/scripted/script.ts";
import { runAgent } from "./loop.ts";
import type { AgentOptions, AgentOutcome } from "./agent-run.ts";

type Step = Record<string, unknown>;

async function scripted(
  world: World,
  steps: readonly Step[],
): Promise<ModelProvider & { readonly requests: ModelRequest[] }> {
  const file = join(world.folder, "script.json");
  await writeFile(file, JSON.stringify(steps));
  return recording(await loadScriptProvider(file));
}

function calls(...list: readonly (readonly [name: string, args: object])[]): Step {
  return { reply: { tool_calls: list.map(([name, args]) => ({ name, arguments: args })), final_answer: "" } };
}

function final(answer: string): Step {
  return { reply: { tool_calls: [], final_answer: answer } };
}

/** How it ended, without all that was said and used on the way. */
type OutcomeSummary = Omit<AgentOutcome, "messages" | "window" | "usage" | "context">;

function inShort(outcome: AgentOutcome): OutcomeSummary {
  const { messages: _messages, window: _window, usage: _usage, context: _context, ...ended } = outcome;
  return ended;
}

const TASK = { text: "Do it", task_id: "task_1", parent_id: "evt_task", trace_id: "trace_1" };

interface RunSetup {
  readonly world?: World;
  readonly steps: readonly Step[];
  readonly options?: Partial<AgentOptions>;
}

async function run({
  steps,
  options,
  ...given
}: RunSetup): Promise<{ world: World; requests: ModelRequest[]; outcome: OutcomeSummary }> {
  const world = given.world ?? (await makeWorld());
  const provider = await scripted(world, steps);
  const runtime = await startRuntime(world);
  const outcome = await runAgent({ runtime, provider, task: TASK, limits: { max_turns: 10 }, ...options });
  return { world, requests: provider.requests, outcome: inShort(outcome) };
}

function types({ events }: World): string[] {
  return events.map(({ type }) => type);
}

function payloadsOf({ events }: World, type: string): RuntimeEvent["payload"][] {
  return events.filter((event) => event.type === type).map(({ payload }) => payload);
}

/** What each kind of event may hang on; null: on nothing of the run. */
const PARENTS: Readonly<Record<string, readonly string[]>> = {
  "agent.started": [],
  "turn.started": ["agent.started"],
  "model.completed": ["turn.started"],
  "model.failed": ["turn.started"],
  "turn.completed": ["turn.started"],
  "tool_call.started": ["turn.started"],
  "tool_call.completed": ["tool_call.started"],
  "tool_call.failed": ["tool_call.started", "turn.started"],
  approval_required: ["turn.started"],
  approval_granted: ["turn.started"],
  "agent.completed": ["agent.started"],
  "agent.failed": ["agent.started"],
};

function expectTree(world: World): void {
  const seen = new Map<string, RuntimeEvent>();
  for (const event of world.events) {
    const allowed = PARENTS[event.type] ?? [];
    if (event.type === "agent.started") expect(event.parent_id).toBe(TASK.parent_id);
    else expect(allowed).toContain(seen.get(event.parent_id ?? "")?.type);
    expect(event).toMatchObject({ run_id: "run_1", task_id: "task_1", trace_id: "trace_1" });
    expect(seen.has(event.event_id)).toBe(false);
    seen.set(event.event_id, event);
  }
}

test("a scripted task goes through calls to its answer, and the events form a tree", async () => {
  const steps = [
    calls(["ls", { path: "src" }]),
    calls(["look", { mark: "a" }], ["stamp", { mark: "b" }]),
    final("There is one file"),
  ];
  const { world, outcome } = await run({ steps });
  expect(outcome).toEqual({ outcome: "completed", answer: "There is one file", turns: 3, calls: 3 });
  const call = ["tool_call.started", "tool_call.completed"];
  const turn = (...inner: readonly string[]): string[] => [
    "turn.started",
    "model.completed",
    ...inner,
    "turn.completed",
  ];
  const approval = ["approval_required", "approval_granted"];
  const expected = [
    "agent.started",
    ...turn(...call),
    ...turn(...call, ...approval, ...call),
    ...turn(),
    "agent.completed",
  ];
  expect(types(world)).toEqual(expected);
  expectTree(world);
  expect(payloadsOf(world, "agent.completed")).toMatchObject([{ answer: "There is one file", turns: 3, calls: 3 }]);
});

test("recorded calls have the ids of the reply's event, each under its turn", async () => {
  const { world } = await run({ steps: [calls(["look", { mark: "a" }], ["stamp", { mark: "b" }]), final("ok")] });
  const [reply] = payloadsOf(world, "model.completed");
  const asked = (reply?.["calls"] ?? []) as { tool_call_id: string; name: string }[];
  const started = payloadsOf(world, "tool_call.started").map(({ tool_call_id, tool_name }) => [
    tool_call_id,
    tool_name,
  ]);
  expect(started).toEqual(asked.map(({ tool_call_id, name }) => [tool_call_id, name]));
  expect(reply).toMatchObject({ kind: "tool_calls", finish: "stop", redacted: false });
});

test("the model gets the task, its own replies and the results as text, and the tools in its instructions", async () => {
  const steps = [calls(["ls", { path: "src" }], ["ls", { path: "nowhere" }]), final("ok")];
  const { requests } = await run({ steps });
  expect(requests[0]?.system).toMatch(/exactly one JSON object[^]*ls: List a folder[^]*"path"/);
  const names = requests[0]?.tools.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["read", "edit", "bash", "tool_search"]));
  expect(requests[0]?.system).toMatch(/tool_search before use\): .*stamp/);
  expect(requests[0]?.messages).toEqual([{ role: "user", text: "Do it" }]);
  const [, reply, first, second] = requests[1]?.messages ?? [];
  expect(reply).toEqual({ role: "assistant", text: JSON.stringify(steps[0]?.["reply"]) });
  expect(first).toMatchObject({ role: "tool", name: "ls", text: "ok\na.txt", result: { ok: true } });
  expect(second?.text).toMatch(/^failed: NotFound: [^]+\nHint: /);
});

test("a call that fails or is refused does not end the run", async () => {
  const steps = [calls(["ls", { path: "/etc" }], ["nonsense", {}], ["ls", { wrong: 1 }]), final("None of it worked")];
  const { world, outcome, requests } = await run({ steps });
  expect(outcome).toMatchObject({ outcome: "completed", calls: 3 });
  const errors = requests[1]?.messages.flatMap((message) =>
    message.role === "tool" ? [message.result.error?.code] : [],
  );
  expect(errors).toEqual(["PathTraversalBlocked", "UnknownTool", "InvalidArguments"]);
  expectTree(world);
});

test("text beside calls is recorded as progress and is not the answer", async () => {
  const steps = [{ text: `Looking now. ${JSON.stringify(calls(["look", { mark: "a" }])["reply"])}` }, final("Done")];
  const { world, outcome } = await run({ steps });
  expect(outcome.answer).toBe("Done");
  expect(payloadsOf(world, "model.completed")[0]).toMatchObject({ progress: "Looking now." });
});

test("an invalid reply is corrected once and counts as a turn", async () => {
  const { world, outcome, requests } = await run({ steps: [{ text: "Sure!" }, final("Now in JSON")] });
  expect(outcome).toEqual({ outcome: "completed", answer: "Now in JSON", turns: 2, calls: 0 });
  const [, reply, correction] = requests[1]?.messages ?? [];
  expect(reply).toEqual({ role: "assistant", text: "Sure!" });
  expect(correction).toMatchObject({ role: "user", text: /no JSON object/ });
  expect(payloadsOf(world, "model.completed")[0]).toMatchObject({ kind: "invalid", message: /no JSON object/ });
});

test("two invalid replies in a row fail the run", async () => {
  const { world, outcome } = await run({ steps: [{ text: "Sure!" }, { text: "{}" }, final("too late")] });
  expect(outcome).toMatchObject({
    outcome: "failed",
    answer: "",
    error: { code: "InvalidReply", message: /both empty/ },
    turns: 2,
  });
  expect(types(world).slice(-2)).toEqual(["turn.completed", "agent.failed"]);
  expectTree(world);
});

test("invalid replies with a valid one between them do not fail the run", async () => {
  const { outcome } = await run({ steps: [{ text: "x" }, calls(["look", { mark: "a" }]), { text: "y" }, final("ok")] });
  expect(outcome).toMatchObject({ outcome: "completed", turns: 4 });
});

test("the calls of a truncated reply are never run", async () => {
  const whole = calls(["stamp", { mark: "a" }]);
  const { world, outcome } = await run({ steps: [{ fault: "length", ...whole }, final("shorter")] });
  expect(outcome).toMatchObject({ outcome: "completed", calls: 0 });
  expect(world.effects.size).toBe(0);
  expect(payloadsOf(world, "model.completed")[0]).toMatchObject({
    kind: "invalid",
    finish: "length",
    message: /length limit/,
  });
});

test("a run that reaches max_turns fails with the limit's name and what was done", async () => {
  const again = calls(["look", { mark: "a" }], ["nonsense", {}]);
  const { world, outcome } = await run({ steps: [again, again, again], options: { limits: { max_turns: 2 } } });
  expect(outcome).toMatchObject({ outcome: "failed", turns: 2, calls: 4, error: { code: "LimitReached" } });
  expect(outcome.error?.message).toMatch(
    /max_turns \(AUTONOUS_MAX_TURNS\) is 2[^]*look ok, nonsense failed \(UnknownTool\)/,
  );
  expect(payloadsOf(world, "agent.failed")[0]).toMatchObject({
    code: "LimitReached",
    turns: 2,
    calls: 4,
    done: { length: 4 },
  });
  expectTree(world);
});

test("an answer in the last allowed turn counts", async () => {
  const { outcome } = await run({
    steps: [calls(["look", { mark: "a" }]), final("just in time")],
    options: { limits: { max_turns: 2 } },
  });
  expect(outcome.answer).toBe("just in time");
});

test("a limit that is not a number stops the run", async () => {
  const { outcome } = await run({ steps: [final("x")], options: { limits: { max_turns: Number.NaN } } });
  expect(outcome).toMatchObject({ outcome: "failed", turns: 0, error: { code: "LimitReached" } });
});

test("a model that fails ends the run with its message", async () => {
  const { world, outcome } = await run({
    steps: [calls(["look", { mark: "a" }]), { fault: "error", message: `no credit for ${SECRET}` }],
  });
  expect(outcome).toMatchObject({
    outcome: "failed",
    turns: 2,
    error: { code: "ModelFailed", message: /no credit for/ },
  });
  expect(types(world).slice(-3)).toEqual(["model.failed", "turn.completed", "agent.failed"]);
  expect(JSON.stringify([world.events, outcome])).not.toContain(SECRET);
  expectTree(world);
});

test("a run can be cancelled during a model request", async () => {
  const stop = new AbortController();
  const onState = async (): Promise<void> => void setImmediate(() => stop.abort());
  const { world, outcome } = await run({ steps: [{ fault: "hang" }], options: { signal: stop.signal, onState } });
  expect(outcome).toMatchObject({ outcome: "cancelled", answer: "", error: { code: "Cancelled" }, turns: 1 });
  expect(types(world).slice(-3)).toEqual(["model.failed", "turn.completed", "agent.failed"]);
  expectTree(world);
});

test("a run can be cancelled during a call, and no other turn starts", async () => {
  const world = await makeWorld();
  const stop = new AbortController();
  const runtime = await startRuntime(world);
  const wait = defineTool({
    name: "wait",
    version: "1.0.0",
    description: "Waits.",
    args: z.strictObject({}),
    returns: z.strictObject({}),
    required_permissions: [],
    side_effects: ["none"],
    risk: "low",
    permission_class: "readonly",
    execute: (_, { signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(new ToolError("Cancelled", "Stopped")));
        stop.abort();
      }),
  });
  runtime.register(wait);
  const provider = await scripted(world, [calls(["wait", {}], ["stamp", { mark: "a" }]), final("x")]);
  const outcome = await runAgent({ runtime, provider, task: TASK, limits: { max_turns: 5 }, signal: stop.signal });
  expect(outcome).toMatchObject({ outcome: "cancelled", turns: 1, error: { code: "Cancelled" } });
  expect(world.effects.size).toBe(0);
  expect(types(world).slice(-2)).toEqual(["turn.completed", "agent.failed"]);
  expectTree(world);
});

test("a run that is cancelled before it starts asks no model", async () => {
  const { outcome, requests } = await run({ steps: [final("x")], options: { signal: AbortSignal.abort() } });
  expect(outcome).toMatchObject({ outcome: "cancelled", turns: 0 });
  expect(requests).toEqual([]);
});

test("secrets are passed to the call, but appear in no event, message or answer", async () => {
  const steps = [
    { text: `I know ${SECRET}: ${JSON.stringify(calls(["stamp", { mark: SECRET }])["reply"])}` },
    final(`It is ${SECRET}`),
  ];
  const { world, outcome, requests } = await run({ steps, options: { task: { ...TASK, text: `Use ${SECRET}` } } });
  expect(world.effects.get(`stamp ${SECRET}`)).toBe(1);
  expect(outcome.outcome).toBe("completed");
  expect(JSON.stringify([world.events, requests, outcome])).not.toContain(SECRET);
  expect(payloadsOf(world, "model.completed")[0]).toMatchObject({ redacted: true, calls: [{ redacted: true }] });
});

test("the host is notified of each switch between model rounds and tool rounds, never twice in a row", async () => {
  const states: string[] = [];
  const onState = async (state: string): Promise<void> => void states.push(state);
  await run({ steps: [{ text: "Hm." }, calls(["look", { mark: "a" }]), final("x")], options: { onState } });
  expect(states).toEqual(["model_round", "tool_round", "model_round"]);
});

test("two tasks without an id in one run are two tasks", async () => {
  const world = await makeWorld();
  const runtime = await startRuntime(world);
  const ask = (text: string): Promise<AgentOutcome> =>
    runAgent({ runtime, provider: createDirectProvider(), task: { text }, limits: { max_turns: 5 } });
  expect(await ask("/ls src")).toMatchObject({ outcome: "completed", answer: "a.txt", turns: 2, calls: 1 });
  expect(await ask("/ls .")).toMatchObject({ outcome: "completed", answer: "src/" });
  expect(new Set(world.events.map(({ task_id }) => task_id)).size).toBe(2);
});

test("if the audit log cannot be written, the run throws", async () => {
  const world = await makeWorld();
  const journal = openJournal(world);
  const full = { ...journal, append: async () => Promise.reject(new Error("ENOSPC")) };
  const runtime = await startRuntime(world, full);
  const provider = await scripted(world, [final("x")]);
  await expect(runAgent({ runtime, provider, task: TASK, limits: { max_turns: 5 } })).rejects.toThrow("ENOSPC");
});

// ---- Killed and taken up again

/** Side by side, in order, refused, with a secret, an invalid reply and an answer: every kind of event that a loop writes. */
const EVENTFUL: readonly Step[] = [
  calls(["look", { mark: "1" }], ["look", { mark: "2" }], ["stamp", { mark: "3" }], ["look", { mark: "4" }]),
  { text: "Hm." },
  calls(["nonsense", {}], ["stamp", { mark: SECRET }], ["look", { mark: SECRET }], ["stamp", { mark: "5" }]),
  final("All of it is done"),
];

interface Life {
  readonly world: World;
  readonly steps: readonly Step[];
  readonly death?: Death;
  readonly keepsResults?: boolean;
}

/** One worker's life: it ends with the task, or with its death. */
async function live({
  world,
  steps,
  death,
  keepsResults = true,
}: Life): Promise<{ outcome: OutcomeSummary | undefined; requests: ModelRequest[] }> {
  const journal = openJournal(world, death);
  const runtime = await startRuntime(world, journal);
  const provider = await scripted(world, steps);
  const storedResult = async (id: string): Promise<ToolCallResult | undefined> => world.results.get(id);
  const task = runAgent({
    runtime,
    provider,
    task: TASK,
    limits: { max_turns: 10 },
    ...(keepsResults ? { storedResult } : {}),
  });
  const outcome = await Promise.race([task, journal.died.then(() => undefined)]);
  // A dead worker's running tool may still take effect.
  if (outcome === undefined) await new Promise(setImmediate);
  return { outcome: outcome && inShort(outcome), requests: provider.requests };
}

function countBy(values: readonly unknown[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[String(value)] = (counts[String(value)] ?? 0) + 1;
  return counts;
}

/** Nothing is said twice, and everything that began has ended. */
function expectOneOfEach(world: World, turns: number): void {
  const count = countBy(types(world));
  expect(count).toMatchObject({
    "agent.started": 1,
    "turn.started": turns,
    "model.completed": turns,
    "turn.completed": turns,
    "agent.completed": 1,
  });
  const ended = world.events.filter(({ type }) => type === "tool_call.completed" || type === "tool_call.failed");
  const perCall = countBy(ended.map(({ payload }) => payload["tool_call_id"]));
  const asked = payloadsOf(world, "model.completed").flatMap(
    (payload) => (payload["calls"] ?? []) as { tool_call_id: string }[],
  );
  expect(perCall).toEqual(Object.fromEntries(asked.map(({ tool_call_id }) => [tool_call_id, 1])));
}

function expectNothingTwice(world: World): void {
  for (const [effect, times] of world.effects)
    if (effect.startsWith("stamp")) expect([effect, times]).toEqual([effect, 1]);
}

const TOTAL_EVENTS = 35;

test("the task that is killed below has an event for each kill", async () => {
  const world = await makeWorld();
  const { outcome } = await live({ world, steps: EVENTFUL });
  expect(outcome).toEqual({ outcome: "completed", answer: "All of it is done", turns: 4, calls: 8 });
  expect(world.events.length).toBe(TOTAL_EVENTS);
  expectOneOfEach(world, 4);
  expectTree(world);
});

for (const when of ["before", "after"] as const) {
  for (let event = 1; event <= TOTAL_EVENTS; event++) {
    test(`killed ${when} event ${event} is recorded, the task resumes and ends as it would have`, async () => {
      const world = await makeWorld();
      const first = await live({ world, steps: EVENTFUL, death: { event, when } });
      expect(first.outcome).toBeUndefined();
      const onRecord = payloadsOf(world, "model.completed").length;

      const second = await live({ world, steps: EVENTFUL });

      expect(second.outcome).toEqual({ outcome: "completed", answer: "All of it is done", turns: 4, calls: 8 });
      expect(second.requests.length).toBe(4 - onRecord);
      expectOneOfEach(world, 4);
      expectNothingTwice(world);
      expectTree(world);
      expect(JSON.stringify(world.events)).not.toContain(SECRET);
    });
  }
}

test("killed repeatedly, at each event, the task still ends, and nothing takes effect twice", async () => {
  for (const when of ["before", "after"] as const) {
    const world = await makeWorld();
    let outcome: OutcomeSummary | undefined;
    for (let lives = 0; outcome === undefined && lives < 200; lives++) {
      const event = world.events.length + (when === "before" ? 2 : 1);
      ({ outcome } = await live({ world, steps: EVENTFUL, death: { event, when }, keepsResults: false }));
    }
    outcome ??= (await live({ world, steps: EVENTFUL })).outcome;
    expect(outcome).toMatchObject({ outcome: "completed", answer: "All of it is done", turns: 4, calls: 8 });
    expectOneOfEach(world, 4);
    expectNothingTwice(world);
    expectTree(world);
  }
});

test("after a crash the model gets the same request as without it", async () => {
  const spoken = (requests: readonly ModelRequest[]): unknown =>
    requests.at(-1)?.messages.map(({ role, text }) => [role, text]);
  const steps = [
    calls(["look", { mark: "1" }], ["stamp", { mark: "2" }], ["nonsense", {}]),
    { text: "Hm." },
    final("x"),
  ];
  const unharmed = await live({ world: await makeWorld(), steps });
  const world = await makeWorld();
  await live({ world, steps, death: { event: 15, when: "before" } });
  const resumed = await live({ world, steps });
  expect(resumed.requests.length).toBe(1);
  expect(spoken(resumed.requests)).toEqual(spoken(unharmed.requests));
});

async function killedWhileRunning(
  name: string,
  mark: string,
): Promise<{ world: World; message: string; requests: ModelRequest[] }> {
  const world = await makeWorld();
  const steps = [calls([name, { mark }]), final("x")];
  const end = name === "stamp" ? 7 : 5; // a stamp is asked for and granted first
  await live({ world, steps, death: { event: end, when: "before" } });
  expect(types(world).at(-1)).toBe("tool_call.started");
  const { requests } = await live({ world, steps });
  return { world, message: requests[0]?.messages.at(-1)?.text ?? "", requests };
}

test("an interrupted idempotent call runs again under its old id", async () => {
  const { world, message } = await killedWhileRunning("look", "a");
  expect(world.effects.get("look a")).toBe(2);
  expect(message).toBe("ok\nlook a done");
  const started = payloadsOf(world, "tool_call.started").map(({ tool_call_id }) => tool_call_id);
  expect(started).toEqual([started[0], started[0]]);
});

test("an interrupted call that is not idempotent gets Interrupted, and this is recorded", async () => {
  const { world, message } = await killedWhileRunning("stamp", "a");
  expect(world.effects.get("stamp a")).toBe(1);
  expect(message).toMatch(/^failed: Interrupted: "stamp" was running[^]*not known\nHint: /);
  const [failed] = payloadsOf(world, "tool_call.failed");
  expect(failed).toMatchObject({
    tool_name: "stamp",
    error: { code: "Interrupted" },
    error_class: "tool_exec",
    redacted: false,
  });
  expect(failed?.["audit"]).toMatchObject({
    tool: "stamp",
    version: "1.0.0",
    params: { mark: "a" },
    result: { error_code: "Interrupted" },
  });
  expectTree(world);
});

test("an idempotent call with a secret in its arguments is not run from the audit log", async () => {
  const { world, message } = await killedWhileRunning("look", SECRET);
  expect([...world.effects]).toEqual([[`look ${SECRET}`, 1]]);
  expect(message).toMatch(/Interrupted[^]*contained a secret/);
  expect(payloadsOf(world, "tool_call.failed")[0]).toMatchObject({ redacted: true });
});

test("a call with a secret that had not started is not run from the audit log either", async () => {
  const world = await makeWorld();
  const steps = [calls(["stamp", { mark: SECRET }], ["stamp", { mark: "b" }]), final("x")];
  await live({ world, steps, death: { event: 3, when: "after" } });
  const { requests } = await live({ world, steps });
  expect([...world.effects]).toEqual([["stamp b", 1]]);
  expect(requests[0]?.messages.at(-2)?.text).toMatch(/Interrupted[^]*had not run yet/);
});

test("without stored results the model learns how a call ended, and that its output was not stored", async () => {
  const world = await makeWorld();
  const steps = [calls(["stamp", { mark: "a" }], ["ls", { path: "nowhere" }]), final("x")];
  await live({ world, steps, death: { event: 8, when: "before" } });
  const { requests } = await live({ world, steps, keepsResults: false });
  const [stamp, ls] = requests[0]?.messages.slice(-2) ?? [];
  expect(stamp?.text).toMatch(/^ok\n.*not stored/);
  expect(ls?.text).toMatch(/^failed: NotFound/);
});

// oxfmt-ignore
const STOPPED_AFTER_A_CRASH = [
  { title: "a limit that was lowered", options: { limits: { max_turns: 1 } },     code: "LimitReached" },
  { title: "a cancel",                 options: { signal: AbortSignal.abort() },  code: "Cancelled" },
] as const;

for (const { title, options, code } of STOPPED_AFTER_A_CRASH) {
  test(`after a crash the started turn is finished before ${title} stops the run`, async () => {
    const world = await makeWorld();
    const steps = [calls(["look", { mark: "a" }]), calls(["look", { mark: "b" }]), final("x")];
    await live({ world, steps, death: { event: 8, when: "after" } }); // the second reply is on record, its call is not
    const { outcome } = await run({ world, steps, options });
    expect(outcome).toMatchObject({ turns: 2, calls: 2, error: { code } });
    expect(countBy(types(world))).toMatchObject({ "turn.started": 2, "turn.completed": 2, "agent.failed": 1 });
    expectTree(world);
  });
}

test("a task that has ended returns its recorded outcome, and nothing runs again", async () => {
  for (const steps of [
    [calls(["stamp", { mark: "a" }]), final("x")],
    [{ text: "?" }, { text: "?" }],
  ]) {
    const world = await makeWorld();
    const first = await live({ world, steps });
    const events = world.events.length;
    const second = await live({ world, steps });
    expect(second.outcome).toEqual(first.outcome);
    expect(second.requests).toEqual([]);
    expect(world.events.length).toBe(events);
  }
});

test("a retry after a failure continues with the earlier results, as an attempt of its own", async () => {
  const world = await makeWorld();
  const steps = [calls(["stamp", { mark: "a" }]), { fault: "error", message: "overloaded" }, final("At last")];
  expect((await live({ world, steps })).outcome).toMatchObject({ outcome: "failed", error: { code: "ModelFailed" } });
  const journal = openJournal(world);
  for (const type of ["task.retry_scheduled", "task.started"] as const) {
    const ts = new Date().toISOString();
    await journal.append([
      {
        event_id: `evt_${type}`,
        ts,
        type,
        trace_id: "trace_1",
        task_id: "task_1",
        run_id: "run_1",
        parent_id: null,
        payload: {},
      },
    ]);
  }
  const second = await live({ world, steps });
  expect(second.outcome).toEqual({ outcome: "completed", answer: "At last", turns: 1, calls: 0 });
  expect(second.requests[0]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
  expect(world.effects.get("stamp a")).toBe(1);
  expect(countBy(types(world))).toMatchObject({ "agent.started": 2, "agent.failed": 1, "agent.completed": 1 });
});

test("on a real file, truncated after any event and half of the next one, the task resumes", async () => {
  const world = await makeWorld();
  const options = { roots: [join(world.folder, "workspace")], state_dir: join(world.folder, "state"), run_id: "run_1" };
  const steps = [calls(["ls", { path: "src" }]), { text: "Hm." }, final("a.txt is there")];
  const provider = await scripted(world, steps);
  const file = join(world.folder, "state", "runs", "run_1", "events.jsonl");
  const attempt = async (): Promise<OutcomeSummary> => {
    const runtime = await createRuntime(options);
    const outcome = await runAgent({ runtime, provider, task: TASK, limits: { max_turns: 5 } });
    await runtime.close();
    return inShort(outcome);
  };
  const expected = await attempt();
  const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
  for (let kept = 0; kept < lines.length; kept++) {
    const half = lines[kept]?.slice(0, 40) ?? "";
    await writeFile(file, [...lines.slice(0, kept), half].join("\n"));
    await rm(join(headsFolder(), "run_1"), { force: true }); // as far as the record was, so was its head
    const last = kept === 0 ? undefined : (JSON.parse(lines[kept - 1] ?? "") as RuntimeEvent);
    if (last !== undefined) replaceHead(headsFolder(), { ...last, state_dir: options.state_dir });
    expect(await attempt()).toEqual(expected);
    const again = (await readFile(file, "utf8"))
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as RuntimeEvent).type);
    expect(countBy(again)).toMatchObject({
      "agent.started": 1,
      "turn.started": 3,
      "model.completed": 3,
      "tool_call.completed": 1,
      "agent.completed": 1,
    });
  }
});
