import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { autonous, shell, start } from "./support/cli.ts";
import { scratchFolder, stateOf } from "./support/scratch.ts";

const ENDLESS = {
  NODE_OPTIONS: `--import ${pathToFileURL(join(import.meta.dirname, "support/endless-folder.ts")).href}`,
};

/** The configuration file of a user whose configuration folder is the given one. */
function configure(folder: string, content: unknown): Record<string, string> {
  mkdirSync(join(folder, "autonous"), { recursive: true });
  const text = typeof content === "string" ? content : JSON.stringify(content);
  writeFileSync(join(folder, "autonous/config.json"), text);
  return { XDG_CONFIG_HOME: folder };
}

/** Without what differs from one request to the next. */
function steady(text: string): string {
  return text.replaceAll(/apr_\w+|\d{4}-\d\d-\S+Z/g, "…");
}

test("a call's exit code tells how it ended", async () => {
  const { path, make } = await scratchFolder();
  await make({ "root/a.txt": "", "confirm/": "" });
  const cwd = join(path, "root");
  const rules = configure(join(path, "config"), { rules: [{ effect: "confirm", tool: "ls", path: "sub/**" }] });
  await make({ "root/sub/b.txt": "" });
  // oxfmt-ignore
  const cases = [
    { args: {},                          exit: 0, code: undefined },
    { args: { path: "gone" },            exit: 1, code: "NotFound" },
    { args: { paht: "." },               exit: 2, code: "InvalidArguments" },
    { args: { path: "../confirm" },      exit: 3, code: "PathTraversalBlocked" },
    { args: { path: "sub" },             exit: 4, code: "ApprovalRequired" },
  ];
  for (const { args, exit, code } of cases) {
    const words = ["call", "ls", JSON.stringify(args)];
    const [people, programs] = await Promise.all([
      autonous(words, { cwd, env: rules }),
      autonous([...words, "--json"], { cwd, env: rules }),
    ]);
    expect({ args, exit: people.code }).toEqual({ args, exit });
    expect({ args, exit: programs.code, stderr: programs.stderr }).toEqual({ args, exit, stderr: "" });
    const { ok, error } = JSON.parse(programs.stdout) as { ok: boolean; error: { code: string; hint: string } | null };
    expect({ ok, code: error?.code }).toEqual({ ok: exit === 0, code });
    if (error !== null) expect(people.stderr).toContain(`${error.code}: `);
    if (error !== null) expect(steady(people.stderr)).toContain(steady(error.hint));
    if (exit !== 0) expect(people.stdout).toBe("");
  }
  // oxfmt-ignore
  const explained = [
    { words: ["ls"],                         exit: 0 },
    { words: ["rm"],                         exit: 2 },
    { words: ["ls", '{"path":"../confirm"}'], exit: 3 },
    { words: ["ls", '{"path":"sub"}'],       exit: 4 },
  ];
  for (const { words, exit } of explained) {
    const { code } = await autonous(["policy", "explain", ...words], { cwd, env: rules });
    expect({ words, code }).toEqual({ words, code: exit });
  }
});

test("a call that takes too long is stopped: exit 124", async () => {
  const { path: cwd } = await scratchFolder();

  const { code, stdout } = await autonous(["call", "ls", "--json"], {
    cwd,
    env: { ...ENDLESS, AUTONOUS_TOOL_TIMEOUT_SECONDS: "1" },
  });

  expect(code).toBe(124);
  expect(JSON.parse(stdout)).toMatchObject({ ok: false, error: { code: "Timeout", class: "timeout" } });
});

