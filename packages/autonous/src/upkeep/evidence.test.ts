import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { canonicalJson, FIRST_HASH } from "@autonous/runtime";
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../test/support/scratch.ts";
import { EvidenceWriter, isEvidence, verifyEvidence } from "./evidence.ts";

type Line = Record<string, unknown> & { export: { seq: number; prev_hash: string; hash: string; seal?: object } };

async function exported(): Promise<{ file: string; key: string; lines: Line[] }> {
  const { path } = await scratchFolder();
  const lines: Line[] = [];
  const writer = new EvidenceWriter((line) => lines.push(line as Line));
  for (let i = 0; i < 5; i++) writer.add({ run_id: "run_1", tool: "ls", tool_call_id: `call_${i}` });
  const key = writer.end({ filter: { tool: "ls" }, host: "here", exported_at: "2026-01-01T00:00:00.000Z" }) ?? "";
  const file = join(path, "export.jsonl");
  put(file, lines);
  return { file, key, lines };
}

function put(file: string, lines: readonly object[]): void {
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
}

/** What anybody can do who knows how the lines are linked. */
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

test("an export is checked without anything else, and names the key that signed it", async () => {
  const { file, key } = await exported();
  expect(await isEvidence(file)).toBe(true);
  expect(await verifyEvidence(file)).toEqual({ ok: true, records: 5, problems: [], key });
  expect(await verifyEvidence(file, key)).toMatchObject({ ok: true });
  expect((await verifyEvidence(file, "0".repeat(32))).problems[0]?.problem).toMatch(/signed by key/);
});

// oxfmt-ignore
const TAMPERING = [
  { title: "a changed record",               change: (lines: Line[]) => lines.map((line, i) => (i === 2 ? { ...line, tool: "rm" } : line)),          says: /changed/ },
  { title: "a changed last record",          change: (lines: Line[]) => lines.map((line, i) => (i === 4 ? { ...line, tool: "rm" } : line)),          says: /changed/ },
  { title: "a removed record",               change: (lines: Line[]) => lines.filter((_, i) => i !== 2),                                            says: /expected record 3/ },
  { title: "reordered records",              change: (lines: Line[]) => [lines[1]!, lines[0]!, ...lines.slice(2)],                                  says: /expected record 1/ },
  { title: "a cut tail",                     change: (lines: Line[]) => lines.slice(0, 3),                                                          says: /no seal/ },
  { title: "a record after the seal",        change: (lines: Line[]) => [...lines, lines[0]!],                                                      says: /after the seal/ },
  { title: "a changed record, linked again", change: (lines: Line[]) => relink(lines.map((line, i) => (i === 2 ? { ...line, tool: "rm" } : line))), says: /signature/ },
  { title: "a removed record, linked again", change: (lines: Line[]) => relink(lines.filter((_, i) => i !== 2)),                                    says: /seal is of 5 records|signature/ },
  { title: "a seal on another end",          change: (lines: Line[]) => relink([...lines.slice(0, 3), { ...lines[3]!, export: { ...lines[3]!.export, seal: lines[4]!.export.seal! } }]), says: /seal is of 5|signature/ },
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

test("lines that are not valid JSON, and what is no export, are told apart", async () => {
  const { file } = await exported();
  writeFileSync(file, `${readFileSync(file, "utf8")}nonsense\n`);
  expect((await verifyEvidence(file)).problems[0]?.problem).toBe("line 6 is not valid JSON");
  writeFileSync(file, '{"event_id":"evt_1"}\n');
  expect(await isEvidence(file)).toBe(false);
  writeFileSync(file, "");
  expect(await isEvidence(file)).toBe(false);
});
