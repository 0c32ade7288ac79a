import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { COMMANDS } from "../packages/autonous/src/cli/all.ts";
import { autonous } from "./support/cli.ts";
import type { Ended } from "./support/cli.ts";
import { scratchFolder } from "./support/scratch.ts";

/** Everything on stdout as the one JSON document that it has to be. */
function document({ stdout }: Ended): Record<string, unknown> {
  expect(stdout.endsWith("\n")).toBe(true);
  return JSON.parse(stdout) as Record<string, unknown>;
}

test.each(COMMANDS.map((command) => [command.name, command] as const))(
  "%s --help shows its options and its example in 80 columns",
  async (name, { example, args = [], options = [] }) => {
    const { path } = await scratchFolder();

    const { code, stdout, stderr } = await autonous([...name.split(" "), "--help"], { cwd: path });

    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`Usage: autonous ${name}`);
    expect(stdout).toContain(`Example:\n  ${example}`);
    for (const option of options) expect(stdout).toContain(option.name);
    for (const argument of args) expect(stdout).toContain(argument.name);
    expect(stdout).toContain("--json");
    expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
    expect(readdirSync(path)).toEqual([]);
  },
);

const GROUPS = new Set(COMMANDS.flatMap(({ name }) => name.split(" ").slice(0, -1)));

test.each([...GROUPS])("%s --help describes its commands", async (group) => {
  const { path: cwd } = await scratchFolder();
  const { stdout } = await autonous([group, "--help"], { cwd });
  expect(stdout).toMatch(new RegExp(`^Usage: autonous ${group} \\[options\\] \\[command\\]\n\n[A-Z].{10}`));
});

const ABOUT = [
  { words: ["--help"], says: /Commands:[^]*policy[^]*To begin:/ },
  { words: ["help"], says: /Commands:/ },
  { words: ["help", "audit"], says: /Usage: autonous audit[^]*verify/ },
  { words: ["help", "audit", "verify"], says: /Usage: autonous audit verify/ },
  { words: ["--version"], says: /^\d+\.\d+\.\d+\n$/ },
  { words: ["-V"], says: /^\d+\.\d+\.\d+\n$/ },
];

test("help and version go to stdout, in 80 columns, or as a document", async () => {
  const { path: cwd } = await scratchFolder();
  for (const { words, says } of ABOUT) {
    const { code, stdout, stderr } = await autonous(words, { cwd });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(says);
    expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
  }
  expect(document(await autonous(["call", "--help", "--json"], { cwd }))).toEqual({
    help: expect.stringContaining("Usage: autonous call") as string,
  });
  expect(document(await autonous(["--json", "--version"], { cwd }))).toHaveProperty("version");
});

// oxfmt-ignore
const WRONG = [
  { words: ["cal"],                            says: 'Unknown command "cal"; did you mean call? See "autonous --help"' },
  { words: ["audit", "verfy"],                 says: 'Unknown command "verfy"; did you mean verify? See "autonous audit --help"' },
  { words: ["verify"],                         says: 'Unknown command "verify"; did you mean audit verify? See "autonous --help"' },
  { words: ["-v"],                             says: 'Unknown option "-v"; see "autonous --help"' },
  { words: ["call", "ls", "--jso"],            says: 'Unknown option "--jso"; did you mean --json? See "autonous call --help"' },
  { words: ["call"],                           says: 'Missing required argument "tool"; see "autonous call --help"' },
  { words: ["run"],                            says: "The task is empty" },
  { words: ["policy", "explain"],              says: 'Missing required argument "tool"; see "autonous policy explain --help"' },
  { words: ["events", "tree"],                 says: 'Missing required argument "task or run"; see "autonous events tree --help"' },
  { words: ["tasks", "show"],                  says: 'Missing required argument "task"; see "autonous tasks show --help"' },
  { words: ["call", "ls", "{}", "more"],       says: 'Too many arguments for "call". Expected 2 arguments but got 3' },
  { words: ["call", "ls", "--root"],           says: 'Option "--root <folder>" argument missing' },
  { words: ["call", "ls", '{"path":"a.txt","path":".."}'], says: "Duplicate name in an object" },
  { words: ["call", "ls", "{oops"],            says: "Cannot read the arguments: not valid JSON" },
  { words: ["call", "ls", "--root", "nowhere"], says: "does not exist" },
  { words: ["call", "ls", "--root", ""],       says: "a root is empty" },
  { words: ["call", "ls", "--state-dir", ""],  says: "--state-dir is empty" },
  { words: ["run", " "],                       says: "The task is empty" },
  { words: ["run", "--max-turns", "1e2", "x"], says: 'Invalid number "1e2" (a whole number from 1 to 100000)' },
  { words: ["run", "--model", "oracle", "x"],  says: 'Cannot use the model "oracle"' },
  { words: ["tools", "sl"],                    says: 'Unknown tool "sl"; did you mean "ls"?' },
  { words: ["tasks", "list"],                  says: "start one with autonous serve" },
  { words: ["tasks", "list", "--state", "gone"], says: 'Invalid state "gone" (one of queued' },
  { words: ["tasks", "show", "task_0"],        says: "start one with autonous serve" },
  { words: ["events", "tree", "run_0"],        says: 'No task or run "run_0"' },
  { words: ["events", "tail", "run_0"],        says: 'No task or run "run_0"' },
  { words: ["events", "tail", "--lines", "0"], says: 'Invalid number "0" (a whole number' },
  { words: ["audit", "verify", "nowhere"],     says: 'Cannot verify "nowhere"' },
  { words: ["audit", "show", "--outcome", "x"], says: 'Invalid outcome "x" (one of ok, failed, denied)' },
  { words: ["audit", "show", "--since", "ago"], says: 'Invalid time "ago" (examples: 2026-01-31, ' },
  { words: ["audit", "export", "--run", "r"],  says: 'No task or run "r"' },
  { words: ["redact", "build.log"],            says: "autonous redact < file" },
  { words: ["doctor", "--root", "nowhere"],    says: "does not exist" },
  { words: ["serve"],                          says: "Cannot serve without a root" },
  { words: ["worker"],                         says: "use autonous serve" },
];