/** Waits until a file below the folder has the text. */
async function untilRecorded(cwd: string, text: string): Promise<void> {
  const runs = join(stateOf(cwd), "runs");
  for (;;) {
    const files = existsSync(runs) ? readdirSync(runs).map((run_id) => join(runs, run_id, "events.jsonl")) : [];
    if (files.some((file) => existsSync(file) && readFileSync(file, "utf8").includes(text))) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test("Ctrl-C during a call stops it: exit 130, and that is recorded", async () => {
  const { path: cwd } = await scratchFolder();
  const { child, ended } = start(["call", "ls", "--json"], { cwd, env: ENDLESS });
  await untilRecorded(cwd, "tool_call.started");

  child.kill("SIGINT");

  const { code, stdout } = await ended;
  expect(code).toBe(130);
  expect(JSON.parse(stdout)).toMatchObject({ ok: false, error: { code: "Cancelled" } });
  const { stdout: records } = await autonous(["audit", "show", "--json"], { cwd });
  expect(JSON.parse(records)).toMatchObject([{ tool: "ls", result: { ok: false, error_code: "Cancelled" } }]);
});

test("Ctrl-C ends a waiting command, whatever it waits for: exit 130", async () => {
  const { path: cwd, make } = await scratchFolder();
  await make({ "hang.json": '[{"fault":"hang"}]' });
  await autonous(["call", "ls"], { cwd });
  // oxfmt-ignore
  const cases = [
    { words: ["call", "-"],                   input: '{"tool":"ls"}\n', lines: 1 },
    { words: ["policy", "explain", "-"],      input: '{"tool":"ls"}\n', lines: 1 },
    { words: ["redact", "-"],                 input: '{"text":"x"}\n',  lines: 1 },
    { words: ["redact"],                      input: "x\n".repeat(100_000), lines: 1 },
    { words: ["events", "tail", "--follow"],  input: "",                lines: 2 },
    { words: ["run", "--json", "--model", "script:hang.json", "wait"], input: "", lines: 2 },
  ];
  for (const { words, input, lines: count } of cases) {
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      const { child, lines, ended } = start(words, { cwd });
      child.stdin.write(input);
      await lines(count);
      child.kill(signal);
      const { code, signal: killedBy } = await ended;
      expect({ words, code, killedBy }).toEqual({ words, code: 130, killedBy: null });
    }
  }
});

test("a run that was interrupted says so in its last line and in its record", async () => {
  const { path: cwd, make } = await scratchFolder();
  await make({ "hang.json": '[{"fault":"hang"}]' });
  const { child, lines, ended } = start(["run", "--json", "--model", "script:hang.json", "wait"], { cwd });
  await lines(2);

  child.kill("SIGINT");

  const { stdout } = await ended;
  const last = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as { run_id: string };
  expect(last).toMatchObject({ ok: false, outcome: "cancelled", error: { code: "Cancelled" } });
  const { stdout: tree } = await autonous(["events", "tree", last.run_id], { cwd });
  expect(tree).toMatch(/agent wait · failed · \d+ ms · Cancelled/);
});

const FIVE = {
  env: {
    AUTONOUS_MAX_TURNS: "many",
    AUTONOUS_PROFILE: "yolo",
    AUTONOUS_TOOL_ALLOWED_ROOTS: "relative,/nowhere/at/all,,/etc/hostname",
  },
  file: { tool_timeout_seconds: "30", modle: "direct", rules: [{ effect: "maybe", tool: "ls" }] },
  says: [
    'AUTONOUS_MAX_TURNS has to be a whole number, not "many"',
    'AUTONOUS_PROFILE has to be one of readonly, guarded, autonomous, not "yolo"',
    'AUTONOUS_TOOL_ALLOWED_ROOTS: the root "relative" is not an absolute path',
    'AUTONOUS_TOOL_ALLOWED_ROOTS: the root "/nowhere/at/all" does not exist',
    "AUTONOUS_TOOL_ALLOWED_ROOTS: a root is empty",
    'AUTONOUS_TOOL_ALLOWED_ROOTS: the root "/etc/hostname" is not a folder',
    '"tool_timeout_seconds" has to be a whole number from 1 to 3600, not "30"',
    '"modle" is not a setting; did you mean "model"?',
    "rules.0.effect",
  ],
};

test("a configuration with many errors: all are listed, exit 2, nothing is started or created", async () => {
  const { path } = await scratchFolder();
  const env = { ...configure(join(path, "config"), FIVE.file), ...FIVE.env, XDG_STATE_HOME: join(path, "state") };
  const cwd = join(path, "work");
  mkdirSync(cwd);
  for (const words of [["call", "ls"], ["run", "/ls"], ["serve"], ["doctor"], ["call", "-"]]) {
    const [people, programs] = await Promise.all([
      autonous(words, { cwd, env }),
      autonous([...words, "--json"], { cwd, env }),
    ]);
    expect({ words, code: people.code, stdout: people.stdout }).toEqual({ words, code: 2, stdout: "" });
    expect(people.stderr).toContain(`Invalid configuration (${FIVE.says.length} problems):`);
    for (const says of FIVE.says) expect(people.stderr).toContain(says);
    expect({ words, code: programs.code, stderr: programs.stderr }).toEqual({ words, code: 2, stderr: "" });
    const { error } = JSON.parse(programs.stdout) as { error: { code: string; problems: string[] } };
    expect(error.code).toBe("InvalidConfiguration");
    expect(error.problems).toHaveLength(FIVE.says.length);
  }
  expect(readdirSync(cwd)).toEqual([]);
  expect(existsSync(join(path, "state"))).toBe(false);
});

test("a configuration file that is not a JSON object is reported with line and column", async () => {
  const { path: cwd } = await scratchFolder();
  for (const { content, says } of [
    { content: "{", says: "config.json:1:2: not valid JSON: unexpected end" },
    { content: "[]", says: "config.json:1:1: it has to contain a JSON object" },
    { content: "", says: "config.json:1:1: not valid JSON: unexpected end" },
  ]) {
    const { code, stderr } = await autonous(["call", "ls"], { cwd, env: configure(join(cwd, "config"), content) });
    expect({ content, code }).toEqual({ content, code: 2 });
    expect(stderr).toContain(says);
  }
  expect(readdirSync(cwd)).toEqual(["config"]);
});

test("if the state folder cannot be created nothing runs, and the error names it", async () => {
  const { path: cwd, make } = await scratchFolder();
  await make({ "a.txt": "", state: "a file in its place" });
  for (const words of [
    ["call", "ls"],
    ["run", "/ls"],
    ["policy", "explain", "ls"],
  ]) {
    const { code, stdout, stderr } = await autonous([...words, "--state-dir", "state"], { cwd });
    expect({ words, code, stdout }).toEqual({ words, code: 2, stdout: "" });
    expect(stderr).toContain(`the state folder "${join(cwd, "state")}" cannot be used: it is not a folder`);
  }
  const doctor = await autonous(["doctor", "--state-dir", "state"], { cwd });
  expect(doctor.code).toBe(1);
  expect(doctor.stdout).toMatch(
    /failed +workspace +the state folder .* cannot be used: it is not a folder.*AUTONOUS_STATE_DIR/,
  );
});

test("if the record cannot be created nothing runs, and the error names it", async () => {
  const { path, make } = await scratchFolder();
  await make({ "work/a.txt": "", "state/runs": "a file in its place", heads: "another one" });
  const cwd = join(path, "work");
  for (const env of [
    { AUTONOUS_STATE_DIR: "../state" },
    { XDG_STATE_HOME: join(path, "heads"), AUTONOUS_STATE_DIR: "../other" },
  ]) {
    const { code, stdout } = await autonous(["call", "ls", "--json"], { cwd, env });
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, payload: null, error: { code: "RecordFailed" } });
    const run = await autonous(["run", "/ls"], { cwd, env });
    expect({ code: run.code, stdout: run.stdout }).toEqual({ code: 1, stdout: "" });
    expect(run.stderr).toContain("Cannot continue the task: its record could not be written");
  }
  const doctor = await autonous(["doctor", "--json"], { cwd, env: { XDG_STATE_HOME: join(path, "heads") } });
  expect(doctor.code).toBe(1);
  const { checks } = JSON.parse(doctor.stdout) as { checks: { check: string; outcome: string }[] };
  expect(checks.find(({ check }) => check === "heads")?.outcome).toBe("failed");
});

