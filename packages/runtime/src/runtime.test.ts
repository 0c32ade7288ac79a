import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { scratch } from "../../../test/support/scratch.ts";
import { defineTool } from "./contract/tool.ts";
import type { ToolDeclaration } from "./contract/tool.ts";
import type { ApprovalRequest } from "./protocol/approval.ts";
import type { AuditRecord } from "./protocol/audit.ts";
import { auditRecord } from "./protocol/audit.ts";
import { toolCallResult } from "./protocol/result.ts";
import { ToolError } from "./protocol/errors.ts";
import { runtimeEvent } from "./protocol/event-record.ts";
import { createRuntime } from "./runtime.ts";

type Declaration = ToolDeclaration<z.ZodObject, z.ZodObject>;

/** A tool that says what it was given and counts how often it ran. */
function counter(more: Partial<Declaration> = {}): { tool: ReturnType<typeof defineTool>; ran: () => number } {
  let count = 0;
  const tool = defineTool({
    name: "count",
    version: "2.1.0",
    description: "Counts",
    args: z.strictObject({ text: z.string().optional(), n: z.int().default(1) }),
    returns: z.looseObject({}),
    required_permissions: [],
    side_effects: ["none"],
    permission_class: "readonly",
    risk: "low",
    async execute(args) {
      count++;
      return { data: {}, stdout: JSON.stringify(args) };
    },
    ...more,
  });
  return { tool, ran: () => count };
}

test("a call gives the result envelope, two chained events and one audit record", async () => {
  const { runtime, make, events } = await scratch();
  await make({ "root/a.txt": "a" });
  const result = await runtime.call({ name: "ls", args: { path: "." } });
  expect(toolCallResult.parse(result)).toMatchObject({
    ok: true,
    error: null,
    redacted: false,
    payload: { stdout: "a.txt\n", exit_code: 0 },
  });
  const [started, completed, ...rest] = await events();
  expect(rest).toEqual([]);
  expect(runtimeEvent.parse(started)).toMatchObject({
    seq: 1,
    type: "tool_call.started",
    parent_id: null,
    payload: { tool_name: "ls", arguments: { path: "." } },
  });
  expect(runtimeEvent.parse(completed)).toMatchObject({
    seq: 2,
    type: "tool_call.completed",
    parent_id: started!.event_id,
    prev_hash: started!.hash,
    payload: { tool_name: "ls", exit_code: 0, truncated_lines: false, truncated_bytes: false },
  });
  const audit = auditRecord.parse(completed!.payload["audit"]);
  expect(audit).toMatchObject({
    tool: "ls",
    version: "1.0.0",
    risk: "low",
    operation: "read",
    result: { ok: true, error_code: null },
    policy: { decision: "ALLOW", approved: null },
    sandbox: "none",
  });
});

