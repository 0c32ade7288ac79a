import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../test/support/scratch.ts";
import { ConfigurationError, loadConfiguration, unknownVariables } from "./load.ts";

/** An environment whose configuration folder holds this file. */
async function withFile(content: unknown): Promise<{ env: Record<string, string>; file: string; path: string }> {
  const { path, make } = await scratchFolder();
  const text = typeof content === "string" ? content : JSON.stringify(content);
  if (content !== undefined) await make({ "autonous/config.json": text });
  return { env: { XDG_CONFIG_HOME: path }, file: join(path, "autonous/config.json"), path };
}

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    loadConfiguration(environment);
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems;
    throw error;
  }
  return [];
}

test("the environment comes before the file, and the file before the defaults; each value knows its source", async () => {
  const { env, file } = await withFile({
    max_turns: 7,
    profile: "readonly",
    $schema: "https://example.org/schema.json",
  });

  const { settings, sources, files } = loadConfiguration({ ...env, AUTONOUS_PROFILE: "autonomous" });

  expect([settings.profile, sources.profile]).toEqual(["autonomous", "AUTONOUS_PROFILE"]);
  expect([settings.max_turns, sources.max_turns]).toEqual([7, file]);
  expect([settings.http_port, sources.http_port]).toEqual([8787, "default"]);
  expect(settings.tool_allowed_roots).toBeUndefined();
  expect(files).toMatchObject([{ path: file, owner: "user", trusted: true, read: { path: file } }]);
});

test("without a file the defaults apply", async () => {
  const { env, file } = await withFile(undefined);

  const { settings, files } = loadConfiguration(env);

  expect(settings.profile).toBe("guarded");
  expect(files).toEqual([{ path: file, owner: "user", trusted: true }]);
});

test("the policy in the file is read completely, with the line of each rule", async () => {
  const policy = {
    tools: ["ls"],
    rules: [
      { effect: "deny", path: "secret/**" },
      { effect: "confirm", domain: "example.com" },
    ],
    quotas: [{ per: "run", calls: 9 }],
    network: { allow: ["example.com"] },
    approve: ["0".repeat(64)],
    reverse_thinking: "before",
  };
  const { env } = await withFile(JSON.stringify(policy, null, 2));

  const [{ read } = {}] = loadConfiguration(env).files;

  expect(read?.policy).toEqual(policy);
  expect([0, 1].map((i) => read?.lineOf(["rules", i]))).toEqual([6, 10]);
});

test("roots come from the environment as text and from the file as a list", async () => {
  const { env, path } = await withFile(undefined);
  const { env: other } = await withFile({ tool_allowed_roots: [path] });

  expect(
    loadConfiguration({ ...env, AUTONOUS_TOOL_ALLOWED_ROOTS: `${path}, ${path}` }).settings.tool_allowed_roots,
  ).toEqual([path, path]);
  expect(loadConfiguration(other).settings.tool_allowed_roots).toEqual([path]);
});

// oxfmt-ignore
const OLDER = [
  { env: { TOOL_TIMEOUT_SECONDS: "7" },                                      seconds: 7,  source: "TOOL_TIMEOUT_SECONDS" },
  { env: { TOOL_TIMEOUT_SECONDS: "7", AUTONOUS_TOOL_TIMEOUT_SECONDS: "9" },  seconds: 9,  source: "AUTONOUS_TOOL_TIMEOUT_SECONDS" },
  { env: { TOOL_TIMEOUT_SECONDS: "x", AUTONOUS_TOOL_TIMEOUT_SECONDS: "9" },  seconds: 9,  source: "AUTONOUS_TOOL_TIMEOUT_SECONDS" },
];

test.each(OLDER)("of two variables the one with our name counts: $env", async ({ env, seconds, source }) => {
  const { env: without } = await withFile({ tool_timeout_seconds: 5 });
  const { settings, sources } = loadConfiguration({ ...without, ...env });
  expect([settings.tool_timeout_seconds, sources.tool_timeout_seconds]).toEqual([seconds, source]);
});

test("a mistake in an older variable is named by it", async () => {
  const { env } = await withFile(undefined);
  const read = (): unknown => loadConfiguration({ ...env, TOOL_MAX_OUTPUT_LINES: "many", TOOL_MAX_OUTPUT_BYTES: "0" });
  expect(read).toThrow(/TOOL_MAX_OUTPUT_LINES has to be a whole number, not "many"/);
  expect(read).toThrow(/TOOL_MAX_OUTPUT_BYTES has to be a whole number from 256/);
});

test("a relative path for the configuration folder is ignored", () => {
  const { files } = loadConfiguration({ XDG_CONFIG_HOME: "relative" });

  expect(files[0]?.path).toMatch(/^\/.*\.config\/autonous\/config\.json$/);
});

interface Wrong {
  readonly title: string;
  readonly content: unknown;
  readonly env?: Readonly<Record<string, string>>;
  /** FILE is replaced by the file's path. */
  readonly problems: readonly (string | RegExp)[];
}

