import { chmod, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { widthOf } from "../packages/autonous/src/channels/words/width.ts";
import { autonous, shell } from "./support/cli.ts";
import { grantAtTerminal } from "./support/grant.ts";
import { scratchFolder } from "./support/scratch.ts";
import type { Folder } from "./support/scratch.ts";
import { hasTerminal, needsTerminal, openTerminal, plain } from "./support/terminal.ts";
import type { Terminal } from "./support/terminal.ts";

const CONFIGURATION =
  '{"rules":[{"effect":"confirm","tool":"write"},{"effect":"confirm","tool":"ls","path":"sub/**"}]}';
const ASKS = "Your answer: ";

interface World extends Folder {
  readonly env: Readonly<Record<string, string>>;
  at(line: string, options?: { columns?: number; env?: Record<string, string> }): Terminal;
  exists(name: string): Promise<boolean>;
  /** What became of each call, oldest first. */
  outcomes(): Promise<
    { tool: string; ok: boolean; code: string | null; approved: boolean | null; scope: string | null }[]
  >;
}

/** A workspace in which writing has to be confirmed; the user's own folders lie beside it. */
async function world(): Promise<World> {
  const folder = await scratchFolder();
  await folder.make({ "work/sub/b.txt": "", "work/a.txt": "old\n", "config/autonous/config.json": CONFIGURATION });
  const cwd = join(folder.path, "work");
  const env = { XDG_CONFIG_HOME: join(folder.path, "config"), EDITOR: "", VISUAL: "", NO_COLOR: "1", USER: "ann" };
  return {
    ...folder,
    env,
    at: (line, options = {}) => openTerminal(line, { cwd, ...options, env: { ...env, ...options.env } }),
    exists: (name) =>
      readFile(join(cwd, name)).then(
        () => true,
        () => false,
      ),
    read: (name) => readFile(join(cwd, name), "utf8"),
    async outcomes() {
      const { stdout } = await autonous(["audit", "show", "--json"], { cwd, env });
      const records = JSON.parse(stdout) as {
        tool: string;
        result: { ok: boolean; error_code: string | null };
        policy: { approved: boolean | null; approval_scope: string | null };
      }[];
      return records.toReversed().map(({ tool, result, policy }) => ({
        tool,
        ok: result.ok,
        code: result.error_code,
        approved: policy.approved,
        scope: policy.approval_scope,
      }));
    },
  };
}

function writing(path: string, content: string): string {
  return `autonous call write '${JSON.stringify({ path, content }).replaceAll("'", `'\\''`)}'`;
}

/** A script of replies for `run`; each call is a step of its own, and the last step is the answer. */
async function scripted(folder: Folder, calls: readonly (readonly [string, object][])[]): Promise<string> {
  const steps = calls.map((each) => ({
    reply: { tool_calls: each.map(([name, args]) => ({ name, arguments: args })) },
  }));
  await folder.make({ "model.json": JSON.stringify([...steps, { reply: { final_answer: "That is it." } }]) });
  return `autonous run --model script:${join(folder.path, "model.json")} "do it"`;
}

const atTerminal = test.skipIf(!hasTerminal);

atTerminal(`a yes lets exactly this call through, and stdout has nothing but the result${needsTerminal}`, async () => {
  const { at, read, outcomes } = await world();
  const terminal = at(`${writing("a.txt", "new\n")} --json >out.json`);
  const asked = plain(await terminal.sees(ASKS));
  expect(asked).toContain("Allow write?");
  expect(asked).toContain("risk       medium");
  expect(asked).toContain("touches    write a.txt");
  expect(asked).toContain("-old\n");
  expect(asked).toContain("+new\n");
  expect(asked).toMatch(/answer {5}within \d+ \w+\n {2}elsewhere {2}autonous approvals grant apr_/);
  terminal.type("y\r");
  expect(await terminal.ended).toMatchObject({ code: 0 });
  expect(await read("a.txt")).toBe("new\n");
  expect(JSON.parse(await read("out.json"))).toMatchObject({ ok: true });
  expect(await outcomes()).toEqual([{ tool: "write", ok: true, code: null, approved: true, scope: "call" }]);
});

atTerminal(`a no with a reason is told to the model, and the run goes on${needsTerminal}`, async () => {
  const { at, exists, make, read, path } = await world();
  const line = await scripted({ make, read, path }, [[["write", { path: "b.txt", content: "x" }]]]);
  const terminal = at(`${line} --json >events`);
  await terminal.sees(ASKS);
  terminal.type("n write it to docs instead\r");
  expect(await terminal.ended).toMatchObject({ code: 0 });
  expect(await exists("b.txt")).toBe(false);
  const events = (await read("events")).trimEnd().split("\n");
  const failed = events.map((each) => JSON.parse(each) as { type?: string; payload?: unknown });
  expect(failed.find(({ type }) => type === "tool_call.failed")).toMatchObject({
    payload: {
      error: { code: "ApprovalDenied", message: 'Cannot run "write": a person said no: write it to docs instead' },
    },
  });
  expect(failed.at(-1)).toMatchObject({ ok: true, answer: "That is it." });
});

atTerminal(
  `a yes for the run is not asked again for the same call, and for another one it is${needsTerminal}`,
  async () => {
    const { at, exists, outcomes, ...folder } = await world();
    const write = ["write", { path: "b.txt", content: "x" }] as [string, object];
    const other = ["write", { path: "c.txt", content: "x" }] as [string, object];
    const terminal = at(await scripted(folder, [[write], [write], [other]]));
    await terminal.sees(ASKS);
    terminal.type("?\r");
    expect(plain(await terminal.sees(ASKS))).toContain(
      "r   yes, and for the rest of this run: exactly this call again",
    );
    terminal.type("r\r");
    expect(plain(await terminal.sees(ASKS))).toContain("c.txt");
    terminal.type("n\r");
    expect(await terminal.ended).toMatchObject({ code: 0 });
    expect(await exists("c.txt")).toBe(false);
    expect(await outcomes()).toEqual([
      { tool: "write", ok: true, code: null, approved: true, scope: "run" },
      { tool: "write", ok: true, code: null, approved: true, scope: "run" },
      { tool: "write", ok: false, code: "ApprovalDenied", approved: false, scope: null },
    ]);
  },
);

function unwrapped(text: string): string {
  return text.replaceAll(/\s+/g, "");
}

for (const columns of [80, 200]) {
  atTerminal(
    `at ${columns} columns a grants the widest offer in its words, and ? has the list and the digest${needsTerminal}`,
    async () => {
      const { at, exists, outcomes, read, env, ...folder } = await world();
      const writes = ["sub/c.txt", "sub/deep/d.txt", "e.txt"].map((path): [string, object][] => [
        ["write", { path, content: "x" }],
      ]);
      const line = await scripted({ ...folder, read }, writes);
      const terminal = at(`${line} --json >events`, { columns });
      const asked = plain(await terminal.sees(ASKS));
      const sub = join(folder.path, "work/sub");
      expect(unwrapped(asked)).toContain(
        unwrapped(`a   yes, and for the rest of this run: any \`write\` below \`${sub}\``),
      );
      const short = /digest {5}([0-9a-f]{12})…/.exec(asked)?.[1] ?? "none";
      const approval_id = /apr_\w+/.exec(asked)?.[0] ?? "";
      terminal.type("?\r");
      const help = plain(await terminal.sees(ASKS));
      for (const offer of [`r2  yes, and for the rest of this run: any \`write\` on \`${sub}/c.txt\``, "r3  yes, and"])
        expect(unwrapped(help)).toContain(unwrapped(offer));
      const digest = /digest ([0-9a-f]{64})/.exec(help)?.[1] ?? "";
      expect(digest.startsWith(short)).toBe(true);
      expect(help.split("\n").filter((each) => widthOf(each) > columns)).toEqual([]);
      const shown = await autonous(["approvals", "show", approval_id], { cwd: join(folder.path, "work"), env });
      expect(shown.stdout).toContain(digest);
      terminal.type("a\r");
      expect(plain(await terminal.sees(ASKS))).toContain("write e.txt"); // sub/deep/d.txt was not asked for
      terminal.type("n\r");
      expect(await terminal.ended).toMatchObject({ code: 0 });
      expect(await Promise.all(["sub/deep/d.txt", "e.txt"].map(exists))).toEqual([true, false]);
      expect((await outcomes()).map(({ scope }) => scope)).toEqual(["run", "run", null]);
      const events = (await read("events")).trimEnd().split("\n");
      const required = events
        .map((each) => JSON.parse(each) as { type?: string; payload: { digest?: string } })
        .find(({ type }) => type === "approval_required");
      expect(required?.payload.digest).toBe(digest);
    },
  );
}

