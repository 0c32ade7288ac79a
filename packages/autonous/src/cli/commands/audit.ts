import { statSync } from "node:fs";
import { verifyAudit, verifyEvents } from "@autonous/runtime";
import type { AuditRecord, AuditVerdict } from "@autonous/runtime";
import { argumentsText } from "../../channels/terminal/event-words.ts";
import { cutTo } from "../../channels/terminal/width.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace } from "../open-runtime.ts";
import { readLimit } from "../options.ts";
import { Records } from "../records.ts";
import type { RecordedAudit } from "../records.ts";
import { table } from "../table.ts";

/** `autonous audit verify`: the chains of all runs, or of one record. */
export async function verify(input: CommandInput): Promise<ExitCode> {
  const { args, print } = input;
  const [path] = args;
  const verdict =
    path === undefined ? await verifyState(findWorkplace(input).state_dir) : await verifyAudit(existing(path));
  if (print.json) print.document(verdict);
  for (const { run_id = "", seq, problem } of verdict.problems) print.text(`${run_id} record ${seq}: ${problem}`);
  print.text(
    verdict.ok
      ? `The record is whole: ${verdict.records} records`
      : `The record is damaged: ${verdict.problems.length} problems in ${verdict.records} records`,
  );
  return verdict.ok ? EXIT.done : EXIT.failed;
}

function existing(path: string): string {
  try {
    statSync(path);
    return path;
  } catch (error) {
    throw new UsageError(`Cannot verify "${path}": it cannot be opened (${(error as NodeJS.ErrnoException).code})`);
  }
}

/** The files of a state folder, and the store beside them: whichever was tampered with is told. */
async function verifyState(state_dir: string): Promise<AuditVerdict> {
  const records = await Records.open(state_dir);
  try {
    const runs = [...(await records.runs())];
    const files = [await verifyAudit(state_dir)];
    const stored = await Promise.all(
      runs.filter(([, where]) => where === "store").map(([run_id]) => verifyEvents(run_id, records.read(run_id))),
    );
    const problems = [...files, ...stored].flatMap((verdict) => verdict.problems);
    // A run that the store has and a file follows is one record, not two.
    const inFiles = files.reduce((sum, verdict) => sum + verdict.records, 0);
    const inStore = stored.reduce((sum, verdict) => sum + verdict.records, 0);
    return { ok: problems.length === 0, records: Math.max(inFiles, inStore), problems };
  } finally {
    await records.close();
  }
}

/** `autonous audit show`: the newest records that match. */
export async function show(input: CommandInput): Promise<ExitCode> {
  const { print } = input;
  const limit = readLimit(input.options["limit"], 20);
  const newest: RecordedAudit[] = [];
  await eachMatching(input, (record) => {
    newest.push(record);
    if (newest.length > 2 * limit) keepNewest(newest, limit);
  });
  keepNewest(newest, limit);
  newest.reverse();
  if (print.json) print.document(newest);
  else if (newest.length === 0) print.note("There is no such record");
  else print.text(table([HEAD, ...newest.map(toRow)], { width: print.textWidth, fixed: 3, last: "cut" }));
  return EXIT.done;
}

/** Leaves the newest ones, oldest first. */
function keepNewest(records: RecordedAudit[], limit: number): void {
  records.sort((a, b) => Date.parse(a.ts_end) - Date.parse(b.ts_end));
  records.splice(0, records.length - limit);
}

const HEAD = ["WHEN", "TOOL", "OUTCOME", "RULE", "ARGUMENTS"];
const ARGUMENTS_LENGTH = 200;

function toRow({ ts_end, tool, result, policy, params }: RecordedAudit): string[] {
  const when = ts_end.replace(/\.\d+Z$/, "Z");
  return [when, tool, result.error_code ?? "ok", policy.rule ?? "-", cutTo(argumentsText(params), ARGUMENTS_LENGTH)];
}

/** `autonous audit export`: all that match, as JSON Lines. */
export async function exportRecords(input: CommandInput): Promise<ExitCode> {
  await eachMatching(input, (record) => input.print.document(record));
  return EXIT.done;
}

const OUTCOMES = ["ok", "failed", "denied"] as const;

async function eachMatching(input: CommandInput, take: (record: RecordedAudit) => void): Promise<void> {
  const matches = readFilter(input.options);
  const records = await Records.open(findWorkplace(input).state_dir);
  try {
    const run = input.options["run"] as string | undefined;
    for await (const some of records.audits(run === undefined ? undefined : await records.findRun(run))) {
      input.signal.throwIfAborted();
      for (const record of some) if (matches(record)) take(record);
    }
  } finally {
    await records.close();
  }
}

function readFilter({ tool, outcome, since }: CommandInput["options"]): (record: AuditRecord) => boolean {
  if (outcome !== undefined && !OUTCOMES.includes(outcome as (typeof OUTCOMES)[number])) {
    throw new UsageError(`There is no outcome "${String(outcome)}": it is one of ${OUTCOMES.join(", ")}`);
  }
  const from = since === undefined ? undefined : Date.parse(String(since));
  if (Number.isNaN(from))
    throw new UsageError(`"${String(since)}" is no time; write 2026-01-31 or 2026-01-31T12:00:00Z`);
  return (record) =>
    (tool === undefined || record.tool === tool) &&
    (outcome === undefined || outcomeOf(record) === outcome) &&
    (from === undefined || Date.parse(record.ts_start) >= from);
}

function outcomeOf({ result, policy }: AuditRecord): (typeof OUTCOMES)[number] {
  if (result.ok) return "ok";
  return policy.decision === "DENY" || (policy.decision === "REQUIRE_CONFIRMATION" && policy.approved !== true)
    ? "denied"
    : "failed";
}
