import type { ApprovalRequest } from "@autonous/runtime";
import { expect, test } from "vitest";
import { requestLines } from "./request-lines.ts";
import { widthOf } from "../words/width.ts";

const NOW = Date.parse("2026-01-31T12:00:00.000Z");

const REQUEST: ApprovalRequest = {
  approval_id: "apr_1",
  tool_call_id: "call_1",
  run_id: "run_1",
  trace_id: "trace_1",
  task_id: null,
  chat: null,
  user: null,
  tool: "bash",
  version: "1.0.0",
  risk: "high",
  reason: 'Running "git push --force" rewrites what others have',
  rule: "builtin:risky_commands",
  params: { cmd: "git push --force" },
  args_json: '{"cmd":"git push --force"}',
  touches: [{ path: ".", access: "write" }],
  commands: [{ command: "git push --force", folder: "/srv/work", network: true, found: "it rewrites history" }],
  scope: "call",
  offers: [{ offer: "exact", words: "exactly this call again", pattern: { kind: "exact", call_digest: "00" } }],
  digest: "0123456789abcdef".repeat(4),
  call_digest: "1".repeat(64),
  policy_version: "2".repeat(64),
  requested_at: "2026-01-31T12:00:00.000Z",
  expires_at: "2026-01-31T12:05:00.000Z",
  replay: "",
};

function shown(request: Partial<ApprovalRequest>, { columns = 80, rows = 24, whole = false } = {}): string[] {
  const screen = { columns, rows, paint: (_: string, text: string) => text };
  return [...requestLines({ ...REQUEST, ...request }, { screen, whole, now: NOW, reserved: 8 })];
}

test("a request shows the call, the reason, the rule, the affected paths and the deadline", () => {
  expect(shown({})).toEqual([
    "Allow bash?",
    "  risk       high",
    '  why        Running "git push --force" rewrites what others have',
    "  rule       builtin:risky_commands",
    "  command    git push --force",
    "             in /srv/work, with network: it rewrites history",
    "  touches    write .",
    '  arguments  {"cmd":"git push --force"}',
    "  digest     0123456789ab…",
    "  answer     within 5 minutes",
    "  elsewhere  autonous approvals grant apr_1",
  ]);
});

test("the digest is shown in short, and in full with the full request", () => {
  const whole = "0123456789abcdef".repeat(4);
  for (const columns of [80, 200]) {
    expect(shown({}, { columns })).toContain("  digest     0123456789ab…");
    expect(shown({}, { columns, whole: true })).toContain(`  digest     ${whole}`);
  }
});

test("the labels of the tool are shown beside the risk", () => {
  expect(shown({ labels: ["destructive"] })).toContain("  risk       high, destructive");
  expect(shown({ labels: ["read_only"], risk: "low" })).toContain("  risk       low, read-only");
});

test("a script is shown with the hash of its content", () => {
  const script = { skill: "deploy", path: "scripts/run.sh", sha256: "ab".repeat(32) };
  expect(shown({ script })).toEqual(
    expect.arrayContaining([
      "  script     scripts/run.sh of the skill deploy",
      `             sha256 ${"ab".repeat(32)}`.slice(0, 80),
    ]),
  );
});

const DIFF = `--- a/a.txt\n+++ b/a.txt\n@@ -1,40 +1,40 @@\n${Array.from({ length: 40 }, (_, i) => `-old ${i}\n+new ${i}\n`).join("")}`;

test("a long change is shown as far as it fits, and in full on demand", () => {
  const changes = [{ path: "a.txt", diff: DIFF, truncated: false }];
  const short = shown({ commands: [], changes }, { rows: 30 });
  expect(short.length).toBe(30 - 8);
  expect(short).toContain("  +new 0");
  expect(short.join("\n")).toMatch(/… \d+ more lines: d shows all/);
  const whole = shown({ commands: [], changes }, { rows: 30, whole: true });
  expect(whole).toContain("  +new 39");
  expect(whole.join("\n")).not.toContain("more lines");
});

test("a request that was truncated earlier says so", () => {
  const changes = [{ path: "a.txt", diff: "+x\n", truncated: true }];
  expect(shown({ changes }, { whole: true })).toContain("  … the diff is too long to show in full");
});

test("everything fits even the narrowest terminal, and nothing controls it", () => {
  const hostile = "\u001b]0;x\u0007\u001b[2K\r\n\u202e文件 文件\t\u200b".repeat(40);
  const request: Partial<ApprovalRequest> = {
    tool: "t".repeat(100),
    reason: hostile,
    rule: hostile,
    touches: [{ path: hostile, access: "write" }],
    commands: [{ command: hostile, folder: hostile, network: false, found: hostile }],
    changes: [{ path: hostile, diff: `+${hostile}\n-${hostile}`, truncated: false }],
    script: { skill: hostile, path: hostile, sha256: hostile },
    params: { a: hostile },
    args_json: JSON.stringify({ a: hostile }),
  };
  for (const columns of [30, 40, 55, 56, 80, 200]) {
    for (const whole of [false, true]) {
      const lines = shown(request, { columns, whole });
      expect(lines.filter((line) => widthOf(line) > columns)).toEqual([]);
      // oxlint-disable-next-line no-control-regex
      expect(lines.join("")).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u200b\u202e]/);
    }
  }
});

test("look-alike letters are escaped", () => {
  expect(shown({ args_json: '{"url":"https://p\u0430ypal.com"}' }).join("\n")).toContain(
    '{"url":"https://p\\u{430}ypal.com"}',
  );
});

test("very long arguments are shown in part, quickly", () => {
  const args_json = JSON.stringify({ content: "x".repeat(20_000_000) });
  const lines = shown({ args_json });
  expect(lines.length).toBeLessThan(20);
  expect(lines.join("\n")).toMatch(/… \d+ more lines: d shows all/);
});

// oxfmt-ignore
const TIMES = [
  { at: "2026-01-31T12:00:01.000Z", says: "within 1 second" },
  { at: "2026-01-31T12:01:30.000Z", says: "within 90 seconds" },
  { at: "2026-01-31T14:00:00.000Z", says: "within 2 hours" },
  { at: "2026-02-03T12:00:00.000Z", says: "within 3 days" },
  { at: "2026-01-31T11:00:00.000Z", says: "within 0 seconds" },
];

for (const { at, says } of TIMES) {
  test(`what is good until ${at} has to be answered ${says}`, () => {
    expect(shown({ expires_at: at }).at(-2)).toBe(`  answer     ${says}`);
  });
}
