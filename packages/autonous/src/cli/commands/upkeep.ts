import { existsSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import { headsFolder, openState } from "@autonous/runtime/internal";
import { databaseFile, openStore } from "../../store/open-store.ts";
import { backUp } from "../../upkeep/backup.ts";
import type { Old, StatePlace } from "../../upkeep/find-old.ts";
import { CannotBackUp } from "../../upkeep/manifest.ts";
import { Pruner } from "../../upkeep/prune.ts";
import { restore as restoreBackup } from "../../upkeep/restore.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace } from "../session/find-workplace.ts";
import { table } from "../output/table.ts";
import { count } from "../usage.ts";

/** `autonous prune`: prunes now, as the service does every hour. */
export async function prune(input: CommandInput): Promise<ExitCode> {
  const { settings } = findWorkplace(input).configuration;
  return await withState(input, async (place) => {
    const pruner = new Pruner(place, settings);
    return input.options["dryRun"] === true ? await preview(input, pruner) : await pruneAll(input, pruner);
  });
}

async function preview({ print }: CommandInput, pruner: Pruner): Promise<ExitCode> {
  const old = await pruner.preview();
  if (print.json) print.document(old);
  else if (old.length === 0) print.text("Nothing to prune");
  else print.text(table([HEAD, ...old.map(toRow)], { width: print.textWidth }));
  return EXIT.done;
}

const HEAD = ["WHAT", "LAST USED", "BY"];

function toRow({ kind, id, lastMs, setting }: Old): string[] {
  return [kind === "run" ? id : `${id} (undo data)`, new Date(lastMs).toISOString(), setting];
}

async function pruneAll({ print, signal }: CommandInput, pruner: Pruner): Promise<ExitCode> {
  const done = { runs: 0, events: 0, changes: 0 };
  for (;;) {
    signal.throwIfAborted();
    const report = await pruner.prune();
    if (report === undefined)
      throw new UsageError("Another process is pruning or making a backup; try again when it is done");
    for (const name of ["runs", "events", "changes"] as const) done[name] += report[name];
    if (report.more) continue;
    const { damaged, problems } = report;
    if (print.json) print.document({ ...done, damaged, problems });
    print.text(
      done.runs + done.changes === 0
        ? "Nothing to prune"
        : `Removed ${count(done.runs, "run")} (${count(done.events, "record")}) and undo data of ${count(done.changes, "change")}. "autonous audit verify" lists what was pruned`,
    );
    for (const run_id of damaged)
      print.note(`Kept: run ${run_id}, because its record is damaged; see "autonous audit verify"`);
    for (const problem of problems) print.note(`Not removed: ${problem}`);
    return damaged.length + problems.length === 0 ? EXIT.done : EXIT.failed;
  }
}

/** `autonous backup`. */
export async function backup(input: CommandInput): Promise<ExitCode> {
  const { print, args } = input;
  return await withState(input, async (place) => {
    const report = await withUsageErrors(() => backUp(place, args[0] ?? ""));
    if (print.json) print.document(report);
    const { folder, runs, records, problems, left_out } = report;
    print.text(`Backed up ${count(runs, "run")} (${count(records, "record")}) to ${folder}, and verified it`);
    for (const problem of problems) print.note(`Damaged before the backup: ${problem}`);
    print.note(`Not in it: ${left_out.join("; ")}`);
    return problems.length === 0 ? EXIT.done : EXIT.failed;
  });
}

/** `autonous restore`. */
export async function restore(input: CommandInput): Promise<ExitCode> {
  const { print, args } = input;
  const { state_dir: target, opened } = findWorkplace(input);
  const place = { state_dir: target, heads: headsFolder(), clock: Date.now };
  const report = await withUsageErrors(() => restoreBackup(place, resolve(args[0] ?? "")));
  // The user chose the folder, so it is adopted.
  const { problem } = openState({ workspace: process.cwd(), state_dir: target, roots: opened, adopting: true });
  if (problem !== undefined) throw new UsageError(`The backup was restored, but ${problem}`);
  if (print.json) print.document(report);
  const { state_dir, made_at, runs, records, problems, lost_runs, cut_runs } = report;
  print.text(`Restored ${count(runs, "run")} (${count(records, "record")}) to ${state_dir}, as of ${made_at}`);
  if (lost_runs.length + cut_runs.length > 0)
    print.note(
      `Lost, because newer than the backup: ${count(lost_runs.length, "run")}, and the end of ${cut_runs.length} more; the loss is recorded`,
    );
  for (const problem of problems) print.note(`Already damaged in the backup, and restored unchanged: ${problem}`);
  return problems.length === 0 ? EXIT.done : EXIT.failed;
}

async function withUsageErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof CannotBackUp ? new UsageError(error.message) : error;
  }
}

async function withState<T>(input: CommandInput, work: (place: StatePlace) => Promise<T>): Promise<T> {
  const { state_dir: given } = findWorkplace(input);
  if (!existsSync(given))
    throw new UsageError(`The state folder "${given}" does not exist; choose another with --state-dir`);
  const state_dir = realpathSync(given);
  const file = databaseFile(state_dir);
  const store = existsSync(file) ? await openStore({ file, clock: Date.now }) : undefined;
  try {
    return await work({ state_dir, heads: headsFolder(), store, clock: Date.now });
  } finally {
    await store?.close();
  }
}
