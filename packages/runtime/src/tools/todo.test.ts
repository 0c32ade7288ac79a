import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { scratch, scratchFolder } from "../../../../test/support/scratch.ts";
import { createRuntime } from "../runtime.ts";

const STEPS = ["Look at\n the code", "Change it", "Run the tests"];

test("steps are set, ticked and shown, each change on record with the whole list", async () => {
  const { call, events } = await scratch({ profile: "readonly" });
  expect((await call("todo", {})).payload?.stdout).toBe("No steps yet\n");

  const set = await call("todo", { set: STEPS });
  expect(set.payload?.stdout).toBe("[ ] 1. Look at the code\n[ ] 2. Change it\n[ ] 3. Run the tests\n");
  const ticked = await call("todo", { tick: [1, 3, 1] });
  expect(ticked.payload?.stdout).toBe("[x] 1. Look at the code\n[ ] 2. Change it\n[x] 3. Run the tests\n");
  expect((await call("todo", {})).payload?.stdout).toBe(ticked.payload?.stdout);
  expect((await call("todo", { set: ["Only this"], tick: [1] })).payload?.stdout).toBe("[x] 1. Only this\n");

  const shown = (await events()).filter(({ type }) => type === "todo");
  expect(shown.map(({ payload }) => payload["content"])).toEqual([
    "[ ] 1. Look at the code\n[ ] 2. Change it\n[ ] 3. Run the tests",
    "[x] 1. Look at the code\n[ ] 2. Change it\n[x] 3. Run the tests",
    "[x] 1. Only this",
  ]);
  expect(shown[1]?.payload["tool_call_id"]).toBe(ticked.tool_call_id);
});

test("ticks at once are all kept", async () => {
  const { runtime, call } = await scratch();
  await call("todo", { set: Array.from({ length: 20 }, (_, i) => `step ${i}`) });
  const ticks = Array.from({ length: 20 }, (_, i) => runtime.call({ name: "todo", args: { tick: [i + 1] } }));
  await Promise.all(ticks);
  const { payload } = await call("todo", {});
  expect(payload?.stdout.match(/^\[x\]/gm)).toHaveLength(20);
});

test("a process that resumes the run continues with the recorded list", async () => {
  const { call, runtime, path } = await scratch({ run_id: "run_1" });
  await call("todo", { set: STEPS, tick: [1] });
  await runtime.close();
  const resumed = await createRuntime({
    roots: [join(path, "root")],
    state_dir: runtime.state_dir,
    run_id: "run_1",
    resumes: true,
  });
  onTestFinished(() => resumed.close());
  const { payload } = await resumed.call({ name: "todo", args: { tick: [2] } });
  expect(payload?.stdout).toBe("[x] 1. Look at the code\n[x] 2. Change it\n[ ] 3. Run the tests\n");
});

test("the list survives a process that is killed", async () => {
  const { path, make } = await scratchFolder();
  await make({ "root/": "" });
  const options = { roots: [join(path, "root")], state_dir: join(path, "state"), run_id: "run_1" };
  const program = `
    const { createRuntime } = await import(${JSON.stringify(new URL("../runtime.ts", import.meta.url).pathname)});
    const runtime = await createRuntime(${JSON.stringify(options)});
    await runtime.call({ name: "todo", args: { set: ["one", "two"], tick: [1] } });
    process.kill(process.pid, "SIGKILL");
  `;
  const flags = ["--conditions=@autonous/source", "--input-type=module-typescript", "--eval", program];
  expect(spawnSync(process.execPath, flags, { encoding: "utf8" })).toMatchObject({ signal: "SIGKILL" });
  const resumed = await createRuntime({ ...options, resumes: true });
  onTestFinished(() => resumed.close());
  expect((await resumed.call({ name: "todo", args: {} })).payload?.stdout).toBe("[x] 1. one\n[ ] 2. two\n");
});

test("runs have lists of their own, and a secret in one is redacted", async () => {
  const { call, events, path, runtime } = await scratch({ known_secrets: ["hunter2hunter2"] });
  const { payload } = await call("todo", { set: ["use hunter2hunter2"] });
  expect(payload?.stdout).toBe("[ ] 1. use ***REDACTED***\n");
  expect(JSON.stringify(await events())).not.toContain("hunter2hunter2");
  const other = await createRuntime({ roots: [join(path, "root")], state_dir: runtime.state_dir });
  onTestFinished(() => other.close());
  expect((await other.call({ name: "todo", args: {} })).payload?.stdout).toBe("No steps yet\n");
});

// oxfmt-ignore
const REFUSED = [
  { title: "an empty list",        args: { set: [] } },
  { title: "an empty step",        args: { set: [""] } },
  { title: "too many steps",       args: { set: Array.from({ length: 31 }, () => "x") } },
  { title: "a step without an end", args: { set: ["x".repeat(201)] } },
  { title: "a step that is not there", args: { tick: [3] } },
  { title: "step 0",               args: { tick: [0] } },
  { title: "half a step",          args: { tick: [1.5] } },
  { title: "a word",               args: { tick: ["first"] } },
  { title: "something else",       args: { add: ["x"] } },
];

for (const { title, args } of REFUSED) {
  test(`todo refuses ${title}, and the list stays as it is`, async () => {
    const { call } = await scratch();
    await call("todo", { set: ["one", "two"] });
    expect((await call("todo", args)).error?.code).toBe("InvalidArguments");
    expect((await call("todo", {})).payload?.stdout).toBe("[ ] 1. one\n[ ] 2. two\n");
  });
}