test.each(WRONG.map((wrong) => [wrong.words.join(" "), wrong] as const))(
  "autonous %s is used wrongly: exit 2, with what to do next",
  async (_, { words, says }) => {
    const { path: cwd } = await scratchFolder();

    const [people, programs] = await Promise.all([autonous(words, { cwd }), autonous(["--json", ...words], { cwd })]);

    expect({ code: people.code, stdout: people.stdout }).toEqual({ code: 2, stdout: "" });
    expect(people.stderr).toContain(says);
    expect({ code: programs.code, stderr: programs.stderr }).toEqual({ code: 2, stderr: "" });
    const { ok, error } = document(programs) as { ok: boolean; error: { code: string; message: string } };
    expect(ok).toBe(false);
    expect(error.message).toContain(says);
    expect(error.code).toMatch(/^(UsedWrongly|InvalidArguments)$/);
  },
);

test("a group without a command lists its commands on stderr, as a usage error", async () => {
  const { path: cwd } = await scratchFolder();
  for (const { words, has } of [
    { words: [], has: "run, chat, sessions, call, tools, policy" },
    { words: ["audit"], has: "verify, show, export" },
  ]) {
    const people = await autonous(words, { cwd });
    expect({ code: people.code, stdout: people.stdout }).toEqual({ code: 2, stdout: "" });
    expect(people.stderr).toContain("Commands:");
    const programs = await autonous(["--json", ...words], { cwd });
    expect({ code: programs.code, stderr: programs.stderr }).toEqual({ code: 2, stderr: "" });
    expect(document(programs)).toMatchObject({ ok: false, error: { message: expect.stringContaining(has) as string } });
  }
  expect(readdirSync(cwd)).toEqual([]);
});

test("the labels of tools are shown to people and stand in the audit log", async () => {
  const { path: cwd } = await scratchFolder();
  const { stdout } = await autonous(["tools"], { cwd });
  expect(stdout).toMatch(/^ls +low +read-only +fs\.read/m);
  expect(stdout).toMatch(/^write +medium +fs\.write/m);
  expect(stdout).toMatch(/^bash +medium +destructive +proc\.exec/m);
  expect((await autonous(["tools", "delete_file"], { cwd })).stdout).toMatch(/^label +destructive$/m);

  await autonous(["call", "ls"], { cwd });
  expect(document(await autonous(["audit", "show", "--json"], { cwd }))).toMatchObject([
    { tool: "ls", labels: ["read_only"] },
  ]);
});

/** One good use of each command whose `--json` is one document. */
const DOCUMENTS = [
  { words: ["call", "ls"], has: { ok: true, payload: { stdout: "a.txt\n" } } },
  { words: ["tools"], has: { name: "ls", risk: "low" } },
  { words: ["tools", "list_dir"], has: { name: "ls", args_schema: { type: "object" } } },
  { words: ["policy", "explain", "ls"], has: { effect: "ALLOW", rule: "profile:guarded:look" } },
  { words: ["audit", "verify"], has: { ok: true, problems: [] } },
  { words: ["audit", "show"], has: { tool: "ls" } },
  { words: ["redact"], input: "token=ghp_0123456789abcdefghijABCDEFGHIJ012345", has: { redacted: true } },
  { words: ["doctor"], has: { ok: true } },
  { words: ["serve", "--check", "--root", "."], has: { ok: true } },
];

test("--json prints one document on stdout and nothing else, wherever the flag stands", async () => {
  const { path: cwd, make } = await scratchFolder();
  await make({ "a.txt": "" });
  await autonous(["call", "ls"], { cwd });
  for (const { words, has, input = "" } of DOCUMENTS) {
    const [after, before] = await Promise.all([
      autonous([...words, "--json"], { cwd, input }),
      autonous(["--json", ...words], { cwd, input }),
    ]);
    for (const ended of [after, before]) {
      expect({ words, code: ended.code, stderr: ended.stderr }).toEqual({ words, code: 0, stderr: "" });
      expect(ended.stdout.trimEnd()).not.toContain("\n");
      const found: unknown = document(ended);
      expect(Array.isArray(found) ? (found[0] as unknown) : found).toMatchObject(has);
    }
  }
});
