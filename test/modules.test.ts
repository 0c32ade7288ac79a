/** Tools and handlers of a person's own: named by the configuration, trusted by content, the same in every command. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchPlace, startService } from "./support/service.ts";
import { answersOf, openTelegram, startBot } from "./support/telegram.ts";
import { OWN_CONFIG, workspace } from "./support/workspace.ts";
import type { Workspace } from "./support/workspace.ts";

const HEAD = 'import { defineTool } from "autonous";\nimport { z } from "zod";\nimport { greet } from "./words.ts";\n';
const MINE = `${HEAD}
const looks = { version: "1.0.0", required_permissions: [], side_effects: ["none"], permission_class: "readonly", risk: "low" } as const;
export const tools = [
  defineTool({ ...looks, name: "greet", description: "Greet", args: z.strictObject({ name: z.string() }), returns: z.strictObject({}), read_only: true,
    execute: async ({ name }) => ({ data: {}, stdout: greet(name) }) }),
  defineTool({ ...looks, name: "release", description: "Release", args: z.strictObject({ env: z.string() }), returns: z.strictObject({}), destructive: true,
    requires_checkpoint: true, execute: async ({ env }) => ({ data: {}, stdout: "on " + env }) }),
];
export const onCheckpoint = ({ args }) => args.env === "staging" ? { answer: "grant", by: "desk" } : { answer: "deny", reason: "frozen" };
`
  .replace("({ args }) =>", "({ args }: { readonly args: Readonly<Record<string, unknown>> }) =>")
  .replace("args.env", 'args["env"]');
const WORDS = "export const greet = (name: string): string => `hello ${name}`;\n";
const GREET = ["call", "greet", '{"name":"ann"}'] as const;

async function withModule(text = MINE): Promise<Workspace> {
  return await workspace({
    [OWN_CONFIG]: JSON.stringify({ modules: ["../../work/tools/mine.ts"] }),
    "work/tools/mine.ts": text,
    "work/tools/words.ts": WORDS,
  });
}

async function trustAll({ run, json }: Workspace): Promise<void> {
  const { digest } = await json<{ readonly digest: string }>("policy", "trust");
  expect(await run("policy", "trust", "--digest", digest)).toMatchObject({ code: 0 });
}

test("a module is loaded once the user has trusted its content; what it imports is bound with it", async () => {
  const made = await withModule();
  const { run, json, make, root } = made;
  const refused = await run(...GREET);
  expect(refused.stderr).toMatch(
    /Not in force: module ".*mine\.ts" \(.*config\.json:1:13\): no person has trusted it; .*autonous policy trust/,
  );
  expect(refused.code).not.toBe(0);
  expect((await run("policy", "trust")).stdout).toMatch(
    /module \(not trusted yet\): .*mine\.ts\n +runs as this program: mine\.ts, words\.ts\n/,
  );
  expect((await run("policy", "trust", "--details")).stdout).toMatch(
    /module \(not trusted yet\): .*mine\.ts\n.*\n +runs as this program mine\.ts .*\n +runs as this program words\.ts/,
  );
  await trustAll(made);

  expect(await run(...GREET)).toMatchObject({ code: 0, stdout: "hello ann\n", stderr: "" });
  expect(await run("call", "release", '{"env":"staging"}')).toMatchObject({ code: 0, stdout: "on staging\n" });
  expect((await run("call", "release", '{"env":"prod"}')).stderr).toContain("CheckpointDenied: ");
  expect((await run("run", '/greet {"name":"bob"}')).stdout).toBe("hello bob\n");
  expect((await run("tools")).stdout).toMatch(/^greet +low +read-only .*\nrelease +low +destructive/m);
  const checks = await json<{ readonly checks: readonly { readonly check: string; readonly message: string }[] }>(
    "doctor",
  );
  expect(checks.checks.find(({ check }) => check === "modules")).toMatchObject({
    outcome: "ok",
    message: `${join(root, "tools/mine.ts")} (greet, release, onCheckpoint)`,
  });

  await make({ "work/tools/words.ts": WORDS.replace("hello", "bye") });
  const changed = await run(...GREET);
  expect(changed.stderr).toMatch(
    /it has changed since it was trusted \("words\.ts" has changed\); .*autonous policy trust/,
  );
  expect(changed.code).not.toBe(0);
  await trustAll(made);
  expect((await run(...GREET)).stdout).toBe("bye ann\n");
  await run("policy", "trust", "--revoke");
  expect((await run(...GREET)).stderr).toContain("no person has trusted it");
});

test("no agent changes a module without approval, under any profile, trusted or not", async () => {
  const made = await withModule();
  const { run } = made;
  for (const trusted of [false, true]) {
    if (trusted) await trustAll(made);
    for (const name of ["tools/mine.ts", "tools/words.ts"]) {
      const given = JSON.stringify({ path: name, content: "x" });
      for (const profile of ["guarded", "autonomous"])
        expect((await run("policy", "explain", "write", given, "--profile", profile)).stdout).toMatch(
          /^REQUIRE_CONFIRMATION: .*(?:loads it as its own code|runs it)/,
        );
    }
  }
  expect((await run("policy", "explain", "write", '{"path":"src/x.ts","content":"x"}')).stdout).toMatch(/^ALLOW/);
});

test("a project's module needs trust of the configuration and of its own", async () => {
  const made = await workspace({
    "work/.agent/config.json": JSON.stringify({ modules: ["tools/mine.ts"] }),
    "work/tools/mine.ts": MINE,
    "work/tools/words.ts": WORDS,
  });
  expect((await made.run(...GREET)).stderr).toMatch(/the configuration that names it is not trusted/);
  await trustAll(made);
  expect(await made.run(...GREET)).toMatchObject({ code: 0, stdout: "hello ann\n" });
});

test("an untrusted project stops no command, whatever modules it names", async () => {
  const modules = ["tools/none.ts", "/dev/zero", "/etc/passwd", "tools", "../../../x.ts", "tools/\u001b[2J.ts"];
  const made = await workspace({
    "work/.agent/config.json": JSON.stringify({ modules }),
    "work/tools/kept.txt": "",
  });
  const { code, stdout, stderr } = await made.run("call", "ls", '{"path":"tools"}');
  expect({ code, stdout }).toEqual({ code: 0, stdout: "kept.txt\n" });
  expect(
    stderr.match(/^Not in force: module ".*" \(.*\): the configuration that names it is not trusted/gm) ?? [],
  ).toHaveLength(modules.length);
});

// oxfmt-ignore
const BROKEN = [
  { title: "cannot be parsed",            text: "export const tools = [;",                                  says: /expected/i },
  { title: "throws",                      text: 'throw new Error("boom \\u001b[31m")',                      says: /: boom \\e\[31m\. Fix it/ },
  { title: "imports another package",     text: 'import x from "left-pad";\nexport const tools = [];',      says: /imports the package "left-pad".*bundle other packages into the module/ },
  { title: "imports what is not bound",   text: 'const name = "words";\nawait import(`./${name}.ts`);',     says: /imports ".\/words\.ts", which is not part of the trusted content/ },
  { title: "imports what is missing",     text: 'import "./nothing.ts";',                                   says: /imports ".\/nothing\.ts", which is not part/ },
  { title: "exports nothing of use",      text: "export const a = 1;",                                      says: /exports none of tools, onCheckpoint, onReverseThinking/ },
  { title: "exports no tools",            text: 'export const tools = [{ name: "x" }];',                    says: /list of tools that defineTool made/ },
  { title: "exports no handler",          text: "export const onCheckpoint = 1;",                           says: /"onCheckpoint" has to be a function/ },
  { title: "takes a built-in name",       text: MINE.replace('name: "greet"', 'name: "read_file"'),          says: /"read_file" is taken by a built-in tool/ },
] as const;

test.each(BROKEN)(
  "a module that $title is an error with the file, the cause and what to do",
  async ({ text, says }) => {
    const made = await withModule(text);
    await trustAll(made);
    const { code, stderr } = await made.run("call", "ls", "{}");
    expect(stderr).toMatch(
      /^Cannot load the module ".*mine\.ts" \(.*config\.json:1:13\): .*Fix it, or remove it from "modules"$/m,
    );
    expect(stderr).toMatch(says);
    expect(code).toBe(2);
  },
);

test("the service's worker has the tools and handlers; a broken module costs its tools and not the service", async () => {
  const made = await withModule();
  await trustAll(made);
  const place = scratchPlace();
  const service = await startService(place, { environment: made.env });
  expect((await service.ask({ text: '/greet {"name":"ann"}' })).reply?.text).toBe("hello ann");
  expect((await service.ask({ text: '/release {"env":"prod"}' })).reply?.text).toMatch(/^CheckpointDenied: /);
  await service.stop();

  writeFileSync(join(made.root, "tools/mine.ts"), "throw new Error('boom');");
  await trustAll(made);
  const started = await startService(place, { environment: made.env });
  expect((await started.ask({ text: "/ls ." })).reply?.text).toBe("a.txt");
  expect((await started.ask({ text: '/greet {"name":"ann"}' })).reply?.text).toMatch(/Unknown command \/greet/);
  expect((await started.stop()).code).toBe(0);
  expect(started.stderr()).toMatch(/Cannot load the module ".*mine\.ts".*: boom\. Fix it/);
});

test("/tools by Telegram lists the tools of modules, as far as the policy offers them", async () => {
  const made = await withModule();
  await made.make({
    [OWN_CONFIG]: JSON.stringify({ modules: ["../../work/tools/mine.ts"], tools: ["greet", "ls"] }),
  });
  await trustAll(made);
  const place = scratchPlace();
  const telegram = await openTelegram(place);
  await startBot(place, telegram, made.env);
  telegram.say({ text: '/greet {"name":"ann"}' }); // answered by a worker that has its modules
  await answersOf(telegram, 1);
  telegram.say({ text: "/tools" });
  const list = (await answersOf(telegram, 2)).at(-1)?.text;
  expect(list).toMatch(/^ls: /m);
  expect(list).toMatch(/^greet: Greet$/m);
  expect(list).not.toContain("release");
});
