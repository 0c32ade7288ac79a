import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { scratch, scratchFolder } from "../../../../test/support/scratch.ts";
import { defineTool } from "../contract/tool.ts";
import type { Tool } from "../contract/tool.ts";
import { JsonlJournal } from "../journal/jsonl-journal.ts";
import type { AuditRecord } from "../protocol/audit.ts";

function tool(more: Partial<Parameters<typeof defineTool>[0]> = {}): Tool {
  return defineTool({
    name: "count",
    version: "1.0.0",
    description: "Counts",
    args: z.strictObject({ text: z.string().optional() }),
    returns: z.looseObject({}),
    required_permissions: [],
    side_effects: ["none"],
    permission_class: "readonly",
    risk: "low",
    execute: () => Promise.resolve({ data: {} }),
    ...more,
  });
}

for (const [title, output] of Object.entries({ undefined, null: null })) {
  test(`a tool that returns ${title} has run and failed`, async () => {
    const broken = tool({ execute: () => Promise.resolve(output as never) });
    const { call, events } = await scratch({ more_tools: [broken] });
    const { ok, error, payload } = await call("count", {});
    expect(ok).toBe(false);
    expect(error).toMatchObject({ code: "InternalError" });
    expect(payload).toMatchObject({ exit_code: 1 });
    const [started, failed] = await events();
    expect(failed).toMatchObject({ type: "tool_call.failed", parent_id: started!.event_id });
  });
}

test("a recorded start is the parent of the end, even if the journal cannot make it durable", async () => {
  const { path: state_dir } = await scratchFolder();
  const { call, events, make } = await scratch({
    openJournal: (run_id) => {
      const journal = new JsonlJournal({ state_dir, run_id, heads: join(state_dir, "heads") });
      return Promise.resolve({
        run_id,
        append: (drafts, options) => journal.append(drafts, options),
        sync: () => {
          throw new Error("the disk is gone");
        },
        read: (after) => journal.read(after),
        close: () => journal.close(),
      });
    },
  });
  await make({ "root/a.txt": "old" });

  const { error, payload } = await call("write", { path: "a.txt", content: "new" });

  expect(error?.code).toBe("RecordFailed");
  expect(payload).toMatchObject({ exit_code: 1 });
  const [started, failed] = await events();
  expect(failed).toMatchObject({ type: "tool_call.failed", parent_id: started!.event_id });
});

test("a call that has no sandbox is recorded with its paths", async () => {
  const path = process.env["PATH"];
  onTestFinished(() => void (process.env["PATH"] = path));
  process.env["PATH"] = "/nowhere";
  const { call, events } = await scratch({ sandbox: "required" });

  const { error } = await call("bash", { cmd: "true" });

  expect(error).toMatchObject({ code: "SandboxUnavailable" });
  const audit = (await events()).at(-1)!.payload["audit"] as AuditRecord;
  expect(audit.places).toMatchObject([{ path: ".", access: "list" }]);
});

test("long arguments are stored once, also if a person is asked and the call is evaluated again", async () => {
  const stored = (): bigint[] =>
    readdirSync(runtime.state_dir, { recursive: true, withFileTypes: true })
      .filter(({ name }) => name.endsWith(".arguments.json"))
      .map((entry) => statSync(join(entry.parentPath, entry.name), { bigint: true }).mtimeNs);
  const asked: bigint[][] = [];
  const { runtime, call } = await scratch({
    config: { rules: [{ effect: "confirm", permission: "fs.write" }] },
    onApproval: () => {
      asked.push(stored());
      return { answer: "grant" };
    },
  });

  const { ok } = await call("write", { path: "a.txt", content: "x".repeat(10_000) });

  expect(ok).toBe(true);
  expect(asked[0]).toHaveLength(1);
  expect([stored()]).toEqual(asked);
});