atTerminal(`arguments can be edited in an editor, which is told what is wrong with them${needsTerminal}`, async () => {
  const { at, make, path, read } = await world();
  const editor = join(path, "bin/editor");
  await make({
    "bin/editor": `#!/bin/bash
stat -c 'mode %a' "$1"
if [ -e ${path}/tried ]; then sed -i 's/NEW,,/NEW",/' "$1"; else touch ${path}/tried; sed -i 's/new\\\\n",/NEW,,/' "$1"; fi
`,
  });
  await chmod(editor, 0o755);
  const terminal = at(`${writing("a.txt", "new\n")} >/dev/null`, { env: { EDITOR: editor } });
  await terminal.sees(ASKS);
  terminal.type("e\r");
  const said = plain(await terminal.sees("Continue editing? (y or n) "));
  expect(said).toContain("mode 600");
  expect(said).toMatch(/Invalid JSON: line \d, column \d+/);
  terminal.type("y\r");
  expect(await terminal.ended).toMatchObject({ code: 0 });
  expect(await read("a.txt")).toBe("NEW");
});

atTerminal(
  `without an editor they are edited on the line, and nothing is allowed unless they are right${needsTerminal}`,
  async () => {
    const { at, read } = await world();
    const terminal = at(writing("a.txt", "new"));
    await terminal.sees(ASKS);
    terminal.type("e\r");
    await terminal.sees('"new"');
    terminal.type("x\r");
    await terminal.sees("Invalid JSON: line 1, column");
    await terminal.sees("Arguments: ");
    terminal.type("\u0004"); // not at the end of an empty line: deletes nothing
    terminal.type("\u0003");
    await terminal.sees("Arguments unchanged. Nothing was allowed.");
    await terminal.sees(ASKS);
    terminal.type("e\r");
    await terminal.sees('"new"');
    terminal.type(`\u0015{"path":"a.txt","content":"edited"}\r`);
    expect(await terminal.ended).toMatchObject({ code: 0 });
    expect(await read("a.txt")).toBe("edited");
  },
);

