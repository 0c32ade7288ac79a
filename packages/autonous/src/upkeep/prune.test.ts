import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  closeSync,
  readdirSync,
  readFileSync,
} from "node:fs";
import { rmSync, utimesSync, writeFileSync } from "node:fs";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, verifyAudit } from "@autonous/runtime";
import { JsonlJournal, makeId, makeTraceId } from "@autonous/runtime/internal";
import { afterEach, expect, test } from "vitest";
import { DAY_MS } from "./find-old.ts";
import type { Retention } from "./find-old.ts";
import { Pruner } from "./prune.ts";

const cleanUps: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

interface Scratch {
  readonly state_dir: string;
  readonly heads: string;
  readonly now: number;
}

function scratch(): Scratch {
  const folder = mkdtempSync(join(tmpdir(), "autonous-prune-"));
  cleanUps.push(() => rmSync(folder, { recursive: true, force: true }));
  const state_dir = join(folder, "state");
  mkdirSync(state_dir, { mode: 0o700 });
  return { state_dir, heads: join(folder, "heads"), now: Date.now() };
}

/** A run of the command line that ended `days` days ago. */
async function recordRun(
  { state_dir, heads, now }: Scratch,
  days: number,
  run_id = makeId("run", now),
): Promise<string> {
  const journal = new JsonlJournal({ state_dir, run_id, heads });
  for (let count = 0; count < 5; count++) {
    const about = { trace_id: makeTraceId(), task_id: null, run_id, parent_id: null };
    const payload = { level: "info", content: `event ${count}` };
    await journal.append([
      { event_id: makeId("evt", now), ts: new Date(now).toISOString(), type: "display", ...about, payload },
    ]);
  }
  await journal.close();
  mkdirSync(join(state_dir, "runs", run_id, "observations"), { recursive: true });
  writeFileSync(join(state_dir, "runs", run_id, "observations", "call_x.arguments.json"), "x".repeat(100_000));
  age(journal.path, now - days * DAY_MS);
  return run_id;
}

function age(path: string, ms: number): void {
  utimesSync(path, ms / 1000, ms / 1000);
}

const KEEP: Retention = { keep_days: 30, keep_undo_days: 14, keep_megabytes: 0 };

function prunerOf({ state_dir, heads, now }: Scratch, retention: Partial<Retention> = {}): Pruner {
  return new Pruner({ state_dir, heads, store: undefined, clock: () => now }, { ...KEEP, ...retention });
}

function runsIn({ state_dir }: Scratch): string[] {
  return readdirSync(join(state_dir, "runs")).sort();
}

test("a run past its retention is pruned and recorded; a younger one is kept", async () => {
  const place = scratch();
  const old = await recordRun(place, 31);
  const young = await recordRun(place, 29);

  expect(await prunerOf(place).prune()).toMatchObject({ runs: 1, events: 5, more: false, damaged: [] });

  expect(runsIn(place)).toEqual([young]);
  expect(existsSync(join(place.heads, old))).toBe(false);
  const verdict = await verifyAudit(place.state_dir, place);
  expect(verdict).toMatchObject({ ok: true, problems: [], pruned: { runs: 1, restores: [] } });
  expect(await prunerOf(place).prune()).toMatchObject({ runs: 0 });
});

test("0 means no limit", async () => {
  const place = scratch();
  await recordRun(place, 3000);
  expect(await prunerOf(place, { keep_days: 0, keep_undo_days: 0 }).prune()).toMatchObject({ runs: 0 });
  expect(runsIn(place)).toHaveLength(1);
});

test("above the size limit the oldest runs are pruned first, but nothing from the last day", async () => {
  const place = scratch();
  const oldest = await recordRun(place, 5);
  const middle = await recordRun(place, 4);
  const today = await recordRun(place, 0.5);
  const pruner = prunerOf(place, { keep_megabytes: 0.3 });
  expect((await pruner.preview()).map(({ id }) => id)).toEqual([oldest]);
  while ((await pruner.prune())?.more === true);
  expect(runsIn(place)).toEqual([middle, today].sort());

  const strict = prunerOf(place, { keep_megabytes: 0.001 });
  while ((await strict.prune())?.more === true);
  expect(runsIn(place)).toEqual([today]);
  expect(await verifyAudit(place.state_dir, place)).toMatchObject({ ok: true, pruned: { runs: 2 } });
});

