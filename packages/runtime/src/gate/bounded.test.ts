import { expect, test } from "vitest";
import { z } from "zod";
import { scratch } from "../../../../test/support/scratch.ts";
import { defineTool } from "../contract/tool.ts";
import { ToolError } from "../protocol/errors.ts";

const MANY = 100_000;
const names = (count: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`field_${i}`, i]));
const long = "x".repeat(1_000_000);

/** A refusal in JSON: its message (4 kB), hint and details (16 kB), and what surrounds them. */
const RESULT_CHARACTERS = 32_768;

// oxfmt-ignore
const HOSTILE: readonly { title: string; request: unknown; says: RegExp }[] = [
  { title: "100,000 unknown arguments",        request: { name: "ls", args: names(MANY) },                        says: /"field_0" is not an argument.*and 99990 more$/ },
  { title: "one unknown argument of 1 MB",     request: { name: "ls", args: { [long]: 1 } },                      says: /more characters\)" is not an argument/ },
  { title: "100,000 unknown fields",           request: { name: "ls", args: {}, ...names(MANY) },                 says: /… and 99,995 more/ },
  { title: "a name of 1 MB",                   request: { name: long, args: {} },                                 says: /./ },
  { title: "an id of 1 MB",                    request: { name: "ls", args: {}, tool_call_id: long },             says: /tool_call_id/ },
  { title: "a version of 1 MB",                request: { name: "ls", args: {}, version: long },                  says: /version/ },
  { title: "a path of 1 MB",                   request: { name: "read", args: { path: long } },                   says: /Cannot use a path of \d+ characters/ },
  { title: "a deep path outside",              request: { name: "read", args: { path: `../${"a/".repeat(300_000)}` } }, says: /Cannot use a path of \d+ characters/ },
  { title: "a cursor of 1 MB",                 request: { name: "ls", args: { cursor: long } },                   says: /cursor/i },
  { title: "a pattern of 1 MB",                request: { name: "grep", args: { pattern: `(${long}` } },          says: /./ },
  { title: "arguments nested without end",     request: { name: "ls", args: JSON.parse(`${'{"a":'.repeat(5000)}1${"}".repeat(5000)}`) as unknown }, says: /nested/ },
  { title: "an argument that throws when it is read", request: { name: "ls", args: { get path() { throw new Error(long); } } }, says: /cannot be read \(x+/ },
  { title: "a request that throws when it is looked at", request: new Proxy({}, { ownKeys: () => { throw new Error(long); } }), says: /./ },
  { title: "arguments that throw no error",    request: { name: "ls", args: new Proxy({}, { ownKeys: () => { throw 7; } }) }, says: /cannot be read/ },
  { title: "a list of 4,000,000,000 holes",    request: { name: "ls", args: { path: Array(4_000_000_000) } },     says: /at most 1000000/ },
  { title: "a list of 900 wrong entries",  request: { name: "edit", args: { path: "a", edits: Array.from({ length: 900 }, () => 7) } }, says: /more$/ },
];

for (const { title, request, says } of HOSTILE) {
  test(`the refusal of ${title} is short: result, event and audit record`, async () => {
    const { runtime, events } = await scratch();
    const result = await runtime.call(request as Parameters<typeof runtime.call>[0]);

    expect(result.ok).toBe(false);
    expect(result.error?.message).toMatch(says);
    expect(JSON.stringify(result).length).toBeLessThan(RESULT_CHARACTERS);
    const recorded = await events();
    expect(recorded.at(-1)?.type).toBe("tool_call.failed");
    for (const event of recorded) expect(JSON.stringify(event).length).toBeLessThan(2 * RESULT_CHARACTERS);
  });
}

/** A third-party tool that fails with a very long error. */
function failing(problem: () => unknown) {
  return defineTool({
    name: "fails",
    version: "1.0.0",
    description: "Fail.",
    args: z.strictObject({}),
    returns: z.strictObject({}),
    required_permissions: [],
    side_effects: ["none"],
    risk: "low",
    permission_class: "readonly",
    audit_operation: "fail",
    execute: () => Promise.reject(problem() as Error),
  });
}

const deep = (): object => {
  let value: object = {};
  for (let i = 0; i < 2000; i++) value = { value };
  return value;
};

// oxfmt-ignore
const FAILURES: readonly { title: string; problem: () => unknown }[] = [
  { title: "a message of 1 MB",         problem: () => new ToolError("IOError", long) },
  { title: "a hint of 1 MB",            problem: () => new ToolError("IOError", "x", { hint: long }) },
  { title: "100,000 details",           problem: () => new ToolError("IOError", "x", names(MANY)) },
  { title: "a list of 100,000",         problem: () => new ToolError("IOError", "x", { files: Array.from({ length: MANY }, (_, i) => `file ${i}`) }) },
  { title: "lists of lists of lists",   problem: () => new ToolError("IOError", "x", { a: Array.from({ length: 200 }, () => Array.from({ length: 200 }, () => [long.slice(0, 20)])) }) },
  { title: "details without a bottom",  problem: () => new ToolError("IOError", "x", deep() as Record<string, unknown>) },
  { title: "an unexpected error of 1 MB", problem: () => new Error(long) },
];

for (const { title, problem } of FAILURES) {
  test(`a tool that fails with ${title} has a short result and event`, async () => {
    const { runtime, call, events } = await scratch();
    runtime.register(failing(problem));
    const result = await call("fails");

    expect(result.ok).toBe(false);
    expect(JSON.stringify(result).length).toBeLessThan(RESULT_CHARACTERS);
    for (const event of await events()) expect(JSON.stringify(event).length).toBeLessThan(2 * RESULT_CHARACTERS);
  });
}

test("what is left out of details is counted", async () => {
  const { runtime, call } = await scratch();
  runtime.register(failing(() => new ToolError("IOError", "x", { files: Array.from({ length: 5000 }, (_, i) => i) })));
  const { error } = await call("fails");
  const files = error?.details?.["files"] as unknown[];
  expect(files.slice(0, 3)).toEqual([0, 1, 2]);
  expect(files.at(-1)).toBe("… and 4,900 more");
});

test("an approval offers nothing that would keep a secret of a file's name", async () => {
  const token = ["gh", "p_", "a1B2".repeat(9)].join("");
  const { call, make, runtime, events } = await scratch({
    config: { rules: [{ effect: "confirm", permission: "fs.write" }] },
  });
  await make({ [`root/${token}/notes.txt`]: "a\n", "root/plain.txt": "a\n" });
  const secret = await call("write", { path: `${token}/notes.txt`, content: "b\n" });
  const plain = await call("write", { path: "plain.txt", content: "b\n" });
  expect(secret.error?.code).toBe("ApprovalRequired");
  expect(plain.error?.code).toBe("ApprovalRequired");

  const pending = await runtime.approvals.list({ state: "pending" });
  expect(pending).toHaveLength(2);
  const offered = pending.map(({ request }) => request.offers.map(({ offer }) => offer));
  expect(offered).toContainEqual(["exact"]);
  expect(offered.some((each) => each.includes("path"))).toBe(true);
  expect(JSON.stringify(pending)).not.toContain(token.slice(0, 12));
  expect(JSON.stringify(await events())).not.toContain(token.slice(0, 12));
});
