import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { autonous, shell, start } from "./support/cli.ts";
import { scratchFolder, stateOf } from "./support/scratch.ts";

const TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

function linesOf(stdout: string): unknown[] {
  expect(stdout === "" || stdout.endsWith("\n")).toBe(true);
  return stdout
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as unknown);
}

interface Line {
  readonly title: string;
  readonly bytes: string | Buffer;
  /** What `call` and `policy explain` answer with; undefined: it is a good line. */
  readonly code?: string;
  readonly says?: RegExp;
}

// oxfmt-ignore
const LINES: readonly Line[] = [
  { title: "a call",                   bytes: '{"tool":"ls","args":{"path":"."}}' },
  { title: "no JSON",                  bytes: "not json",                                 code: "InvalidArguments", says: /^The line is not valid JSON \(/ },
  { title: "a secret, not in JSON",    bytes: `{"tool":"ls","args":${TOKEN}`,             code: "InvalidArguments", says: /^The line is not valid JSON \([^_]*\)$/ },
  { title: "nothing",                  bytes: "",                                         code: "InvalidArguments", says: /^The line is empty$/ },
  { title: "blanks",                   bytes: "  \t ",                                    code: "InvalidArguments", says: /^The line is empty$/ },
  { title: "the line end of Windows",  bytes: '{"tool":"ls"}\r' },
  { title: "a number",                 bytes: "5",                                        code: "InvalidArguments", says: /must name one tool/ },
  { title: "null",                     bytes: "null",                                     code: "InvalidArguments", says: /must name one tool/ },
  { title: "a list",                   bytes: '[{"tool":"ls"}]',                          code: "InvalidArguments", says: /must name one tool/ },
  { title: "an object without a tool", bytes: '{"args":{}}',                              code: "InvalidArguments", says: /must name one tool/ },
  { title: "a tool not named in text", bytes: '{"tool":["ls"]}',                          code: "InvalidArguments", says: /must name one tool/ },
  { title: "two tools",                bytes: '{"tool":"ls","name":"rm"}',                code: "InvalidArguments", says: /must name one tool/ },
  { title: "an empty name",            bytes: '{"tool":""}',                              code: "InvalidArguments", says: /name/ },
  { title: "an unknown tool",          bytes: '{"tool":"lss","args":{}}',                 code: "UnknownTool",      says: /"ls"/ },
  { title: "arguments of another kind", bytes: '{"tool":"ls","args":"."}',                code: "InvalidArguments", says: /object/ },
  { title: "an extra argument",        bytes: '{"tool":"ls","args":{"pth":"."}}',         code: "InvalidArguments", says: /pth/ },
  { title: "an extra field",           bytes: '{"tool":"ls","argz":{}}',                  code: "InvalidArguments", says: /argz/ },
  { title: "a prototype",              bytes: '{"tool":"ls","args":{"__proto__":{"path":"/"}}}', code: "InvalidArguments", says: /__proto__/ },
  { title: "a lone surrogate",         bytes: '{"tool":"ls","args":{"path":"\\ud800"}}',  code: "InvalidArguments", says: /path/ },
  { title: "a NUL",                    bytes: '{"tool":"ls","args":{"path":"a\\u0000b"}}', code: "InvalidArguments", says: /path/ },
  { title: "nesting without end",      bytes: `{"tool":"ls","args":${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}}`, code: "InvalidArguments" },
  { title: "bytes that are not UTF-8", bytes: Buffer.from('{"tool":"l\xff"}', "latin1"),  code: "InvalidArguments", says: /^The line is not UTF-8$/ },
  { title: "a megabyte",               bytes: `{"tool":"ls","args":{"path":"${"x".repeat(1_000_000)}"}}`, code: "InvalidArguments" },
  { title: "outside",                  bytes: '{"tool":"ls","args":{"path":"/"}}',        code: "PathTraversalBlocked", says: /outside/ },
  { title: "the last, without an end", bytes: '{"tool":"list_dir","args":{"target_directory":"."}}' },
];

const INPUT = Buffer.concat(
  LINES.flatMap(({ bytes }, i) => [Buffer.from(bytes), Buffer.from(i === LINES.length - 1 ? "" : "\n")]),
);

test("call - answers every line, good or bad, with one result in its place, and records it", async () => {
  const { path: cwd, make } = await scratchFolder();
  await make({ "a.txt": "" });

  const { code, stdout, stderr } = await autonous(["call", "-"], { cwd, input: INPUT });

  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const results = linesOf(stdout) as { ok: boolean; error: { code: string; message: string } | null }[];
  expect(results.map((result, i) => [LINES[i]?.title, result.error?.code])).toEqual(
    LINES.map(({ title, code: wanted }) => [title, wanted]),
  );
  for (const [i, { says }] of LINES.entries()) {
    if (says !== undefined) expect(results[i]?.error?.message).toMatch(says);
  }
  expect(stdout).not.toContain(TOKEN.slice(0, 12));
  const shown = await autonous(["audit", "export"], { cwd });
  expect(linesOf(shown.stdout)).toHaveLength(LINES.length);
});

test("policy explain - answers every line with one decision in its place, and records nothing", async () => {
  const { path: cwd } = await scratchFolder();

  const { code, stdout, stderr } = await autonous(["policy", "explain", "-"], { cwd, input: INPUT });

  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const decisions = linesOf(stdout) as { effect: string; code?: string; reason: string }[];
  expect(decisions).toHaveLength(LINES.length);
  for (const [i, { title, code: wanted, says }] of LINES.entries()) {
    const decision = decisions[i];
    expect([title, decision?.effect]).toEqual([title, wanted === undefined ? "ALLOW" : "DENY"]);
    if (says !== undefined) expect(decision?.reason).toMatch(says);
  }
  const shown = await autonous(["audit", "export"], { cwd });
  expect(shown.stdout).toBe("");
});

test("redact - answers every line with one line in its place", async () => {
  const { path: cwd } = await scratchFolder();
  const lines = [
    `{"text":"token ${TOKEN} end"}`,
    '{"text":"nothing to hide","more":1}',
    "",
    "{",
    '{"txt":"x"}',
    "7",
    '{"text":5}',
    `{"text":"${"y".repeat(3_000_000)}"}\r`,
    '{"text":""}',
  ];

  const { code, stdout, stderr } = await autonous(["redact", "-"], { cwd, input: lines.join("\n") });

  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const refused = (message: unknown): object => ({ error: { code: "InvalidArguments", message } });
  const wrongShape = refused('The line has to be {"text":"…"}');
  expect(linesOf(stdout)).toEqual([
    { text: "token ***REDACTED*** end", redacted: true },
    { text: "nothing to hide", redacted: false },
    refused("The line is empty"),
    refused(expect.stringMatching(/^The line is not valid JSON/)),
    wrongShape,
    wrongShape,
    wrongShape,
    { text: "y".repeat(3_000_000), redacted: false },
    { text: "", redacted: false },
  ]);
});

test("with - and empty or closed standard input nothing is printed", async () => {
  const { path: cwd } = await scratchFolder();
  for (const words of ["call -", "policy explain -", "redact -", "redact"]) {
    for (const input of ["</dev/null", "<&-"]) {
      const { code, stdout, stderr } = await shell(`autonous ${words} ${input}`, { cwd });
      expect({ words, code, stdout, stderr }).toEqual({ words, code: 0, stdout: "", stderr: "" });
    }
  }
});

test("each line is answered before the next one comes", async () => {
  const { path: cwd } = await scratchFolder();
  for (const [words, line] of [
    ["call -", '{"tool":"ls"}'],
    ["policy explain -", '{"tool":"ls"}'],
    ["redact -", '{"text":"x"}'],
  ] as const) {
    const { child, lines, ended } = start(words.split(" "), { cwd });
    child.stdin.write(`${line}\n`);
    await lines(1);
    child.stdin.write(`${line}\n${line.slice(0, 5)}`);
    await lines(2);
    child.stdin.end(`${line.slice(5)}\n`);
    expect(await lines(3)).toHaveLength(3);
    expect((await ended).code).toBe(0);
  }
});

test("the arguments of one call may come from standard input", async () => {
  const { path: cwd, make } = await scratchFolder();
  await make({ "in/b.txt": "" });

  expect(await autonous(["call", "ls", "-"], { cwd, input: '{"path":\n"in"}\n' })).toMatchObject({
    code: 0,
    stdout: "b.txt\n",
  });
  expect(await autonous(["call", "ls", "-"], { cwd, input: "" })).toMatchObject({ code: 2, stdout: "" });
});

test("redact streams megabytes and removes the secrets", async () => {
  const { path: cwd } = await scratchFolder();
  const line = `2026-01-31 INFO request with Authorization: Bearer ${TOKEN} took 12 ms, größer als sonst\n`;
  const text = line.repeat(60_000); // some 6 MB
  const env = { MY_API_KEY: "correct-horse-battery-staple" };

  const { code, stdout } = await autonous(["redact"], { cwd, env, input: `${text}correct-horse-battery-staple` });

  expect(code).toBe(0);
  expect(stdout).not.toContain(TOKEN);
  const lines = stdout.split("\n");
  expect(lines).toHaveLength(60_001);
  expect(new Set(lines.slice(0, -1)).size).toBe(1);
  expect(lines[0]).toContain("größer als sonst");
  expect(lines.at(-1)).toBe("***REDACTED***");
});

test("a reader that closes the pipe ends it without an error", async () => {
  const { path: cwd, make } = await scratchFolder();
  await make({ "a.txt": "", calls: '{"tool":"ls"}\n'.repeat(300), text: '{"text":"x"}\n'.repeat(100_000) });
  // More than a pipe holds, so that each of them has to notice that its reader has gone.
  await shell("autonous call - < calls > /dev/null", { cwd });
  for (const line of [
    "autonous call - < calls | head -1",
    "autonous policy explain - < calls | head -1",
    "autonous redact - < text | head -1",
    "autonous redact < text | head -1",
    "autonous audit export | head -1",
    "autonous run /ls . 2>&1 | head -1",
  ]) {
    const { code, stdout, stderr } = await shell(`set -o pipefail; ${line}`, { cwd });
    expect({ line, code, stderr }).toEqual({ line, code: 0, stderr: "" });
    expect(stdout.split("\n")).toHaveLength(2);
  }
  const [run_id = ""] = readdirSync(join(stateOf(cwd), "runs"));
  expect(readFileSync(join(stateOf(cwd), "runs", run_id, "events.jsonl"), "utf8").endsWith("\n")).toBe(true);
  expect((await autonous(["audit", "verify"], { cwd })).code).toBe(0);
});

test("a reader that is gone ends it although more input may come", async () => {
  const { path: cwd } = await scratchFolder();
  for (const [words, line] of [
    ["call -", '{"tool":"ls"}\n'],
    ["redact -", '{"text":"x"}\n'],
    ["redact", "x\n".repeat(100_000)],
  ] as const) {
    const { child, lines, ended } = start(words.split(" "), { cwd });
    child.stdin.write(line);
    await lines(1);
    child.stdout.destroy();
    child.stdin.write(line);
    expect(await ended).toMatchObject({ code: 0, signal: null, stderr: "" });
  }
  const { child, lines, ended } = start(["events", "tail", "--follow"], { cwd });
  await lines(1);
  child.stdout.destroy();
  await autonous(["call", "ls"], { cwd });
  expect(await ended).toMatchObject({ code: 0, signal: null, stderr: "" });
});

test("output that cannot be written is reported as a failure", async () => {
  const { path: cwd, make } = await scratchFolder();
  await make({ "a.txt": "" });
  closeSync(openSync("/dev/full", "r"));
  for (const line of [
    "autonous call ls > /dev/full",
    "autonous call ls --json > /dev/full",
    "autonous --help > /dev/full",
  ]) {
    const { code, stderr } = await shell(line, { cwd });
    expect({ line, code }).toEqual({ line, code: 1 });
    expect(stderr).toContain("Cannot write the output (ENOSPC)");
  }
});
