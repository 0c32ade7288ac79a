import { existsSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { verifyAudit } from "@autonous/runtime";
import { headsFolder } from "@autonous/runtime/internal";
import type { AuditVerdict, RuntimeEvent } from "@autonous/runtime";
import type { AuditProblem, AuditRecord } from "@autonous/runtime/internal";
import { argumentsText } from "../../channels/words/event-words.ts";
import { cutTo } from "../../channels/words/width.ts";
import { AUDIT_OUTCOMES, compileActors, outcomeOf } from "../../store/record/audit-filter.ts";
import type { AuditOutcome } from "../../store/record/audit-filter.ts";
import { verifyBackup } from "../../upkeep/backup.ts";
import { kindOfFile, verifyEvidence } from "../../upkeep/check-evidence.ts";
import type { EvidenceVerdict } from "../../upkeep/check-evidence.ts";
import { EvidenceWriter, exportedLine } from "../../upkeep/evidence.ts";
import { MANIFEST } from "../../upkeep/manifest.ts";
import { verifyState } from "../../upkeep/verify-state.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace } from "../session/find-workplace.ts";
import { readLimit } from "../options.ts";
import { Records } from "../records/records.ts";
import type { RecordedAudit } from "../records/records.ts";
import { table } from "../output/table.ts";
import { count } from "../usage.ts";

/** `autonous audit verify`: the chains of all runs, or of one record. */
export async function verify(input: CommandInput): Promise<ExitCode> {
  const { args, print } = input;
  const [path] = args;
  if (path !== undefined && isFile(existing(path)) && (await kindOfFile(path)) === "export")
    return await verifyExport(input, path);
  const verdict =
    path === undefined ? await verifyPlace(findWorkplace(input).state_dir) : await verifyPath(existing(path));
  // An empty record is intact, but a missing folder named by --state-dir is an error.
  if (verdict.ok && input.options["stateDir"] !== undefined) existing(findWorkplace(input).state_dir);
  if (print.json) print.document(verdict);
  for (const { run_id = "", seq, problem } of verdict.problems) print.text(`${run_id} record ${seq}: ${problem}`);
  for (const { run_id = "", seq, problem } of verdict.notes ?? [])
    print.text(`Note: ${run_id} record ${seq}: ${problem}`);
  for (const line of prunedLines(verdict)) print.text(line);
  const { words, exit } = summaryOf(verdict, "Audit log");
  print.text(words);
  return exit;
}

/** Verifies an export on any machine: chain, signature, event hashes, and the original record if it is available. */
async function verifyExport(input: CommandInput, path: string): Promise<ExitCode> {
  const { print, options } = input;
  const wanted = options["key"] as string | undefined;
  const { origins, ...checked } = await verifyEvidence(path, wanted);
  const { state_dir } = findWorkplace(input);
  const { compared, problems: differing } = await compareWithRecord(state_dir, origins);
  const problems = [...checked.problems, ...differing];
  const verdict = { ...checked, ok: problems.length === 0, problems, compared };
  if (print.json) print.document(verdict);
  for (const { seq, problem } of problems) print.text(`record ${seq}: ${problem}`);
  if (verdict.key !== undefined && wanted === undefined)
    print.text(
      `Signed with key ${verdict.key}: compare it with the key that the sender published, or pass it as --key`,
    );
  print.text(
    compared === 0
      ? `Not compared with the original record: none of its runs is in "${state_dir}"`
      : `Compared with the original record in "${state_dir}": ${count(compared, "event")}`,
  );
  const { words, exit } = summaryOf(verdict, "Export");
  print.text(words);
  return exit;
}

/** Compares the events of an export with the local record, run by run; skips runs that are not here. */
async function compareWithRecord(
  state_dir: string,
  origins: EvidenceVerdict["origins"],
): Promise<{ readonly compared: number; readonly problems: readonly AuditProblem[] }> {
  const records = await Records.open(state_dir);
  const problems: AuditProblem[] = [];
  let compared = 0;
  try {
    const here = await records.runs();
    for (const [run_id, named] of origins) {
      if (!here.has(run_id)) continue;
      const left = new Map(named);
      for await (const { seq, event_id, hash } of records.read(run_id)) {
        const origin = left.get(seq);
        if (origin === undefined) continue;
        left.delete(seq);
        compared++;
        if (origin.hash !== hash) problems.push(differenceOf(run_id, seq, event_id === origin.event_id));
      }
      for (const seq of left.keys())
        problems.push({
          seq,
          run_id,
          problem: `event ${seq} of run "${run_id}" is not in the record here: it was truncated`,
        });
    }
  } finally {
    await records.close();
  }
  return { compared, problems: problems.slice(0, MAX_PROBLEMS) };
}

const MAX_PROBLEMS = 20;

/** Callers choose run ids, so a different event at this position may belong to another run of the same name. */
function differenceOf(run_id: string, seq: number, isSame: boolean): AuditProblem {
  const where = `event ${seq} of run "${run_id}" has a different hash in the record here`;
  return isSame
    ? { seq, run_id, problem: `${where}: one of the two was changed` }
    : { seq, run_id, problem: `${where}: a different run of the same name, or rewritten`, kind: "unproven" };
}

/** Distinguishes damage from what cannot be checked on this machine. */
function summaryOf(
  { ok, problems, records }: AuditVerdict,
  what: "Audit log" | "Export",
): { readonly words: string; readonly exit: ExitCode } {
  if (ok) return { words: `${what} OK: ${records} records, chain intact`, exit: EXIT.done };
  const found = `${count(problems.length, "problem")} in ${records} records`;
  if (problems.some(({ kind }) => kind !== "unproven"))
    return { words: `${what} damaged: ${found}`, exit: EXIT.failed };
  return { words: `${what} intact as far as this machine can check: ${found}`, exit: EXIT.unproven };
}

async function verifyPath(path: string): Promise<AuditVerdict> {
  return existsSync(join(path, MANIFEST)) ? await verifyBackup(path) : await verifyAudit(path);
}

function isFile(path: string): boolean {
  return statSync(path).isFile();
}

function existing(path: string): string {
  try {
    statSync(path);
    return path;
  } catch (error) {
    throw new UsageError(`Cannot verify "${path}": it cannot be opened (${(error as NodeJS.ErrnoException).code})`);
  }
}

async function verifyPlace(state_dir: string): Promise<AuditVerdict> {
  const records = await Records.open(state_dir);
  try {
    return await verifyState({ state_dir, heads: headsFolder(), store: records.store });
  } finally {
    await records.close();
  }
}

function prunedLines({ pruned, problems }: AuditVerdict): string[] {
  if (pruned === undefined) return [];
  const isDamaged = problems.some(({ run_id = "" }) => run_id.startsWith("prune_"));
  const chain = isDamaged ? "prune chain damaged" : "prune chain intact";
  const { runs, changes, first_ts, last_ts, restores } = pruned;
  const when = first_ts === last_ts ? `on ${last_ts}` : `from ${first_ts} to ${last_ts}`;
  const changesToo = changes === 0 ? "" : ` and undo data of ${count(changes, "change")}`;
  const prunedThen = last_ts === null ? [] : [`Pruned ${when}: ${count(runs, "run")}${changesToo}; ${chain}`];
  return [
    ...prunedThen,
    ...restores.map(
      ({ ts, made_at, lost_runs }) =>
        `Restored on ${ts} from a backup of ${made_at}; recorded loss: ${count(lost_runs, "run")} newer than the backup`,
    ),
  ];
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
  else if (newest.length === 0) print.note("No matching record");
  else print.text(table([HEAD, ...newest.map(toRow)], { width: print.textWidth, fixed: 3, last: "cut" }));
  return EXIT.done;
}

/** Keeps the newest records, oldest first. */
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
  const writer = new EvidenceWriter((line) => input.print.document(line));
  await eachMatching(input, (record, event) => {
    const { run_id: _, ...audit } = record;
    writer.add(exportedLine(audit, event));
  });
  const chosen = FILTERS.flatMap((name) =>
    input.options[name] === undefined ? [] : [[name, String(input.options[name])]],
  );
  const about = { filter: Object.fromEntries(chosen) as Record<string, string>, host: hostname() };
  const key = writer.end({ ...about, exported_at: new Date().toISOString() });
  await input.print.flushed();
  input.signal.throwIfAborted(); // the reader closed the output: it is incomplete, so no signature is reported
  if (key === undefined) input.print.note("No matching record; nothing was exported");
  else input.print.note(`Signed with key ${key}; check with: autonous audit verify --key ${key} <file>`);
  return EXIT.done;
}

