import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { RunTails } from "./run-tails.ts";

function line(event_id: string, length = 0): string {
  return `${JSON.stringify({ event_id, type: "display", payload: { content: "x".repeat(length) } })}\n`;
}

function idsOf(events: readonly { readonly event_id: string }[]): string[] {
  return events.map(({ event_id }) => event_id);
}

test("the last events of a file are found from its end, whatever the length of its lines", async () => {
  const { path, make } = await scratchFolder();
  // Shorter than a block that is read at a time, just as long, and longer.
  const lengths = [10, 65_000, 65_400, 65_470, 65_536, 200_000, 5, 0, 131_072, 7];
  const ids = lengths.map((_, i) => `evt_${i}`);
  await make({ "runs/run_1/events.jsonl": ids.map((id, i) => line(id, lengths[i])).join("") });

  for (let count = 1; count <= ids.length + 1; count++) {
    const tails = new RunTails({ state_dir: path, only: "run_1" });
    expect(idsOf(await tails.last(count))).toEqual(ids.slice(-count));
    expect(await tails.next()).toEqual([]);
  }
});

test("events of several runs are merged by time, then follow as they are appended", async () => {
  const { path, make } = await scratchFolder();
  await make({
    "runs/run_1/events.jsonl": line("evt_1") + line("evt_4"),
    "runs/run_2/events.jsonl": line("evt_2") + line("evt_3"),
    "runs/no_record/": "",
  });
  const tails = new RunTails({ state_dir: path });

  expect(idsOf(await tails.last(3))).toEqual(["evt_2", "evt_3", "evt_4"]);
  appendFileSync(join(path, "runs/run_2/events.jsonl"), line("evt_6"));
  appendFileSync(join(path, "runs/run_1/events.jsonl"), line("evt_5"));
  await make({ "runs/run_3/events.jsonl": line("evt_7") });
  expect(idsOf(await tails.next())).toEqual(["evt_5", "evt_6", "evt_7"]);
  expect(await tails.next()).toEqual([]);
});

test("an incomplete line is read once it is complete, and a line that is not an event is skipped", async () => {
  const { path, make } = await scratchFolder();
  const half = line("evt_2").slice(0, 20);
  await make({ "runs/run_1/events.jsonl": `${line("evt_1")}null\n{"a":1}\n${half}` });
  const tails = new RunTails({ state_dir: path, only: "run_1" });

  expect(idsOf(await tails.last(10))).toEqual(["evt_1"]);
  appendFileSync(join(path, "runs/run_1/events.jsonl"), line("evt_2").slice(20));
  expect(idsOf(await tails.next())).toEqual(["evt_2"]);
});

test("a run that has no file yet has no events yet", async () => {
  const { path, make } = await scratchFolder();
  const tails = new RunTails({ state_dir: path, only: "run_1" });

  expect(await tails.last(5)).toEqual([]);
  await make({ "runs/run_1/events.jsonl": line("evt_1") });
  expect(idsOf(await tails.next())).toEqual(["evt_1"]);
});

test("runs that are shown from elsewhere are skipped, and looked up once", async () => {
  const { path, make } = await scratchFolder();
  await make({ "runs/run_1/events.jsonl": line("evt_1"), "runs/run_2/events.jsonl": line("evt_2") });
  const asked: string[] = [];
  const isElsewhere = (run_id: string): Promise<boolean> => {
    asked.push(run_id);
    return Promise.resolve(run_id === "run_1");
  };
  const tails = new RunTails({ state_dir: path, isElsewhere });

  expect(idsOf(await tails.last(10))).toEqual(["evt_2"]);
  for (const run_id of ["run_1", "run_2"])
    appendFileSync(join(path, "runs", run_id, "events.jsonl"), line(`evt_3_${run_id}`));
  expect(idsOf(await tails.next())).toEqual(["evt_3_run_2"]);
  expect(asked.sort()).toEqual(["run_1", "run_2"]);
});
