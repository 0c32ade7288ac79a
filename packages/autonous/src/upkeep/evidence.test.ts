import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { canonicalJson, chainEvents, EMPTY_TAIL, FIRST_HASH, openRecordKey } from "@autonous/runtime/internal";
import type { AuditRecord, EventDraft } from "@autonous/runtime/internal";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../test/support/scratch.ts";
import { kindOfFile, verifyEvidence } from "./check-evidence.ts";
import { EvidenceWriter, exportedLine } from "./evidence.ts";

type Line = Record<string, unknown> & {
  readonly actor: object;
  readonly policy: object;
  readonly event: { readonly seq: number; readonly hash: string; readonly payload: object };
  readonly export: { readonly seq: number; readonly prev_hash: string; readonly hash: string; readonly seal?: object };
};

const ABOUT = { filter: { tool: "ls" }, host: "here", exported_at: "2026-01-01T00:00:00.000Z" };

function auditOf(run_id: string, i: number): AuditRecord {
  const ts = "2026-01-01T00:00:00.000Z";
  return {
    trace_id: "trace_1",
    tool_call_id: `call_${i}`,
    tool: "ls",
    version: "1.0.0",
    risk: "low",
    operation: "list",
    ts_start: ts,
    ts_end: ts,
    duration_ms: 1,
    params: { path: run_id },
    result: { ok: true, exit_code: 0, error_code: null, stdout_ref: null },
    policy: { decision: "ALLOW", rule: "profile", approved: null, approval_scope: null, approved_by: null },
    actor: { user: "anna", chat: null, channel: "cli", model: null, host: "here" },
    sandbox: "none",
    hashes: {},
    artifacts: { files_changed: [], commands_run: [] },
  };
}

async function exported(run_id = "run_1"): Promise<{ file: string; key: string; lines: Line[] }> {
  const { path } = await scratchFolder();
  const lines: Line[] = [];
  const about = { ts: ABOUT.exported_at, trace_id: "trace_1", task_id: null, run_id, parent_id: null };
  const drafts = Array.from({ length: 5 }, (_, i): EventDraft => {
    const payload = { tool_call_id: `call_${i}`, tool_name: "ls", exit_code: 0, audit: auditOf(run_id, i) };
    return { ...about, event_id: `evt_${i}`, type: "tool_call.completed", payload };
  });
  const writer = new EvidenceWriter((line) => lines.push(line as Line));
  for (const { event } of chainEvents(drafts, EMPTY_TAIL, openRecordKey()))
    writer.add(exportedLine(event.payload["audit"] as AuditRecord, event));
  const key = writer.end(ABOUT) ?? "";
  const file = join(path, "export.jsonl");
  put(file, lines);
  return { file, key, lines };
}

function put(file: string, lines: readonly object[]): void {
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
}

/** Links changed lines again, as an attacker who knows the format could. */
function relink(lines: readonly Line[]): Line[] {
  let prev_hash = FIRST_HASH;
  return lines.map(({ export: link, ...record }, index) => {
    const about = { ...(link.seal === undefined ? {} : { seal: link.seal }), seq: index + 1, prev_hash };
    const hash = createHash("sha256")
      .update(prev_hash + canonicalJson({ ...record, export: about }))
      .digest("hex");
    prev_hash = hash;
    return { ...record, export: { ...about, hash } };
  });
}

test("an export is verified without a state folder, and the verdict names the signing key", async () => {
  const { file, key } = await exported();
  expect(await kindOfFile(file)).toBe("export");
  expect(await verifyEvidence(file)).toMatchObject({ ok: true, records: 5, problems: [], key });
  expect(await verifyEvidence(file, key)).toMatchObject({ ok: true });
  expect((await verifyEvidence(file, "0".repeat(32))).problems[0]?.problem).toMatch(/signed by key/);
});