atTerminal(`Ctrl-C cancels the call, Ctrl-D means no${needsTerminal}`, async () => {
  const { at, read, outcomes } = await world();
  // oxfmt-ignore
  const cases = [
    { keys: "\u0003", code: 130, error: "Cancelled" },
    { keys: "\u0004", code: 3,   error: "ApprovalDenied" },
  ];
  for (const { keys, code } of cases) {
    const terminal = at(writing("a.txt", "new"));
    await terminal.sees(ASKS);
    terminal.type(keys);
    expect(await terminal.ended).toMatchObject({ code });
  }
  expect(await read("a.txt")).toBe("old\n");
  expect((await outcomes()).map(({ code }) => code)).toEqual(cases.map(({ error }) => error));
});

atTerminal(`in a run Ctrl-C cancels one call, and a second one stops the run${needsTerminal}`, async () => {
  const { at, exists, ...folder } = await world();
  const calls = ["b.txt", "c.txt", "d.txt"].map((path): [string, object][] => [["write", { path, content: "x" }]]);
  const line = await scripted(folder, calls);
  const terminal = at(line);
  await terminal.sees(ASKS);
  terminal.type("\u0003");
  await terminal.sees("Cancelled. Press Ctrl-C again to stop the run.");
  expect(plain(await terminal.sees(ASKS))).toContain("c.txt");
  terminal.type("\u0003");
  const { code, output } = await terminal.ended;
  expect(code).toBe(130);
  expect(output).not.toContain("d.txt");
  for (const name of ["b.txt", "c.txt", "d.txt"]) expect(await exists(name)).toBe(false);
});

