import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startFakeModel } from "../emulators/fake-model/server.ts";
import { autonous, shell, start } from "./support/cli.ts";
import { scratchFolder, stateOf } from "./support/scratch.ts";
import type { Folder } from "./support/scratch.ts";
import { hasTerminal, needsTerminal, openTerminal, plain } from "./support/terminal.ts";
import type { Terminal } from "./support/terminal.ts";

const hasSandbox = spawnSync("bwrap", ["--version"]).status === 0;
const needsSandbox = hasSandbox ? "" : " (skipped: needs bwrap, apt-get install bubblewrap)";
const atTerminal = test.skipIf(!hasTerminal);
/** As the line editor writes it: what is shown may hold "> " too. */
const PROMPT = "\u001b[0J> ";

type Step = Record<string, unknown>;

const calls = (...each: readonly [string, object][]): Step => ({
  reply: { tool_calls: each.map(([name, args]) => ({ name, arguments: args })) },
});
const answers = (final_answer: string): Step => ({ reply: { final_answer } });

interface World extends Folder {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  chat(steps: readonly Step[], more?: string): Promise<Terminal>;
  exists(name: string): Promise<boolean>;
  /** What was asked of the model in each task, in the order of the record. */
  tasks(): Promise<unknown[]>;
}

/** A workspace in which writing has to be confirmed. */
async function world(): Promise<World> {
  const folder = await scratchFolder();
  await folder.make({
    "work/a.txt": "old\n",
    "config/autonous/config.json": '{"rules":[{"effect":"confirm","tool":"write"}]}',
  });
  const cwd = join(folder.path, "work");
  const env = { XDG_CONFIG_HOME: join(folder.path, "config"), EDITOR: "", VISUAL: "", NO_COLOR: "1" };
  return {
    ...folder,
    cwd,
    env,
    async chat(steps, more = "") {
      await folder.make({ "model.json": JSON.stringify(steps) });
      return openTerminal(`autonous chat --model script:${folder.path}/model.json ${more}`, { cwd, env });
    },
    exists: (name) =>
      readFile(join(cwd, name)).then(
        () => true,
        () => false,
      ),
    async tasks() {
      const { stdout } = await shell(`cat ${stateOf(cwd)}/runs/*/events.jsonl`, { cwd });
      const events = stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as { type: string; payload: { task?: string } });
      return events.filter(({ type }) => type === "agent.started").map(({ payload }) => payload.task);
    },
  };
}

atTerminal(
  `a chat is one run: message after message, on one line or several, until Ctrl-D${needsTerminal}`,
  async () => {
    const { chat, tasks, cwd } = await world();
    const terminal = await chat([answers("One."), answers("Two."), answers("Three.")]);
    await terminal.sees(/\/help\s+lists\s+commands/); // wrapped at words
    await terminal.sees(PROMPT);
    terminal.type("first\r");
    await terminal.sees("One.");
    await terminal.sees(PROMPT);
    terminal.type("second \\\r");
    await terminal.sees("… ");
    terminal.type("goes on\r");
    await terminal.sees("Two.");
    await terminal.sees(PROMPT);
    terminal.type("\u001b[A\r"); // the arrow up: what was said last, also where it has several lines
    await terminal.sees("Three.");
    await terminal.sees(PROMPT);
    terminal.type("\u0004");
    await terminal.sees(/\r\nResume: autonous chat --resume run_\w+/);
    expect(await terminal.ended).toMatchObject({ code: 0 });
    expect(await tasks()).toEqual(["first", "second \ngoes on", "second \ngoes on"]);
    expect((await shell(`ls ${stateOf(cwd)}/runs | wc -l`, { cwd })).stdout.trim()).toBe("1");
    expect(await autonous(["audit", "verify"], { cwd })).toMatchObject({ code: 0 });
  },
);

atTerminal(`pasted text is sent only with an empty line, and Ctrl-C discards it${needsTerminal}`, async () => {
  const { chat, tasks } = await world();
  const terminal = await chat([answers("Seen.")]);
  await terminal.sees(PROMPT);
  terminal.type("rm\rall\r");
  await terminal.sees("Enter on an empty line sends it");
  terminal.type("\u0003");
  await terminal.sees(PROMPT);
  terminal.type("one\r\rtwo\rthree");
  await terminal.sees("Enter on an empty line sends it");
  await terminal.sees("three");
  terminal.type("\r");
  await terminal.sees("… ");
  terminal.type("\r");
  await terminal.sees("Seen.");
  await terminal.sees(PROMPT);
  terminal.type("/exit\r");
  expect(await terminal.ended).toMatchObject({ code: 0 });
  expect(await tasks()).toEqual(["one\n\ntwo\nthree"]);
});

