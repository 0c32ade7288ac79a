import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import type { RuntimeEvent, ToolCallResult } from "@autonous/runtime";
import type { AuditRecord } from "@autonous/runtime/internal";
import { expect, test } from "vitest";
import { openStore } from "../packages/autonous/src/store/open-store.ts";
import { autonous, start } from "./support/cli.ts";
import type { Ended } from "./support/cli.ts";
import { scratchFolder, stateOf } from "./support/scratch.ts";
import type { Folder } from "./support/scratch.ts";

/** A folder in which a script was run, one call refused and one failed. The ids are those of its two runs. */
async function worked(): Promise<Folder & { readonly script_run: string; readonly call_run: string }> {
  const folder = await scratchFolder();
  const { path: cwd } = folder;
  const ask = (...paths: string[]): unknown => ({
    reply: { tool_calls: paths.map((path) => ({ name: "ls", arguments: { path } })) },
  });
  await folder.make({
    "a.txt": "",
    "in/b.txt": "",
    "script.json": JSON.stringify([
      ask(".", "in"),
      ask("/etc"),
      { text: "no JSON at all" },
      { reply: { final_answer: "two\nlines" } },
    ]),
  });
  const ran = await autonous(["run", "look", "around", "--json"], {
    cwd,
    env: { AUTONOUS_MODEL: "script:script.json" },
  });
  const script_run = (lastLine(ran) as { run_id: string }).run_id;
  await autonous(["call", "ls", '{"path":"gone"}'], { cwd });
  const call_run = readdirSync(join(stateOf(cwd), "runs")).find((run_id) => run_id !== script_run) ?? "";
  return { ...folder, script_run, call_run };
}

function linesOf<T>({ stdout }: Ended): T[] {
  return stdout
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as T);
}

function lastLine(ended: Ended): unknown {
  return linesOf(ended).at(-1);
}

