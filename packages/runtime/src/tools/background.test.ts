import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createRuntime } from "@autonous/runtime";
import type { ToolCallResult } from "@autonous/runtime";
import { expect, onTestFinished, test } from "vitest";
import { marker } from "../../../../test/support/processes.ts";
import { scratch } from "../../../../test/support/scratch.ts";
import type { Scratch } from "../../../../test/support/scratch.ts";

const hasSandbox = spawnSync("bwrap", ["--version"]).status === 0;
const needs = hasSandbox ? "" : " (skipped: needs bwrap, apt-get install bubblewrap)";
const sandboxed = test.skipIf(!hasSandbox);

interface ReportedOutput {
  readonly background_id: string;
  readonly state: string;
  readonly files_changed?: number;
}

function dataOf({ payload }: ToolCallResult): ReportedOutput {
  return payload?.data as ReportedOutput;
}

async function startIn({ call }: Pick<Scratch, "call">, cmd: string): Promise<string> {
  return dataOf(await call("bash", { cmd, is_background: true })).background_id;
}

async function endOf({ call }: Pick<Scratch, "call">, background_id: string): Promise<ToolCallResult> {
  for (;;) {
    const result = await call("background_output", { background_id, wait_seconds: 5 });
    if (dataOf(result).state !== "running") return result;
  }
}

