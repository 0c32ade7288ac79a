import { join } from "node:path";
import { z } from "zod";
import { expect, test } from "vitest";
import { scratch } from "../../../../../test/support/scratch.ts";
import type { Scratch } from "../../../../../test/support/scratch.ts";
import { defineTool } from "../../contract/tool.ts";
import type { ToolContext } from "../../contract/context.ts";
import { verifyAudit } from "../../journal/verify.ts";
import { headsFolder } from "../../journal/heads.ts";

type Work = (context: ToolContext) => Promise<void> | void;

const SECRET = "sk-ant-api03-" + "Zx9".repeat(31) + "AA";

/** A runtime with one tool that does what the test says, and a clock that the test moves. */
async function place(work: Work): Promise<Scratch & { at: { now: number } }> {
  const at = { now: Date.UTC(2030, 0, 1) };
  const tool = defineTool({
    name: "long_work",
    version: "1.0.0",
    description: "Takes long.",
    args: z.strictObject({}),
    returns: z.strictObject({}),
    required_permissions: [],
    side_effects: ["none"],
    risk: "low",
    permission_class: "readonly",
    audit_operation: "invoke",
    async execute(_args, context) {
      await work(context);
      return { data: {} };
    },
  });
  const made = await scratch({ clock: () => at.now });
  made.runtime.register(tool);
  return Object.assign(made, { at });
}

interface ReportedProgress {
  readonly fraction: number | null;
  readonly detail: string;
}

async function progressOf({ events }: Scratch): Promise<readonly ReportedProgress[]> {
  const all = await events();
  return all
    .filter(({ type }) => type === "progress")
    .map(({ payload }) => ({ fraction: payload["fraction"] as number | null, detail: String(payload["detail"]) }));
}

test("of a call that is over in a second the last report is recorded, below its start and before its end", async () => {
  const made = await place(({ progress }) => {
    for (let i = 0; i <= 1000; i++) progress(i / 1000, `step ${i}`);
  });
  const heard: number[] = [];
  const { ok, tool_call_id } = await made.runtime.call(
    { name: "long_work", args: {} },
    { onProgress: ({ fraction }) => heard.push(fraction ?? -1) },
  );
  expect(ok).toBe(true);
  expect(heard).toHaveLength(1001); // who listens hears all
  const events = await made.events();
  expect(events.map(({ type }) => type)).toEqual(["tool_call.started", "progress", "tool_call.completed"]);
  expect(events[1]).toMatchObject({
    parent_id: events[0]?.event_id,
    payload: { tool_call_id, tool_name: "long_work", fraction: 1, detail: "step 1000" },
  });
});

test("a call that reports nothing, or only what a command prints, records nothing", async () => {
  const made = await place(({ progress }) => progress(null, "a line\n", "stdout"));
  await made.call("long_work");
  expect(await progressOf(made)).toEqual([]);
});

test("at most one per second and per tenth, whatever is reported in between", async () => {
  const made = await place(async ({ progress }) => {
    for (let i = 0; i < 1000; i++) {
      made.at.now += 100;
      progress(i / 1000, `step ${i}`); // 100 s, a tenth every 10 s
      await Promise.resolve();
    }
  });
  await made.call("long_work");
  const told = await progressOf(made);
  expect(told.map(({ fraction }) => Math.floor((fraction ?? 0) * 10))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9]);
  expect(told.at(-1)).toEqual({ fraction: 0.999, detail: "step 999" });
});

test("a call that runs for a day without a fraction records some two hundred, and no more", async () => {
  const made = await place(async ({ progress }) => {
    for (let second = 0; second < 86_400; second++) {
      made.at.now += 1000;
      progress(null, `item ${second}`);
      if (second % 100 === 0) await new Promise(setImmediate);
    }
  });
  await made.call("long_work");
  const told = await progressOf(made);
  expect(told.length).toBeGreaterThan(50);
  expect(told.length).toBeLessThan(250);
  expect(told.at(-1)?.detail).toBe("item 86399");
});

test("a report that came too soon is recorded when its time has come, while the tool still works", async () => {
  let release = (): void => undefined;
  const made = await place(async ({ progress }) => {
    progress(0.5, "waits for something long");
    await new Promise<void>((resolve) => (release = resolve));
  });
  const call = made.call("long_work");
  while ((await progressOf(made)).length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  release();
  await call;
  expect(await progressOf(made)).toEqual([{ fraction: 0.5, detail: "waits for something long" }]); // and not again
});

// oxfmt-ignore
const ODD = [
  { title: "more than all",    fraction: 7,                        shown: 1 },
  { title: "less than none",   fraction: -1,                       shown: 0 },
  { title: "not a number",     fraction: Number.NaN,               shown: null },
  { title: "endless",          fraction: Number.POSITIVE_INFINITY, shown: null },
  { title: "not known",        fraction: null,                     shown: null },
  { title: "left out",         fraction: undefined as unknown as null, shown: null },
];

test.each(ODD)("a fraction that is $title is recorded as one that can be read", async ({ fraction, shown }) => {
  const made = await place(({ progress }) => progress(fraction, "x"));
  expect(await made.call("long_work")).toMatchObject({ ok: true });
  expect(await progressOf(made)).toEqual([{ fraction: shown, detail: "x" }]);
});

test("details are redacted and bounded, and the record stays verifiable", async () => {
  const made = await place(({ progress }) => {
    progress(0.1, `key ${SECRET} ${"long ".repeat(100_000)}\ud800`);
  });
  await made.call("long_work");
  const [told] = await progressOf(made);
  expect(told?.detail).toContain("***REDACTED***");
  expect(told?.detail.length).toBeLessThanOrEqual(501);
  expect(JSON.stringify(await made.events())).not.toContain(SECRET);
  await made.runtime.close();
  const report = await verifyAudit(join(made.runtime.state_dir, "runs", made.runtime.run_id), { heads: headsFolder() });
  expect(report.problems).toEqual([]);
});

test("what a tool that was left behind reports after its call has ended is not recorded", async () => {
  let late: ToolContext["progress"] = () => undefined;
  const made = await place(({ progress }) => {
    late = progress;
    throw new Error("gives up");
  });
  await made.call("long_work");
  late(0.9, "still here");
  made.at.now += 60_000;
  late(1, "and done");
  await new Promise(setImmediate);
  expect((await made.events()).map(({ type }) => type)).toEqual(["tool_call.started", "tool_call.failed"]);
});
