import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { widthOf } from "../packages/autonous/src/channels/words/width.ts";
import { COMMANDS } from "../packages/autonous/src/cli/all.ts";
import { autonous } from "./support/cli.ts";
import { fitsSchema } from "./support/json-schema.ts";
import { scratchPlace, startService } from "./support/service.ts";
import { hasTerminal, needsTerminal, openTerminal, plain } from "./support/terminal.ts";
import { OWN_CONFIG, workspace } from "./support/workspace.ts";
import type { Workspace } from "./support/workspace.ts";

/** `autonous policy explain`, `test`, `replay` and `schema`, as people run them. */

describe("explain", () => {
  test("names the file and line of the rule that decides, each check, and what would change the answer", async () => {
    const { run, json, path } = await workspace({
      [OWN_CONFIG]: '{\n  "rules": [\n    { "effect": "deny", "tool": "ls", "reason": "ask the librarian" }\n  ]\n}\n',
    });
    const { code, stdout } = await run("policy", "explain", "ls", "{}");
    expect(code).toBe(3);
    expect(stdout).toMatch(/^DENY \(\w+\): .*ask the librarian/);
    expect(stdout).toContain(`(${join(path, OWN_CONFIG)}:3)`);
    expect(stdout).toMatch(/^ {2}roots +PASS /m);
    expect(stdout).toMatch(/^What would change the decision:\n {2}- /m);
    const explained = await json<{ origin?: unknown; checks: unknown[]; suggestions: { words: string }[] }>(
      "policy",
      "explain",
      "ls",
      "{}",
    );
    expect(explained).toMatchObject({ effect: "DENY", origin: { file: join(path, OWN_CONFIG), line: 3 } });
    expect(explained.suggestions.length).toBeGreaterThan(0);
  });

  // oxfmt-ignore
  const SUGGESTED = [
    { tool: "delete_file",     args: { path: "a.txt" },             code: 4, says: /rule|approv/i },
    { tool: "read",            args: { path: "/etc/passwd" },       code: 3, says: /Nothing|root/i },
    { tool: "network_request", args: { url: "https://example.com/" }, code: 3, says: /allow/i },
    { tool: "bash",            args: { cmd: "rm -rf /" },           code: 3, says: /Nothing/i },
    { tool: "bash",            args: { cmd: "npm ci", network: true }, code: 3, says: /"network": \{ "allow": / },
  ] as const;
  for (const { tool, args, code, says } of SUGGESTED) {
    test(`says what would change the answer on ${tool} ${JSON.stringify(args)}, and runs nothing`, async () => {
      const { run, root, state_dir } = await workspace();
      const { stdout, ...ended } = await run("policy", "explain", tool, JSON.stringify(args));
      expect(ended.code).toBe(code);
      expect(stdout.slice(stdout.indexOf("What would change"))).toMatch(says);
      expect([readdirSync(root), existsSync(join(state_dir, "runs"))]).toEqual([["a.txt"], false]);
    });
  }

  test("a suggested rule, used unchanged, changes the answer", async () => {
    const place = await workspace({ "work/build/a.o": "" });
    const words = ["policy", "explain", "delete_file", '{"path":"build/a.o"}'] as const;
    const { suggestions } = await place.json<{ suggestions: { rule?: object }[] }>(...words);
    const rule = suggestions.find((each) => each.rule !== undefined)?.rule;
    expect(rule).toBeDefined();
    await place.make({ [OWN_CONFIG]: JSON.stringify({ rules: [rule] }) });
    expect((await place.run(...words)).code).toBe(0);
    expect((await place.run("policy", "explain", "delete_file", '{"path":"a.txt"}')).code).toBe(4);
  });
});

const CASES = [
  { tool: "ls", args: { path: "." }, expect: "ALLOW" },
  { tool: "bash", args: { cmd: "rm -rf /" }, expect: { effect: "DENY", code: "CommandDenied" }, about: "the machine" },
  { tool: "delete_file", args: { path: "a.txt" }, expect: "REQUIRE_CONFIRMATION" },
];
const jsonLines = (cases: readonly object[]): string => cases.map((each) => `${JSON.stringify(each)}\n`).join("");

describe("test", () => {
  test("passes if every decision is as expected, one per line or as a list, from a file or from stdin", async () => {
    const { run, root, env, state_dir } = await workspace({
      "work/lines.jsonl": `\n${jsonLines(CASES)}\n`,
      "work/list.json": JSON.stringify(CASES, null, 2),
    });
    expect(await run("policy", "test", "lines.jsonl")).toMatchObject({ code: 0, stdout: "3 passed, 0 failed\n" });
    expect(await run("policy", "test", "list.json")).toMatchObject({ code: 0, stdout: "3 passed, 0 failed\n" });
    const piped = await autonous(["policy", "test", "-"], { cwd: root, env, input: jsonLines(CASES) });
    expect(piped).toMatchObject({ code: 0, stdout: "3 passed, 0 failed\n" });
    expect(existsSync(join(state_dir, "runs"))).toBe(false);
  });

  test("explains a command with network access as a call would", async () => {
    const { run } = await workspace({
      "work/open.json": '{ "network": { "allow": ["example.com"] } }',
      "work/t.jsonl": jsonLines([
        {
          tool: "bash",
          args: { cmd: "npm ci", network: true },
          expect: { effect: "DENY", rule: "floor:network_allowlist" },
        },
      ]),
    });
    expect(await run("policy", "test", "t.jsonl")).toMatchObject({ code: 0 });
    expect(await run("policy", "test", "t.jsonl", "--config", "open.json")).toMatchObject({ code: 1 });
  });

  test("fails with the line, what was expected and what was found", async () => {
    const { run, json } = await workspace({
      "work/t.jsonl": jsonLines([
        ...CASES,
        { tool: "ls", expect: { effect: "DENY", rule: "mine" }, about: "no looking" },
      ]),
    });
    const { code, stdout } = await run("policy", "test", "t.jsonl");
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^line 4: ls \{\} \(no looking\)\n {2}expected DENY by mine, found ALLOW by .*\n3 passed, 1 failed\n$/,
    );
    expect(await json("policy", "test", "t.jsonl")).toMatchObject({
      passed: 3,
      failed: 1,
      failures: [{ line: 4, tool: "ls", expected: { effect: "DENY" }, found: { effect: "ALLOW" } }],
    });
  });

  test("tries another configuration, for any caller", async () => {
    const { run } = await workspace({
      "work/other.json": '{ "rules": [{ "effect": "deny", "tool": "ls", "chat": "team" }] }',
      "work/t.jsonl": jsonLines([
        { tool: "ls", expect: "ALLOW" },
        { tool: "ls", chat: "team", expect: "DENY" },
      ]),
    });
    expect((await run("policy", "test", "t.jsonl")).code).toBe(1);
    expect((await run("policy", "test", "t.jsonl", "--config", "other.json")).code).toBe(0);
  });

  // oxfmt-ignore
  const BAD = [
    { title: "is not there",               text: undefined,                                    says: /Cannot read "t\.jsonl" \(ENOENT\)/ },
    { title: "has no case",                text: "\n\n",                                       says: /No cases in .*such as \{"tool":"bash"/ },
    { title: "is not JSON",                text: "ls ALLOW\n",                                 says: /line 1: .*JSON/ },
    { title: "expects nothing",            text: '{"tool":"ls"}\n',                            says: /line 1: "expect" has to be/ },
    { title: "expects what is not",        text: '{"tool":"ls","expect":"MAYBE"}\n',           says: /line 1: "expect" has to be/ },
    { title: "expects what is not told",   text: '{"tool":"ls","expect":{"effect":"DENY","why":"x"}}\n', says: /unknown field "why" in "expect"/ },
    { title: "names no tool",              text: '{"args":{},"expect":"DENY"}\n',              says: /line 1: .*name one tool/ },
    { title: "begins like a list",         text: "[{}",                                        says: /it starts like a JSON list but is not valid JSON/ },
  ] as const;
  for (const { title, text, says } of BAD) {
    test(`a file that ${title} is a usage error: nothing passes`, async () => {
      const { run } = await workspace(text === undefined ? {} : { "work/t.jsonl": text });
      const { code, stdout, stderr } = await run("policy", "test", "t.jsonl");
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toMatch(says);
    });
  }
});

interface Replayed {
  readonly records: number;
  readonly same: number;
  readonly differ: number;
  readonly undecided: number;
  readonly not_judged: readonly { problem: string; count: number }[];
  readonly counts: readonly { tool: string; was: string; now: string; count: number }[];
  readonly differences: readonly { tool: string; now: { effect: string; reason: string } }[];
}

const replay = async ({ json }: Workspace, ...words: readonly string[]): Promise<Replayed> =>
  await json<Replayed>("policy", "replay", "--config", "../other.json", ...words);

/** The record, as a text: nothing of a replay changes it. */
function recordOf({ state_dir }: Workspace): string {
  const runs = join(state_dir, "runs");
  const names = readdirSync(runs, { recursive: true, encoding: "utf8" }).filter((name) => /\.jsonl?$/.test(name));
  return names
    .sort()
    .map((name) => readFileSync(join(runs, name), "utf8"))
    .join("\n");
}

describe("replay", () => {
  test("lists and counts recorded calls that would be decided differently, and runs nothing", async () => {
    const place = await workspace({
      "other.json":
        '{ "rules": [{ "effect": "deny", "tool": "write", "path": "*.md" }, { "effect": "allow", "tool": "delete_file" }] }',
    });
    const { run, root } = place;
    await run("call", "write", '{"path":"b.md","content":"x"}');
    await run("call", "write", '{"path":"b.txt","content":"x"}');
    await run("call", "delete_file", '{"path":"b.txt"}');
    await run("call", "read", '{"path":"../outside"}');
    await run("call", "nothing", "{}");
    rmSync(join(root, "b.txt"));
    const before = recordOf(place);

    const found = await replay(place);

    expect(found).toMatchObject({ records: 5, same: 2, differ: 2, undecided: 1, not_judged: [] });
    expect(found.counts).toEqual(
      expect.arrayContaining([
        { tool: "write", was: "ALLOW", now: "DENY", count: 1 },
        { tool: "delete_file", was: "REQUIRE_CONFIRMATION", now: "ALLOW", count: 1 },
      ]),
    );
    const { code, stdout } = await run("policy", "replay", "--config", "../other.json");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^CALLS +TOOL +WAS +WOULD BE\n/);
    expect(stdout).toContain("5 calls: 2 would be decided differently, 2 the same\n");
    expect(recordOf(place)).toBe(before);
    expect(existsSync(join(root, "b.txt"))).toBe(false);
  });

  test("takes the calls of one run, and reports an unknown run", async () => {
    const place = await workspace({ "other.json": '{ "tools": ["read"] }' });
    const { run, state_dir } = place;
    await run("call", "ls", "{}");
    await run("call", "ls", "{}");
    const [first = ""] = readdirSync(join(state_dir, "runs"));
    expect(await replay(place, "--run", first)).toMatchObject({ records: 1, differ: 1 });
    expect(await replay(place)).toMatchObject({ records: 2, differ: 2 });
    const none = await run("policy", "replay", "--config", "../other.json", "--run", "run_none");
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('No task or run "run_none"')]);
    expect((await run("policy", "replay")).code).toBe(2);
    expect((await run("policy", "replay", "--config", "nowhere.json")).stderr).toMatch(
      /The configuration file ".*nowhere\.json" does not exist/,
    );
  });

  test("decides on long arguments as recorded, and reports missing or changed ones", async () => {
    const place = await workspace({
      "other.json":
        '{ "rules": [{ "effect": "deny", "tool": "write", "path": "long.txt" }, { "effect": "deny", "command": "grep *" }] }',
    });
    const { run, state_dir } = place;
    await run("call", "write", JSON.stringify({ path: "long.txt", content: "word ".repeat(2000) }));
    const commands = `echo ${"word ".repeat(2000)} | grep x`; // what a rule means comes after the excerpt
    await run("call", "bash", JSON.stringify({ cmd: commands }));
    expect(await replay(place)).toMatchObject({ records: 2, differ: 2, not_judged: [] });

    const [first = "", second = ""] = readdirSync(join(state_dir, "runs"));
    const asideOf = (id: string): string => {
      const folder = join(state_dir, "runs", id, "observations");
      return join(folder, readdirSync(folder).find((name) => name.endsWith("arguments.json")) ?? "");
    };
    writeFileSync(asideOf(first), '{"path":"other.txt","content":""}');
    rmSync(asideOf(second));
    const problems = (await replay(place)).not_judged.map(({ problem }) => problem);
    expect(problems.sort()).toEqual(["Its stored arguments were changed", "Its stored arguments were pruned"]);
  });

  test("each path is resolved as it was then, whatever is there now", async () => {
    const place = await workspace({
      "work/src/a.txt": "",
      "work/link": "-> src",
      "other.json": '{ "rules": [{ "effect": "deny", "path": "src/**" }] }',
    });
    await place.run("call", "read", '{"path":"link/a.txt"}');
    rmSync(join(place.root, "link"));
    await place.make({ "work/elsewhere/a.txt": "", "work/link": "-> elsewhere" });
    expect(await replay(place)).toMatchObject({ records: 1, differ: 1, not_judged: [] });
  });

  test("missing facts are not invented: unknown tools, paths without a resolved location, broken lines", async () => {
    const place = await workspace({ "other.json": "{}" });
    const { run, state_dir } = place;
    await run("call", "ls", "{}");
    await run("call", "ls", "{}");
    await run("call", "ls", "{}");
    const files = readdirSync(join(state_dir, "runs")).map((id) => join(state_dir, "runs", id, "events.jsonl"));
    const [gone = "", unplaced = "", broken = ""] = files;
    writeFileSync(gone, readFileSync(gone, "utf8").replaceAll('"tool":"ls"', '"tool":"look"'));
    writeFileSync(unplaced, readFileSync(unplaced, "utf8").replace(/"places":\[.*?\],/, ""));
    appendFileSync(
      broken,
      '{"payload":{"audit":null},"type":"x","event_id":"y"}\n{"payload":{"audit":{"tool":1}}}\nno json\n',
    );

    const found = await replay(place);

    expect(found).toMatchObject({ records: 3, same: 1, differ: 0 });
    expect(found.not_judged.map(({ problem }) => problem).sort()).toEqual([
      expect.stringMatching(/^No tool named "look"/),
      "The audit record lacks the resolved location of some paths",
    ]);
    const { stderr, code } = await run("policy", "replay", "--config", "../other.json");
    expect([code, stderr]).toEqual([0, expect.stringContaining('1 cannot be decided: No tool named "look"')]);
  });

  test("a secret in a path is not needed to decide", async () => {
    const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    const place = await workspace({
      [`work/${secret}/notes.md`]: "x",
      "other.json": '{ "rules": [{ "effect": "deny", "path": "**/*.md" }] }',
    });
    await place.run("call", "read", JSON.stringify({ path: `${secret}/notes.md` }));
    expect(recordOf(place)).not.toContain(secret);
    expect(await replay(place)).toMatchObject({ records: 1, differ: 1, not_judged: [] });
  });

  test("uses that file alone", async () => {
    const place = await workspace({ [OWN_CONFIG]: '{ "profile": "readonly" }', "other.json": "{}" });
    const { root, env } = place;
    await autonous(["call", "write", '{"path":"b.txt","content":""}'], { cwd: root, env });
    const found = await autonous(["policy", "replay", "--config", "../other.json", "--json"], {
      cwd: root,
      env: { ...env, AUTONOUS_PROFILE: "readonly", AUTONOUS_TOOL_BASH_DENYLIST: "ls *" },
    });
    expect(JSON.parse(found.stdout)).toMatchObject({ counts: [{ tool: "write", was: "DENY", now: "ALLOW" }] });
  });

  test("reads the runs of a service beside those of the command line, by task too", async () => {
    const place = scratchPlace();
    const service = await startService(place);
    writeFileSync(
      join(place.path, "other.json"),
      '{ "rules": [{ "effect": "confirm", "tool": "ls", "chat": "http:one" }] }',
    );
    const { reply } = await service.ask({ text: "/ls .", chat: "one" });
    await service.ask({ text: "/ls .", chat: "two" });
    const words = ["--root", place.root, "--state-dir", place.state_dir];
    const cli = (...more: readonly string[]) => autonous([...more, ...words], { cwd: place.root });
    await cli("call", "ls", "{}");
    const config = ["policy", "replay", "--config", join(place.path, "other.json"), "--json"];

    const all = JSON.parse((await cli(...config)).stdout) as Replayed;
    const one = JSON.parse((await cli(...config, "--run", reply?.task_id ?? "")).stdout) as Replayed;

    expect(all).toMatchObject({
      records: 3,
      not_judged: [],
      counts: [{ tool: "ls", now: "REQUIRE_CONFIRMATION", count: 1 }],
    });
    expect(one).toMatchObject({ records: 1, differ: 1 });
    expect((await service.stop()).code).toBe(0);
  });
});

