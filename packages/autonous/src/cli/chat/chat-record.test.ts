import type { RuntimeEvent } from "@autonous/runtime";
import { expect, test } from "vitest";
import { readChatRecord, totalUse } from "./chat-record.ts";

type RecordedPart = Pick<RuntimeEvent, "type" | "task_id" | "payload">;

async function* recorded(events: readonly RecordedPart[]): AsyncIterable<RuntimeEvent> {
  for (const event of events) yield event as RuntimeEvent;
}

const starts = (task_id: string, more: object = {}): RecordedPart => ({
  type: "agent.started",
  task_id,
  payload: { task: `do ${task_id}`, provider: "anthropic:x", ...more },
});
const changes = (task_id: string | null, undo_id: string): RecordedPart => ({
  type: "tool_call.completed",
  task_id,
  payload: { audit: { artifacts: { undo_id } } },
});
const undoes = (task_id: string | null, ...undo_ids: string[]): RecordedPart => ({
  type: "undo.applied",
  task_id,
  payload: { undo_ids },
});
const round = (task_id: string, more: object): RecordedPart => ({
  type: "model.completed",
  task_id,
  payload: { ...more },
});

// oxfmt-ignore
const UNDONE: readonly { readonly title: string; readonly events: readonly RecordedPart[]; readonly left: object }[] = [
  { title: "in the order of messages",      events: [starts("a"), changes("a", "1"), changes("a", "2"), starts("b"), changes("b", "3")], left: { a: ["1", "2"], b: ["3"] } },
  { title: "without what the user undid",   events: [starts("a"), changes("a", "1"), changes("a", "2"), undoes(null, "2"), changes(null, "3")], left: { a: ["1"] } },
  { title: "without a message all undone",  events: [starts("a"), changes("a", "1"), undoes(null, "1"), changes(null, "2")], left: {} },
  { title: "with what the model itself undid: that is a change of its own", events: [starts("a"), changes("a", "1"), undoes("a", "1"), changes("a", "2")], left: { a: ["1", "2"] } },
  { title: "also of calls that failed half-way", events: [starts("a"), { ...changes("a", "1"), type: "tool_call.failed" }], left: { a: ["1"] } },
];

for (const { title, events, left } of UNDONE)
  test(`changes that can be undone, ${title}`, async () => {
    const record = await readChatRecord(recorded(events));
    expect(Object.fromEntries(record.changes.map(({ task_id, undo_ids }) => [task_id, undo_ids]))).toEqual(left);
  });

test("use is counted for each model, and a round without a price makes the cost unknown, not 0", async () => {
  const usage = { input_tokens: 10, output_tokens: 2, cached_input_tokens: 4 };
  const { models, messages } = await readChatRecord(
    recorded([
      starts("a"),
      round("a", { usage, cost: 0.5 }),
      round("a", { usage, cost: 0.25 }),
      starts("b", { provider: "compatible:y" }),
      round("b", { usage: { ...usage, estimated: true }, cost: null }),
      round("c", { kind: "summary", provider: "anthropic:x", usage, cost: 1 }),
      round("b", { usage: null }),
      { ...round("b", { provider: "openai:z", usage, cost: 0.125 }), type: "model.billed" },
      round("b", { provider: "openai:z", usage, cost: 0.125 }),
    ]),
  );
  expect(messages).toBe(2);
  expect(models).toMatchObject([
    { model: "anthropic:x", rounds: 3, input_tokens: 30, cached_input_tokens: 12, cost: 1.75, estimated: false },
    { model: "compatible:y", rounds: 1, cost: null, estimated: true },
    { model: "openai:z", rounds: 1, input_tokens: 20, cost: 0.25 },
  ]);
  expect(totalUse(models)).toMatchObject({ rounds: 5, input_tokens: 60, output_tokens: 12, cost: null });
  expect(totalUse([])).toMatchObject({ rounds: 0, cost: 0 });
});

test("a chat is distinguished from a single task", async () => {
  const kinds = async (...events: RecordedPart[]): Promise<boolean> => (await readChatRecord(recorded(events))).isChat;
  expect(await kinds(starts("a"))).toBe(false);
  expect(await kinds(starts("a", { source: "chat" }))).toBe(true);
  expect(await kinds(starts("a"), starts("b"))).toBe(true); // recorded before chats were marked
});