// oxfmt-ignore
const BAD_REQUESTS = [
  { title: "an unknown tool",               request: { name: "lss", args: {} },                                              code: "UnknownTool",        says: /"lss"; did you mean "ls"/ },
  { title: "a name like nothing",           request: { name: "frobnicate_the_database", args: {} },                          code: "UnknownTool",        says: /database"$/ },
  { title: "no name",                       request: { args: {} },                                                           code: "InvalidArguments",   says: /"name"/ },
  { title: "nothing",                       request: null,                                                                   code: "InvalidArguments",   says: /request/ },
  { title: "a number",                      request: 7,                                                                      code: "InvalidArguments",   says: /request/ },
  { title: "a field that requests have not", request: { name: "ls", args: {}, sudo: true },                                  code: "InvalidArguments",   says: /"sudo"/ },
  { title: "a run that is a way out",       request: { name: "ls", args: {}, run_id: "../../x" },                            code: "InvalidArguments",   says: /run_id/ },
  { title: "a call id that is a way out",   request: { name: "ls", args: {}, tool_call_id: "../x" },                         code: "InvalidArguments",   says: /tool_call_id/ },
  { title: "arguments that are a list",     request: { name: "ls", args: ["."] },                                            code: "InvalidArguments",   says: /object/ },
  { title: "arguments that are text",       request: { name: "ls", args: "." },                                              code: "InvalidArguments",   says: /object/ },
  { title: "an extra argument",             request: { name: "ls", args: { path: ".", x: 1 } },                              code: "InvalidArguments",   says: /"x"/ },
  { title: "an argument of another type",   request: { name: "ls", args: { path: 5 } },                                      code: "InvalidArguments",   says: /"path"/ },
  { title: "a NUL",                         request: { name: "ls", args: { path: "a\0b" } },                                 code: "InvalidArguments",   says: /"path" holds a NUL/ },
  { title: "half a surrogate pair",         request: { name: "ls", args: { path: "a\ud800" } },                              code: "InvalidArguments",   says: /"path" holds half/ },
  { title: "a prototype",                   request: { name: "ls", args: JSON.parse('{"path":".","__proto__":{"x":1}}') as unknown }, code: "InvalidArguments", says: /"__proto__"/ },
  { title: "a constructor below",           request: { name: "ls", args: { ignore_globs: [{ constructor: 1 }] } },           code: "InvalidArguments",   says: /ignore_globs\[0\]\.constructor/ },
  { title: "a value that JSON cannot represent",     request: { name: "ls", args: { path: ".", limit: 1n } },                         code: "InvalidArguments",   says: /"limit" is a bigint/ },
  { title: "not a number",                  request: { name: "ls", args: { limit: Number.NaN } },                            code: "InvalidArguments",   says: /NaN/ },
  { title: "a date",                        request: { name: "ls", args: { path: new Date() } },                             code: "InvalidArguments",   says: /plain data/ },
  { title: "a newer major version",         request: { name: "ls", args: {}, version: "9.0.0" },                             code: "VersionUnsupported", says: /supported: 1\.0\.0/ },
  { title: "a version that is none",        request: { name: "ls", args: {}, version: "latest" },                            code: "VersionUnsupported", says: /"latest"/ },
] as const;

for (const { title, request, code, says } of BAD_REQUESTS) {
  test(`${title} is refused with ${code}, and the refusal is on record`, async () => {
    const { runtime, events } = await scratch();
    const result = toolCallResult.parse(await runtime.call(request as never));
    expect(result).toMatchObject({
      ok: false,
      payload: null,
      error: { code, message: expect.stringMatching(says) as string },
    });
    const [failed, ...rest] = await events();
    expect(rest).toEqual([]);
    expect(failed).toMatchObject({ type: "tool_call.failed", payload: { error: { code }, error_class: "validation" } });
    expect(auditRecord.parse(failed!.payload["audit"]).policy.decision).toBeNull();
  });
}

test("a call that needs more than it requested is refused, on record, and so it is when it is decided again", async () => {
  const { runtime, events } = await scratch();
  const args = { path: "new.txt", content: "x" };
  const refused = await runtime.call({ name: "write", args, requested_permissions: ["fs.read"] });
  const made = await runtime.call({ name: "write", args, requested_permissions: ["fs.read", "fs.write"] });
  const records = (await events()).flatMap(({ payload }) =>
    payload["audit"] === undefined ? [] : [auditRecord.parse(payload["audit"])],
  );

  expect(refused.error).toMatchObject({
    code: "ToolNotAllowed",
    message: expect.stringMatching(/needs fs\.write/) as string,
  });
  expect(made.error).toBeNull();
  expect(records.map(({ requested_permissions }) => requested_permissions)).toEqual([
    ["fs.read"],
    ["fs.read", "fs.write"],
  ]);
  const again = await Promise.all(records.map(async (record) => await runtime.decideAgain(record)));
  expect(again).toMatchObject([
    { decision: { effect: "DENY", rule: "floor:requested_permissions" } },
    { decision: { effect: "ALLOW" } },
  ]);
});

test("arguments without end are refused, whichever way they go on", async () => {
  const { call } = await scratch();
  const cycle: Record<string, unknown> = {};
  cycle["ignore_globs"] = [cycle];
  const deep = JSON.parse(`${'{"a":'.repeat(5000)}1${"}".repeat(5000)}`) as unknown;
  for (const args of [cycle, deep])
    expect((await call("ls", args)).error).toMatchObject({
      code: "InvalidArguments",
      message: expect.stringMatching(/64 levels/) as string,
    });
});

test("arguments that change after the call was made change nothing", async () => {
  const { runtime, make } = await scratch();
  await make({ "root/a/x": "x", "outside/y": "y" });
  const args = { path: "a" };
  const pending = runtime.call({ name: "ls", args });
  args.path = "../outside";
  expect((await pending).payload?.stdout).toBe("x\n");
});

test("a denied call is recorded with the decision and the rule, and never started", async () => {
  const { call, events } = await scratch();
  const result = await call("ls", { path: "/etc" });
  expect(result).toMatchObject({ ok: false, payload: null, error: { code: "PathTraversalBlocked", class: "policy" } });
  const recorded = await events();
  expect(recorded.map((event) => event.type)).toEqual(["tool_call.failed"]);
  expect((recorded[0]!.payload["audit"] as AuditRecord).policy).toMatchObject({
    decision: "DENY",
    rule: "floor:roots",
  });
});

test("registering a name or an alias twice is refused, and registers nothing", async () => {
  const { runtime } = await scratch();
  expect(() => runtime.register(counter({ name: "ls" }).tool)).toThrow(/"ls" is taken/);
  expect(() => runtime.register(counter({ aliases: [{ name: "list_dir" }] }).tool)).toThrow(
    /"list_dir" is taken by "ls"/,
  );
  expect(() => runtime.register(counter({ aliases: [{ name: "twice" }, { name: "twice" }] }).tool)).toThrow(/"twice"/);
  expect((await runtime.call({ name: "count", args: {} })).error?.code).toBe("UnknownTool");
});

test("an older major version is adapted where the tool has an adapter, an older minor is served as it is", async () => {
  const { runtime } = await scratch();
  runtime.register(
    counter({ old_versions: [{ major: 1, adapt: ({ message, ...rest }) => ({ text: message, ...rest }) }] }).tool,
  );
  const old = await runtime.call({ name: "count", version: "1.4.0", args: { message: "hi" } });
  expect(old.payload?.stdout).toBe('{"text":"hi","n":1}');
  expect((await runtime.call({ name: "count", version: "2.0.3", args: {} })).ok).toBe(true);
  expect((await runtime.call({ name: "count", version: "2.2.0", args: {} })).error?.code).toBe("VersionUnsupported");
});

test("a tool that declares little is taken to be dangerous: asked for, high risk, alone, not run again", async () => {
  const { tool } = counter();
  expect(tool).toMatchObject({ concurrency_safe: false, idempotent: false, read_only: false, destructive: false });
  const bare = defineTool({
    name: "bare",
    version: "1.0.0",
    description: "b",
    args: z.strictObject({}),
    returns: z.strictObject({}),
    required_permissions: [],
    side_effects: ["message"],
    execute: async () => ({ data: {} }),
  });
  expect(bare).toMatchObject({
    risk: "high",
    permission_class: "generic",
    audit_operation: "invoke",
    requires_checkpoint: false,
  });
  const { runtime } = await scratch();
  runtime.register(bare);
  expect((await runtime.call({ name: "bare", args: {} })).error?.code).toBe("ApprovalRequired");
});

const asked = { permission_class: "generic", risk: "high" } as const;

test("a confirmation is asked for once a call, with everything that it would do, and recorded", async () => {
  const requests: ApprovalRequest[] = [];
  const { runtime, events } = await scratch({
    onApproval: (request) => (requests.push(request), { answer: "grant", by: "ada" }),
  });
  const { tool, ran } = counter(asked);
  runtime.register(tool);
  for (let i = 0; i < 2; i++) expect((await runtime.call({ name: "count", args: { text: "a\u202eb" } })).ok).toBe(true);
  expect(ran()).toBe(2);
  expect(requests).toHaveLength(2);
  expect(requests[0]).toMatchObject({ tool: "count", risk: "high", params: { text: "a\\u{202e}b" }, scope: "call" });
  expect(requests[0]!.digest).toBe(requests[1]!.digest);
  const types = (await events()).map((event) => event.type);
  expect(types.slice(0, 4)).toEqual([
    "approval_required",
    "approval_granted",
    "tool_call.started",
    "tool_call.completed",
  ]);
  expect(((await events())[3]!.payload["audit"] as AuditRecord).policy).toMatchObject({
    decision: "REQUIRE_CONFIRMATION",
    approved: true,
    approval_scope: "call",
    approved_by: "ada",
  });
});

test("an approval for the run is good for exactly the same call again, and for no other", async () => {
  let times = 0;
  const { runtime } = await scratch({ onApproval: () => (times++, { answer: "grant", scope: "run" }) });
  runtime.register(counter(asked).tool);
  for (const text of ["a", "a", "b", "a"]) await runtime.call({ name: "count", args: { text } });
  expect(times).toBe(2);
});

// oxfmt-ignore
const UNAPPROVED = [
  { title: "without a prompt",  options: {},                                                                            code: "ApprovalRequired" },
  { title: "the prompt cannot answer",       options: { onApproval: () => null },                                                    code: "ApprovalRequired" },
  { title: "a person says no",        options: { onApproval: () => ({ answer: "deny", reason: "not today" } as const) },      code: "ApprovalDenied" },
  { title: "no answer comes in time",  options: { onApproval: () => new Promise<never>(() => {}), approval_timeout_ms: 20 },   code: "ApprovalExpired" },
  { title: "the asking breaks",       options: { onApproval: () => { throw new Error("boom"); } },                            code: "InternalError" },
  { title: "the answer is invalid", options: { onApproval: () => ({ answer: "maybe" } as never) },                          code: "InternalError" },
] as const;

for (const { title, options, code } of UNAPPROVED) {
  test(`where ${title}, the call ends with ${code} and nothing runs`, async () => {
    const { runtime, events } = await scratch(options);
    const { tool, ran } = counter(asked);
    runtime.register(tool);
    const result = await runtime.call({ name: "count", args: {} });
    expect(result).toMatchObject({ ok: false, payload: null, error: { code } });
    expect(ran()).toBe(0);
    expect((await events()).at(-1)).toMatchObject({ type: "tool_call.failed" });
    if (code === "ApprovalRequired")
      expect(result.error?.replay).toMatch(/^autonous call count '\{"n":1\}' --approve [0-9a-f]{64}$/);
    if (code === "ApprovalDenied") expect(result.error?.message).toMatch(/not today/);
  });
}

test("a checkpoint tool runs only when its handler lets it", async () => {
  const checkpoint = { requires_checkpoint: true };
  const without = await scratch();
  without.runtime.register(counter(checkpoint).tool);
  expect((await without.call("count")).error?.code).toBe("CheckpointDenied");
  const { runtime, call } = await scratch({
    onCheckpoint: ({ args }) => ({ answer: args["n"] === 1 ? "grant" : "deny", by: "ops" }),
  });
  runtime.register(counter(checkpoint).tool);
  expect((await call("count", { n: 1 })).ok).toBe(true);
  expect((await call("count", { n: 2 })).error?.code).toBe("CheckpointDenied");
});

test("reverse thinking can stop a call, and what it found stays with the record", async () => {
  const found = { hidden_assumptions: ["a"], failure_scenarios: ["b"], verdict_reason: "because" } as const;
  const { runtime, call, events } = await scratch({
    onReverseThinking: ({ args }) => ({ ...found, verdict: args["n"] === 1 ? "proceed" : "revise" }) as never,
  });
  runtime.register(counter({ requires_reverse_thinking: true }).tool);
  expect((await call("count", { n: 1 })).ok).toBe(true);
  expect((await call("count", { n: 2 })).error).toMatchObject({
    code: "ReverseThinkingStopped",
    message: expect.stringMatching(/revise: because/) as string,
  });
  expect((await events()).at(-1)!.payload["audit"]).toMatchObject({ reverse_thinking: { verdict: "revise" } });
  const without = await scratch();
  without.runtime.register(counter({ requires_reverse_thinking: true }).tool);
  expect((await without.call("count")).error?.code).toBe("ReverseThinkingStopped");
});

test("a quota ends the calls of a run, and another run starts afresh", async () => {
  const { runtime } = await scratch({ config: { quotas: [{ per: "run", calls: 2 }] } });
  const codes = [];
  for (const run_id of ["r1", "r1", "r1", "r2"])
    codes.push((await runtime.call({ name: "ls", args: {}, run_id })).error?.code);
  expect(codes).toEqual([undefined, undefined, "QuotaExceeded", undefined]);
});

test("a call that takes too long ends with Timeout, also if the tool ignores its signal", async () => {
  const { runtime } = await scratch({ timeout_ms: 30 });
  runtime.register(counter({ execute: () => new Promise(() => {}) }).tool);
  const result = await runtime.call({ name: "count", args: {} });
  expect(result).toMatchObject({ ok: false, error: { code: "Timeout", class: "timeout" }, payload: { exit_code: 1 } });
});

test("a call can be cancelled before and while it runs", async () => {
  const { runtime, events } = await scratch();
  const { tool, ran } = counter({
    name: "idle",
    execute: (_, { signal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped")))),
  });
  runtime.register(tool);
  const before = await runtime.call({ name: "idle", args: {} }, { signal: AbortSignal.abort() });
  expect(before).toMatchObject({
    payload: null,
    error: { code: "Cancelled", message: expect.stringMatching(/before/) as string },
  });
  const controller = new AbortController();
  const running = runtime.call({ name: "idle", args: {} }, { signal: controller.signal });
  setImmediate(() => controller.abort());
  expect(await running).toMatchObject({
    error: { code: "Cancelled", message: expect.stringMatching(/while/) as string },
  });
  expect(ran()).toBe(0);
  expect((await events()).map((event) => event.type)).toEqual([
    "tool_call.failed",
    "tool_call.started",
    "tool_call.failed",
  ]);
});

const CHANGES = { side_effects: ["files"], permission_class: "file", touches: () => [] } as const;
const partly = (failure?: ToolError) => ({
  data: {},
  stdout: "so far\n",
  artifacts: { files_changed: ["a"] },
  ...(failure === undefined ? {} : { failure }),
});

// oxfmt-ignore
const STOPPED = [
  { title: "says itself that it was cancelled",    gives: () => Promise.resolve(partly(new ToolError("Cancelled", "Stopped by hand"))), code: "Cancelled", says: /Stopped by hand/ },
  { title: "failed because of that",               gives: () => Promise.resolve(partly(new ToolError("ExitNonZero", "Exit code 143"))), code: "Cancelled", says: /while it ran/ },
  { title: "did all of its work all the same",     gives: () => Promise.resolve(partly()), code: undefined, says: /^$/ },
] as const;

for (const { title, gives, code, says } of STOPPED) {
  test(`a cancelled tool that ${title} is heard out, and what it did is told`, async () => {
    const { runtime, events } = await scratch();
    const begun = Promise.withResolvers<void>();
    runtime.register(
      counter({
        ...CHANGES,
        execute: (_, { signal }) =>
          new Promise((resolve) => {
            signal.addEventListener("abort", () => setImmediate(() => resolve(gives())));
            begun.resolve();
          }),
      }).tool,
    );
    const cancel = new AbortController();
    const running = runtime.call({ name: "count", args: {} }, { signal: cancel.signal });
    await begun.promise;
    cancel.abort();

    const { error, payload, artifacts } = await running;

    expect({ code: error?.code, stdout: payload?.stdout }).toEqual({ code, stdout: "so far\n" });
    expect(error?.message ?? "").toMatch(says);
    expect(artifacts.files_changed).toEqual(["a"]);
    expect((await events()).at(-1)?.payload["audit"]).toMatchObject({ artifacts: { files_changed: ["a"] } });
  });
}

test("a tool that is over its time is told as that, whatever it makes of it, and what it did is told", async () => {
  const { runtime } = await scratch({ timeout_ms: 30 });
  const { tool } = counter({
    ...CHANGES,
    execute: (_, { signal }) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => resolve(partly(new ToolError("Cancelled", "Stopped"))));
      }),
  });
  runtime.register(tool);

  expect(await runtime.call({ name: "count", args: {} })).toMatchObject({
    error: { code: "Timeout" },
    payload: { stdout: "so far\n" },
    artifacts: { files_changed: ["a"] },
  });
});