atTerminal(
  `a session grant covers later messages, and /undo reverts the changes of one message${needsTerminal}`,
  async () => {
    const { chat, exists, read, tasks } = await world();
    const write = (content: string): [string, object] => ["write", { path: "b.txt", content }];
    const steps = [
      calls(write("1")),
      answers("One."),
      calls(write("2"), write("3")),
      answers("Two."),
      answers("Three."),
    ];
    const terminal = await chat(steps);
    await terminal.sees(PROMPT);
    terminal.type("write it\r");
    expect(plain(await terminal.sees("Your answer: "))).toContain(
      "a   yes, and for the rest of this session: any `write`",
    );
    terminal.type("s2\r");
    await terminal.sees("One.");
    await terminal.sees(PROMPT);
    terminal.type("/approvals\r");
    await terminal.sees(/grant_\w+ {2}any `write` on/);
    await terminal.sees(PROMPT);
    terminal.type("again\r");
    await terminal.sees("Two."); // without a prompt
    await terminal.sees(PROMPT);
    expect(await read("work/b.txt")).toBe("3");
    terminal.type("/undo\r");
    await terminal.sees(PROMPT);
    expect(await read("work/b.txt")).toBe("1");
    terminal.type("and now?\r");
    await terminal.sees("Three.");
    await terminal.sees(PROMPT);
    terminal.type("/undo\r");
    await terminal.sees(PROMPT);
    expect(await exists("b.txt")).toBe(false);
    terminal.type("/undo\r");
    await terminal.sees("Nothing to undo");
    await terminal.sees(PROMPT);
    terminal.type("\u0004");
    expect(await terminal.ended).toMatchObject({ code: 0 });
    expect((await tasks()).at(-1)).toBe("(I undid your last changes: b.txt)\n\nand now?");
  },
);

atTerminal(
  `Ctrl-C stops the call, then the task, and never the chat but at an empty line, twice${needsTerminal}`,
  async () => {
    const { chat } = await world();
    const sleep = calls(["bash", { cmd: "sleep 600" }]);
    const terminal = await chat([sleep, answers("One."), { fault: "hang" }, answers("Three.")]);
    await terminal.sees(PROMPT);
    terminal.type("sleep\r");
    await terminal.sees("running bash");
    terminal.type("\u0003");
    await terminal.sees("Stopping the call");
    await terminal.sees("One.");
    await terminal.sees(PROMPT);
    terminal.type("hang\r");
    await terminal.sees("asking the model");
    terminal.type("\u0003");
    await terminal.sees("Cancelled: ");
    await terminal.sees(PROMPT);
    terminal.type("\u0003");
    await terminal.sees("Ctrl-C again, Ctrl-D or /exit ends the chat");
    await terminal.sees(PROMPT);
    terminal.type("\u0003");
    await terminal.sees(/Resume: autonous chat --resume run_\w+/);
    expect(await terminal.ended).toMatchObject({ code: 130 });
  },
);

atTerminal(`its own commands are not sent to the model${needsTerminal}`, async () => {
  const { chat, tasks, path, make } = await world();
  const terminal = await chat([answers("One."), answers("Two.")]);
  await make({ "other.json": JSON.stringify(["1", "2", "3", "4", "Other."].map((each) => answers(each))) });
  // oxfmt-ignore
  const cases = [
    { types: "/help",                               sees: "/approvals" },
    { types: "/model",                              sees: /Model:\s+\S*model\.json/ },
    { types: "/model oracle",                       sees: 'Cannot use the model "oracle"' },
    { types: "/model direct",                       sees: "Model: direct" },
    { types: "/ls .",                               sees: "a.txt" },
    { types: "/bash printf '%s\\n' one two",        sees: /one\r?\ntwo\r?\n/ },
    { types: `/model script:${path}/other.json`,    sees: /Model:\s+\S*other\.json/ },
    { types: "/constructor",                        sees: "Unknown command /constructor" },
    { types: "/modle",                              sees: "did you mean /model?" },
    { types: "  ",                                  sees: "" },
    { types: " /constructor",                       sees: "Other." },
  ];
  for (const { types, sees } of cases) {
    await terminal.sees(PROMPT);
    terminal.type(`${types}\r`);
    await terminal.sees(sees);
  }
  await terminal.sees(PROMPT);
  terminal.type("/exit\r");
  expect(await terminal.ended).toMatchObject({ code: 0 });
  expect(await tasks()).toEqual(["/ls .", "/bash printf '%s\\n' one two", " /constructor"]);
});

