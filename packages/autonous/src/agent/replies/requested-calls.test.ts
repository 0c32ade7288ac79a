import { expect, test } from "vitest";
import { call, nativePayloads, startNative } from "../../../../../test/support/native-world.ts";
import { SECRET } from "../../../../../test/support/agent-world.ts";

// oxfmt-ignore
const REPAIRED = [
  { title: "a trailing comma",          name: "stamp",                        input: '{"mark":"1",}',                  done: ["trailing comma"] },
  { title: "JSON in a string",          name: "stamp",                        input: JSON.stringify('{"mark":"1"}'),   done: ["JSON in a string"] },
  { title: "a namespace",               name: "functions.stamp",              input: '{"mark":"1"}',                   done: ["tool name"] },
  { title: "a channel marker",          name: "stamp<|channel|>commentary",   input: '{"mark":"1"}',                   done: ["tool name"] },
  { title: "both",                      name: "default_api:Stamp",            input: '{"mark":"1",}',                  done: ["tool name", "trailing comma"] },
] as const;

for (const { title, name, input, done } of REPAIRED) {
  test(`a call with ${title} runs as intended, and the audit log has what was repaired`, async () => {
    const { world, outcome, requests } = await startNative([{ calls: [call("a", name, input)] }, { text: "ok" }]);
    expect(outcome).toMatchObject({ outcome: "completed" });
    expect([...world.effects]).toEqual([["stamp 1", 1]]);
    const repaired = { name: "stamp", arguments: { mark: "1" }, repaired: done };
    expect(nativePayloads(world, "model.completed")[0]).toMatchObject({ calls: [repaired] });
    // The model gets to see a call as it should have been.
    expect(requests[1]?.messages[1]).toMatchObject({ calls: [{ name: "stamp", arguments: { mark: "1" } }] });
  });
}

test("arguments of the wrong type are converted to the schema's type", async () => {
  const input = { path: "src/a.txt", limit: "5", offset: null };
  const { world, requests } = await startNative([{ calls: [call("a", "read", input)] }, { text: "ok" }]);
  expect(requests[1]?.messages[2]).toMatchObject({ role: "tool", result: { ok: true } });
  expect(nativePayloads(world, "model.completed")[0]).toMatchObject({
    calls: [
      {
        arguments: { path: "src/a.txt", limit: 5 },
        repaired: ["limit: number in quotes", "offset: null for an optional argument"],
      },
    ],
  });
});

test("the model gets its broken arguments back, with the place of the error", async () => {
  const { world, requests } = await startNative([{ calls: [call("a", "stamp", '{"mark": "x" "y"}')] }, { text: "ok" }]);
  const shown = { name: "stamp", arguments: { invalid_json: '{"mark": "x" "y"}' } };
  expect(requests[1]?.messages[1]).toMatchObject({ calls: [shown] });
  expect(requests[1]?.messages[2]?.text).toMatch(/broken[^]*position 13/);
  expect(nativePayloads(world, "model.completed")[0]).toMatchObject({ calls: [shown] });
  expect(world.effects.size).toBe(0);
});

test("broken arguments are shown truncated and redacted", async () => {
  const input = `{"mark": "${SECRET} ${"long ".repeat(20_000)}"`;
  const { world, requests } = await startNative([{ calls: [call("a", "stamp", input)] }, { text: "ok" }]);
  const [, said] = requests[1]?.messages ?? [];
  const json = JSON.stringify(said);
  expect(json).toMatch(/characters omitted/);
  expect(json.length).toBeLessThan(5000);
  expect(JSON.stringify([world.events, requests])).not.toContain(SECRET);
});

test("an unknown tool name returns similar names", async () => {
  const { requests } = await startNative([{ calls: [call("a", "functions.stampp", { mark: "1" })] }, { text: "ok" }]);
  expect(requests[1]?.messages[2]?.text).toMatch(/UnknownTool[^]*did you mean "stamp"/);
});