test("on a full disk calls are refused, no partial line is left, and the record stays intact", async () => {
  const { path: cwd, make } = await scratchFolder();
  await make({ "a.txt": "" });
  const count = 40;

  // To the process that writes, a limit on the size of files looks like a full disk.
  const { code, stdout } = await shell("ulimit -f 16; autonous call -", {
    cwd,
    input: '{"tool":"ls","args":{}}\n'.repeat(count),
  });

  expect(code).toBe(0);
  const results = stdout
    .trimEnd()
    .split("\n")
    .map(
      (line) => JSON.parse(line) as { ok: boolean; payload: unknown; error: { code: string; message: string } | null },
    );
  expect(results).toHaveLength(count);
  const refused = results.filter(({ ok }) => !ok);
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.length).toBeLessThan(count);
  expect(new Set(refused.map(({ error }) => error?.code))).toEqual(new Set(["RecordFailed"]));
  for (const { payload, error } of refused) {
    if (payload === null) expect(error?.message).toMatch(/could not be recorded \((EFBIG|only \d+ of \d+ bytes)/);
    else expect(error?.message).toContain("ran, but its end could not be recorded");
  }
  const [run_id = ""] = readdirSync(join(stateOf(cwd), "runs"));
  const record = readFileSync(join(stateOf(cwd), "runs", run_id, "events.jsonl"), "utf8");
  expect(record.endsWith("\n")).toBe(true);
  expect(record.length).toBeLessThanOrEqual(16 * 1024);
  expect((await autonous(["audit", "verify"], { cwd })).stdout).toMatch(/^Audit log OK: \d+ records, chain intact\n$/);
});

