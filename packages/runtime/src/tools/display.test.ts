import { expect, test } from "vitest";
import { scratch } from "../../../../test/support/scratch.ts";

test("what is displayed is on record and told before the call is over", async () => {
  const told: string[] = [];
  const { call, events } = await scratch({ onEvent: ({ type }) => told.push(type) });

  const args = { content: "Half of it", level: "success", title: "Tests", thought: "they ask", evidence: ["a.log:3"] };
  const result = await call("display", args);

  expect(result).toMatchObject({ ok: true, payload: { data: { level: "success" } } });
  expect(told).toEqual(["tool_call.started", "display", "tool_call.completed"]);
  const [started, shown] = await events();
  expect(shown).toMatchObject({ type: "display", parent_id: started?.event_id });
  expect(shown?.payload).toEqual({ tool_call_id: result.tool_call_id, ...args });
});

test("a secret in it is redacted", async () => {
  const { call, events } = await scratch({ known_secrets: ["hunter2hunter2"] });
  await call("display", { content: "the password is hunter2hunter2" });
  expect(JSON.stringify(await events())).not.toContain("hunter2hunter2");
});

test("it is offered whatever the profile, and also as message_user", async () => {
  const { call, runtime } = await scratch({ profile: "readonly" });
  expect(runtime.tools().map(({ name }) => name)).toContain("display");
  expect(await call("message_user", { message: "hello" })).toMatchObject({ ok: true });
});

// oxfmt-ignore
const REFUSED = [
  { title: "nothing",            args: { content: "" } },
  { title: "an unknown level",   args: { content: "x", level: "loud" } },
  { title: "far too much",       args: { content: "x".repeat(16_001) } },
  { title: "evidence no string", args: { content: "x", evidence: [1] } },
];

for (const { title, args } of REFUSED) {
  test(`display refuses ${title}`, async () => {
    const { call } = await scratch();
    expect(await call("display", args)).toMatchObject({ ok: false, error: { code: "InvalidArguments" } });
  });
}
