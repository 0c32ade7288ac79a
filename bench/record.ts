import { hash } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { verifyAudit } from "@autonous/runtime";
import { chainEvents, EMPTY_TAIL, JsonlJournal, openRecordKey } from "@autonous/runtime/internal";
import type { EventDraft } from "@autonous/runtime/internal";
import { scratch } from "./place.ts";

const CALLS = 50_000;
const A_BATCH = 100;

/** The two events of a call as the gate writes them: some 300 and 1,100 bytes on record. */
function draftsOf(run_id: string, i: number): readonly EventDraft[] {
  const ts = "2026-01-01T00:00:00.000Z";
  const about = { ts, trace_id: "4bb77e1a4b6f0903de9083f96a1a644c", task_id: null, run_id, parent_id: null };
  const tool_call_id = `call_${String(i).padStart(26, "0")}`;
  const args = { all: false, path: "packages/runtime/src", recursive: false };
  // oxfmt-ignore
  const audit = {
    trace_id: about.trace_id, tool_call_id, tool: "ls", version: "1.0.0", risk: "low", operation: "read",
    ts_start: ts, ts_end: ts, duration_ms: 1, params: args,
    result: { ok: true, exit_code: 0, error_code: null, stdout_ref: null },
    policy: { decision: "ALLOW", rule: "profile:guarded:look", approved: null, approval_scope: null, approved_by: null },
    places: [{ path: args.path, real: `/srv/work/${args.path}`, access: "list" }],
    actor: { user: "anna", chat: null, channel: "cli", model: null, host: "host" },
    sandbox: "none", hashes: {}, artifacts: { files_changed: [], commands_run: [] },
  };
  const start = { tool_call_id, tool_name: "ls", arguments: args, actor: audit.actor };
  const end = {
    tool_call_id,
    tool_name: "ls",
    exit_code: 0,
    latency_ms: 1,
    truncated_bytes: false,
    truncated_lines: false,
  };
  return [
    { ...about, event_id: `evt_${i}_1`, type: "tool_call.started", payload: start },
    { ...about, event_id: `evt_${i}_2`, type: "tool_call.completed", payload: { ...end, audit } },
  ];
}

/** In time of the processor: what `audit verify` checks in a second, beside hashing the same bytes; what an append costs, and what of it the mac. */
export async function benchRecord(): Promise<void> {
  const state_dir = join(scratch, "record");
  const heads = join(scratch, "record-heads");
  mkdirSync(state_dir, { recursive: true, mode: 0o700 });
  const run_id = "run_bench";
  const journal = new JsonlJournal({ state_dir, run_id, heads });
  let appendMs = 0;
  for (let i = 0; i < CALLS; i++) {
    const drafts = draftsOf(run_id, i);
    const begun = processorMs();
    for (const draft of drafts) await journal.append([draft]);
    appendMs += processorMs() - begun;
  }
  await journal.close();
  const begun = processorMs();
  const { ok, records } = await verifyAudit(state_dir, { heads });
  const verifyMs = processorMs() - begun;
  if (!ok || records !== 2 * CALLS)
    throw new Error(`The benchmark's audit log is incomplete or damaged: ${records} records`);
  const lines = readFileSync(journal.path, "utf8").trimEnd().split("\n");
  const floorMs = timed(() => lines.forEach((line) => hash("sha256", line, "hex")));
  const rate = (ms: number): string => Math.round((2 * CALLS * 1000) / ms).toLocaleString("en");
  console.log(
    `audit verify: ${rate(verifyMs)} records/s of ${2 * CALLS}; sha256 of the same lines: ${rate(floorMs)}/s`,
  );
  const [without, withMac] = chainCosts(run_id);
  const perCall = (ms: number): string => ((ms * 1000) / CALLS).toFixed(1);
  console.log(
    `append: ${perCall(appendMs)} µs per call (two events, without fsync); chaining them: ${perCall(without)} µs without the mac, ${perCall(withMac)} µs with it`,
  );
}

/** Side by side, batch by batch: what disturbs the machine disturbs both. */
function chainCosts(run_id: string): readonly [without: number, withMac: number] {
  const key = openRecordKey(join(scratch, "record.key"));
  let [without, withMac] = [0, 0];
  for (let i = 0; i < CALLS; i += A_BATCH) {
    const drafts = Array.from({ length: A_BATCH }, (_, j) => draftsOf(run_id, i + j)).flat();
    without += timed(() => drafts.forEach((draft) => chainEvents([draft], EMPTY_TAIL)));
    withMac += timed(() => drafts.forEach((draft) => chainEvents([draft], EMPTY_TAIL, key)));
  }
  return [without, withMac];
}

function timed(work: () => void): number {
  const begun = processorMs();
  work();
  return processorMs() - begun;
}

/** Time of the processor, which a busy machine changes less than the time of day. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