// oxfmt-ignore
const WRONG: readonly Wrong[] = [
  { title: "no JSON",                     content: "{ max_turns: 5 }",          problems: ["FILE:1:3: not valid JSON: unexpected character"] },
  { title: "nothing",                     content: "",                          problems: ["FILE:1:1: not valid JSON: unexpected end"] },
  { title: "a list",                      content: [],                          problems: ["FILE:1:1: it has to contain a JSON object"] },
  { title: "null",                        content: null,                        problems: ["FILE:1:1: it has to contain a JSON object"] },
  { title: "a typo",                      content: { max_turn: 5 },             problems: ['FILE:1:2: "max_turn" is not a setting; did you mean "max_turns"?'] },
  { title: "a key like nothing of ours",  content: { zzzzzzzzzzzzzzz: 5 },      problems: ['FILE:1:2: "zzzzzzzzzzzzzzz" is not a setting'] },
  { title: "names that every object has", content: '{"constructor":1,"__proto__":{"max_turns":"x"}}', problems: ['FILE:1:2: "constructor" is not a setting', 'FILE:1:18: "__proto__" is not a setting'] },
  { title: "wrong types",                 content: { max_turns: "5", model: "", tool_allowed_roots: "/" }, problems: ['FILE:1:2: "max_turns" has to be a whole number from 1 to 100000, not "5"', 'FILE:1:18: "model" has to be text that is not empty', 'FILE:1:29: "tool_allowed_roots" has to be a list of absolute paths'] },
  { title: "roots that are none",         content: { tool_allowed_roots: ["a", "/nowhere/at/all", ""] }, problems: ['FILE: the root "a" is not an absolute path', 'FILE: the root "/nowhere/at/all" does not exist', "FILE: a root is empty"] },
  { title: "no roots at all",             content: { tool_allowed_roots: [] },  problems: [/^FILE: no root given/] },
  { title: "wrong rules",                 content: '{"rules": [{ "effect": "deny" },\n{ "effect": "x", "tool": "ls" }],\n"quotas": { "calls": 1 }}', problems: [/^FILE:1:12: rules\.0/, /^FILE:2:3: rules\.1\.effect/, /^FILE:3:1: quotas/] },
  { title: "a name twice deep inside",    content: '{"quotas":[[[[[{"a":1,"\\u0061":2}]]]]]}', problems: [/^FILE:1:23: "a" appears twice$/, /^FILE:1:12: quotas/] },
  { title: "a name twice",                content: '{"profile":"readonly",\n"profile":"autonomous"}', problems: ['FILE:2:1: "profile" appears twice'] },
  { title: "an invalid network",         content: '{"network":{"allow":["a b"]}}', problems: [/^FILE:1:22: network\.allow\.0/] },
  { title: "a mistake in each of the two places", content: { max_turns: 0 }, env: { AUTONOUS_MAX_TURNS: "x" }, problems: ['FILE:1:2: "max_turns" has to be a whole number from 1 to 100000, not 0', 'AUTONOUS_MAX_TURNS has to be a whole number, not "x"'] },
  { title: "a mistake that the environment outweighs", content: { profile: "x" }, env: { AUTONOUS_PROFILE: "guarded" }, problems: ['FILE:1:2: "profile" has to be one of readonly, guarded, autonomous, not "x"'] },
  { title: "empty variables",             content: {}, env: { AUTONOUS_TOOL_ALLOWED_ROOTS: "", AUTONOUS_STATE_DIR: "" }, problems: ["AUTONOUS_STATE_DIR has to be text that is not empty", "AUTONOUS_TOOL_ALLOWED_ROOTS: a root is empty"] },
];

for (const { title, content, env: more = {}, problems } of WRONG) {
  test(`a configuration with ${title} is refused with every problem and its place`, async () => {
    const { env, file } = await withFile(content);

    const found = problemsOf({ ...env, ...more }).map((problem) => problem.replaceAll(file, "FILE"));

    expect(found).toHaveLength(problems.length);
    for (const [i, problem] of problems.entries()) {
      if (typeof problem === "string") expect(found[i]).toBe(problem);
      else expect(found[i]).toMatch(problem);
    }
  });
}

test("an unreadable configuration file is reported, and is not treated as missing", async () => {
  const { path, make } = await scratchFolder();
  await make({ "autonous/config.json/": "" });

  expect(problemsOf({ XDG_CONFIG_HOME: path })).toEqual([
    `Cannot open "${join(path, "autonous/config.json")}": it is a folder, not a regular file`,
  ]);
});

test("one mistake is reported in a sentence, several as a list", () => {
  expect(new ConfigurationError(["A is wrong"]).message).toBe("Invalid configuration: A is wrong");
  expect(new ConfigurationError(["A", "B"]).message).toBe("Invalid configuration (2 problems):\n- A\n- B");
});

test("likely typos of our variables are reported, other variables are not", () => {
  expect(
    unknownVariables({ AUTONOUS_MAX_TURN: "5", AUTONOUS_MAX_TURNS: "5", AUTONOUS_WORKER_NAME: "w", MAX_TURN: "5" }),
  ).toEqual(["AUTONOUS_MAX_TURN is not a setting; did you mean AUTONOUS_MAX_TURNS?"]);
});