test("the size of a large content counts for the change that keeps it, so no run is pruned instead", async () => {
  const place = scratch();
  const root = join(place.state_dir, "../root");
  mkdirSync(root);
  writeFileSync(join(root, "large.txt"), "x".repeat(4_000_000));
  const runtime = await createRuntime({ roots: [root], state_dir: place.state_dir, profile: "autonomous" });
  expect((await runtime.call({ name: "delete_file", args: { path: "large.txt" } })).error).toBeNull();
  await runtime.close();
  const logs = join(place.state_dir, "undo/logs");
  for (const name of readdirSync(logs)) age(join(logs, name), place.now - 10 * DAY_MS);
  const run = await recordRun(place, 3);

  const pruner = prunerOf(place, { keep_megabytes: 2 });
  expect((await pruner.preview()).map(({ kind }) => kind)).toEqual(["undo"]);
  let changes = 0;
  for (let more = true; more;) {
    const report = await pruner.prune();
    changes += report?.changes ?? 0;
    more = report?.more === true;
  }
  expect(changes).toBe(1);
  expect(readdirSync(logs)).toEqual([]);
  expect(runsIn(place)).toContain(run);
});

test("more runs than fit in a batch are pruned batch by batch", async () => {
  const place = scratch();
  for (let count = 0; count < 60; count++) await recordRun(place, 40 + count);
  const pruner = prunerOf(place);
  expect(await pruner.prune()).toMatchObject({ runs: 50, more: true });
  expect(await pruner.prune()).toMatchObject({ runs: 10, more: false });
  expect(await verifyAudit(place.state_dir, place)).toMatchObject({ ok: true, pruned: { runs: 60 } });
});

test("a run that another process has open is kept", async () => {
  const place = scratch();
  const run_id = await recordRun(place, 90);
  const fd = openSync(join(place.state_dir, "runs", run_id, "events.jsonl"), "r");
  const child = spawn("sleep", ["60"], { stdio: ["ignore", "ignore", "ignore", fd] });
  closeSync(fd);
  await once(child, "spawn");
  expect(await prunerOf(place).prune()).toMatchObject({ runs: 0 });
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(await prunerOf(place).prune()).toMatchObject({ runs: 1 });
});

test("a run with a pending approval is kept until the approval expires", async () => {
  const place = scratch();
  const run_id = await recordRun(place, 90);
  const expires_at = new Date(place.now + DAY_MS).toISOString();
  const approvals = [{ state: "pending", request: { approval_id: "apr_1", run_id, expires_at } }];
  writeFileSync(join(place.state_dir, "runs", run_id, "approvals.json"), JSON.stringify({ approvals }));
  expect(await prunerOf(place).prune()).toMatchObject({ runs: 0 });
  expect(await prunerOf({ ...place, now: place.now + 2 * DAY_MS }).prune()).toMatchObject({ runs: 1 });
});

test("a damaged run is evidence, and is kept", async () => {
  const place = scratch();
  const run_id = await recordRun(place, 90);
  const file = join(place.state_dir, "runs", run_id, "events.jsonl");
  writeFileSync(file, readFileSync(file, "utf8").replace("event 2", "event X"));
  age(file, place.now - 90 * DAY_MS);
  expect(await prunerOf(place).prune()).toMatchObject({ runs: 0, damaged: [run_id] });
  expect(runsIn(place)).toEqual([run_id]);
});

test("a run that is started again under the id of a pruned one is a separate run", async () => {
  const place = scratch();
  await recordRun(place, 90, "nightly");
  await prunerOf(place).prune();
  await recordRun(place, 0, "nightly");
  expect(await prunerOf(place).prune()).toMatchObject({ runs: 0 });
  expect(runsIn(place)).toEqual(["nightly"]);
  expect(await verifyAudit(place.state_dir, place)).toMatchObject({ ok: true, records: 6 });
});

const prunings = ({ state_dir }: Scratch): string => join(state_dir, "pruned", "events.jsonl");