// oxfmt-ignore
const TAMPERING = [
  { title: "a changed record",               change: (lines: Line[]) => lines.map((line, i) => (i === 2 ? { ...line, tool: "rm" } : line)),          says: /changed/ },
  { title: "a changed last record",          change: (lines: Line[]) => lines.map((line, i) => (i === 4 ? { ...line, tool: "rm" } : line)),          says: /changed/ },
  { title: "a removed record",               change: (lines: Line[]) => lines.filter((_, i) => i !== 2),                                            says: /expected record 3/ },
  { title: "reordered records",              change: (lines: Line[]) => [lines[1]!, lines[0]!, ...lines.slice(2)],                                  says: /expected record 1/ },
  { title: "a truncated tail",               change: (lines: Line[]) => lines.slice(0, 3),                                                          says: /no seal/ },
  { title: "a record after the seal",        change: (lines: Line[]) => [...lines, lines[0]!],                                                      says: /after the seal/ },
  { title: "a changed record, linked again", change: (lines: Line[]) => relink(lines.map((line, i) => (i === 2 ? { ...line, tool: "rm" } : line))), says: /does not match event 3/ },
  { title: "a removed record, linked again", change: (lines: Line[]) => relink(lines.filter((_, i) => i !== 2)),                                    says: /seal covers 5 records|signature/ },
  { title: "the first record removed",       change: (lines: Line[]) => lines.slice(1),                                                             says: /expected record 1/ },
  { title: "the last record removed",        change: (lines: Line[]) => lines.slice(0, -1),                                                         says: /no seal/ },
  { title: "a duplicated record",            change: (lines: Line[]) => [...lines.slice(0, 3), lines[2]!, ...lines.slice(3)],                       says: /expected record 4/ },
  { title: "all records duplicated",         change: (lines: Line[]) => [...lines, ...lines],                                                       says: /after the seal/ },
  { title: "another actor",                  change: (lines: Line[]) => at(lines, 1, (line) => ({ ...line, actor: { ...line.actor, user: "eve" } })), says: /changed/ },
  { title: "another decision",               change: (lines: Line[]) => at(lines, 1, (line) => ({ ...line, policy: { ...line.policy, decision: "DENY" } })), says: /changed/ },
  { title: "another actor, linked again",    change: (lines: Line[]) => relink(at(lines, 1, (line) => ({ ...line, actor: { ...line.actor, user: "eve" } }))), says: /does not match event 2 of run "run_1"/ },
  { title: "another decision, linked again", change: (lines: Line[]) => relink(at(lines, 1, (line) => ({ ...line, policy: { ...line.policy, decision: "DENY" } }))), says: /does not match event 2 of run/ },
  { title: "another run, linked again",      change: (lines: Line[]) => relink(at(lines, 1, (line) => ({ ...line, run_id: "run_2" }))),              says: /does not match event 2 of run/ },
  { title: "no event, linked again",         change: (lines: Line[]) => relink(at(lines, 1, ({ event: _event, ...line }) => line as Line)),               says: /does not name the event/ },
  { title: "an event that is null",          change: (lines: Line[]) => relink(at(lines, 1, (line) => ({ ...line, event: null }) as unknown as Line)), says: /does not name the event/ },
  { title: "a seal that is null",            change: (lines: Line[]) => at(lines, 4, (line) => ({ ...line, export: { ...line.export, seal: null } }) as unknown as Line), says: /line 5 is not an exported record/ },
  { title: "a seal without a key",           change: (lines: Line[]) => at(lines, 4, (line) => ({ ...line, export: { ...line.export, seal: {} } })), says: /line 5 is not an exported record/ },
  { title: "a seal with another host",       change: (lines: Line[]) => relink(at(lines, 4, (line) => ({ ...line, export: { ...line.export, seal: { ...line.export.seal, host: "there" } } }))), says: /signature/ },
  { title: "a seal on another last record",  change: (lines: Line[]) => relink([...lines.slice(0, 3), { ...lines[3]!, export: { ...lines[3]!.export, seal: lines[4]!.export.seal! } }]), says: /seal covers 5|signature/ },
] as const;

for (const { title, change, says } of TAMPERING) {
  test(`${title} is found`, async () => {
    const { file, lines } = await exported();
    put(file, change(lines));
    const { ok, problems } = await verifyEvidence(file);
    expect(ok).toBe(false);
    expect(problems[0]?.problem).toMatch(says);
  });
}

function at(lines: readonly Line[], index: number, change: (line: Line) => Line): Line[] {
  return lines.map((line, i) => (i === index ? change(line) : line));
}

test("records that were swapped between two exports are found in both", async () => {
  const [one, other] = [await exported("run_1"), await exported("run_2")];
  put(
    one.file,
    at(one.lines, 2, () => other.lines[2]!),
  );
  put(
    other.file,
    at(other.lines, 4, () => one.lines[4]!),
  );
  for (const { file } of [one, other]) {
    const { ok, problems } = await verifyEvidence(file);
    expect(ok).toBe(false);
    expect(problems[0]?.problem).toMatch(/does not follow/);
  }
});