test("a cancelled tool that changes things and ignores its signal does not delay the call for long", async () => {
  const { runtime } = await scratch();
  const begun = Promise.withResolvers<void>();
  const execute = () => {
    begun.resolve();
    return new Promise<never>(() => {});
  };
  runtime.register(counter({ ...CHANGES, execute }).tool);
  const cancel = new AbortController();
  const running = runtime.call({ name: "count", args: {} }, { signal: cancel.signal });
  await begun.promise;
  cancel.abort();

  expect(await running).toMatchObject({ error: { code: "Cancelled" }, payload: { stdout: "" } });
});

test("an unforeseen error tells the caller nothing of the host, and the record everything", async () => {
  const { runtime, events } = await scratch();
  runtime.register(counter({ execute: () => Promise.reject(new Error("cannot open /home/ada/notes")) }).tool);
  const result = await runtime.call({ name: "count", args: {} });
  expect(result.error?.code).toBe("InternalError");
  expect(JSON.stringify(result)).not.toContain("/home/ada");
  expect((await events()).at(-1)!.payload["cause"]).toMatch(/cannot open \/home\/ada\/notes/);
});

test("a tool's own error comes through as it is", async () => {
  const { runtime } = await scratch();
  runtime.register(
    counter({ execute: () => Promise.reject(new ToolError("Stale", "Cannot count: it changed", { at: 3 })) }).tool,
  );
  expect((await runtime.call({ name: "count", args: {} })).error).toMatchObject({
    code: "Stale",
    message: "Cannot count: it changed",
    details: { at: 3 },
  });
});

