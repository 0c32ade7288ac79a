/** Notes for agents reach the model, are shown and recorded, wherever an agent runs: run, chat, the service, Telegram. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startFakeModel } from "../emulators/fake-model/server.ts";
import { autonous } from "./support/cli.ts";
import { scratchPlace, startService } from "./support/service.ts";
import { answersOf, openTelegram, startBot } from "./support/telegram.ts";
import { workspace } from "./support/workspace.ts";

const FILES = {
  "home/.codex/AGENTS.md": "Be brief.\n",
  "work/AGENTS.md": "Use tabs.\n",
  "work/packages/a/CLAUDE.md": "Test with @testing.md\n",
  "work/packages/a/testing.md": "npm test\n",
  "work/packages/AGENTS.md/": "",
};

const NOTES =
  "Notes: ~/.codex/AGENTS.md (10 bytes), ../../AGENTS.md (10 bytes), CLAUDE.md (22 bytes), testing.md (9 bytes), ../AGENTS.md (skipped: it is a folder)";
const TOLD = [
  '["~/.codex/AGENTS.md"]\n| Be brief.\n',
  '["../../AGENTS.md"]\n| Use tabs.\n',
  '["CLAUDE.md"]\n| Test with @testing.md\n["testing.md", imported by "CLAUDE.md"]\n| npm test\n',
  'Notes that were not read: "../AGENTS.md" (it is a folder).',
];

async function answering(...texts: readonly string[]) {
  const model = await startFakeModel({ key: null, script: { rounds: texts.map((text) => ({ text })) } });
  onTestFinished(() => model.close());
  return {
    name: `compatible:fake@${model.url}/compatible/v1`,
    systems: (): readonly string[] =>
      model.requests.map(({ body }) => (body as { messages: { content: string }[] }).messages[0]?.content ?? ""),
  };
}

/** Below the root, which is configured. */
async function monorepo() {
  const made = await workspace(FILES);
  await made.make({ "config/autonous/config.json": JSON.stringify({ tool_allowed_roots: [made.root] }) });
  const env = { ...made.env, HOME: join(made.path, "home") };
  const cwd = join(made.root, "packages/a");
  return { ...made, env, cwd, run: (words: readonly string[], input = "") => autonous(words, { cwd, env, input }) };
}

test("run and chat send the notes down to the current folder, and show which were read and skipped", async () => {
  const { run } = await monorepo();
  const model = await answering("Done.", "Hi.");

  const ran = await run(["run", "--model", model.name, "test it"]);
  const chatted = await run(["chat", "--model", model.name], "hello\n");

  expect(ran).toMatchObject({ code: 0, stdout: "Done.\n", stderr: expect.stringContaining(NOTES) as string });
  expect(chatted).toMatchObject({ code: 0, stderr: expect.stringContaining(NOTES) as string });
  expect(model.systems()).toHaveLength(2);
  for (const system of model.systems()) for (const text of TOLD) expect(system).toContain(text);
});

test("the record, --json and doctor have them too; without a model they are not mentioned", async () => {
  const { run } = await monorepo();
  const model = await answering("Done.");

  const { stdout, stderr } = await run(["run", "--model", model.name, "test it", "--json"]);
  const events = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { type?: string; payload?: object });

  expect(stderr).not.toContain("Notes:");
  expect(events.find(({ type }) => type === "agent.started")?.payload).toMatchObject({
    project: {
      notes: {
        notes: [{ standing: "user" }, { standing: "workspace" }, { path: "CLAUDE.md" }, { imported_by: "CLAUDE.md" }],
        skipped: [{ path: "../AGENTS.md", why: "it is a folder" }],
      },
    },
  });
  const doctor = JSON.parse((await run(["doctor", "--json"])).stdout) as { checks: { check: string }[] };
  expect(doctor.checks.find(({ check }) => check === "notes")).toEqual({
    check: "notes",
    outcome: "warning",
    message: NOTES.slice("Notes: ".length),
  });
  expect((await run(["run", "/ls ."])).stderr).not.toContain("Notes:");
});

test("files that were read do not hide the ones that were skipped", async () => {
  const names = Array.from({ length: 14 }, (_, at) => `n${at}.md`);
  const { run } = await workspace({
    "work/CLAUDE.md": [...names, ...names.map((name) => `gone-${name}`)].map((name) => `@${name}`).join(" "),
    ...Object.fromEntries(names.map((name) => [`work/${name}`, "x"])),
  });
  const model = await answering("Done.");

  const { stderr } = await run("run", "--model", model.name, "test it");

  expect(stderr).toMatch(/^Notes: CLAUDE\.md \(.*, n8\.md \(1 byte\), 5 more, .*\(skipped: .*, 4 more skipped$/m);
});

test("a task of the service and one from Telegram begin with the notes of the root", async () => {
  const place = scratchPlace();
  const home = join(place.path, "home");
  mkdirSync(join(home, ".claude"), { recursive: true });
  writeFileSync(join(home, ".claude/CLAUDE.md"), "Be brief.\n");
  writeFileSync(join(place.root, "AGENTS.md"), "Use tabs.\n");
  const model = await answering("One.", "Two.");
  const environment = { HOME: home, XDG_CONFIG_HOME: join(home, ".config"), AUTONOUS_MODEL: model.name };

  const service = await startService(place, { environment });
  expect((await service.ask({ text: "do it" })).reply?.text).toBe("One.");
  await service.stop();
  writeFileSync(join(place.root, "AGENTS.md"), "Use spaces.\n");
  const telegram = await openTelegram(place);
  await startBot(place, telegram, environment);
  telegram.say({ text: "do it" });
  expect((await answersOf(telegram, 1))[0]?.text).toBe("Two.");

  expect(model.systems()).toEqual([
    expect.stringMatching(/\["~\/\.claude\/CLAUDE\.md"\]\n\| Be brief\.\n[^]*\["AGENTS\.md"\]\n\| Use tabs\./),
    expect.stringMatching(/\["~\/\.claude\/CLAUDE\.md"\]\n\| Be brief\.\n[^]*\["AGENTS\.md"\]\n\| Use spaces\./),
  ]);
});
