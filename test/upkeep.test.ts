import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { headsFolder } from "@autonous/runtime/internal";
import { expect, test } from "vitest";
import { scratchPlace, startService, until, writeScript } from "./support/service.ts";
import { agePlace, environmentOf, inPlace } from "./support/upkeep.ts";

test("what is pruned while the service runs leaves a record, and every command says what became of it", async () => {
  const place = scratchPlace();
  const service = await startService(place, { environment: environmentOf(place) });
  const { task_id, run_id } = await service.post({ text: "/write b.txt <<<words" });
  expect((await service.follow(task_id)).reply).toBeDefined();
  const changed = await inPlace(place, "call", "write", '{"path":"a.txt","content":"b"}');
  const undo_id = /undo_[0-9a-z]{26}/.exec(changed.stdout + changed.stderr)?.[0] ?? "";
  await until(() => existsSync(join(place.state_dir, "runs", run_id, "events.jsonl")), "the file of the run");
  await until(async () => (await inPlace(place, "audit", "verify")).code === 0, "the file to follow");
  expect((await inPlace(place, "prune")).stdout).toContain("Nothing to prune");
  agePlace(place, 31);

  expect((await inPlace(place, "prune", "--dry-run")).stdout).toContain("AUTONOUS_KEEP_DAYS=30");
  const pruned = await inPlace(place, "prune");
  expect(pruned).toMatchObject({ code: 0, stderr: "" });
  expect(pruned.stdout).toMatch(/^Removed \d+ runs \(\d+ records\) and undo data of \d+ changes?\./);

  expect(existsSync(join(place.state_dir, "runs", run_id))).toBe(false);
  const verified = await inPlace(place, "audit", "verify");
  expect(verified.stdout).toMatch(/^Pruned (?:on|from) .*: \d+ runs.*; prune chain intact/);
  expect(verified.code).toBe(0);
  const SAYS = [
    { words: ["events", "tree", run_id], code: 2 },
    { words: ["events", "tree", task_id], code: 2 },
    { words: ["audit", "show", "--run", run_id], code: 2 },
    { words: ["audit", "export", "--run", run_id], code: 2 },
    { words: ["tasks", "show", task_id], code: 0 },
    { words: ["undo", undo_id], code: 1 },
  ];
  for (const { words, code } of SAYS) {
    const { stdout, stderr, ...ended } = await inPlace(place, ...words);
    expect({ words, code: ended.code }).toEqual({ words, code });
    expect(stdout + stderr).toMatch(/pruned on \d{4}-\d\d-\d\dT/);
  }
  expect((await service.ask({ text: "/ls ." })).reply?.state).toBe("done");
  await service.stop();
});

test("a run that vanishes without a record of that is found, in the store too", async () => {
  const place = scratchPlace();
  const service = await startService(place, { environment: environmentOf(place) });
  const { run_id, task_id } = await service.post({ text: "/ls ." });
  await service.follow(task_id);
  await service.stop();
  const database = new DatabaseSync(place.database);
  database.exec(`delete from events where run_id = '${run_id}'`);
  database.exec(`update inbox set forgotten_at = 1 where run_id = '${run_id}'`);
  database.exec(
    `insert into forgotten_runs values ('${run_id}', '${task_id}', 5, null, null, '${"0".repeat(64)}', 1, 1)`,
  );
  database.close();
  const { code, stdout } = await inPlace(place, "audit", "verify");
  expect(stdout).toContain("but no pruning is recorded");
  expect(code).toBe(1);
});

test("a backup of a running service is restored, and the service resumes the unfinished tasks, once", async () => {
  const place = scratchPlace();
  const environment = environmentOf(place);
  const before = await startService(place, { environment });
  const done = await before.ask({ text: "/ls .", chat: "a" });
  expect(done.reply?.state).toBe("done");
  await before.stop();
  const asked = writeScript(place, [{ fault: "hang" }]);
  const service = await startService(place, { environment: { ...environment, AUTONOUS_MODEL: asked } });
  const hangs = await service.post({ text: "two", chat: "b" });
  const behind = await service.post({ text: "three", chat: "b" });
  await until(async () => {
    const { task } = (await (await service.request(`/api/tasks/${hangs.task_id}`)).json()) as {
      task: { state: string };
    };
    return task.state === "model_round";
  }, "the model to be asked");

  const backup = join(place.path, "backup");
  const made = await inPlace(place, "backup", backup);
  expect(made).toMatchObject({ code: 0 });
  expect(made.stderr).toContain("http.token");
  expect(statSync(backup).mode & 0o777).toBe(0o700);
  expect(readdirSync(backup)).not.toContain("http.token");
  expect((await inPlace(place, "backup", backup)).stderr).toContain('/backup": it already exists');
  expect(readdirSync(place.path).filter((name) => name.includes("partial"))).toEqual([]);

  const lost = await service.post({ text: "four", chat: "lost" });
  const head = join(headsFolder(environment), lost.run_id);
  await until(() => existsSync(head) && readFileSync(head, "utf8").endsWith("\n"), "the head of the run's chain");
  await service.stop("SIGKILL");
  expect((await inPlace(place, "restore", backup)).stderr).toContain("it already exists. Move it away first");
  renameSync(place.state_dir, join(place.path, "before"));
  expect((await inPlace(place, "audit", "verify")).code).toBe(1);

  const restored = await inPlace(place, "restore", backup);
  expect(restored).toMatchObject({ code: 0 });
  expect(restored.stderr).toContain("1 run");
  const verified = await inPlace(place, "audit", "verify");
  expect(verified.stdout).toContain("Restored on");
  expect(verified.code).toBe(0);
  expect((await inPlace(place, "events", "tree", lost.run_id)).stderr).toContain("is lost");

  const answers = writeScript(place, [{ reply: { final_answer: "an answer" } }]);
  const again = await startService(place, { environment: { ...environment, AUTONOUS_MODEL: answers } });
  expect((await again.follow(hangs.task_id)).reply?.text).toBe("an answer");
  expect((await again.follow(behind.task_id)).reply?.text).toBe("an answer");
  const first = await again.follow(done.reply?.task_id ?? "");
  expect(first.events.filter(({ type }) => type === "task.started")).toHaveLength(1);
  await again.stop();
  expect((await inPlace(place, "audit", "verify")).code).toBe(0);
});