test("data that the return_schema does not describe is a fault of the tool", async () => {
  const { runtime } = await scratch();
  runtime.register(
    counter({ returns: z.strictObject({ n: z.int() }), execute: async () => ({ data: { n: "three" } }) }).tool,
  );
  expect((await runtime.call({ name: "count", args: {} })).error).toMatchObject({
    code: "InternalError",
    message: expect.stringMatching(/return_schema/) as string,
  });
});

test("output over the limits is cut, said, and whole on disk with its hash", async () => {
  const { runtime } = await scratch();
  const whole = Array.from({ length: 5000 }, (_, i) => `line ${i}\n`).join("");
  runtime.register(
    counter({ execute: async () => ({ data: { long: "x".repeat(500_000) }, stdout: whole, stderr: "careful\n" }) })
      .tool,
  );
  const { payload } = await runtime.call({ name: "count", args: {} });
  expect(payload).toMatchObject({
    truncated_lines: true,
    data: {},
    meta: { data_ref: expect.stringMatching(/^observations\//) as string },
  });
  expect(payload?.stdout).toMatch(/line 1998\n\[truncated; full output: observations\/call_/);
  const kept = readFileSync(join(runtime.state_dir, "runs", runtime.run_id, payload?.storage_ref ?? ""), "utf8");
  expect(kept).toBe(`${whole}--- stderr ---\ncareful\n`);
  expect(createHash("sha256").update(kept).digest("hex")).toBe(payload?.sha256);
});

test("long arguments stand in events as an excerpt with a reference", async () => {
  const { runtime, events } = await scratch();
  runtime.register(counter().tool);
  await runtime.call({ name: "count", args: { text: "y".repeat(10_000) } });
  const [started] = await events();
  const { storage_ref, excerpt } = started!.payload["arguments"] as { storage_ref: string; excerpt: string };
  expect(Buffer.byteLength(excerpt)).toBeLessThanOrEqual(4096);
  expect(readFileSync(join(runtime.state_dir, "runs", runtime.run_id, storage_ref), "utf8")).toContain(
    "y".repeat(10_000),
  );
});

test("secrets of the environment, of the host and of known shapes leave by no way", async () => {
  process.env["TEST_SERVICE_TOKEN"] = "canary-environment-1";
  const { runtime, call, path } = await scratch({ known_secrets: ["canary-known-22"] });
  delete process.env["TEST_SERVICE_TOKEN"];
  const shape = "gh".concat("p_", "A1b2".repeat(9));
  const text = `canary-environment-1 canary-known-22 ${shape}`;
  runtime.register(
    counter({
      async execute(_, { progress }) {
        progress(0.5, text);
        throw new ToolError("NotFound", text, { text });
      },
    }).tool,
  );
  const heard: string[] = [];
  const results = [
    await runtime.call({ name: "count", args: { text } }, { onProgress: ({ detail }) => heard.push(detail) }),
    await call("ls", { path: text }),
    await call(text),
    await call("ls", { [shape]: 1 }),
  ];
  mkdirSync(join(path, "root", shape));
  results.push(await call("ls", {}), await call("ls", { path: shape }));
  const kept = readdirSync(runtime.state_dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"));
  const everything = JSON.stringify([results, heard, kept]);
  for (const canary of ["canary-environment-1", "canary-known-22", shape]) expect(everything).not.toContain(canary);
  expect(results[0]).toMatchObject({ redacted: true });
  expect(everything).toContain("***REDACTED***");
});

test("if the start cannot be recorded, nothing runs", async () => {
  const { runtime } = await scratch();
  const { tool, ran } = counter();
  runtime.register(tool);
  await runtime.call({ name: "count", args: {} });
  const file = join(runtime.state_dir, "runs", runtime.run_id, "events.jsonl");
  writeFileSync(file, "", { flag: "w" }); // another process meddles with the record
  const result = await runtime.call({ name: "count", args: {} });
  expect(result).toMatchObject({
    ok: false,
    payload: null,
    error: { code: "RecordFailed", message: expect.stringMatching(/nothing was run|could not be recorded/) as string },
  });
  expect(ran()).toBe(1);
  expect(readFileSync(file, "utf8")).toBe("");
});

test("a runtime that was closed records nothing and so runs nothing", async () => {
  const { runtime } = await scratch();
  const { tool, ran } = counter();
  runtime.register(tool);
  await runtime.call({ name: "count", args: {} });
  await runtime.close();
  rmSync(join(runtime.state_dir, "runs"), { recursive: true });
  writeFileSync(join(runtime.state_dir, "runs"), "in the way");
  const result = await runtime.call({ name: "count", args: {} }).catch((error: unknown) => error);
  expect(result).toMatchObject({ ok: false, error: { code: "RecordFailed" } });
  expect(ran()).toBe(1);
});

test("a call that cannot be recorded tells no secret either", async () => {
  const { runtime, call } = await scratch({ known_secrets: ["canary-known-22"] });
  writeFileSync(join(runtime.state_dir, "runs"), "in the way");
  const result = await call("canary-known-22");
  expect(result.error?.code).toBe("RecordFailed");
  expect(JSON.stringify(result)).not.toContain("canary-known-22");
});

test("a view of the host's that breaks is heard of, and breaks no call", async () => {
  const { path } = await scratch();
  const program = `
    import { createRuntime } from "@autonous/runtime";
    const heard = [];
    process.on("uncaughtException", (error) => heard.push(error.message));
    const runtime = await createRuntime({ roots: [${JSON.stringify(join(path, "root"))}], onEvent: () => { throw new Error("broken view"); } });
    const { ok } = await runtime.call({ name: "ls", args: {} });
    await runtime.close();
    console.log(JSON.stringify({ ok, heard }));
  `;
  const printed = execFileSync(process.execPath, ["--input-type=module", "-e", program], {
    cwd: import.meta.dirname,
    encoding: "utf8",
    env: { ...process.env, NODE_OPTIONS: "--conditions=@autonous/source" },
  });
  expect(JSON.parse(printed)).toEqual({ ok: true, heard: ["broken view", "broken view"] });
});

test("neighbours that may run beside others do, the rest run in order, and results come in the order asked", async () => {
  const { runtime } = await scratch();
  const log: string[] = [];
  for (const [name, safe] of [
    ["free", true],
    ["alone", false],
  ] as const) {
    runtime.register(
      counter({
        name,
        concurrency_safe: safe,
        async execute(args) {
          log.push(`+${String(args["text"])}`);
          await new Promise((resolve) => setImmediate(resolve));
          await new Promise((resolve) => setImmediate(resolve));
          log.push(`-${String(args["text"])}`);
          return { data: {}, stdout: String(args["text"]) };
        },
      }).tool,
    );
  }
  const calls = ["free a", "free b", "alone c", "alone d", "free e", "free f"].map((each) => ({
    name: each.split(" ")[0]!,
    args: { text: each.split(" ")[1] },
  }));
  const results = await runtime.callAll(calls);
  expect(results.map((result) => result.payload?.stdout)).toEqual(["a", "b", "c", "d", "e", "f"]);
  expect(log.join(" ")).toMatch(/^\+a \+b -a -b \+c -c \+d -d \+e \+f -e -f$/);
});

test("explain shows no secret of the call: in a command, in a path, in what would change the answer", async () => {
  const { runtime } = await scratch();
  const token = ["gh", "p_", "a1B2".repeat(9)].join("");
  const calls = [
    { name: "bash", args: { cmd: "redis-cli -a hunter2Zq9 ping" } },
    { name: "bash", args: { cmd: `rm -rf /srv/${token}` } },
    { name: "delete_file", args: { path: `notes-${token}.txt` } },
    { name: "read", args: { path: `/etc/${token}` } },
    { name: token, args: {} },
  ];
  for (const call of calls) {
    const text = JSON.stringify(await runtime.explain(call));
    expect(text).toContain("***REDACTED***");
    expect(text).not.toContain(token);
    expect(text).not.toContain("hunter2Zq9");
  }
});

test("explain says what a call would be answered, runs nothing and records nothing", async () => {
  const { runtime, path } = await scratch();
  const { tool, ran } = counter(asked);
  runtime.register(tool);
  expect(await runtime.explain({ name: "count", args: {} })).toMatchObject({
    effect: "REQUIRE_CONFIRMATION",
    scope: "call",
  });
  expect(await runtime.explain({ name: "ls", args: { path: "." } })).toMatchObject({ effect: "ALLOW" });
  const denied = await runtime.explain({ name: "ls", args: { path: "/etc" } });
  expect(denied).toMatchObject({ effect: "DENY", code: "PathTraversalBlocked", rule: "floor:roots" });
  expect(denied.checks.length).toBeGreaterThan(4);
  expect(await runtime.explain({ name: "nope", args: {} })).toMatchObject({
    effect: "DENY",
    code: "UnknownTool",
    rule: "validation",
  });
  expect(ran()).toBe(0);
  expect(readdirSync(runtime.state_dir)).toEqual(["mark", "workspace"]);
  expect(readdirSync(join(path, "root"))).toEqual([]);
});

test("tools shows what is in force", async () => {
  const { runtime } = await scratch({ profile: "readonly" });
  runtime.register(
    counter({ name: "writes", required_permissions: ["fs.write"], permission_class: "file", touches: () => [] }).tool,
  );
  expect(runtime.tools().map((tool) => tool.name)).toEqual([
    "ls",
    "find",
    "grep",
    "read",
    "display",
    "todo",
    "background_output",
    "background_list",
    "read_skill",
    "tool_search",
  ]);
  expect(runtime.tools()[0]!.args_schema).toMatchObject({ type: "object", additionalProperties: false });
  expect((await runtime.call({ name: "writes", args: {} })).error?.code).toBe("ToolNotAllowed");
});

test("a runtime can be narrowed to some of its tools", async () => {
  const { runtime, call } = await scratch({ tools: ["count"] });
  runtime.register(counter().tool);
  expect(runtime.tools().map((tool) => tool.name)).toEqual(["count"]);
  expect((await call("ls")).error?.code).toBe("ToolNotAllowed");
  expect((await call("count")).ok).toBe(true);
});

test("a start that cannot work says everything that is wrong with it", async () => {
  const problems = createRuntime({ roots: ["relative", "/not/there"], cwd: "also/relative" });
  await expect(problems).rejects.toThrow(
    /"relative" is not an absolute path; the root "\/not\/there" does not exist; cwd "also\/relative"/,
  );
  await expect(createRuntime({ roots: [] })).rejects.toThrow(/at least one/);
  await expect(createRuntime({ roots: ["/tmp"], config: { rules: [{ effect: "perhaps" }] } as never })).rejects.toThrow(
    /config\.rules\.0\.effect/,
  );
});

test("a root in a sensitive place, or a working folder outside the roots, is refused", async () => {
  const { make, path } = await scratch();
  await make({ ".ssh/": "", "elsewhere/": "" });
  await expect(createRuntime({ roots: [join(path, ".ssh")], state_dir: join(path, "s") })).rejects.toThrow(
    /cannot be used/,
  );
  await expect(createRuntime({ roots: [join(path, "root")], cwd: join(path, "elsewhere") })).rejects.toThrow(
    /outside the roots/,
  );
});

test("a quota holds although the run's journal was closed for a while", async () => {
  const { runtime } = await scratch({ config: { quotas: [{ per: "run", calls: 1 }] } });
  await runtime.call({ name: "ls", args: {}, run_id: "first" });
  for (let i = 0; i < 70; i++) await runtime.call({ name: "ls", args: {}, run_id: `other_${i}` });
  expect((await runtime.call({ name: "ls", args: {}, run_id: "first" })).error?.code).toBe("QuotaExceeded");
});

test("asking for the events of a run that there is not gives none and makes none", async () => {
  const { runtime } = await scratch();
  expect(await Array.fromAsync(runtime.events({ run_id: "never" }))).toEqual([]);
  expect(await Array.fromAsync(runtime.events())).toEqual([]);
  expect(readdirSync(runtime.state_dir)).toEqual(["mark", "workspace"]);
  await expect(Array.fromAsync(runtime.events({ run_id: "../x" }))).rejects.toThrow(/run_id/);
});

test("the home folder and the heads are closed also where they are reached through a link", async () => {
  const { make, path } = await scratch();
  await make({ "real/.npmrc/x": "", "real/state/": "", home: "-> real" });
  const kept = { HOME: process.env["HOME"], XDG_STATE_HOME: process.env["XDG_STATE_HOME"] };
  Object.assign(process.env, { HOME: join(path, "home"), XDG_STATE_HOME: join(path, "home/state") });
  const runtime = await createRuntime({ roots: [join(path, "real")], state_dir: join(path, "elsewhere") });
  Object.assign(process.env, kept);
  for (const asked of ["state/autonous", "state/autonous/heads", ".npmrc"]) {
    expect((await runtime.call({ name: "ls", args: { path: asked } })).error?.code, asked).toBe("SensitivePath");
  }
  await runtime.close();
});

test("many runs in one runtime keep their records apart", async () => {
  const { runtime } = await scratch();
  await Promise.all(
    Array.from({ length: 100 }, (_, i) => runtime.call({ name: "ls", args: {}, run_id: `run_${i % 80}` })),
  );
  await Promise.all(Array.from({ length: 80 }, (_, i) => runtime.call({ name: "ls", args: {}, run_id: `run_${i}` })));
  const { verifyAudit } = await import("./journal/verify.ts");
  expect(await verifyAudit(runtime.state_dir)).toMatchObject({ ok: true, records: 360 });
});