test("on a full disk a run ends with a clear error", async () => {
  const { path: cwd, make } = await scratchFolder();
  const steps = Array.from({ length: 30 }, () => ({ reply: { tool_calls: [{ name: "ls", arguments: {} }] } }));
  await make({ "many.json": JSON.stringify(steps) });

  const { code, stdout } = await shell("ulimit -f 16; autonous run --json --model script:many.json go", { cwd });

  expect(code).toBe(1);
  const last = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as unknown;
  expect(last).toMatchObject({ ok: false, error: { code: "RecordFailed" } });
});

test("without bubblewrap every start reports it, its effect and the command that installs it", async () => {
  const { path, make } = await scratchFolder();
  await make({ "root/": "", "bin/bash": "-> /bin/bash" });
  const cwd = join(path, "root");
  const env = { PATH: join(path, "bin"), AUTONOUS_MODEL: "direct", AUTONOUS_HTTP_PORT: "0" };
  const notice = (effect: string): string =>
    `No sandbox: bubblewrap is not installed, so ${effect}. Install it: autonous doctor --fix\n`;
  const [run, required, off, chat] = await Promise.all([
    autonous(["run", "/ls ."], { cwd, env }),
    autonous(["run", "/ls ."], { cwd, env: { ...env, AUTONOUS_SANDBOX: "required" } }),
    autonous(["run", "/ls ."], { cwd, env: { ...env, AUTONOUS_SANDBOX: "off" } }),
    autonous(["chat"], { cwd, env }),
  ]);
  expect(run.stderr).toContain(notice("every command needs approval"));
  expect(required.stderr).toContain(notice("no command can run"));
  expect(off.stderr).not.toContain("No sandbox");
  expect(chat.stderr).toContain(notice("every command needs approval"));

  const service = start(["serve", "--root", "."], { cwd, env });
  await service.lines(1);
  service.child.kill("SIGTERM");
  expect((await service.ended).stderr).toContain(notice("every command needs approval"));
});
