import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createRuntime, defineTool, verifyAudit } from "@autonous/runtime";
import type { RuntimeEvent } from "@autonous/runtime";
import type { AuditRecord } from "@autonous/runtime/internal";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { scratchFolder } from "../../../../test/support/scratch.ts";

/** A process with a call that never ends. It says when the call has started. */
async function hangingProcess(path: string, idempotent = false): Promise<{ kill(): Promise<void> }> {
  const program = `
    import { createRuntime, defineTool } from "@autonous/runtime";
    import { z } from "zod";
    const runtime = await createRuntime({ roots: [${JSON.stringify(join(path, "root"))}], state_dir: ${JSON.stringify(join(path, "state"))}, run_id: "run_hang" });
    runtime.register(defineTool({ name: "hang", version: "1.0.0", description: "Hang", args: z.strictObject({}), returns: z.strictObject({}),
      required_permissions: [], side_effects: ["none"], risk: "low", permission_class: "readonly", idempotent: ${idempotent}, execute: () => { console.log("started"); return new Promise(() => {}); } }));
    setInterval(() => {}, 1000);
    const result = await runtime.call({ name: "hang", args: {}, tool_call_id: "call_hang" }, { user: "anna", chat: "chat_7" });
    throw new Error(JSON.stringify(result));
  `;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    cwd: import.meta.dirname,
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, NODE_OPTIONS: "--conditions=@autonous/source", NODE_COMPILE_CACHE: undefined },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data");
  return {
    async kill() {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
  };
}

async function place() {
  const { path, make } = await scratchFolder();
  await make({ "root/a.txt": "a" });
  const open = async (run_id?: string, resumes = false) => {
    const runtime = await createRuntime({
      roots: [join(path, "root")],
      state_dir: join(path, "state"),
      ...(run_id === undefined ? {} : { run_id, resumes }),
    });
    onTestFinished(() => runtime.close());
    return runtime;
  };
  const ends = async (): Promise<RuntimeEvent[]> => {
    const runtime = await open();
    const events = await Array.fromAsync(runtime.events({ run_id: "run_hang" }));
    await runtime.close();
    return events.filter(({ type }) => type === "tool_call.failed");
  };
  return { path, state: join(path, "state"), open, ends };
}

test("a call that was killed with its process is ended as Interrupted by the next start, once, with its actor", async () => {
  const { path, state, open, ends } = await place();
  const child = await hangingProcess(path);
  const artifacts = join(state, "runs/run_hang/artifacts");
  mkdirSync(artifacts, { recursive: true });
  for (const name of [".call_hang-0.part", ".call_hang-1.part", ".call_other-0.part"])
    writeFileSync(join(artifacts, name), "half of a file");
  await child.kill();
  await Promise.all([open(), open("run_hang"), open(), open()]);
  await (await open()).close();
  const [end, ...others] = await ends();
  expect(others).toEqual([]);
  expect(end?.payload).toMatchObject({ tool_call_id: "call_hang", tool_name: "hang", error: { code: "Interrupted" } });
  const audit = end?.payload["audit"] as AuditRecord;
  expect(audit).toMatchObject({ tool: "hang", result: { ok: false, error_code: "Interrupted" } });
  expect(audit.actor).toMatchObject({ user: "anna", chat: "chat_7", channel: "library" });
  expect(readdirSync(artifacts)).toEqual([".call_other-0.part"]); // what it had begun to copy is gone with it
  expect(await verifyAudit(state)).toMatchObject({ ok: true });
});

test("a call that another process still runs is left alone", async () => {
  const { path, open, ends } = await place();
  const child = await hangingProcess(path);
  await (await open()).close();
  expect(await ends()).toEqual([]);
  await child.kill();
  expect(await ends()).toHaveLength(1);
});

/** The tool that hung, as it is in a process where it does not. */
function hang(idempotent: boolean) {
  return defineTool({
    name: "hang",
    version: "1.0.0",
    description: "Hang",
    args: z.strictObject({}),
    returns: z.strictObject({}),
    required_permissions: [],
    side_effects: ["none"],
    risk: "low",
    permission_class: "readonly",
    idempotent,
    execute: async () => ({ data: {} }),
  });
}

const aboutCall = (events: readonly RuntimeEvent[]): string[] =>
  events.filter(({ payload }) => payload["tool_call_id"] === "call_hang").map(({ type }) => type);

const RESUMED = [
  { title: "made again and ends once", idempotent: true, calls: ["tool_call.started", "tool_call.completed"] },
  { title: "refused and ends as Interrupted at the close", idempotent: false, calls: ["tool_call.failed"] },
] as const;

for (const { title, idempotent, calls } of RESUMED) {
  test(`a call that was left open is ${title} by who resumes its run (idempotent: ${idempotent})`, async () => {
    const { path, state, open } = await place();
    await (await hangingProcess(path, idempotent)).kill();
    const runtime = await open("run_hang", true);
    runtime.register(hang(idempotent));
    expect(aboutCall(await Array.fromAsync(runtime.events()))).toEqual(["tool_call.started"]);
    const result = await runtime.call({ name: "hang", args: {}, tool_call_id: "call_hang" });
    expect(result).toMatchObject(
      idempotent
        ? { ok: true }
        : { ok: false, error: { code: "InvalidArguments", details: { field: "tool_call_id" } } },
    );
    await runtime.close();
    const again = await open("run_hang", true);
    expect(aboutCall(await Array.fromAsync(again.events()))).toEqual(["tool_call.started", ...calls]);
    await again.close();
    expect(readdirSync(join(state, "open-runs"))).toEqual([]);
    expect(await verifyAudit(state)).toMatchObject({ ok: true });
  });
}

