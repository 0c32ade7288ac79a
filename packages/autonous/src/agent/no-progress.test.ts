import type { ToolCallResult } from "@autonous/runtime";
import { expect, test } from "vitest";
import { makeWorld, recording, startRuntime } from "../../../../test/support/agent-world.ts";
import type { ModelProvider, ModelReply } from "../model/provider.ts";
import { runAgent } from "./loop.ts";
import { findCycle, CycleDetector } from "./no-progress.ts";

const list = (text: string): string[] => text.split(" ");
const times = (count: number, text: string): string => Array(count).fill(text).join(" ");

// oxfmt-ignore
const CASES = [
  { title: "nothing",                          keys: [],                                    length: undefined },
  { title: "four of the same",                 keys: list("a a a a"),                       length: undefined },
  { title: "five of the same",                 keys: list("a a a a a"),                     length: 1 },
  { title: "five of the same after others",    keys: list("b c a a a a a"),                 length: 1 },
  { title: "others after five of the same",    keys: list("a a a a a b"),                   length: undefined },
  { title: "two in turn, four times",          keys: list(times(4, "a b")),                 length: undefined },
  { title: "two in turn, five times",          keys: list(times(5, "a b")),                 length: 2 },
  { title: "two in turn, begun in the middle", keys: list(`b ${times(5, "a b")}`),          length: 2 },
  { title: "three in turn",                    keys: list(times(5, "a b c")),               length: 3 },
  { title: "five in turn",                     keys: list(times(5, "a b c d e")),           length: 5 },
  { title: "six in turn",                      keys: list(times(9, "a b c d e f")),         length: undefined },
  { title: "in turn, except for one",       keys: list(`${times(4, "a b")} a c`),        length: undefined },
] as const;

for (const { title, keys, length } of CASES) {
  test(`${title}: ${length === undefined ? "no cycle" : `a cycle of ${length}`}`, () => {
    expect(findCycle(keys)?.length).toBe(length);
  });
}

const RESULT: ToolCallResult = {
  tool_call_id: "call_1",
  ok: true,
  payload: {
    exit_code: 0,
    stdout: "same",
    stderr: "",
    truncated_lines: false,
    truncated_bytes: false,
    data: {},
    meta: {},
  },
  error: null,
  artifacts: { files_changed: [], commands_run: [] },
  duration_ms: 1,
  redacted: false,
};

function result(at: number, stdout: string): ToolCallResult {
  const storage_ref = `observations/call_${at}.txt`;
  const payload = { ...RESULT.payload, stdout: `${stdout} ${storage_ref}`, storage_ref } as ToolCallResult["payload"];
  return { ...RESULT, tool_call_id: `call_${at}`, duration_ms: at, payload };
}

test("results that differ only in ids and times count as the same", () => {
  const watch = new CycleDetector();
  const found = [1, 2, 3, 4, 5].map((at) =>
    watch.note({ name: "bash", arguments: { cmd: "x" }, result: result(at, "same") }),
  );
  expect(found.map((each) => each?.length)).toEqual([undefined, undefined, undefined, undefined, 1]);
});

test("repeated calls with changing results are progress", () => {
  const watch = new CycleDetector();
  for (let at = 0; at < 50; at++) {
    expect(
      watch.note({ name: "background_output", arguments: { id: 1 }, result: result(at, `line ${at}`) }),
    ).toBeUndefined();
  }
});

/** Repeats the same call until it is warned; then it answers if it is obedient. */
function stubborn(isObedient: boolean): ModelProvider {
  const complete: ModelProvider["complete"] = async ({ messages }): Promise<ModelReply> => {
    const isWarned = messages.some(({ role, text }) => role === "user" && text.startsWith("No progress: "));
    if (isWarned && isObedient) return { kind: "native", text: "I cannot find it", calls: [], finish: "stop" };
    return { kind: "native", text: "", calls: [{ id: "a", name: "look", input: '{"mark":"1"}' }], finish: "stop" };
  };
  return { name: "test:stubborn", protocol: "native", complete };
}

test("a model that repeats its calls is warned once, and may change its approach", async () => {
  const world = await makeWorld();
  const provider = recording(stubborn(true));
  const outcome = await runAgent({
    runtime: await startRuntime(world),
    provider,
    task: { text: "x" },
    limits: { max_turns: 50 },
  });
  expect(outcome).toMatchObject({ outcome: "completed", answer: "I cannot find it", turns: 6, calls: 5 });
  expect(provider.requests.at(-1)?.messages.at(-1)?.text).toMatch(/the same call was made 5 times in a row/);
});

test("a model that repeats its calls after the warning is stopped, with the reason and what was done", async () => {
  const world = await makeWorld();
  const provider = recording(stubborn(false));
  const outcome = await runAgent({
    runtime: await startRuntime(world),
    provider,
    task: { text: "x" },
    limits: { max_turns: 50 },
  });
  expect(outcome).toMatchObject({
    outcome: "failed",
    turns: 6,
    calls: 6,
    error: {
      code: "LimitReached",
      message: /no progress: the same call was made 5 times in a row[^]*Done so far: look ok/,
    },
  });
});