atTerminal(`what was typed before the question stood there does not answer it${needsTerminal}`, async () => {
  const { at, read, make, path } = await world();
  const reply = { tool_calls: [{ name: "write", arguments: { path: "a.txt", content: "new" } }] };
  await make({ "model.json": JSON.stringify([{ reply, delay_ms: 1000 }, { reply: { final_answer: "That is it." } }]) });
  const terminal = at(`autonous run --model script:${join(path, "model.json")} "do it"`);
  await terminal.sees("turn 1");
  terminal.type("y\ry\ry"); // while the model thinks
  await terminal.sees(ASKS);
  terminal.type("\r"); // the third y is gone too: this line is empty
  await terminal.sees(ASKS);
  terminal.type("z\ry\r"); // several lines at once do not count as an answer either
  await terminal.sees("Several lines at once are ignored");
  await terminal.sees(ASKS);
  terminal.type("n\r");
  expect(await terminal.ended).toMatchObject({ code: 0 });
  expect(await read("a.txt")).toBe("old\n");
});

atTerminal(`several questions at once are asked one after the other${needsTerminal}`, async () => {
  const { at, outcomes, make, ...folder } = await world();
  await make({ "work/sub/one/": "", "work/sub/two/": "" });
  const both = ["sub/one", "sub/two"].map((path): [string, object] => ["ls", { path }]);
  const terminal = at(await scripted({ make, ...folder }, [both]));
  const first = plain(await terminal.sees(ASKS));
  expect([first.includes("list sub/one"), first.includes("list sub/two")]).toEqual([true, false]);
  terminal.type("y\r");
  expect(plain(await terminal.sees(ASKS))).toContain("list sub/two");
  terminal.type("n\r");
  expect(await terminal.ended).toMatchObject({ code: 0 });
  expect(new Set((await outcomes()).map(({ approved }) => approved))).toEqual(new Set([false, true]));
});

const HOSTILE = "\u001b]0;owned\u0007\u001b[2J\u001b[1;1H\r\u202eAllowed once.\u009b31m";

atTerminal(
  `nothing that is asked about acts on the terminal, and all of it fits 40 columns${needsTerminal}`,
  async () => {
    const { at, make } = await world();
    await make({
      "work/a.txt": `${HOSTILE}\nold\n`,
      "args.json": JSON.stringify({ path: "a.txt", content: HOSTILE.repeat(3) }),
    });
    const terminal = at('autonous call write "$(cat ../args.json)"', { columns: 40 });
    await terminal.sees(ASKS);
    terminal.type("d\r");
    await terminal.sees(ASKS);
    terminal.resize(60);
    await terminal.sees(ASKS); // redrawn
    terminal.type("?\r");
    await terminal.sees(ASKS);
    terminal.type("n\r");
    const { code, output } = await terminal.ended;
    expect(code).toBe(3);
    const shown = plain(output);
    expect(shown).toContain("\\e]0;owned");
    // oxlint-disable-next-line no-control-regex
    expect(shown).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    const lines = shown.split("\n");
    const help = lines.findIndex((each) => each.startsWith("A yes allows"));
    expect(lines.slice(0, help).filter((each) => widthOf(each) > 40)).toEqual([]);
    expect(widthOf(lines[help] ?? "")).toBeGreaterThan(40);
  },
);

atTerminal(`a terminal that can do nothing is asked just as well${needsTerminal}`, async () => {
  const { at, read } = await world();
  const terminal = at(writing("a.txt", "new"), { env: { TERM: "dumb" } });
  await terminal.sees(ASKS);
  terminal.type("y\r");
  const { code, output } = await terminal.ended;
  expect([code, await read("a.txt")]).toEqual([0, "new"]);
  expect(output).not.toContain("\u001b");
});

