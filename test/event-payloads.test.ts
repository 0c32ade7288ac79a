/** `docs/events.md` is made from `EVENT_PAYLOADS`; here every kind of event is recorded and held to that table. */
import { readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { defineTool, ToolError } from "@autonous/runtime";
import { makeId } from "@autonous/runtime/internal";
import type { ApprovalAnswer, RuntimeEvent, ToolContext } from "@autonous/runtime";
import type { AttachedFile } from "@autonous/runtime/internal";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { runAgent } from "../packages/autonous/src/agent/loop.ts";
import { compactHistory } from "../packages/autonous/src/agent/window/summary.ts";
import { removeContact } from "../packages/autonous/src/channels/telegram/access/access-book.ts";
import { askAbout, decide } from "../packages/autonous/src/channels/telegram/access/owner-question.ts";
import { makeCode, redeemCode } from "../packages/autonous/src/channels/telegram/access/pairing.ts";
import type { ModelProvider, ModelReply } from "../packages/autonous/src/model/provider.ts";
import type { Finish, Lease, Store } from "../packages/autonous/src/store/store.ts";
import { EVENT_PAYLOADS } from "../packages/runtime/src/protocol/event-payloads.ts";
import { makeWorld, SECRET, startRuntime } from "./support/agent-world.ts";
import { makeRequest } from "./support/approval-request.ts";
import { scratch as scratchRuntime } from "./support/scratch.ts";
import { scratchPlace } from "./support/service.ts";
import { ScratchStore, START_MS, STORE_KINDS } from "./support/store-places.ts";
import { agePlace, inPlace } from "./support/upkeep.ts";

const seen = new Map<string, Set<string>>();

/** Every field is in the table, and every one that the table says is always there is. */
function expectListed(events: readonly RuntimeEvent[]): void {
  for (const { type, payload } of events) {
    const table: Readonly<Record<string, string>> = EVENT_PAYLOADS[type];
    const always = Object.keys(table).filter((name) => !name.endsWith("?"));
    const fields = Object.keys(payload);
    const unlisted = fields.filter((name) => !(name in table) && !(`${name}?` in table));
    expect({ type, unlisted, missing: always.filter((name) => !fields.includes(name)) }).toEqual({
      type,
      unlisted: [],
      missing: [],
    });
    seen.set(type, new Set([...(seen.get(type) ?? []), ...fields]));
  }
}

type Native = Extract<ModelReply, { readonly kind: "native" }>;

/** Makes these calls, one per round, and then answers. */
function calling(calls: readonly (readonly [tool: string, args: object])[], signature = "s"): ModelProvider {
  const complete = async ({ rounds }: { readonly rounds: number }): Promise<Native> => {
    const [name, args] = calls[rounds] ?? [];
    const about = { kind: "native", finish: "stop", provider_parts: [{ signature }] } as const;
    if (name === undefined) return { ...about, text: "done", calls: [] };
    return { ...about, text: "next", calls: [{ id: `c${rounds}`, name, input: JSON.stringify(args) }] };
  };
  return { name: "test:m", protocol: "native", complete };
}

const LIMITS = { max_turns: 20 };

describe("a run", () => {
  test("that makes calls, is asked about some, and ends with an answer", async () => {
    const world = await makeWorld();
    const runtime = await startRuntime(world);
    const calls = [
      ["look", { mark: "a" }],
      ["stamp", { mark: "a" }],
      ["read", { path: "missing.txt" }],
      ["display", { content: "x", title: "t", thought: "y", evidence: ["src/a.txt:1"] }],
      ["todo", { set: ["look", "change"], tick: [1] }],
      ["write", { path: "src/b.txt", content: "b" }],
      ["attach", { path: "src/b.txt" }],
      ["undo", { run_id: "run_1" }],
    ] as const;
    const history = [{ role: "user", text: "before" }] as const;
    const window = { from: 0, whole_from: 0 };
    await runAgent({
      runtime,
      provider: calling(calls),
      task: { text: "x", history, window, parent_run_id: "run_0", source: "chat" },
      limits: LIMITS,
    });
    await compactHistory({ runtime, provider: calling([]), task: { text: "", history }, limits: LIMITS });
    expectListed(world.events);
  });

  const ANSWERS: readonly ApprovalAnswer[] = [
    { answer: "deny", by: "ada", reason: "not now", args: { mark: "b" } },
    { answer: "grant", args: { mark: "b" } },
  ];
  test.each(ANSWERS)("whose request gets $answer", async (answer) => {
    const world = await makeWorld();
    const runtime = await startRuntime(world, undefined, { onApproval: () => answer });
    await runAgent({ runtime, provider: calling([["stamp", { mark: "a" }]]), task: { text: "x" }, limits: LIMITS });
    expectListed(world.events);
  });

  test("with a call that breaks, and parts of a reply that are secret", async () => {
    const world = await makeWorld();
    const runtime = await startRuntime(world);
    const rest = { version: "1.0.0", description: "Breaks", args: z.strictObject({}), returns: z.strictObject({}) };
    const tool = { ...rest, required_permissions: [], side_effects: ["none"], permission_class: "readonly" } as const;
    const reportAndBreak = (_args: object, { progress }: Pick<ToolContext, "progress">): Promise<never> => {
      progress(0.5, "half of it");
      return Promise.reject(new Error("a bug"));
    };
    runtime.register(defineTool({ ...tool, name: "break", execute: reportAndBreak }));
    const provider = calling([["break", {}]], SECRET);
    await runAgent({ runtime, provider, task: { text: "x" }, limits: LIMITS });
    expectListed(world.events);
  });

  test("that reads a skill, which restricts it", async () => {
    const events: RuntimeEvent[] = [];
    const { runtime, make } = await scratchRuntime({
      isTrustedSkill: () => true,
      onEvent: (each) => events.push(each),
    });
    const tools = "allowed-tools: Read Bash(git log:*) Unheard\n";
    await make({
      "root/.agents/skills/kit/SKILL.md": `---\nname: kit\ndescription: x\n${tools}---\nWork with care.\n`,
    });
    await runtime.call({ name: "read_skill", args: { name: "kit" } });
    expect(events.map(({ type }) => type)).toContain("skill.activated");
    expectListed(events);
  });

  test("whose model fails, or writes what is not a reply", async () => {
    for (const complete of [
      () => Promise.reject(new ToolError("ModelFailed", "no", { reason: "key_refused" })),
      async () => ({ kind: "native", text: "", calls: [], finish: "stop" }) as const,
    ]) {
      const world = await makeWorld();
      const runtime = await startRuntime(world);
      const provider: ModelProvider = { name: "test:m", protocol: "native", complete };
      await runAgent({ runtime, provider, task: { text: "x" }, limits: { max_turns: 2 } });
      expectListed(world.events);
    }
  });

  test("whose model writes a call as text, and then an answer that the output limit cuts off each time", async () => {
    const world = await makeWorld();
    const runtime = await startRuntime(world);
    const written = '<tool_call>{"name": "look", "arguments": {"mark": "a"}}</tool_call>';
    const about = { kind: "native", calls: [], maker: "test:m" } as const;
    const provider: ModelProvider = {
      name: "test:m",
      protocol: "native",
      complete: async ({ rounds }) =>
        rounds === 0 ? { ...about, text: written, finish: "stop" } : { ...about, text: "part ", finish: "length" },
    };
    const outcome = await runAgent({ runtime, provider, task: { text: "x" }, limits: LIMITS });
    expect(outcome).toMatchObject({ outcome: "completed", cut: true, calls: 1 });
    expectListed(world.events);
  });

  test("whose model is out of credit, after an attempt that was billed", async () => {
    const world = await makeWorld();
    const runtime = await startRuntime(world);
    const down: ModelProvider = {
      name: "test:down",
      complete: async (_, { onSpent }) => {
        await onSpent?.({ input_tokens: 10, output_tokens: 0 });
        throw new ToolError("ModelFailed", "no", { reason: "quota" });
      },
    };
    const provider = { ...down, fallbacks: [calling([])] };
    await runAgent({ runtime, provider, task: { text: "x" }, limits: LIMITS });
    expect(world.events.map(({ type }) => type)).toContain("model.switched");
    expectListed(world.events);
  });
});

describe.each(STORE_KINDS)("a task of the service, on $name", (kind) => {
  async function scratch(): Promise<Store> {
    const at = new ScratchStore(kind);
    onTestFinished(() => at.close());
    return await at.open();
  }

  async function begin(store: Store): Promise<Lease> {
    await store.inbox.ingest({ source: "test", lane: "chat", text: "?" });
    const [lease] = await store.inbox.claim("w", 1);
    if (lease === undefined) throw new Error("nothing to claim");
    return lease;
  }

  async function expectTaskListed(store: Store, { task: { task_id } }: Lease): Promise<void> {
    const rows = await store.events.last({ task_id, limit: 100 });
    expectListed(rows.map(({ event }) => event));
  }

  const FINISHES: readonly Finish[] = [
    { outcome: "done", reply: "x" },
    { outcome: "failed", error: "x", reply: "x" },
    { outcome: "dead", error: "x", reply: "x" },
    { outcome: "retry", error: "x", retry_at: START_MS },
    { outcome: "cancelled", error: "x" },
  ];
  test.each(FINISHES)("that ends as $outcome, is sent, taken up again and dropped", async (finish) => {
    const store = await scratch();
    const lease = await begin(store);
    const { task_id } = lease.task;
    await store.inbox.finish(lease, finish);
    for (const { id } of await store.outbox.pending({ limit: 9 })) await store.outbox.markSent(id);
    await store.tasks.drop(task_id, "ada");
    await store.tasks.retry(task_id, "ada");
    await store.inbox.claim("w", 1);
    await store.inbox.releaseWorker("w");
    await store.inbox.claim("w", 1);
    await store.tasks.cancel(task_id, "ada");
    await expectTaskListed(store, lease);
  });

  test("that waits for a person and is stopped", async () => {
    const store = await scratch();
    const lease = await begin(store);
    await store.approvals.open(makeRequest({ now: START_MS, run_id: lease.task.run_id }));
    await store.inbox.finish(lease, { outcome: "parked" });
    await store.tasks.cancel(lease.task.task_id, "ada");
    await expectTaskListed(store, lease);
  });

  test("whose reply is a file", async () => {
    const store = await scratch();
    const lease = await begin(store);
    const { task_id, run_id, trace_id } = lease.task;
    const file: AttachedFile = {
      artifact: "artifacts/0-a.txt",
      name: "a.txt",
      media_type: "text/plain",
      bytes: 1,
      sha256: "0".repeat(64),
    };
    const payload = { tool_call_id: "call_1", tool_name: "attach", attachments: [file] };
    const about = { event_id: makeId("evt", START_MS), ts: new Date(START_MS).toISOString(), parent_id: null };
    await store.inbox.finish(lease, {
      outcome: "done",
      reply: "x",
      events: [{ ...about, type: "tool_call.completed", trace_id, task_id, run_id, payload }],
    });
    for (const { id } of await store.outbox.pending({ limit: 9 })) await store.outbox.markSent(id);
    const rows = await store.events.last({ task_id, limit: 100 });
    expectListed(rows.map(({ event }) => event).filter(({ type }) => type === "reply.sent"));
  });

  test("that undoes another one", async () => {
    const store = await scratch();
    const undoes = { run_id: "run_1", digest: "d" };
    const { run_id } = await store.inbox.ingest({ source: "telegram", lane: "telegram:7", text: "Undo it.", undoes });
    const rows = await store.events.last({ run_id, limit: 10 });
    expect(rows.map(({ event }) => event.payload["undoes"])).toEqual(["run_1"]);
    expectListed(rows.map(({ event }) => event));
  });

  test("in which a person is let in, one who is refused, one who is removed", async () => {
    const store = await scratch();
    const now = START_MS;
    const decision = { by: "ada", via: "button", now } as const;
    const { code } = await makeCode(store, { by: "ada", now });
    await redeemCode(store, { code, person: { user: 7, name: "Eve" }, now });
    const asked = await askAbout(store, { person: { user: 8, name: "Bob" }, now });
    await decide(store, { choice: "b", user: 8, nonce: asked?.contact.nonce ?? "" }, decision);
    await removeContact(store, 7, decision);
    const rows = await store.events.last({ limit: 100 });
    expect(rows.map(({ event }) => event.type)).toEqual(["access.granted", "access.denied", "access.revoked"]);
    expectListed(rows.map(({ event }) => event));
  });
});

test("upkeep: runs that are pruned, and a state folder that is restored", async () => {
  const place = scratchPlace();
  await inPlace(place, "call", "write", '{"path":"a.txt","content":"b"}');
  agePlace(place, 31);
  expect(await inPlace(place, "prune")).toMatchObject({ code: 0 });
  const backup = join(place.path, "backup");
  expect(await inPlace(place, "backup", backup)).toMatchObject({ code: 0 });
  renameSync(place.state_dir, join(place.path, "before"));
  expect(await inPlace(place, "restore", backup)).toMatchObject({ code: 0 });
  const file = join(place.state_dir, "pruned/events.jsonl");
  const lines = readFileSync(file, "utf8").trim().split("\n");
  expectListed(lines.map((line) => JSON.parse(line) as RuntimeEvent));
});

/** Where the tests above do not get to. */
const NOT_SEEN: readonly string[] = [
  "task.queued skill", // a task that names a skill
  "task.started source", // a run that failed is resumed at the terminal
  "task.resumed source", // one that was broken off
  "model.completed problem", // the model cannot write a summary
];

afterAll(() => {
  const unseen = Object.entries(EVENT_PAYLOADS).flatMap(([type, fields]) => [
    ...(seen.has(type) ? [] : [type]),
    ...Object.keys(fields)
      .map((name) => name.replace(/\?$/, ""))
      .filter((name) => seen.get(type)?.has(name) === false)
      .map((name) => `${type} ${name}`),
  ]);
  expect(unseen, "in the table, and recorded by no test above").toEqual(NOT_SEEN);
});
