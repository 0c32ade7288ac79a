import { cpSync, existsSync, readdirSync, rmSync, watch } from "node:fs";
import { join } from "node:path";
import { headsFolder } from "@autonous/runtime/internal";
import { expect, onTestFinished, test } from "vitest";
import { start } from "./support/cli.ts";
import type { Running } from "./support/cli.ts";
import { scratchPlace, startService } from "./support/service.ts";
import type { Place } from "./support/service.ts";
import { agePlace, environmentOf, inPlace } from "./support/upkeep.ts";

/** Kills of each, spread over the time that it takes. */
const KILLS = 10;

/** A place with runs of the command line and of the service, all of them old. */
async function oldPlace(): Promise<Place> {
  const place = scratchPlace();
  const env = environmentOf(place);
  const service = await startService(place, { environment: env });
  for (const chat of ["a", "b", "c"])
    expect((await service.ask({ text: `/write ${chat}.txt <<<words`, chat })).reply?.state).toBe("done");
  await service.stop();
  for (const content of ["1", "2", "3"])
    expect((await inPlace(place, "call", "write", JSON.stringify({ path: "d.txt", content }))).code).toBe(0);
  agePlace(place, 31);
  return place;
}

function startInPlace(place: Place, words: readonly string[]): Running {
  return start([...words, "--state-dir", place.state_dir], { cwd: place.root, env: environmentOf(place) });
}

/** Starts it and kills it after the given time. */
async function killedAfter(place: Place, ms: number, ...words: readonly string[]): Promise<void> {
  const { child, ended } = startInPlace(place, words);
  const timer = setTimeout(() => child.kill("SIGKILL"), ms);
  await ended;
  clearTimeout(timer);
}

async function durationOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

const leftovers = (place: Place): readonly string[] =>
  readdirSync(place.path).filter((name) => name.includes("partial-"));

/** What every command that changes the state has to leave, wherever it was killed. */
async function expectWhole(place: Place): Promise<void> {
  const { code, stdout, stderr } = await inPlace(place, "audit", "verify");
  expect({ code, said: code === 0 ? "" : stdout + stderr }).toEqual({ code: 0, said: "" });
}

test("prune, killed at any point: the record is intact, and the next one removes the rest", async () => {
  const place = await oldPlace();
  const copy = join(place.path, "copy");
  cpSync(place.state_dir, copy, { recursive: true, preserveTimestamps: true });
  const heads = headsFolder(environmentOf(place));
  cpSync(heads, join(place.path, "heads"), { recursive: true });
  const whole = await durationOf(() => inPlace(place, "prune"));
  for (let kill = 1; kill <= KILLS; kill++) {
    rmSync(place.state_dir, { recursive: true });
    rmSync(heads, { recursive: true });
    cpSync(copy, place.state_dir, { recursive: true, preserveTimestamps: true });
    cpSync(join(place.path, "heads"), heads, { recursive: true });
    await killedAfter(place, (whole * kill) / KILLS, "prune");

    await expectWhole(place);
    expect((await inPlace(place, "prune")).code).toBe(0);
    await expectWhole(place);
    expect(readdirSync(join(place.state_dir, "runs"))).toEqual([]);
    expect((await inPlace(place, "prune")).stdout).toContain("Nothing to prune");
  }
});

test("backup, killed wherever: there is none or a whole one, and the next one leaves nothing of it", async () => {
  const place = await oldPlace();
  const heads = headsFolder(environmentOf(place));
  const before = readdirSync(heads);
  const whole = await durationOf(() => inPlace(place, "backup", join(place.path, "first")));
  for (let kill = 1; kill <= KILLS; kill++) {
    const target = join(place.path, "backup");
    await killedAfter(place, (whole * kill) / KILLS, "backup", target);

    await expectWhole(place);
    expect(readdirSync(heads)).toEqual(before);
    if (!existsSync(target)) expect((await inPlace(place, "backup", target)).code).toBe(0);
    expect((await inPlace(place, "audit", "verify", target)).code).toBe(0);
    expect(leftovers(place)).toEqual([]);
    rmSync(target, { recursive: true });
  }
});

test("restore, killed wherever: the same command again makes it whole, and tells what was lost", async () => {
  const place = await oldPlace();
  const backup = join(place.path, "backup");
  expect((await inPlace(place, "backup", backup)).code).toBe(0);
  expect((await inPlace(place, "call", "ls", "{}")).code).toBe(0); // lost with the restore
  const heads = headsFolder(environmentOf(place));
  cpSync(heads, join(place.path, "heads"), { recursive: true });
  const begin = (): void => {
    rmSync(place.state_dir, { recursive: true, force: true });
    rmSync(heads, { recursive: true });
    cpSync(join(place.path, "heads"), heads, { recursive: true });
  };
  begin();
  const whole = await durationOf(() => inPlace(place, "restore", backup));
  const check = async (): Promise<void> => {
    const again = await inPlace(place, "restore", backup);
    if (again.code === 0) expect(again.stderr).toContain("Lost, because newer than the backup: 1 run");
    else expect(again.stderr).toContain("it already exists. Move it away first"); // it had been done before the kill
    expect((await inPlace(place, "audit", "verify")).stdout).toContain("recorded loss: 1 run");
    await expectWhole(place);
    expect(leftovers(place)).toEqual([]);
    expect((await inPlace(place, "restore", backup)).stderr).toContain("it already exists. Move it away first");
  };
  for (let kill = 1; kill <= KILLS; kill++) {
    begin();
    await killedAfter(place, (whole * kill) / KILLS, "restore", backup);
    await check();
  }
  for (let kill = 1; kill <= KILLS; kill++) {
    begin();
    await killedAtName(place, "restore", backup);
    await check();
  }
});

/** Killed when the state folder has got its name: between that and the end lie the heads. */
async function killedAtName(place: Place, ...words: readonly string[]): Promise<void> {
  const { child, ended } = startInPlace(place, words);
  const watcher = watch(place.path, (_, name) => {
    if (name === "state" && existsSync(place.state_dir)) child.kill("SIGKILL");
  });
  onTestFinished(() => watcher.close());
  await ended;
  watcher.close();
}