test("run --json gives each event as it is recorded, and the result last", async () => {
  const { path: cwd, make } = await scratchFolder();
  await make({ "a.txt": "" });

  const ended = await autonous(["run", "/ls", ".", "--json"], { cwd });

  expect({ code: ended.code, stderr: ended.stderr }).toEqual({ code: 0, stderr: "" });
  const events = linesOf<RuntimeEvent>(ended).slice(0, -1);
  expect(events.map(({ type }) => type)).toEqual([
    "agent.started",
    "turn.started",
    "model.completed",
    "tool_call.started",
    "tool_call.completed",
    "turn.completed",
    "turn.started",
    "model.completed",
    "turn.completed",
    "agent.completed",
  ]);
  const [run_id = ""] = readdirSync(join(stateOf(cwd), "runs"));
  const file = readFileSync(join(stateOf(cwd), "runs", run_id, "events.jsonl"), "utf8");
  expect(
    file
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual(events);
  expect(lastLine(ended)).toEqual({
    ok: true,
    outcome: "completed",
    answer: "a.txt",
    error: null,
    turns: 2,
    calls: 1,
    usage: { input_tokens: 0, output_tokens: 0, cached_input_tokens: 0, cost: 0 },
    run_id,
  });
});

test("run shows turns and calls with their outcome on stderr, and the answer alone on stdout", async () => {
  const { path: cwd, make } = await scratchFolder();
  const steps = [
    { reply: { tool_calls: [{ name: "ls", arguments: {} }] } },
    { reply: { tool_calls: [{ name: "ls", arguments: { path: "/" } }] } },
    { text: "oops" },
    { reply: { final_answer: "That is all" } },
  ];
  await make({ "s.json": JSON.stringify(steps) });

  const { code, stdout, stderr } = await autonous(["run", "--model", "script:s.json", "look"], { cwd });

  expect({ code, stdout }).toEqual({ code: 0, stdout: "That is all\n" });
  const shown = stderr.replaceAll(/\d+ ms/g, "N ms").replaceAll(/run_\w+/g, "RUN");
  expect(shown.split("\n")).toEqual([
    "turn 1",
    "  ok N ms  ls .",
    "turn 2",
    "  failed N ms  ls /",
    expect.stringMatching(/^ {4}PathTraversalBlocked: /),
    "turn 3",
    "  invalid reply",
    expect.stringMatching(/^ {4}\S/),
    "turn 4",
    "4 turns, 2 calls; autonous events tree RUN shows them",
    "",
  ]);
  expect(stderr).not.toContain("\u001b");
});

test("run stops at its limit, reports which, and keeps the finished work", async () => {
  const { path: cwd, make } = await scratchFolder();
  const ask = { reply: { tool_calls: [{ name: "ls", arguments: {} }] } };
  await make({ "s.json": JSON.stringify([ask, ask, ask]) });

  const words = ["run", "--model", "script:s.json", "--max-turns", "2", "again and again"];
  const people = await autonous(words, { cwd });
  const programs = await autonous([...words, "--json"], { cwd, env: { AUTONOUS_MAX_TURNS: "1" } });

  expect({ code: people.code, stdout: people.stdout }).toEqual({ code: 1, stdout: "" });
  expect(people.stderr).toMatch(/LimitReached: .*max_turns.* is 2/);
  expect(people.stderr).toContain("Raise the limit, or use a smaller task");
  expect(programs.code).toBe(1);
  expect(lastLine(programs)).toMatchObject({
    ok: false,
    outcome: "failed",
    turns: 2,
    calls: 2,
    error: { code: "LimitReached" },
  });
});

test("events tree shows agent, turns and calls with times and outcomes, for a run and for its task", async () => {
  const { path: cwd, script_run } = await worked();

  const people = await autonous(["events", "tree", script_run], { cwd });
  const programs = await autonous(["events", "tree", script_run, "--json"], { cwd });

  expect(people.code).toBe(0);
  expect(people.stdout.replaceAll(/\d+ ms/g, "N ms").split("\n")).toEqual([
    script_run,
    "└─ agent look around · completed · N ms",
    "   ├─ turn 1 · completed · N ms",
    "   │  ├─ model.completed asks for ls, ls",
    '   │  ├─ tool_call ls · completed · N ms · {"path":"."}',
    '   │  └─ tool_call ls · completed · N ms · {"path":"in"}',
    "   ├─ turn 2 · completed · N ms",
    "   │  ├─ model.completed asks for ls",
    expect.stringMatching(/^ {3}│ {2}└─ tool_call.failed ls · PathTraversalBlocked: /),
    "   ├─ turn 3 · completed · N ms",
    expect.stringMatching(/^ {3}│ {2}└─ model.completed cannot be used: /),
    "   └─ turn 4 · completed · N ms",
    "      └─ model.completed answers: two lines",
    "",
  ]);
  const { run_id, tree } = JSON.parse(programs.stdout) as { run_id: string; tree: { event: RuntimeEvent }[] };
  expect(run_id).toBe(script_run);
  expect(tree).toHaveLength(1);
  const task_id = tree[0]?.event.task_id ?? "";
  expect((await autonous(["events", "tree", task_id], { cwd })).stdout).toBe(people.stdout);
});

test("events tail shows the latest events of all runs or of one, and follows", async () => {
  const { path: cwd, script_run, call_run } = await worked();

  const three = await autonous(["events", "tail", "--lines", "3"], { cwd });
  const one = await autonous(["events", "tail", script_run, "--json"], { cwd });
  const all = await autonous(["events", "tail", "--lines", "1000", "--json"], { cwd });

  expect(three.stdout.split("\n")).toHaveLength(4);
  expect(three.stdout).toMatch(
    /^\S+Z agent\.completed {2}two lines\n\S+Z tool_call\.started .*\n\S+Z tool_call\.failed {2}ls .*NotFound/,
  );
  expect(new Set(linesOf<RuntimeEvent>(one).map(({ run_id }) => run_id))).toEqual(new Set([script_run]));
  const seen = linesOf<RuntimeEvent>(all);
  expect(seen.map(({ event_id }) => event_id)).toEqual(seen.map(({ event_id }) => event_id).sort());
  expect(new Set(seen.map(({ run_id }) => run_id))).toEqual(new Set([script_run, call_run]));

  const { child, lines, ended } = start(["events", "tail", "--follow", "--lines", "1", "--json"], { cwd });
  await lines(1);
  await autonous(["call", "ls"], { cwd });
  const types = (await lines(3)).map((line) => (JSON.parse(line) as RuntimeEvent).type);
  expect(types).toEqual(["tool_call.failed", "tool_call.started", "tool_call.completed"]);
  child.kill("SIGINT");
  expect((await ended).code).toBe(130);
});

/** Checks an export where there is neither its state folder nor its user's key. */
async function verifiedElsewhere(content: string | Buffer, ...options: string[]): Promise<Ended> {
  const { path } = await scratchFolder();
  const file = join(path, "export.jsonl");
  writeFileSync(file, content);
  const env = { HOME: path, XDG_STATE_HOME: join(path, "state") };
  return await autonous(["audit", "verify", file, ...options], { cwd: path, env });
}

test("a truncated export is detected on another machine, with a message and exit code 1", async () => {
  const { path: cwd } = await worked();
  const { stdout, stderr } = await autonous(["audit", "export"], { cwd });
  const [, key = ""] =
    /^Signed with key ([0-9a-f]{32}); check with: autonous audit verify --key \1 <file>\n$/.exec(stderr) ?? [];
  expect(await verifiedElsewhere(stdout, "--key", key)).toMatchObject({ code: 0, stderr: "" });
  const cut = await verifiedElsewhere(`${stdout.trimEnd().split("\n").slice(0, 2).join("\n")}\n`);
  expect(cut).toMatchObject({ code: 1, stdout: expect.stringMatching(/no seal at its end/) as string });
});

// oxfmt-ignore
const NEITHER = [
  { title: "an empty file",                       content: () => "" },
  { title: "a file of bytes",                     content: () => Buffer.from([0, 1, 2, 255, 254, 10, 0, 10]) },
  { title: "an export cut within its first line", content: (text: string) => text.slice(0, 100) },
  { title: "an export without its first bytes",   content: (text: string) => text.split("\n")[0]?.slice(1) ?? "" },
  { title: "a line of 80 million characters",     content: () => `"${"x".repeat(80_000_000)}"\n` },
  { title: "lines that are numbers",              content: () => "1\n2\n3\n" },
] as const;

test("a file that is neither an export nor a record is rejected with a message, never reported as intact", async () => {
  const { path: cwd } = await worked();
  const { stdout: text } = await autonous(["audit", "export", "--tool", "ls", "--outcome", "denied"], { cwd });
  for (const { title, content } of NEITHER) {
    const { code, stdout, stderr } = await verifiedElsewhere(content(text));
    expect({ title, code, stderr }).toEqual({ title, code: 1, stderr: "" });
    expect(stdout, title).toMatch(/neither a record nor an export|is not valid JSON|is not an event|too long/);
    expect(stdout, title).toMatch(/damaged: /);
    expect(stdout.length, title).toBeLessThan(5000);
  }
});

test("an export is compared with the original record, if available, event by event", async () => {
  const { path: cwd, script_run } = await worked();
  const { stdout: text } = await autonous(["audit", "export"], { cwd });
  const file = join(cwd, "export.jsonl");
  writeFileSync(file, text);
  const same = await autonous(["audit", "verify", file], { cwd });
  expect(same).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/Compared with the original record in ".*": 4 events/) as string,
  });
  expect(await verifiedElsewhere(text)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/Not compared/) as string,
  });

  const record = join(stateOf(cwd), "runs", script_run, "events.jsonl");
  const lines = readFileSync(record, "utf8").trimEnd().split("\n");
  const changed = lines.map((line) => line.replace(/"hash":"[0-9a-f]{8}/, '"hash":"00000000'));
  writeFileSync(record, `${changed.join("\n")}\n`);
  const other = await autonous(["audit", "verify", file], { cwd });
  expect(other).toMatchObject({ code: 1, stdout: expect.stringMatching(/one of the two was changed/) as string });
  writeFileSync(record, `${lines.slice(0, 3).join("\n")}\n`);
  const cut = await autonous(["audit", "verify", file], { cwd });
  expect(cut).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/is not in the record here: it was truncated/) as string,
  });
});