test("a state folder that is put back by hand shows as what it is", async () => {
  const place = scratchPlace();
  await inPlace(place, "call", "ls", '{"path":"."}');
  const backup = join(place.path, "backup");
  expect((await inPlace(place, "backup", backup)).code).toBe(0);
  await inPlace(place, "call", "ls", '{"path":"."}');
  rmSync(place.state_dir, { recursive: true });
  renameSync(backup, place.state_dir);
  const { code, stdout } = await inPlace(place, "audit", "verify");
  expect(stdout).toContain("its head still exists");
  expect(code).toBe(1);
});

test("a damaged backup is not put back", async () => {
  const place = scratchPlace();
  await inPlace(place, "call", "ls", '{"path":"."}');
  const backup = join(place.path, "backup");
  await inPlace(place, "backup", backup);
  const [run_id = ""] = readdirSync(join(backup, "runs"));
  const file = join(backup, "runs", run_id, "events.jsonl");
  writeFileSync(file, readFileSync(file, "utf8").split("\n").slice(1).join("\n"));
  rmSync(place.state_dir, { recursive: true });
  const { code, stderr } = await inPlace(place, "restore", backup);
  expect(stderr).toContain("damaged");
  expect(code).toBe(2);
  expect(existsSync(place.state_dir)).toBe(false);
});

test("what was damaged when a backup was made is put back as it was, with the project's rules and the age of all", async () => {
  const place = scratchPlace();
  for (let count = 0; count < 2; count++) await inPlace(place, "call", "ls", "{}");
  const [damaged = "", whole = ""] = readdirSync(join(place.state_dir, "runs"));
  const file = join(place.state_dir, "runs", damaged, "events.jsonl");
  writeFileSync(file, readFileSync(file, "utf8").replace('"ls"', '"rm"'));
  writeFileSync(join(place.state_dir, "config.json"), "{}");
  agePlace(place, 10);
  const ageOf = (): number => statSync(join(place.state_dir, "runs", whole, "events.jsonl")).mtimeMs;
  const before = ageOf();
  const backup = join(place.path, "backup");
  expect((await inPlace(place, "backup", backup)).code).toBe(1);
  rmSync(place.state_dir, { recursive: true });

  const restored = await inPlace(place, "restore", backup);
  expect(restored.stderr).toMatch(
    new RegExp(`Already damaged in the backup, and restored unchanged: ${damaged} record`),
  );
  expect(restored.code).toBe(1);
  expect(readFileSync(file, "utf8")).toContain('"rm"');
  expect(readFileSync(join(place.state_dir, "config.json"), "utf8")).toBe("{}");
  expect(ageOf()).toBeCloseTo(before, -1);

  const other = join(backup, "runs", whole, "events.jsonl");
  writeFileSync(other, readFileSync(other, "utf8").replace('"ls"', '"rm"'));
  rmSync(place.state_dir, { recursive: true });
  expect((await inPlace(place, "restore", backup)).code).toBe(2);
});

test("prunings that a restore reverts are not reported as lost runs", async () => {
  const place = scratchPlace();
  await inPlace(place, "call", "ls", "{}");
  const backup = join(place.path, "backup");
  expect((await inPlace(place, "backup", backup)).code).toBe(0);
  await inPlace(place, "call", "ls", "{}");
  agePlace(place, 31);
  expect((await inPlace(place, "prune")).stdout).toContain("Removed 2 runs");
  rmSync(place.state_dir, { recursive: true });

  const restored = await inPlace(place, "restore", backup, "--json");
  expect(JSON.parse(restored.stdout)).toMatchObject({ runs: 1, lost_runs: [], cut_runs: [] });
  expect((await inPlace(place, "audit", "verify")).code).toBe(0);
  expect(readdirSync(headsFolder(environmentOf(place))).filter((name) => name.startsWith("prune_"))).toHaveLength(1);
});

test("a missing folder is neither an intact record nor a place for a backup", async () => {
  const place = scratchPlace();
  await inPlace(place, "call", "ls", "{}");
  const nowhere = join(place.path, "nowhere");
  const backedUp = await inPlace(place, "backup", join(nowhere, "backup"));
  expect([backedUp.code, backedUp.stderr]).toEqual([
    2,
    expect.stringContaining(`the folder "${nowhere}" does not exist`),
  ]);
  const verified = await inPlace({ ...place, state_dir: nowhere }, "audit", "verify");
  expect([verified.code, verified.stderr]).toEqual([2, expect.stringContaining("Cannot verify")]);
});