test("messages can be piped in, one per line; a resumed chat knows what was said", async () => {
  const { cwd, env } = await world();
  const rounds = [{ text: "Blue." }, { text: "I said blue." }, { text: "Still blue." }];
  const model = await startFakeModel({ key: null, script: { rounds } });
  onTestFinished(() => model.close());
  const words = ["chat", "--model", `compatible:fake@${model.url}/compatible/v1`];
  const first = await autonous(words, { cwd, env, input: "a colour?\nwhich one?" });
  expect(first).toMatchObject({ code: 0, stdout: "Blue.\nI said blue.\n" });
  const [, run_id = ""] = /autonous chat --resume (run_\w+)/.exec(first.stderr) ?? [];
  const second = await autonous([...words, "--resume", run_id, "--json"], { cwd, env, input: "and now?\n" });
  expect(second.code).toBe(0);
  const last = second.stdout.trimEnd().split("\n").at(-1) ?? "";
  expect(JSON.parse(last)).toMatchObject({ ok: true, answer: "Still blue.", run_id });
  const { messages } = (model.requests.at(-1)?.body ?? {}) as { messages: { role: string; content: string }[] };
  expect(messages.filter(({ role }) => role !== "system").map(({ content }) => content)).toEqual([
    "a colour?",
    "Blue.",
    "which one?",
    "I said blue.",
    "and now?",
  ]);
  expect(await autonous(["audit", "verify"], { cwd, env })).toMatchObject({ code: 0 });
});

/** A chat with messages on its standard input. */
async function piped(world: World, steps: readonly Step[], input: string, more: readonly string[] = []) {
  await world.make({ "model.json": JSON.stringify(steps) });
  const words = ["chat", "--model", `script:${world.path}/model.json`, ...more];
  return await autonous(words, { cwd: world.cwd, env: world.env, input });
}

const writes = (path: string, content: string): [string, object] => ["edit", { path, find: "old", replace: content }];

test("a resumed chat undoes and shows what it did before, message by message, from the record", async () => {
  const here = await world();
  const steps = [calls(writes("a.txt", "old new")), answers("One."), calls(writes("a.txt", "older")), answers("Two.")];
  const first = await piped(here, steps, "one\ntwo\n/diff\n");
  expect(first.stderr).toContain("-old\n+older new\n");
  const again = await piped(here, steps, "/diff last\n/undo\n/diff\n/undo\n/undo\n", ["--continue"]);
  expect(again.code).toBe(0);
  expect(again.stdout.match(/^restored a.txt$/gm)).toHaveLength(2);
  expect(again.stderr).toContain("-old new\n+older new\n"); // the last message
  expect(again.stderr).toContain("-old\n+old new\n"); // what is left after its undo
  expect(again.stderr).toContain("Nothing to undo");
  expect(await here.read("work/a.txt")).toBe("old\n");
  const third = await piped(here, steps, "/undo\n/diff\n", ["--continue"]);
  expect(third.stderr).toContain("Nothing to undo");
  expect(third.stderr).toContain("No changes");
  expect(await autonous(["audit", "verify"], here)).toMatchObject({ code: 0 });
});

test.skipIf(!hasSandbox)(
  `a chat that was killed undoes what its command had changed by then${needsSandbox}`,
  async () => {
    const here = await world();
    const steps = [calls(["bash", { cmd: "echo x > k.txt; sleep 60" }]), answers("One.")];
    await here.make({ "model.json": JSON.stringify(steps) });
    const { child, ended } = start(["chat", "--model", `script:${here.path}/model.json`], here);
    child.stdin.write("go\n");
    await expect.poll(() => here.exists("k.txt"), { timeout: 60_000 }).toBe(true);
    child.kill("SIGKILL");
    await ended;
    const again = await piped(here, steps, "/diff\n/undo\n/undo\n", ["--continue"]);
    expect(again).toMatchObject({ code: 0, stdout: "removed k.txt\n" });
    expect(again.stderr).toContain("+++ b/k.txt");
    expect(again.stderr).toContain("Nothing to undo");
    expect(await here.exists("k.txt")).toBe(false);
    expect(await autonous(["audit", "verify"], here)).toMatchObject({ code: 0 });
  },
);