test("audit show and audit export find records by tool, outcome, time and run", async () => {
  const { path: cwd, script_run, call_run } = await worked();
  const year = new Date().getUTCFullYear();
  // oxfmt-ignore
  const cases = [
    { filter: [],                                    found: 4 },
    { filter: ["--tool", "ls"],                      found: 4 },
    { filter: ["--tool", "rm"],                      found: 0 },
    { filter: ["--outcome", "ok"],                   found: 2 },
    { filter: ["--outcome", "denied"],               found: 1 },
    { filter: ["--outcome", "failed"],               found: 1 },
    { filter: ["--actor", userInfo().username],      found: 4 },
    { filter: ["--actor", "another-user"],           found: 0 },
    { filter: ["--channel", "cli"],                  found: 4 },
    { filter: ["--channel", "telegram"],             found: 0 },
    { filter: ["--chat", "chat_1"],                  found: 0 },
    { filter: ["--run", script_run],                 found: 3 },
    { filter: ["--run", call_run],                   found: 1 },
    { filter: ["--since", `${year - 1}-01-01`],      found: 4 },
    { filter: ["--since", `${year + 1}-01-31T12:00:00Z`], found: 0 },
  ];
  for (const { filter, found } of cases) {
    const [shown, exported] = await Promise.all([
      autonous(["audit", "show", "--json", ...filter], { cwd }),
      autonous(["audit", "export", ...filter], { cwd }),
    ]);
    const records = JSON.parse(shown.stdout) as AuditRecord[];
    expect({ filter, found: records.length }).toEqual({ filter, found });
    const lines = linesOf<AuditRecord & { readonly event?: object; readonly export?: object }>(exported);
    expect(lines.map(({ event: _event, export: _link, ...record }) => record).reverse()).toEqual(records);
    if (found > 0) expect(await verifiedElsewhere(exported.stdout)).toMatchObject({ code: 0 });
  }
  const limited = await autonous(["audit", "show", "--limit", "2"], { cwd });
  expect(limited.stdout.split("\n").map((line) => line.split(/ {2,}/).slice(1, 3))).toEqual([
    ["TOOL", "OUTCOME"],
    ["ls", "NotFound"],
    ["ls", "PathTraversalBlocked"],
    [],
  ]);
  const none = await autonous(["audit", "show", "--tool", "rm"], { cwd });
  expect(none).toMatchObject({ code: 0, stdout: "", stderr: "No matching record\n" });
}, 240_000); // some fifty starts of the program