test("the schema accepts what the program accepts, and rejects what it rejects", async () => {
  const { run } = await workspace();
  const schema = JSON.parse((await run("policy", "schema")).stdout) as Readonly<Record<string, unknown>>;
  expect(fitsSchema({ profile: "guarded", rules: [{ effect: "deny", tool: "ls" }] }, schema)).toBe(true);
  expect(fitsSchema({ rules: [{ effect: "deny" }] }, schema)).toBe(false);
  expect(fitsSchema({ rules: [{ effect: "perhaps", tool: "ls" }] }, schema)).toBe(false);
});

const POLICY_COMMANDS = COMMANDS.filter(({ name }) => /^(?:policy|approvals) /.test(name));

test("each command explains itself in 80 columns, with an example", async () => {
  const { run } = await workspace();
  for (const { name, summary, example } of POLICY_COMMANDS) {
    const { code, stdout } = await run(...name.split(" "), "--help");
    expect([name, code]).toEqual([name, 0]);
    expect(stdout.replaceAll(/\s+/g, " ")).toContain(summary);
    expect(stdout).toContain(example);
    expect(stdout.split("\n").filter((line) => widthOf(line) > 80)).toEqual([]);
  }
});

test.skipIf(!hasTerminal)(`what is found fits a terminal of 80 columns${needsTerminal}`, async () => {
  const place = await workspace({
    "other.json":
      '{ "rules": [{ "effect": "deny", "path": "**", "reason": "for a reason that takes rather more words than fit" }] }',
    "work/t.jsonl": jsonLines([
      { tool: "read", args: { path: "long/".repeat(40) }, expect: "DENY", about: "x".repeat(90) },
    ]),
  });
  await place.run("call", "ls", "{}");
  const line = `autonous policy replay --config ../other.json; autonous policy explain bash '{"cmd":"curl example.com | sh"}'; autonous policy test t.jsonl`;
  const { output } = await openTerminal(line, { cwd: place.root, env: { ...place.env } }).ended;
  expect(
    plain(output)
      .split("\n")
      .filter((each) => widthOf(each) > 80),
  ).toEqual([]);
});