atTerminal(`an answer that comes from elsewhere closes the question, and it is said${needsTerminal}`, async () => {
  const { at, read, path, env } = await world();
  const terminal = at(writing("a.txt", "new"));
  const [approval_id = ""] = /apr_\w+/.exec(plain(await terminal.sees(ASKS))) ?? [];
  const cwd = join(path, "work");
  expect(await autonous(["approvals", "grant", approval_id], { cwd, env, input: "yes\n" })).toMatchObject({ code: 2 });
  expect(await grantAtTerminal({ root: cwd, env }, [approval_id])).toMatchObject({ code: 0 });
  await terminal.sees("Question closed: The request was granted");
  expect(await terminal.ended).toMatchObject({ code: 0 });
  expect(await read("a.txt")).toBe("new");
});

// oxfmt-ignore
const UNATTENDED = [
  { title: "in CI",                 flag: "",                   env: { CI: "true" } },
  { title: "with --non-interactive", flag: " --non-interactive", env: {} },
];

for (const { title, flag, env } of UNATTENDED) {
  atTerminal(
    `${title} no prompt is shown: the call is refused, and its replay works when it is pasted${needsTerminal}`,
    async () => {
      const { at, read } = await world();
      const state = "--root . --state-dir '../some state' --profile autonomous";
      const refused = at(`${writing("a.txt", 'it\'s "new" $HOME\u202e\n')} ${state}${flag}`, { env });
      const { code, output } = await refused.ended;
      expect(code).toBe(4);
      expect(output).not.toContain(ASKS);
      const replay = /^To approve it, at a terminal: (.*)$/m.exec(plain(output))?.[1] ?? "";
      const pasted = at(replay);
      expect(await pasted.ended).toMatchObject({ code: 0 });
      expect(await read("a.txt")).toBe('it\'s "new" $HOME\u202e\n');
    },
  );
}

test("a run that had to ask and could not says so with its exit code, and in its last line", async () => {
  const { env, path, make, read } = await world();
  const line = await scripted({ make, read, path }, [[["write", { path: "b.txt", content: "x" }]]]);
  const { code, stdout, stderr } = await shell(line, { cwd: join(path, "work"), env });
  expect([code, stdout]).toEqual([4, "That is it.\n"]);
  expect(stderr).toMatch(/to approve it: autonous call write '.*' --approve [0-9a-f]{64}$/m);
  const json = await shell(`${line} --json`, { cwd: join(path, "work"), env });
  expect(json.code).toBe(4);
  expect(JSON.parse(json.stdout.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({
    ok: false,
    outcome: "completed",
    answer: "That is it.",
    error: { code: "ApprovalRequired", replay: expect.stringContaining("--approve") as string },
  });
});

atTerminal(
  "without a terminal a digest on the command line approves nothing, until a person grants it elsewhere",
  async () => {
    const { env, path, read } = await world();
    const cwd = join(path, "work");
    const refused = await shell(writing("a.txt", "new"), { cwd, env });
    expect(refused).toMatchObject({ code: 4, stdout: "" });
    const replay = /^To approve it, at a terminal: (.*)$/m.exec(refused.stderr)?.[1] ?? "";
    const [approval_id = ""] = /apr_\w+/.exec(refused.stderr) ?? [];
    expect(refused.stderr).toContain(`autonous approvals grant ${approval_id}`);
    expect(await shell(replay, { cwd, env })).toMatchObject({ code: 4 });
    expect(await autonous(["approvals", "grant", approval_id], { cwd, env, input: "yes\n" })).toMatchObject({
      code: 2,
    });
    expect(await grantAtTerminal({ root: cwd, env }, [approval_id])).toMatchObject({ code: 0 });
    expect(await shell(replay, { cwd, env })).toMatchObject({ code: 0 });
    expect(await read("a.txt")).toBe("new");
    expect(await shell(replay, { cwd, env })).toMatchObject({ code: 4 });
  },
);