test("without a record nothing is shown, and nothing is created", async () => {
  const { path: cwd } = await scratchFolder();
  for (const words of ["audit verify", "audit show", "audit export", "events tail"]) {
    expect({ words, ...(await autonous(words.split(" "), { cwd })) }).toMatchObject({ words, code: 0 });
  }
  expect(readdirSync(cwd)).toEqual([]);
});

/** Ways to tamper with a record, and what `audit verify` then says of it. */
const TAMPERED = [
  {
    title: "changed",
    change: (lines: string[]) => lines.with(3, (lines[3] ?? "").replace("path", "pth")),
    says: /record 4: the content was changed/,
  },
  {
    title: "removed",
    change: (lines: string[]) => lines.toSpliced(4, 1),
    says: /record 6: expected record 5 here, found 6/,
  },
  {
    title: "reordered",
    change: (lines: string[]) => [...lines.slice(0, 2), lines[3] ?? "", lines[2] ?? "", ...lines.slice(4)],
    says: /record 4: expected record 3 here, found 4/,
  },
  { title: "cut", change: (lines: string[]) => lines.slice(0, -2), says: /the tail was cut/ },
  {
    title: "made of something else",
    change: (lines: string[]) => lines.with(2, "null"),
    says: /record 3: line 3 is not (?:an event|valid JSON)/,
  },
];

test("audit verify reports which record was tampered with, and how: exit 1", async () => {
  const { path: cwd, script_run } = await worked();
  const file = join(stateOf(cwd), "runs", script_run, "events.jsonl");
  const good = readFileSync(file, "utf8");
  for (const path of [[], [stateOf(cwd)], [file], [join(file, "..")]]) {
    expect({ path, ...(await autonous(["audit", "verify", ...path], { cwd })) }).toMatchObject({ path, code: 0 });
  }
  for (const { title, change, says } of TAMPERED) {
    writeFileSync(file, `${change(good.trimEnd().split("\n")).join("\n")}\n`);
    const [people, programs, shown] = await Promise.all([
      autonous(["audit", "verify"], { cwd }),
      autonous(["audit", "verify", "--json"], { cwd }),
      autonous(["audit", "show"], { cwd }),
    ]);
    expect({ title, code: people.code }).toEqual({ title, code: 1 });
    expect(people.stdout).toMatch(says);
    expect(people.stdout).toContain(`${script_run} record`);
    expect(programs.code).toBe(1);
    const verdict = JSON.parse(programs.stdout) as { ok: boolean; problems: { seq: number; run_id: string }[] };
    expect(verdict.ok).toBe(false);
    expect(verdict.problems[0]?.run_id).toBe(script_run);
    expect({ title, code: shown.code }).toEqual({ title, code: 0 });
  }
  writeFileSync(file, good);
  expect((await autonous(["audit", "verify"], { cwd })).code).toBe(0);
  rmSync(join(file, ".."), { recursive: true });
  const gone = await autonous(["audit", "verify"], { cwd });
  expect(gone.code).toBe(1);
  expect(gone.stdout).toContain(`${script_run} record 0: the record of this run is missing`);
});