test("a call that was left open is ended once where its run is resumed without it, and is not made again afterwards", async () => {
  const { path, open, ends } = await place();
  await (await hangingProcess(path, true)).kill();
  await (await open("run_hang", true)).close();
  expect(await ends()).toHaveLength(1);
  const later = await open("run_hang", true);
  later.register(hang(true));
  const result = await later.call({ name: "hang", args: {}, tool_call_id: "call_hang" });
  expect(result.error).toMatchObject({ code: "InvalidArguments", details: { field: "tool_call_id" } });
});

test("a call that was left open is ended by the next start where the process that resumed its run was killed too", async () => {
  const { path, open, ends } = await place();
  await (await hangingProcess(path, true)).kill();
  const program = `
    import { createRuntime } from "@autonous/runtime";
    await createRuntime({ roots: [${JSON.stringify(join(path, "root"))}], state_dir: ${JSON.stringify(join(path, "state"))}, run_id: "run_hang", resumes: true });
    process.kill(process.pid, "SIGKILL");
  `;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    cwd: import.meta.dirname,
    stdio: "inherit",
    env: { ...process.env, NODE_OPTIONS: "--conditions=@autonous/source", NODE_COMPILE_CACHE: undefined },
  });
  await once(child, "exit");
  await (await open()).close();
  expect(await ends()).toHaveLength(1);
});

test("starts in several processes at once end it once", async () => {
  const { path, ends } = await place();
  await (await hangingProcess(path)).kill();
  const program = `
    import { createRuntime } from "@autonous/runtime";
    const runtime = await createRuntime({ roots: [${JSON.stringify(join(path, "root"))}], state_dir: ${JSON.stringify(join(path, "state"))} });
    await runtime.call({ name: "ls", args: {} });
    await runtime.close();
  `;
  const children = Array.from({ length: 3 }, () =>
    spawn(process.execPath, ["--input-type=module", "-e", program], {
      cwd: import.meta.dirname,
      stdio: "inherit",
      env: { ...process.env, NODE_OPTIONS: "--conditions=@autonous/source", NODE_COMPILE_CACHE: undefined },
    }),
  );
  const codes = await Promise.all(children.map(async (child) => (await once(child, "exit"))[0] as number));
  expect(codes).toEqual([0, 0, 0]);
  expect(await ends()).toHaveLength(1);
});

test("a run that was closed leaves no mark, and one that is closed under a call keeps it", async () => {
  const { state, open } = await place();
  const runtime = await open("run_1");
  await runtime.call({ name: "ls", args: {} });
  expect(readdirSync(join(state, "open-runs"))).toHaveLength(1);
  await runtime.close();
  expect(readdirSync(join(state, "open-runs"))).toEqual([]);
});

const counted = () => {
  const seen = { runs: 0 };
  const tool = (idempotent: boolean) =>
    defineTool({
      name: "count",
      version: "1.0.0",
      description: "Count",
      args: z.strictObject({}),
      returns: z.strictObject({}),
      required_permissions: [],
      side_effects: ["none"],
      risk: "low",
      permission_class: "readonly",
      idempotent,
      async execute() {
        seen.runs++;
        await new Promise((resolve) => setTimeout(resolve, 20));
        return { data: {} };
      },
    });
  return { seen, tool };
};

test("a tool_call_id that is given twice runs once: at once, one after the other, and after the run was opened again", async () => {
  const { state, open } = await place();
  const { seen, tool } = counted();
  const request = { name: "count", args: {}, tool_call_id: "call_1" };
  const first = await open("run_twice");
  first.register(tool(true));
  const atOnce = await Promise.all([first.call(request), first.call(request)]);
  expect(atOnce.filter(({ ok }) => ok)).toHaveLength(1);
  const after = await first.call(request);
  await first.close();
  const second = await open("run_twice");
  second.register(tool(true));
  const again = await second.call(request);
  for (const refused of [atOnce.find(({ ok }) => !ok), after, again])
    expect(refused).toMatchObject({
      tool_call_id: "call_1",
      payload: null,
      error: { code: "InvalidArguments", details: { field: "tool_call_id" } },
    });
  expect(seen.runs).toBe(1);
  const events = await Array.fromAsync(second.events());
  const ofFirst = events.filter(({ payload }) => payload["tool_call_id"] === "call_1").map(({ type }) => type);
  expect(ofFirst).toEqual(["tool_call.started", "tool_call.completed"]);
  expect(events.filter(({ type }) => type === "tool_call.failed")).toHaveLength(3);
  expect((await second.call({ ...request, run_id: "run_other" })).ok, "an id is unique within its run").toBe(true);
  await second.close();
  expect(await verifyAudit(state)).toMatchObject({ ok: true });
});
