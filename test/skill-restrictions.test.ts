/** What a skill lists in allowed-tools holds wherever an agent runs: the command line, a chat, the service, after a kill. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { autonous, start } from "./support/cli.ts";
import { scratchPlace, startService, writeScript } from "./support/service.ts";
import { allSent, answersOf, openTelegram, startBot } from "./support/telegram.ts";
import { workspace } from "./support/workspace.ts";
import type { Workspace } from "./support/workspace.ts";

const PDF = "---\nname: pdf\ndescription: Fills forms\nallowed-tools: Read, Bash(git:*)\n---\nFill it.\n";
const REFUSED = 'Cannot use "write": the active skill "pdf" does not list it in allowed-tools';

const calls = (...each: readonly [string, object][]): object => ({
  reply: { tool_calls: each.map(([name, args]) => ({ name, arguments: args })) },
});
const answers = (final_answer: string): object => ({ reply: { final_answer } });
const write = (path: string): [string, object] => ["write", { path, content: "x" }];
const readSkill: [string, object] = ["read_skill", { name: "pdf" }];

async function withSkill(): Promise<Workspace & { script(steps: readonly object[]): Promise<string> }> {
  const made = await workspace({ "config/autonous/skills/pdf/SKILL.md": PDF });
  return {
    ...made,
    async script(steps) {
      await made.make({ "model.json": JSON.stringify(steps) });
      return `script:${join(made.path, "model.json")}`;
    },
  };
}

interface Line {
  readonly type?: string;
  readonly run_id?: string;
  readonly payload?: Readonly<Record<string, unknown>>;
}

function messagesOf(text: string): readonly string[] {
  const lines = text.trim().split("\n");
  const failed = lines.map((line) => JSON.parse(line) as Line).filter(({ type }) => type === "tool_call.failed");
  return failed.map(({ payload = {} }) => (payload["error"] as { readonly message: string }).message);
}

test("a run that has read a skill is restricted and reports it, also after kill -9; policy explain and replay agree", async () => {
  const { root, env, script, run } = await withSkill();
  const read = calls(write("before.txt"), readSkill, write("after.txt"));
  const model = await script([read, { fault: "hang" }]);
  const { child, lines, ended } = start(["run", "--model", model, "fill", "--json"], { cwd: root, env });
  child.stdin.end();
  const before: Line[] = [];
  for (let count = 1; before.filter(({ type }) => type === "turn.started").length < 2; count++)
    before.splice(0, before.length, ...(await lines(count)).map((line) => JSON.parse(line) as Line));
  child.kill("SIGKILL");
  await ended;
  expect(before.find(({ type }) => type === "skill.activated")?.payload).toMatchObject({
    skill: "pdf",
    commands: [["git"]],
  });

  await script([read, calls(write("later.txt"), ["bash", { cmd: "ls" }]), answers("Filled.")]);
  const resumed = await run("run", "--model", model, "--resume", before[0]?.run_id ?? "", "--json");
  expect(messagesOf(resumed.stdout)).toEqual([REFUSED, expect.stringContaining("allows only the commands ")]);
  expect(await run("call", "ls", "{}")).toMatchObject({ code: 0, stdout: "a.txt\nbefore.txt\n" });
  const explained = await run("policy", "explain", "write", '{"path":"x","content":"x"}', "--skill", "pdf");
  expect(explained.stdout).toContain(`DENY (ToolNotAllowed): ${REFUSED}\ndecided by tools_in_force`);
  await run("call", "read", '{"path":"a.txt"}');
  expect((await run("policy", "replay", "--config", join(root, "../config/autonous/none.json"))).code).toBe(2);
  writeFileSync(join(root, "../none.json"), "{}");
  expect((await run("policy", "replay", "--config", "../none.json")).stdout).toMatch(
    /: 0 would be decided differently/,
  );
});

test("--skill restricts a run and a whole chat; a skill that a message had read counts for that message", async () => {
  const { root, env, script, run } = await withSkill();
  const named = await run(
    "run",
    "--model",
    await script([calls(write("a1")), answers("Done.")]),
    "--skill",
    "pdf",
    "fill",
  );
  expect(named.stderr).toContain("skill pdf: only these tools from now on: read, bash");
  expect(named.stderr).toContain(REFUSED);
  const wrong = await run("run", "--model", await script([answers("x")]), "--skill", "nope", "fill");
  expect(wrong.stderr).toContain('Cannot start with the skill "nope": no skill has this name');
  expect(wrong.stderr).toContain("List the available skills with: autonous skills");
  expect(wrong.code).not.toBe(0);

  const model = await script([calls(readSkill, write("b1")), answers("One."), calls(write("b2")), answers("Two.")]);
  const said = await autonous(["chat", "--model", model], { cwd: root, env, input: "first\nsecond\n" });
  expect(said.stderr.split(REFUSED)).toHaveLength(2);
  expect(await run("call", "ls", "{}")).toMatchObject({ stdout: "a.txt\nb2\n" });

  const steps = [calls(write("c1")), answers("One."), calls(write("c2")), answers("Two.")];
  const bound = await autonous(["chat", "--model", await script(steps), "--skill", "pdf"], {
    cwd: root,
    env,
    input: "first\nsecond\n",
  });
  expect(bound.stderr.split(REFUSED)).toHaveLength(3);
});

test("a task's skill restricts it over HTTP; by Telegram the chat is told", async () => {
  const place = scratchPlace();
  const config = join(place.path, "config/autonous/skills/pdf");
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, "SKILL.md"), PDF);
  const environment = { XDG_CONFIG_HOME: join(place.path, "config") };
  const service = await startService(place, { environment });
  const restricted = await service.ask({ text: '/write {"path":"b.txt","content":"x"}', skill: "pdf", chat: "one" });
  expect(restricted.reply?.text).toMatch(/Unknown command \/write/); // it is not offered
  expect(restricted.events.map(({ type }) => type)).toContain("skill.activated");
  expect((await service.ask({ text: "/ls .", chat: "one" })).reply?.text).toBe("a.txt");
  expect((await service.ask({ text: "/ls .", skill: "nope" })).reply?.text).toMatch(
    /NotFound: .*no skill has this name/,
  );
  const bad = await service.request("/api/tasks", { method: "POST", body: '{"text":"x","skill":"../x"}' });
  expect(bad.status).toBe(400);
  await service.stop();

  const telegram = await openTelegram(place);
  const model = writeScript(place, [calls(readSkill, write("c.txt")), answers("Filled.")]);
  const bot = await startBot(place, telegram, { ...environment, AUTONOUS_MODEL: model });
  telegram.say({ text: "fill" });
  const [told, answer] = await answersOf(telegram, 2);
  expect(told?.text).toMatch(/^Info: Skill\npdf: only these tools from now on: read, bash, .*\(bash: only git\)$/);
  expect(answer?.text).toBe("Filled.");
  await allSent(bot);
});

const SPELLINGS = [
  'allowed-tools: Read, "Bash(git status:*)", Edit(src/**), WebFetch(domain:example.com), Task',
  "allowed_tools: [read_file, 'Bash(git status)', WebSearch]",
  "allowed-tools:\n  - Read\n  - Bash(git status:*, git log:*)",
  "allowed-tools: Read Bash(git status:*) mcp__none__x",
];

test("published spellings restrict a run, a chat and a task of the service, and approve nothing", async () => {
  const refused = calls(
    write("a1"),
    ["edit", { path: "a.txt", find: "a", replace: "b" }],
    ["bash", { cmd: "git status && touch a2" }],
    ["bash", { cmd: "ls" }],
    ["network_request", { url: "https://example.com/" }],
  );
  for (const line of SPELLINGS) {
    const made = await workspace({
      "config/autonous/skills/pdf/SKILL.md": `---\nname: PDF\ndescription: x\n${line}\n---\nFill it.\n`,
    });
    const model = `script:${join(made.path, "model.json")}`;
    const steps = [calls(["read_skill", { name: "PDF" }]), refused, answers("Done.")];
    await made.make({ "model.json": JSON.stringify(steps) });
    const ran = await made.run("run", "--model", model, "fill", "--json");
    expect(messagesOf(ran.stdout), line).toHaveLength(5);
    for (const message of messagesOf(ran.stdout)) expect(message, line).toMatch(/the active skill "pdf"/);
    const said = await autonous(["chat", "--model", model], { cwd: made.root, env: made.env, input: "fill\n" });
    expect(said.stderr.split('the active skill "pdf"'), line).toHaveLength(6);
    expect(await made.run("call", "ls", "{}")).toMatchObject({ stdout: "a.txt\n" });
  }
  const place = scratchPlace();
  const config = join(place.path, "config/autonous/skills/pdf");
  mkdirSync(config, { recursive: true });
  writeFileSync(
    join(config, "skill.md"),
    `---\nname: PDF\ndescription: Use when: asked\n${SPELLINGS[0]}\n---\nFill it.\n`,
  );
  const service = await startService(place, { environment: { XDG_CONFIG_HOME: join(place.path, "config") } });
  const task = await service.ask({ text: '/edit {"path":"a.txt","find":"a","replace":"b"}', skill: "pdf" });
  expect(task.reply?.text).toMatch(/Unknown command \/edit/);
  await service.stop();
}, 120_000);