test("a record with an invented MAC is found by the user whose key it names", async () => {
  const { file, lines } = await exported();
  const mac = `${openRecordKey().id}-${"0".repeat(32)}`;
  const forged = at(lines, 1, ({ export: link, ...line }) => {
    const { hash: _, ...event } = { ...line.event, mac } as Line["event"];
    const { run_id: _run, event: _event, ...audit } = line as Line;
    const whole = { ...event, payload: { ...event.payload, audit } } as unknown as { prev_hash: string };
    const hash = createHash("sha256")
      .update(whole.prev_hash + canonicalJson(whole))
      .digest("hex");
    return { ...line, event: { ...event, hash }, export: link };
  });
  put(file, relink(forged));
  const { problems } = await verifyEvidence(file);
  expect(problems.map(({ problem }) => problem).join("\n")).toMatch(/MAC is wrong: it was not recorded by this user/);
});

const SPELLINGS = [
  { title: "CRLF line ends", change: (text: string) => text.replaceAll("\n", "\r\n") },
  { title: "a byte order mark", change: (text: string) => `\uFEFF${text}` },
  { title: "no line end at the end", change: (text: string) => text.trimEnd() },
] as const;

for (const { title, change } of SPELLINGS) {
  test(`an export with ${title} is valid: its content is the same`, async () => {
    const { file, key } = await exported();
    writeFileSync(file, change(readFileSync(file, "utf8")));
    expect(await kindOfFile(file)).toBe("export");
    expect(await verifyEvidence(file)).toMatchObject({ ok: true, records: 5, key });
  });
}

// oxfmt-ignore
const DAMAGE = [
  { title: "a truncated last line",              change: (text: string) => text.slice(0, -200),                                         says: /line 5 is not valid JSON/ },
  { title: "three and a half lines left",        change: (text: string) => text.slice(0, Math.floor(text.length * 0.7)),                says: /line 4 is not valid JSON/ },
  { title: "random bytes as its first line",     change: (text: string) => `\0\u0001\uFFFD${text.slice(text.indexOf("\n"))}`,         says: /line 1 is not valid JSON/ },
  { title: "a line of 100,000 brackets",        change: (text: string) => `${text}${"[".repeat(100_000)}\n`,                           says: /line 6 is not valid JSON/ },
  { title: "a line that is nested too deep",    change: (text: string) => text.replace('"params":{', `"params":{"x":${"[".repeat(100_000)}${"]".repeat(100_000)},`), says: /record 1|changed|valid JSON/ },
  { title: "a duplicate key in a record",        change: (text: string) => text.replace('"tool":"ls"', '"tool":"rm","tool":"ls"'),       says: /line 1 is not valid JSON/ },
  { title: "a duplicate key in an actor",        change: (text: string) => text.replace('"user":"anna"', '"user":"eve","user":"anna"'),  says: /line 1 is not valid JSON/ },
  { title: "a duplicate key, one escaped",       change: (text: string) => text.replace('"user":"anna"', '"us\\u0065r":"eve","user":"anna"'), says: /line 1 is not valid JSON/ },
] as const;

for (const { title, change, says } of DAMAGE) {
  test(`an export with ${title} is reported as damaged, with the line`, async () => {
    const { file } = await exported();
    writeFileSync(file, change(readFileSync(file, "utf8")));
    expect(await kindOfFile(file)).toBe("export");
    const { ok, problems } = await verifyEvidence(file);
    expect(ok).toBe(false);
    expect(problems[0]?.problem).toMatch(says);
  });
}

test("invalid JSON and JSON that is not an export are reported differently", async () => {
  const { file } = await exported();
  writeFileSync(file, `${readFileSync(file, "utf8")}nonsense\n`);
  expect((await verifyEvidence(file)).problems[0]?.problem).toBe("line 6 is not valid JSON");
  writeFileSync(file, '{"event_id":"evt_1"}\n');
  expect(await kindOfFile(file)).toBe("neither");
  writeFileSync(file, "");
  expect(await kindOfFile(file)).toBe("neither");
  expect((await verifyEvidence(file)).problems[0]?.problem).toMatch(/has no records/);
  writeFileSync(file, Buffer.from([0, 255, 254, 10, 13, 0]));
  expect(await kindOfFile(file)).toBe("neither");
});