test("two commands in one folder run in parallel, each with its own record", async () => {
  const { path: cwd } = await scratchFolder();
  for (const _ of [1, 2]) expect((await autonous(["call", "ls"], { cwd })).code).toBe(0);
  expect(readdirSync(join(stateOf(cwd), "runs"))).toHaveLength(2);
  expect((await autonous(["audit", "verify"], { cwd })).stdout).toBe("Audit log OK: 4 records, chain intact\n");
});

test("tasks list and tasks show print the service's queue", async () => {
  const { path: cwd } = await scratchFolder();
  const store = await openStore({ file: join(stateOf(cwd), "autonous.db"), clock: Date.now });
  const { task_id } = await store.inbox.ingest({ source: "http", lane: "one", text: "first\nthing" });
  const { task_id: second } = await store.inbox.ingest({ source: "http", lane: "two", text: "x".repeat(200) });
  await store.close();

  const list = await autonous(["tasks", "list"], { cwd });
  const done = await autonous(["tasks", "list", "--state", "done", "--json"], { cwd });
  const limited = await autonous(["tasks", "list", "--limit", "1", "--json"], { cwd });
  const shown = await autonous(["tasks", "show", task_id], { cwd });
  const document = await autonous(["tasks", "show", task_id, "--json"], { cwd });
  const missing = await autonous(["tasks", "show", "task_none", "--json"], { cwd });

  const rows = list.stdout.split("\n").slice(0, -1);
  expect(rows.map((row) => row.split(/ {2,}/)[0])).toEqual(["TASK", second, task_id]);
  expect(rows[2]).toMatch(/queued {2}one {3}first thing$/);
  expect(rows[1]).toMatch(/ x{59}…$/);
  expect(done.stdout).toBe("[]\n");
  expect(JSON.parse(limited.stdout)).toMatchObject([{ task_id: second }]);
  expect(shown.stdout).toContain(`task      ${task_id}`);
  expect(JSON.parse(document.stdout)).toMatchObject({ task: { task_id, state: "queued", text: "first\nthing" } });
  expect(missing.code).toBe(2);
  expect(JSON.parse(missing.stdout)).toMatchObject({ ok: false, error: { code: "UsedWrongly" } });
});

test("an unusable store is reported with what to do", async () => {
  const { path: cwd } = await scratchFolder();
  mkdirSync(stateOf(cwd), { recursive: true });
  writeFileSync(join(stateOf(cwd), "autonous.db"), "this is not a database".repeat(100));

  const list = await autonous(["tasks", "list", "--json"], { cwd });
  const doctor = await autonous(["doctor"], { cwd });

  expect(list.code).toBe(1);
  const { error } = JSON.parse(list.stdout) as { error: { code: string; message: string } };
  expect(error).toEqual({ code: "Corrupt", message: expect.stringContaining("restore a backup") as string });
  expect(doctor.code).toBe(1);
  expect(doctor.stdout).toMatch(/^failed +store/m);
});

test("doctor shows every check, and every setting with where it came from", async () => {
  const { path: cwd, make } = await scratchFolder();
  await make({ "config/autonous/config.json": '{"max_turns":7}' });
  const env = { XDG_CONFIG_HOME: join(cwd, "config"), AUTONOUS_PROFILE: "readonly", AUTONOUS_MAX_TURN: "5" };

  const people = await autonous(["doctor"], { cwd, env });
  const programs = await autonous(["doctor", "--json", "--state-dir", "elsewhere"], {
    cwd,
    env: { ...env, AUTONOUS_MODEL: "oracle" },
  });

  expect(people.code).toBe(0);
  expect(people.stdout).toMatch(
    /^warning +configuration .*AUTONOUS_MAX_TURN is not a setting; did you mean AUTONOUS_MAX_TURNS\?$/m,
  );
  expect(people.stdout).toMatch(/^profile +readonly +AUTONOUS_PROFILE$/m);
  expect(people.stdout).toMatch(/^max_turns +7 +\S*config\.json$/m);
  expect(people.stdout).toMatch(/^http_port +8787 +default$/m);
  expect(programs.code).toBe(1);
  const { ok, checks, settings } = JSON.parse(programs.stdout) as {
    ok: boolean;
    checks: { check: string; outcome: string }[];
    settings: { setting: string; value: string; source: string }[];
  };
  expect(ok).toBe(false);
  expect(checks.filter(({ outcome }) => outcome === "failed").map(({ check }) => check)).toEqual(["model"]);
  expect(settings).toContainEqual({ setting: "model", value: "oracle", source: "AUTONOUS_MODEL" });
});