sandboxed(`what a background command changed is told when it has ended, and later too${needs}`, async () => {
  const folder = await scratch();
  await folder.make({ "root/a.txt": "a\n", "root/gone.txt": "gone\n" });
  const id = await startIn(folder, "echo b > a.txt; rm gone.txt; mkdir new; echo n > new/n.txt; echo done");

  const ended = await endOf(folder, id);
  await folder.runtime.close();
  const next = await createRuntime({ roots: [join(folder.path, "root")] });
  onTestFinished(() => next.close());
  const later = await next.call({ name: "background_output", args: { background_id: id } });
  const listed = await next.call({ name: "background_list", args: {} });

  for (const result of [ended, later]) {
    expect(result.artifacts.files_changed).toEqual(["a.txt", "gone.txt", "new/n.txt"]);
    expect(result.artifacts.undo_id).toBeUndefined();
    expect(dataOf(result)).toMatchObject({ state: "exited", files_changed: 3 });
    expect(result.payload).toMatchObject({ stdout: "done\n" });
    expect(result.payload?.stderr).toMatch(/3 files changed.*\n\[a\.txt: undo cannot restore this: a background/);
  }
  expect(listed.payload?.data).toMatchObject({ background: [{ background_id: id, files_changed: 3 }] });
  expect(listed.payload?.stdout).toMatch(/exit code 0, 3 files changed/);
});

sandboxed(
  `a file that runs later and was planted by a background command is reverted when the command stops${needs}`,
  async () => {
    const folder = await scratch();
    await folder.make({
      "root/.npmrc": "old\n",
      "root/plant.sh": `echo evil > .envrc; echo evil > .npmrc; echo x > ok.txt; echo planted; sleep ${marker()}\n`,
    });
    const id = await startIn(folder, "sh plant.sh");
    await folder.call("background_output", { background_id: id, wait_seconds: 20 });

    const stopped = await folder.call("background_stop", { background_id: id });

    expect(stopped.payload?.stderr).toMatch(/\.envrc: set aside: it runs later/);
    expect(stopped.artifacts.files_changed).toEqual(["ok.txt"]);
    expect(existsSync(join(folder.path, "root/.envrc"))).toBe(false);
    expect(readFileSync(join(folder.path, "root/.npmrc"), "utf8")).toBe("old\n");
  },
);

sandboxed(`changes and undos by other calls meanwhile do not count as the background command's${needs}`, async () => {
  const folder = await scratch();
  const { call, runtime, make } = folder;
  await make({ "root/a.txt": "a\n", "root/b.txt": "b\n" });
  const id = await startIn(folder, "echo own > own.txt; echo up; until [ -e go ]; do sleep 0.01; done");
  await call("background_output", { background_id: id, wait_seconds: 20 });
  await call("edit", { path: "a.txt", find: "a", replace: "z" });
  const written = await call("write", { path: "b.txt", content: "z\n" });
  expect((await runtime.undo(written.artifacts.undo_id ?? "")).error).toBeNull();
  const command = await call("bash", { cmd: "sed -i s/z/y/ a.txt" });
  await call("write", { path: "go", content: "" });

  const ended = await endOf(folder, id);

  expect(command.artifacts.files_changed).toEqual(["a.txt"]);
  expect(command.payload?.stderr).toMatch(/\[another command ran at the same time/);
  expect(ended.artifacts.files_changed).toEqual(["own.txt"]);
  expect(ended.payload?.stderr).toMatch(/\[another command ran at the same time/);
});

sandboxed(`two background commands at once tell each change once${needs}`, async () => {
  const folder = await scratch();
  const wait = "until [ -e go ]; do sleep 0.01; done";
  const ids = [await startIn(folder, `${wait}; echo 1 > one.txt`), await startIn(folder, `${wait}; echo 2 > two.txt`)];
  writeFileSync(join(folder.path, "root/go"), "");

  const ends = await Promise.all(ids.map((id) => endOf(folder, id)));

  const told = ends.flatMap(({ artifacts }) => artifacts.files_changed);
  expect(told.toSorted()).toEqual(["go", "one.txt", "two.txt"]);
});

sandboxed(`a background command that only reads has changed nothing, whatever others do${needs}`, async () => {
  const folder = await scratch();
  await folder.make({ "root/a.txt": "a\n" });
  const id = await startIn(folder, `cat a.txt; sleep ${marker()}`);
  await folder.call("background_output", { background_id: id, wait_seconds: 20 });
  writeFileSync(join(folder.path, "root/by-another.txt"), "");

  const stopped = await folder.call("background_stop", { background_id: id });
  expect(stopped.artifacts.files_changed).toEqual([]);
  expect(dataOf(stopped)).toMatchObject({ state: "stopped", files_changed: 0 });
});

sandboxed(`closing ends what runs in the background, and it stays known what it changed${needs}`, async () => {
  const folder = await scratch();
  const ids: string[] = [];
  for (const each of [1, 2, 3]) {
    const id = await startIn(folder, `echo ${each} > made-${each}.txt; echo up; sleep ${marker()}`);
    await folder.call("background_output", { background_id: id, wait_seconds: 20 });
    ids.push(id);
  }
  await folder.runtime.close();

  const next = await createRuntime({ roots: [join(folder.path, "root")] });
  onTestFinished(() => next.close());
  const told = [];
  for (const background_id of ids) {
    const { payload, artifacts } = await next.call({ name: "background_output", args: { background_id } });
    expect(payload?.data).toMatchObject({ state: "stopped" });
    told.push(...artifacts.files_changed);
  }
  expect(told.toSorted()).toEqual(["made-1.txt", "made-2.txt", "made-3.txt"]);
});

test("for a command that was lost with its worker, the output says that its changes are unknown", async () => {
  const folder = await scratch({ state_dir: ".agent" });
  await folder.make({
    "root/.agent/background/bg_0.json": JSON.stringify({
      background_id: "bg_0",
      state: "running",
      pid: 1,
      run: "make",
      cwd: "/",
      sandbox: "bwrap",
      started_at: "2026-01-01T00:00:00.000Z",
      owner: "1.1.another-boot.1",
    }),
  });

  const { payload, artifacts } = await folder.call("background_output", { background_id: "bg_0" });

  expect(payload?.data).toMatchObject({ state: "lost" });
  expect(payload?.stderr).toMatch(/changed files unknown: the process that watched it has exited/);
  expect(artifacts.files_changed).toEqual([]);
});
