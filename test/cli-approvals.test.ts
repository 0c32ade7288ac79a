import { existsSync, lstatSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import type { Approval, Grant } from "@autonous/runtime/internal";
import { describe, expect, test } from "vitest";
import { widthOf } from "../packages/autonous/src/channels/words/width.ts";
import { autonous, shell } from "./support/cli.ts";
import { grantAtTerminal } from "./support/grant.ts";
import { ownProcess } from "../packages/runtime/src/machine/system/process-owner.ts";
import { commandOfAgent } from "./support/command-of-agent.ts";
import { scratchPlace, startService, until } from "./support/service.ts";
import { hasTerminal, needsTerminal, openTerminal, plain } from "./support/terminal.ts";
import { OWN_CONFIG, workspace } from "./support/workspace.ts";
import type { Workspace } from "./support/workspace.ts";

/** Answers from another terminal than the one that asks: `autonous approvals`. */

const atTerminal = test.skipIf(!hasTerminal);
const DELETE = ["call", "delete_file", '{"path":"a.txt"}'] as const;

/** Makes a call that needs approval without a terminal, and returns the request that it left. */
async function refused({ run, json }: Workspace, words: readonly string[] = DELETE): Promise<Approval["request"]> {
  expect((await run(...words)).code).toBe(4);
  const all = await json<readonly Approval[]>("approvals", "list");
  const request = all.at(-1)?.request;
  if (request === undefined) throw new Error("nothing waits");
  return request;
}

const ruleFile = ({ path }: Workspace): string => join(path, OWN_CONFIG);

test("a pending request is listed and shown completely, and leaves the list when it is answered", async () => {
  const place = await workspace();
  const { run, json } = place;
  expect(await run("approvals", "list")).toMatchObject({
    code: 0,
    stdout: "",
    stderr: "No pending approvals\n",
  });
  expect(existsSync(place.state_dir)).toBe(false); // looking makes nothing

  const { approval_id } = await refused(place);
  expect((await run("approvals", "list")).stdout).toMatch(
    new RegExp(`^APPROVAL .*\\n${approval_id}  pending .*delete_file`),
  );
  const shown = await run("approvals", "show", approval_id);
  expect(shown.stdout).toMatch(/Allow delete_file\?\n[\s\S]*-a\n[\s\S]*--offer exact {2}exactly this call again\n/);
  expect(await json("approvals", "show", approval_id)).toMatchObject({ state: "pending", request: { approval_id } });

  const denied = await run("approvals", "deny", approval_id, "--reason", "we need it");
  expect(denied).toMatchObject({ code: 0, stdout: "" });
  expect(denied.stderr).toMatch(/was denied by .*: we need it\n$/);
  expect(await json("approvals", "list")).toEqual([]);
  expect(await json("approvals", "list", "--all")).toMatchObject([
    { state: "denied", answer: { answer: "deny", reason: "we need it", via: "command line" } },
  ]);
  expect(await json("approvals", "list", "--state", "denied")).toHaveLength(1);
  expect((await run("approvals", "show", approval_id)).stdout).toContain("was denied by");
  const late = await run("approvals", "grant", approval_id);
  expect([late.code, late.stderr]).toEqual([1, expect.stringMatching(/^Too late: .* was denied by/)]);
  expect((await run(...DELETE)).code).toBe(4);
});

atTerminal("an approval lets exactly that call through, once, whichever process makes it", async () => {
  const place = await workspace({ "work/b.txt": "b" });
  const { run, root } = place;
  const { approval_id } = await refused(place);

  expect((await grantAtTerminal(place, [approval_id])).code).toBe(0);
  expect((await run("call", "delete_file", '{"path":"b.txt"}')).code).toBe(4);
  expect((await run(...DELETE)).code).toBe(0);
  expect([existsSync(join(root, "a.txt")), existsSync(join(root, "b.txt"))]).toEqual([false, true]);

  writeFileSync(join(root, "a.txt"), "a");
  expect((await run(...DELETE)).code).toBe(4);
  expect(await place.json("approvals", "show", approval_id)).toMatchObject({ state: "used" });
  expect(await place.json("approvals", "grants")).toEqual([]);
});

// oxfmt-ignore
const WRONG = [
  { title: "an unknown id", words: ["grant", "apr_none"],                        says: /No approval "apr_none" here/ },
  { title: "no id",                   words: ["grant"],                                    says: /approval/ },
  { title: "another scope",           words: ["grant", "ID", "--scope", "ever"],           says: /Invalid scope "ever" \(one of call, run, session\)/ },
  { title: "an offer for one call",   words: ["grant", "ID", "--offer", "path"],           says: /An offer needs the scope run or session/ },
  { title: "an invalid offer",   words: ["grant", "ID", "--scope", "run", "--offer", "all"], says: /Unknown offer "all".*exact \(exactly this call again\)/ },
  { title: "a rule for exactly this", words: ["grant", "ID", "--rule", "--offer", "exact"], says: /No narrow rule exists for this call/ },
  { title: "another state",           words: ["list", "--state", "maybe"],                 says: /Invalid state "maybe" \(one of pending, granted/ },
  { title: "a reason without end",    words: ["deny", "ID", "--reason", "x".repeat(2001)], says: /--reason is too long/ },
  { title: "an unknown grant", words: ["revoke", "grant_none"],                   says: /No active grant "grant_none"/ },
] as const;

test("invalid answers are usage errors and change nothing", async () => {
  const place = await workspace();
  const { approval_id } = await refused(place);
  for (const { title, words, says } of WRONG) {
    const given = words.map((word) => (word === "ID" ? approval_id : word));
    const { code, stderr } = await place.run("approvals", ...given);
    expect([title, code]).toEqual([title, 2]);
    expect(stderr).toMatch(says);
  }
  expect(await place.json("approvals", "list")).toHaveLength(1);
  expect(existsSync(ruleFile(place))).toBe(false);
});

atTerminal(
  "of two answers at once from two processes one counts, and the other is rejected with a message",
  async () => {
    const place = await workspace();
    const { run, json } = place;
    for (let round = 0; round < 3; round++) {
      const { approval_id } = await refused(place);
      const [yes, no] = await Promise.all([
        grantAtTerminal(place, [approval_id]),
        run("approvals", "deny", approval_id),
      ]);
      expect(new Set([yes.code, no.code])).toEqual(new Set([0, 1]));
      const { state } = await json<Approval>("approvals", "show", approval_id);
      expect(state).toBe(yes.code === 0 ? "granted" : "denied");
      expect(yes.code === 1 ? yes.output : no.stderr).toContain(`Too late: ${approval_id} was ${state}`);
      expect((await run(...DELETE)).code).toBe(state === "granted" ? 0 : 4);
      writeFileSync(join(place.root, "a.txt"), `another one, for round ${round}`);
    }
  },
);

describe("an approval that is saved as a rule", () => {
  atTerminal("goes to the user's own configuration, and all else in it stays", async () => {
    const place = await workspace({
      [OWN_CONFIG]: '{\n    "max_turns": 7,\n    "rules": [{ "effect": "deny", "tool": "ls", "path": "x/**" }]\n}\n',
    });
    await chmod(ruleFile(place), 0o640);
    const { approval_id } = await refused(place);

    const granted = await grantAtTerminal(place, [approval_id, "--rule"]);

    expect(granted.code).toBe(0);
    expect(granted.output).toMatch(/This call, and from now on, as a rule: /);
    expect(granted.output).toContain(`(${ruleFile(place)})`);
    const text = readFileSync(ruleFile(place), "utf8");
    expect(JSON.parse(text)).toEqual({
      max_turns: 7,
      rules: [
        { effect: "deny", tool: "ls", path: "x/**" },
        { effect: "allow", tool: "delete_file", path: join(place.root, "a.txt") },
      ],
    });
    expect(text).toContain('\n    "max_turns"');
    expect(statSync(ruleFile(place)).mode & 0o777).toBe(0o640);
    expect((await place.run(...DELETE)).code).toBe(0);
    const why = await place.run("policy", "explain", "delete_file", '{"path":"a.txt"}');
    expect(why.stdout).toMatch(/^ALLOW[\s\S]*config\.json:\d+\)/);
  });

  atTerminal(
    "makes that configuration where there is none, for its owner alone, and takes the offer that is named",
    async () => {
      const place = await workspace();
      const { approval_id, offers } = await refused(place, ["call", "bash", '{"cmd":"git push origin main"}']);
      const wanted = offers.find(({ pattern }) => pattern.kind === "command");

      expect((await grantAtTerminal(place, [approval_id, "--rule", "--offer", wanted?.offer ?? ""])).code).toBe(0);

      expect(JSON.parse(readFileSync(ruleFile(place), "utf8"))).toMatchObject({
        rules: [{ effect: "allow", command: expect.stringMatching(/^git push/) as string }],
      });
      expect(statSync(ruleFile(place)).mode & 0o777).toBe(0o600);
      expect(readdirSync(join(place.path, "config/autonous"))).toEqual(["config.json"]);
      expect((await place.run("policy", "explain", "bash", '{"cmd":"git push origin main"}')).code).toBe(0);
      expect((await place.run("policy", "explain", "bash", '{"cmd":"git push origin main && rm -rf tmp"}')).code).toBe(
        4,
      );
    },
  );

  atTerminal("goes to where a link leads, there already or not, and the link stays", async () => {
    for (const before of ['{ "max_turns": 7 }', undefined]) {
      const place = await workspace({
        "dotfiles/": "",
        [OWN_CONFIG]: "-> ../../dotfiles/agent.json",
        ...(before === undefined ? {} : { "dotfiles/agent.json": before }),
      });
      const { approval_id } = await refused(place);

      expect((await grantAtTerminal(place, [approval_id, "--rule"])).code).toBe(0);

      expect(lstatSync(ruleFile(place)).isSymbolicLink()).toBe(true);
      const written = JSON.parse(await place.read("dotfiles/agent.json")) as object;
      expect(written).toMatchObject({
        ...(before === undefined ? {} : { max_turns: 7 }),
        rules: [{ effect: "allow" }],
      });
    }
  });

  test("does not overwrite an invalid file, and then nothing is granted", async () => {
    const place = await workspace();
    const { approval_id } = await refused(place);
    await place.make({ [OWN_CONFIG]: '{ "rules": [' });

    const { code, stderr } = await place.run("approvals", "grant", approval_id, "--rule");

    expect([code, stderr]).toEqual([2, expect.stringContaining("config.json:1:13")]);
    expect(await place.read(OWN_CONFIG)).toBe('{ "rules": [');
    writeFileSync(ruleFile(place), "{}");
    expect(await place.json("approvals", "list")).toHaveLength(1);
  });

  atTerminal("is not lost if another one is written at the same time", async () => {
    const files = ["1", "2", "3", "4"].map((name) => `f${name}.txt`);
    const place = await workspace(Object.fromEntries(files.map((name) => [`work/${name}`, "x"])));
    const ids: string[] = [];
    for (const name of files)
      ids.push((await refused(place, ["call", "delete_file", JSON.stringify({ path: name })])).approval_id);

    await Promise.all(ids.map((id) => grantAtTerminal(place, [id, "--rule"])));

    expect((JSON.parse(readFileSync(ruleFile(place), "utf8")) as { rules: unknown[] }).rules).toHaveLength(4);
  });

  atTerminal("is not written for a request that another process has answered", async () => {
    const place = await workspace();
    const { approval_id } = await refused(place);
    await place.run("approvals", "deny", approval_id);
    expect((await grantAtTerminal(place, [approval_id, "--rule"])).code).toBe(1);
    expect(existsSync(ruleFile(place))).toBe(false);
  });
});

test("a secret in a reason is stored nowhere", async () => {
  const place = await workspace();
  const { approval_id, run_id } = await refused(place);
  const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
  await place.run("approvals", "deny", approval_id, "--reason", `use ${secret} instead`);
  expect(readFileSync(join(place.state_dir, "runs", run_id, "approvals.json"), "utf8")).not.toContain(secret);
  expect((await place.run("approvals", "show", approval_id)).stdout).toContain("***REDACTED***");
});

// oxfmt-ignore
const NO_TERMINAL = [
  { title: "input that is piped in",                 line: "echo yes | autonous approvals grant ID" },
  { title: "a program that always says yes",         line: "yes yes | autonous approvals grant ID --scope run" },
  { title: "no input",                               line: "autonous approvals grant ID < /dev/null" },
  { title: "input that is closed",                   line: "autonous approvals grant ID <&-" },
  { title: "JSON wanted",                            line: "autonous approvals grant ID --json < /dev/null" },
  { title: "a rule wanted",                          line: "echo yes | autonous approvals grant ID --rule" },
] as const;

test("without a terminal a request cannot be granted, whatever is piped in, but it can be denied", async () => {
  const place = await workspace();
  const { approval_id } = await refused(place);
  for (const { title, line } of NO_TERMINAL) {
    const { code, stdout, stderr } = await shell(line.replace("ID", approval_id), { cwd: place.root, env: place.env });
    const says = expect.stringMatching(/standard input is not a terminal.*HTTP/s) as string;
    expect([title, code, stdout + stderr]).toEqual([title, 2, says]);
  }
  expect(await place.json("approvals", "list")).toHaveLength(1);
  expect(existsSync(ruleFile(place))).toBe(false);
  expect((await place.run("approvals", "deny", approval_id)).code).toBe(0);
});

// oxfmt-ignore
const NOT_THE_PERSONS = [
  { title: "a session without a terminal of its own", line: "setsid -w bash -c 'autonous approvals grant ID'", says: /not the terminal of this session/ },
  { title: "a question that is not shown",            line: "autonous approvals grant ID 2> seen.txt; code=$?; cat seen.txt; exit $code", says: /where the question is shown/ },
  { title: "a command of an agent with a terminal",   line: "AUTONOUS_CALL=call_1.1@OWNER bash -c 'autonous approvals grant ID; exit $?'", says: /A command that an agent runs/ },
  { title: "one that hides its own mark",             line: "AUTONOUS_CALL=call_1.1@OWNER bash -c 'unset AUTONOUS_CALL; autonous approvals grant ID; exit $?'", says: /A command that an agent runs/ },
  { title: "one in a terminal that it made",          line: "AUTONOUS_CALL=call_1.1@OWNER script -qec 'env -u AUTONOUS_CALL bash -c \"autonous approvals grant ID\"' /dev/null", says: /A command that an agent runs/ },
] as const;

atTerminal(`a terminal that is not the user's cannot approve${needsTerminal}`, async () => {
  const place = await workspace();
  const { approval_id } = await refused(place);
  for (const { title, line, says } of NOT_THE_PERSONS) {
    const command = line.replace("ID", approval_id).replace("OWNER", ownProcess());
    const terminal = openTerminal(`export -f autonous; ${command}`, { cwd: place.root, env: place.env });
    terminal.type("yes\r");
    const { code, output } = await terminal.ended;
    const said = plain(output).replaceAll(/\s+/g, " "); // notices are broken between words
    expect([title, code, said]).toEqual([title, 2, expect.stringMatching(says)]);
  }
  expect(await place.json("approvals", "list")).toHaveLength(1);
});

atTerminal(
  `an agent's command gets no answer from a terminal that it made, nor by a digest${needsTerminal}`,
  async () => {
    const place = await workspace();
    const { digest } = await refused(place);
    for (const words of ["", ` --approve ${digest}`]) {
      const call = `AUTONOUS_CALL=call_1.1@${ownProcess()} bash -c 'autonous ${DELETE.slice(0, 2).join(" ")} "\\$ARGS"${words}; exit \\$?'`;
      const line = `export ARGS='${DELETE[2]}'; export -f autonous; ${call.replaceAll("\\$", "$")}`;
      const terminal = openTerminal(line, { cwd: place.root, env: place.env });
      terminal.type("y\r");
      expect((await terminal.ended).code).toBe(4);
    }
    expect(existsSync(join(place.root, "a.txt"))).toBe(true);
  },
);

atTerminal(`the user sees what they grant, and anything but a yes grants nothing${needsTerminal}`, async () => {
  const place = await workspace();
  const { approval_id } = await refused(place);
  for (const answer of ["", "y", "no", "yes please", "yes\ryes", "\u0004", "\u0003"]) {
    const { code, output } = await grantAtTerminal(place, [approval_id], answer);
    expect([answer, code, output]).toEqual([
      answer,
      4,
      expect.stringMatching(/Allow delete_file\?[\s\S]*This call, once/),
    ]);
  }
  expect(await place.json("approvals", "list")).toHaveLength(1);
  const early = openTerminal(`sleep 1; autonous approvals grant ${approval_id}`, { cwd: place.root, env: place.env });
  early.type("yes\r"); // before the question stands there
  await early.sees("to grant it: ");
  early.type("\r");
  expect((await early.ended).code).toBe(4);
  expect(await grantAtTerminal(place, [approval_id], " YES ")).toMatchObject({ code: 0 });
});

describe("a command that an agent runs", () => {
  const ways = [
    { title: "in the sandbox", config: "{}" },
    { title: "without a sandbox", config: '{"sandbox":"off","rules":[{"effect":"allow","tool":"bash"}]}' },
  ];
  for (const { title, config } of ways) {
    test(`cannot answer for the user, ${title}`, async () => {
      const place = await workspace({ [OWN_CONFIG]: config });
      const { approval_id } = await refused(place);
      const run = await commandOfAgent(place);

      for (const words of [
        `approvals grant ${approval_id}`,
        `approvals grant ${approval_id} --rule`,
        `approvals deny ${approval_id}`,
      ]) {
        const { stdout, stderr } = await run(words);
        expect(stdout + stderr).toMatch(/A command that an agent runs cannot answer for a person|No approval "/);
      }
      // Nor by hiding the mark that it carries, nor by writing where answers are kept.
      await run(`approvals grant ${approval_id}`, "env -u AUTONOUS_CALL");
      expect(await place.json("approvals", "list")).toHaveLength(1);
      expect(existsSync(ruleFile(place))).toBe(true);
      expect(await place.read(OWN_CONFIG)).toBe(config);
      expect((await place.run(...DELETE)).code).toBe(4);
    });
  }
});

const ASKS = "Your answer: ";

/** A workspace in which writing is asked for, and a run of those calls at a terminal. */
async function running(calls: readonly (readonly [string, object])[]) {
  const place = await workspace({ [OWN_CONFIG]: '{"rules":[{"effect":"confirm","tool":"write"}]}' });
  const steps = calls.map(([name, args]) => ({ reply: { tool_calls: [{ name, arguments: args }] } }));
  await place.make({ "model.json": JSON.stringify([...steps, { reply: { final_answer: "That is it." } }]) });
  const line = `autonous run --model script:${join(place.path, "model.json")} "do it"`;
  const terminal = openTerminal(line, { cwd: place.root, env: { ...place.env, NO_COLOR: "1" } });
  async function waiting(): Promise<string> {
    await terminal.sees(ASKS);
    const [approval] = await place.json<readonly Approval[]>("approvals", "list");
    return approval?.request.approval_id ?? "";
  }
  return { place, terminal, waiting };
}

const writing = (path: string): [string, object] => ["write", { path, content: "x" }];

atTerminal(
  `a request at one terminal can be answered at another, and the run says by whom${needsTerminal}`,
  async () => {
    const { place, terminal, waiting } = await running([writing("b.txt"), writing("c.txt")]);

    expect((await grantAtTerminal(place, [await waiting()])).code).toBe(0);
    expect(plain(await terminal.sees("c.txt"))).toMatch(/granted by \w+/);
    expect((await place.run("approvals", "deny", await waiting(), "--reason", "not that one")).code).toBe(0);

    const { code, output } = await terminal.ended;
    expect(code).toBe(0);
    expect(plain(output)).toContain("a person said no: not that one");
    expect([existsSync(join(place.root, "b.txt")), existsSync(join(place.root, "c.txt"))]).toEqual([true, false]);
  },
);

atTerminal(
  `a grant for the run counts until it is revoked, and only for what its words say${needsTerminal}`,
  async () => {
    const { place, terminal, waiting } = await running([
      writing("sub/b.txt"),
      writing("sub/b.txt"), // granted
      writing("c.txt"), // another path
      writing("sub/b.txt"), // revoked
    ]);
    const { run, json } = place;

    expect((await grantAtTerminal(place, [await waiting(), "--scope", "run", "--offer", "path"])).code).toBe(0);
    const second = await waiting();
    expect((await json<Approval>("approvals", "show", second)).request.touches).toMatchObject([{ path: "c.txt" }]);
    const grants = await json<readonly Grant[]>("approvals", "grants");
    expect(grants).toMatchObject([{ scope: "run", pattern: { kind: "path", tool: "write" }, via: "command line" }]);
    expect((await run("approvals", "grants")).stdout).toMatch(/^GRANT .*\ngrant_\w+ {2}run_\w+ .*any `write` on/);
    expect((await run("approvals", "revoke", grants[0]?.grant_id ?? "")).code).toBe(0);
    expect(await json("approvals", "grants")).toEqual([]);
    expect((await run("approvals", "revoke", grants[0]?.grant_id ?? "")).code).toBe(2);

    expect((await run("approvals", "deny", second)).code).toBe(0);
    const third = await waiting();
    expect((await json<Approval>("approvals", "show", third)).request.touches).toMatchObject([{ path: "sub/b.txt" }]);
    await run("approvals", "deny", third);
    expect((await terminal.ended).code).toBe(0);
  },
);

atTerminal(`no line is wider than the terminal, and colors work${needsTerminal}`, async () => {
  const place = await workspace({ [`work/${"long-".repeat(30)}.txt`]: "x\n" });
  const { approval_id } = await refused(place, ["call", "delete_file", `{"path":"${"long-".repeat(30)}.txt"}`]);
  const line = `autonous approvals list; autonous approvals show ${approval_id}; autonous approvals list --all; autonous approvals grants`;

  const { output } = await openTerminal(line, { cwd: place.root, env: { ...place.env, NO_COLOR: "" } }).ended;

  expect(output).toContain("\u001b[1mAllow delete_file?\u001b[22m");
  expect(output).not.toContain("\\e[");
  expect(
    plain(output)
      .split("\n")
      .filter((each) => widthOf(each) > 80),
  ).toEqual([]);
});

test("what a non-interactive call prints works when it is pasted in another folder, with all that it needs", async () => {
  const place = await workspace({ "elsewhere/": "" });
  const { path, root, env } = place;
  const words = ["--root", root, "--state-dir", join(path, "record"), "--profile", "guarded"];
  const refusal = await autonous([...DELETE, ...words, "--non-interactive"], { cwd: path, env });
  expect(refusal.code).toBe(4);
  const replay = /^To approve it, at a terminal: (.*)$/m.exec(refusal.stderr)?.[1] ?? "";
  expect(replay).toContain(`--root ${root} --state-dir ${join(path, "record")}`);

  expect(await shell(replay, { cwd: path, env })).toMatchObject({ code: 4 }); // no terminal, no approval
  if (!hasTerminal) return;
  const pasted = await openTerminal(replay, { cwd: path, env: { ...env } }).ended;
  expect(pasted.code).toBe(0);
  expect(existsSync(join(root, "a.txt"))).toBe(false);
  writeFileSync(join(root, "a.txt"), "a");
  const again = openTerminal(`CI=1 ${replay}`, { cwd: path, env: { ...env } });
  expect((await again.ended).code).toBe(4);
});

describe("where a service works in the same state folder", () => {
  atTerminal("its requests and those of the command line are answered alike", async () => {
    const place = scratchPlace();
    const service = await startService(place);
    const where = ["--root", place.root, "--state-dir", place.state_dir];
    const run = (...words: readonly string[]) => autonous([...words, ...where], { cwd: place.root, env: { CI: "" } });
    const list = async (...words: readonly string[]) =>
      JSON.parse((await run("approvals", "list", ...words, "--json")).stdout) as readonly Approval[];
    const { task_id } = await service.post({ text: "/delete_file a.txt", chat: "one" });
    await until(async () => (await list()).length === 1, "the task to ask");
    writeFileSync(join(place.root, "b.txt"), "b");
    expect((await run("call", "delete_file", '{"path":"b.txt"}')).code).toBe(4);

    const waiting = await list();
    expect(new Set(waiting.map(({ request }) => request.touches[0]?.path))).toEqual(new Set(["a.txt", "b.txt"]));
    const [ofService, ofCall] = waiting.toSorted((one) => (one.request.task_id === task_id ? -1 : 1));
    const words = [ofService?.request.approval_id ?? "", "--scope", "session", ...where];
    expect((await grantAtTerminal({ root: place.root, env: { CI: "" } }, words)).code).toBe(0);
    expect((await run("approvals", "deny", ofCall?.request.approval_id ?? "")).code).toBe(0);

    expect((await service.follow(task_id)).reply).toMatchObject({ state: "done" });
    expect(existsSync(join(place.root, "a.txt"))).toBe(false);
    expect(await list()).toEqual([]);
    expect((await list("--all")).map(({ state }) => state).sort()).toEqual(["denied", "used"]);
    const grants = JSON.parse((await run("approvals", "grants", "--json")).stdout) as readonly Grant[];
    expect(grants).toMatchObject([{ scope: "session", via: "command line" }]);
    expect((await run("approvals", "revoke", grants[0]?.grant_id ?? "")).code).toBe(0);
    const { grants: left } = (await (await service.request("/api/grants")).json()) as { grants: readonly Grant[] };
    expect(left).toEqual([]);
    expect((await service.stop()).code).toBe(0);
  });
});