test("a duplicate tool_call_id runs once on the command line: in one batch, and in a resumed run", async () => {
  const { path: cwd } = await scratchFolder();
  const append = '{"path":"a.txt","content":"x","mode":"append"}';
  const line = `{"tool":"write","tool_call_id":"call_twice","run_id":"run_twice","args":${append}}\n`;
  const input = `${line}${line}{"tool":"ls","tool_call_id":"call_twice","run_id":"run_twice"}\n`;
  const first = linesOf<ToolCallResult>(await autonous(["call", "-"], { cwd, input }));
  expect(first.map(({ ok, error }) => error?.code ?? ok)).toEqual([true, "InvalidArguments", "InvalidArguments"]);
  const [again] = linesOf<ToolCallResult>(await autonous(["call", "-"], { cwd, input: line }));
  expect(again).toMatchObject({ tool_call_id: "call_twice", ok: false, error: { details: { field: "tool_call_id" } } });
  expect(readFileSync(join(cwd, "a.txt"), "utf8")).toBe("x");
  const other = line.replace("run_twice", "run_other");
  expect(linesOf<ToolCallResult>(await autonous(["call", "-"], { cwd, input: other }))[0]?.ok).toBe(true);
  expect((await autonous(["audit", "verify"], { cwd })).code).toBe(0);
});

// oxfmt-ignore
const LOST = [
  { title: "deleted",                  lose: (file: string) => rmSync(file),                                             says: /deleted, moved or replaced/, verify: 1 },
  { title: "deleted with its folder",  lose: (file: string) => rmSync(join(file, ".."), { recursive: true }),            says: /deleted, moved or replaced/, verify: 1 },
  { title: "moved",                    lose: (file: string) => renameSync(file, `${file}.old`),                          says: /deleted, moved or replaced/, verify: 1 },
  { title: "replaced by its copy",     lose: (file: string) => (copyFileSync(file, `${file}.new`), renameSync(`${file}.new`, file)), says: /deleted, moved or replaced/, verify: 0 },
  { title: "emptied",                  lose: (file: string) => writeFileSync(file, ""),                                  says: /another process changed it/, verify: 1 },
  { title: "cut",                      lose: (file: string) => truncateSync(file, 100),                                  says: /another process changed it/, verify: 1 },
  { title: "added to",                 lose: (file: string) => appendFileSync(file, "{}\n"),                             says: /another process changed it/, verify: 1 },
] as const;

for (const { title, lose, says, verify } of LOST) {
  test(`a record that is ${title} while the command line uses it: the next call does not run, and reports it`, async () => {
    const { path: cwd } = await scratchFolder();
    const { child, lines, ended } = start(["call", "-"], { cwd });
    child.stdin.write('{"tool":"ls","run_id":"run_1"}\n');
    await lines(1);
    lose(join(stateOf(cwd), "runs", "run_1", "events.jsonl"));
    child.stdin.end(
      '{"tool":"write","run_id":"run_1","args":{"path":"a.txt","content":"x"}}\n{"tool":"ls","run_id":"run_2"}\n',
    );
    const [, write, elsewhere] = (await lines(3)).map((line) => JSON.parse(line) as ToolCallResult);
    expect(write).toMatchObject({
      ok: false,
      error: { code: "RecordFailed", message: expect.stringMatching(says) as string },
    });
    expect(elsewhere, "another run goes on").toMatchObject({ ok: true });
    await ended;
    expect(existsSync(join(cwd, "a.txt"))).toBe(false);
    expect((await autonous(["audit", "verify"], { cwd })).code).toBe(verify);
  });
}