test("conversations can be left, listed and resumed, also after they were summarized", async () => {
  const here = await world();
  const steps = [answers("One."), answers("Two."), answers("Three."), { for: "summary", text: "They count." }];
  expect(await piped(here, steps, "", ["--continue"])).toMatchObject({ code: 2, stderr: /No chat to continue/ });
  const first = await piped(here, steps, "count\n/compact\n/compact\ngo on\n/clear\nanother\n/sessions\n/cost\n");
  expect(first).toMatchObject({ code: 0, stdout: "One.\nTwo.\nOne.\n" });
  expect(first.stderr).toMatch(/Summarised: about \d+ tokens of conversation became \d+/);
  expect(first.stderr).toContain("Nothing to summarise yet");
  const [, run_id = ""] = /\/resume (run_\w+)/.exec(first.stderr) ?? [];
  expect(first.stderr).toMatch(new RegExp(`this +unknown +another\\n${run_id} +\\ds +unknown +count\\n`));
  const { stdout } = await autonous(["sessions", "--json"], here);
  expect(JSON.parse(stdout)).toMatchObject([
    { kind: "chat", first_line: "another", messages: 1, cost: null },
    { kind: "chat", first_line: "count", messages: 2, run_id },
  ]);
  const resumed = await piped(here, steps, `/resume ${run_id}\nthird\n/resume nothing\n/resume ${run_id}\n`, ["-c"]);
  expect(resumed).toMatchObject({ code: 0, stdout: "Three.\n" });
  expect(resumed.stderr).toContain('No task or run "nothing"');
  expect(resumed.stderr).toContain(`${run_id} is already the open session`);
  const events = await shell(`cat ${stateOf(here.cwd)}/runs/${run_id}/events.jsonl`, here);
  const asked = events.stdout.split("\n").findLast((line) => line.includes('"task":"third"')) ?? "{}";
  expect(JSON.parse(asked)).toMatchObject({ payload: { window: { from: 2, summary: "They count." }, history: 4 } });
  expect(await autonous(["audit", "verify"], here)).toMatchObject({ code: 0 });
});

test("with --json every command of a chat answers with one document", async () => {
  const here = await world();
  const lines = ["/help", "/model", "/tools", "/cost", "/diff", "/undo", "/sessions", "/approvals", "/clear"];
  const wrong = ["/resume nothing", "/halp", "/model oracle", "/diff first", "/compact"];
  const input = [...lines, ...wrong, "hello", "/compact", "/exit", "never"].join("\n");
  const { code, stdout, stderr } = await piped(here, [answers("One.")], input, ["--json"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const documents = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  // oxfmt-ignore
  const keys = ["commands", "model", "tools", "models", "changes", "undone", "sessions", "grants", "run_id"];
  expect(documents.slice(0, keys.length).map((each, at) => Object.hasOwn(each, keys[at] ?? ""))).toEqual(
    keys.map(() => true),
  );
  const refused = documents.slice(keys.length, keys.length + 4);
  expect(refused).toMatchObject(refused.map(() => ({ ok: false, error: { message: expect.any(String) as string } })));
  expect(documents).toContainEqual({ ok: true, tokens_before: 0, tokens_after: 0 });
  expect(documents).toContainEqual(expect.objectContaining({ answer: "One." }));
  expect(documents.at(-1)).toMatchObject({ ok: false, error: { message: /no step for summary/ } });
});

test("a chat that a signal ends says how to resume it", async () => {
  const { cwd, env, path, make } = await world();
  await make({ "model.json": JSON.stringify([answers("One."), { fault: "hang" }]) });
  const words = ["chat", "--model", `script:${path}/model.json`];
  const idle = start(words, { cwd, env });
  idle.child.stdin.write("first\n");
  await idle.lines(1);
  idle.child.kill("SIGTERM");
  const ended = await idle.ended;
  expect(ended).toMatchObject({ code: 130, stdout: "One.\n" });
  const id = /Resume: autonous chat --resume (run_\w+)/.exec(ended.stderr)?.[1] ?? "";
  const unused = start([...words, "--resume", id], { cwd, env });
  unused.child.stdin.end();
  expect((await unused.ended).stderr).toContain(`autonous chat --resume ${id}`);
  const fresh = await autonous(words, { cwd, env });
  expect([fresh.code, fresh.stderr.includes("--resume")]).toEqual([0, false]);
});