/** What an attacker can do who can write to the state folder, but not to the heads. */
const TAMPERED = [
  {
    title: "a run that was deleted by hand",
    says: /its head still exists/,
    async tamper(place: Scratch) {
      rmSync(join(place.state_dir, "runs", await recordRun(place, 1)), { recursive: true });
    },
  },
  {
    title: "a changed entry in the log of prunings",
    says: /content was changed/,
    tamper(place: Scratch) {
      writeFileSync(prunings(place), readFileSync(prunings(place), "utf8").replace("KEEP_DAYS=30", "KEEP_DAYS=31"));
    },
  },
  {
    title: "a missing log of prunings",
    says: /its head still exists/,
    tamper(place: Scratch) {
      rmSync(prunings(place));
    },
  },
  {
    title: "a truncated log of prunings",
    says: /tail was cut/,
    tamper(place: Scratch) {
      const lines = readFileSync(prunings(place), "utf8").split("\n");
      writeFileSync(prunings(place), `${lines.slice(0, -2).join("\n")}\n`);
    },
  },
  {
    title: "reordered prunings",
    says: /expected record|does not follow/,
    tamper(place: Scratch) {
      const [one, two] = readFileSync(prunings(place), "utf8").split("\n");
      writeFileSync(prunings(place), `${two}\n${one}\n`);
    },
  },
  {
    title: "a deleted run with a forged pruning",
    says: /is forged/,
    async tamper(place: Scratch) {
      const run_id = await recordRun(place, 1);
      rmSync(join(place.state_dir, "runs", run_id), { recursive: true });
      // Anyone can compute the next link of the chain, but not write its head.
      const chain = JSON.parse(readFileSync(prunings(place), "utf8").split("\n")[0] ?? "") as { run_id: string };
      const elsewhere = join(place.heads, "..", "forged-heads");
      const journal = new JsonlJournal({
        state_dir: place.state_dir,
        run_id: chain.run_id,
        heads: elsewhere,
        folder: join(place.state_dir, "pruned"),
      });
      const about = { trace_id: makeTraceId(), task_id: null, run_id: chain.run_id, parent_id: null };
      const runs = [{ run_id, task_id: null, events: 5, first_ts: null, last_ts: null, last_hash: "0".repeat(64) }];
      await journal.append([
        {
          event_id: makeId("evt", place.now),
          ts: new Date(place.now).toISOString(),
          type: "upkeep.pruned",
          ...about,
          payload: { setting: "AUTONOUS_KEEP_DAYS=30", runs },
        },
      ]);
      await journal.close();
    },
  },
];

for (const { title, says, tamper } of TAMPERED) {
  test(`verify finds ${title}`, async () => {
    const place = scratch();
    await recordRun(place, 90);
    await prunerOf(place).prune();
    await recordRun(place, 80);
    await prunerOf(place).prune();
    expect(await verifyAudit(place.state_dir, place)).toMatchObject({ ok: true, pruned: { runs: 2 } });

    await Promise.resolve(tamper(place));

    const { ok, problems } = await verifyAudit(place.state_dir, place);
    expect(ok).toBe(false);
    expect(problems.map(({ problem }) => problem).join("\n")).toMatch(says);
  });
}

test("nothing is pruned if the log of prunings was rolled back to an earlier state", async () => {
  const place = scratch();
  await recordRun(place, 90);
  await prunerOf(place).prune();
  const earlier = readFileSync(prunings(place));
  await recordRun(place, 80);
  await prunerOf(place).prune();
  await recordRun(place, 70);
  writeFileSync(prunings(place), earlier);
  await expect(prunerOf(place).prune()).rejects.toThrow(/audit verify/);
  expect(runsIn(place)).toHaveLength(1);
});

test("nothing is pruned if the last entry in the log of prunings was changed", async () => {
  const place = scratch();
  const first = await recordRun(place, 90);
  await prunerOf(place).prune();
  const other = await recordRun(place, 1);
  writeFileSync(prunings(place), readFileSync(prunings(place), "utf8").replace(first, other));
  await expect(prunerOf(place).prune()).rejects.toThrow(/audit verify/);
  expect(runsIn(place)).toEqual([other]);
});

test("an invalid entry beyond the head of the log of prunings is dropped", async () => {
  const place = scratch();
  await recordRun(place, 90);
  await prunerOf(place).prune();
  const before = readFileSync(prunings(place), "utf8");
  appendFileSync(prunings(place), before.split("\n")[0]?.replace('"seq":1', '"seq":2').concat("\n") ?? "");
  await recordRun(place, 80);
  expect(await prunerOf(place).prune()).toMatchObject({ runs: 1 });
  expect(readFileSync(prunings(place), "utf8").startsWith(before)).toBe(true);
  expect(await verifyAudit(place.state_dir, place)).toMatchObject({ ok: true, pruned: { runs: 2 } });
});