const FILTERS = ["tool", "outcome", "since", "run", "actor", "channel", "chat"] as const;

async function eachMatching(
  input: CommandInput,
  take: (record: RecordedAudit, event: RuntimeEvent) => void,
): Promise<void> {
  const matches = readFilter(input.options);
  const records = await Records.open(findWorkplace(input).state_dir);
  try {
    const run = input.options["run"] as string | undefined;
    for await (const some of records.audits(run === undefined ? undefined : await records.findRun(run))) {
      input.signal.throwIfAborted();
      for (const { record, event } of some) if (matches(record)) take(record, event);
    }
  } finally {
    await records.close();
  }
}

function readFilter(options: CommandInput["options"]): (record: AuditRecord) => boolean {
  const { tool, outcome, since } = options;
  const isBy = compileActors(options);
  if (outcome !== undefined && !AUDIT_OUTCOMES.includes(outcome as AuditOutcome)) {
    throw new UsageError(`Invalid outcome "${String(outcome)}" (one of ${AUDIT_OUTCOMES.join(", ")})`);
  }
  const from = since === undefined ? undefined : Date.parse(String(since));
  if (Number.isNaN(from))
    throw new UsageError(`Invalid time "${String(since)}" (examples: 2026-01-31, 2026-01-31T12:00:00Z)`);
  return (record) =>
    isBy(record) &&
    (tool === undefined || record.tool === tool) &&
    (outcome === undefined || outcomeOf(record) === outcome) &&
    (from === undefined || Date.parse(record.ts_start) >= from);
}
