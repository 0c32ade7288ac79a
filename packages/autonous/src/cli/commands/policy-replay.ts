import { hash } from "node:crypto";
import { join } from "node:path";
import { isStorageRef, readOwnText, runPath } from "@autonous/runtime/internal";
import type { Decision, Runtime } from "@autonous/runtime";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { inspectRuntime } from "../../workplace/runtime-options.ts";
import { findWorkplace, optionsWithModules } from "../session/find-workplace.ts";
import type { Print } from "../output/print.ts";
import { Records } from "../records/records.ts";
import type { RecordedAudit } from "../records/records.ts";
import { table } from "../output/table.ts";

interface Difference {
  readonly run_id: string;
  readonly tool_call_id: string;
  readonly tool: string;
  readonly was: Pick<Decision, "effect" | "rule">;
  readonly now: Pick<Decision, "effect" | "rule" | "reason">;
}

/** The findings of a replay: counts, and the first differences individually. */
interface Findings {
  records: number;
  same: number;
  differ: number;
  /** Refused before the policy check, so nothing can be compared. */
  undecided: number;
  /** Calls that cannot be decided again from the record, by reason. */
  readonly not_judged: Map<string, number>;
  readonly counts: Map<string, { readonly tool: string; readonly was: string; readonly now: string; count: number }>;
  readonly differences: Difference[];
}

/** Differences kept individually; the counts include the rest. */
const MAX_DIFFERENCES = 10_000;
/** Shown to people. */
const MAX_SHOWN = 50;

/** `autonous policy replay`: re-evaluates recorded calls with another policy. Runs nothing and changes no record. */
export async function replay(input: CommandInput): Promise<ExitCode> {
  const { options, print, signal } = input;
  if (typeof options["config"] !== "string")
    throw new UsageError("Name the configuration to test with --config <file>; it has the same format as your own");
  const place = findWorkplace(input);
  const records = await Records.open(place.state_dir);
  try {
    const run = options["run"] === undefined ? undefined : await records.findRun(options["run"] as string);
    const found = emptyFindings();
    await inspectRuntime(await optionsWithModules(place, print), async (runtime) => {
      for await (const some of records.audits(run)) {
        signal.throwIfAborted();
        for (const { record } of some) await compare(record, found, { runtime, state_dir: place.state_dir });
      }
    });
    report(found, print);
    return EXIT.done;
  } finally {
    await records.close();
  }
}

function emptyFindings(): Findings {
  return { records: 0, same: 0, differ: 0, undecided: 0, not_judged: new Map(), counts: new Map(), differences: [] };
}

async function compare(
  record: RecordedAudit,
  found: Findings,
  { runtime, state_dir }: { readonly runtime: Runtime; readonly state_dir: string },
): Promise<void> {
  found.records += 1;
  const { decision: was, rule } = record.policy;
  if (was === null) {
    found.undecided += 1;
    return;
  }
  const whole = withWholeParams(record, state_dir);
  const again = "problem" in whole ? whole : await runtime.decideAgain(whole);
  if ("problem" in again) return countProblem(found, again.problem);
  const { decision } = again;
  if (decision.effect === was) {
    found.same += 1;
    return;
  }
  const now = { effect: decision.effect, rule: decision.rule, reason: decision.reason };
  countDifference(found, record, { was: { effect: was, rule: rule ?? "" }, now });
}

function countDifference(
  found: Findings,
  { run_id, tool_call_id, tool }: RecordedAudit,
  { was, now }: Pick<Difference, "was" | "now">,
): void {
  found.differ += 1;
  const key = `${tool} ${was.effect} ${now.effect}`;
  const count = found.counts.get(key) ?? { tool, was: was.effect, now: now.effect, count: 0 };
  count.count += 1;
  found.counts.set(key, count);
  if (found.differences.length < MAX_DIFFERENCES) found.differences.push({ run_id, tool_call_id, tool, was, now });
}

/** Problem texts may contain recorded values, so their number is bounded; further ones are counted together. */
const MAX_PROBLEMS = 1000;
const OTHER_PROBLEMS = "for other reasons";

function countProblem({ not_judged }: Findings, problem: string): void {
  const key = not_judged.has(problem) || not_judged.size < MAX_PROBLEMS ? problem : OTHER_PROBLEMS;
  not_judged.set(key, (not_judged.get(key) ?? 0) + 1);
}

/** The record has an excerpt of long arguments; the full text is stored separately. */
function withWholeParams(record: RecordedAudit, state_dir: string): RecordedAudit | { readonly problem: string } {
  const { storage_ref, excerpt, sha256 } = Object(record.params) as Readonly<Record<string, unknown>>;
  if (typeof excerpt !== "string" || typeof storage_ref !== "string" || !isStorageRef(storage_ref)) return record;
  try {
    const text = readOwnText(join(runPath(state_dir, record.run_id), storage_ref));
    if (hash("sha256", text, "hex") !== sha256) return { problem: "Its stored arguments were changed" };
    return { ...record, params: JSON.parse(text) as unknown };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { problem: "Its stored arguments were pruned" };
    throw error;
  }
}

function report(found: Findings, print: Print): void {
  const { records, same, differ, undecided, not_judged, counts, differences } = found;
  const groups = [...counts.values()].sort((one, other) => other.count - one.count);
  const problems = [...not_judged].map(([problem, count]) => ({ problem, count }));
  if (print.json) {
    const left_out = differ - differences.length;
    return print.document({
      records,
      same,
      differ,
      undecided,
      not_judged: problems,
      counts: groups,
      differences,
      left_out,
    });
  }
  const width = print.textWidth;
  if (groups.length > 0) {
    const rows = groups.map(({ count, tool, was, now }) => [String(count), tool, was, now]);
    print.text(table([["CALLS", "TOOL", "WAS", "WOULD BE"], ...rows], { width }));
    const shown = differences.slice(0, MAX_SHOWN);
    const each = shown.map(({ tool_call_id, now }) => [tool_call_id, now.effect, now.reason]);
    print.text(`\n${table([["CALL", "WOULD BE", "WHY"], ...each], { width })}`);
    if (differ > shown.length) print.text(`… and ${differ - shown.length} more; --json has them`);
    print.text("");
  }
  for (const { problem, count } of problems.slice(0, MAX_SHOWN)) print.note(`${count} cannot be decided: ${problem}`);
  print.text(`${records} call${records === 1 ? "" : "s"}: ${differ} would be decided differently, ${same} the same`);
  const rest = records - differ - same;
  if (rest > 0) print.text(`${rest} were refused before the policy check, or cannot be decided from the record`);
}
