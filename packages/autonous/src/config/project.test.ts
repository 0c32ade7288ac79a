import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../test/support/scratch.ts";
import type { Folder } from "../../../../test/support/scratch.ts";
import { ConfigurationError, loadConfiguration } from "./load.ts";
import type { Configuration } from "./load.ts";
import { thingOf, withProject } from "./project.ts";
import { TrustStore } from "./trust-store.ts";

interface OpenOptions {
  readonly roots?: readonly string[];
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
}

interface OpenProject extends Folder {
  readonly root: string;
  readonly environment: NodeJS.ProcessEnv;
  open(more?: OpenOptions): Configuration;
  roots(): readonly string[];
  /** Trusts the file, as a user does after a review. */
  trust(roots?: readonly string[]): void;
}

/** A workspace `work/` whose project file holds this, and a user whose own file holds that. */
async function workspace(project: unknown, own: unknown = {}): Promise<OpenProject> {
  const folder = await scratchFolder();
  const { path, make } = folder;
  await make({
    "config/autonous/config.json": JSON.stringify(own),
    "work/src/": "",
    ...(project === undefined ? {} : { "work/.agent/config.json": textOf(project) }),
  });
  const root = join(path, "work");
  const environment = { XDG_CONFIG_HOME: join(path, "config"), XDG_STATE_HOME: join(path, "state") };
  const opened = ({ roots = [root], cwd = root, env = {} }: OpenOptions = {}) => {
    const all = { ...environment, ...env };
    return withProject(loadConfiguration(all), { roots, cwd, environment: all });
  };
  return {
    ...folder,
    root,
    environment,
    open: (more) => opened(more).configuration,
    roots: () => opened().roots,
    trust(roots = [root]) {
      const { files } = opened().configuration;
      const read = files.find(({ owner }) => owner === "project")?.read;
      if (read === undefined) expect.unreachable("there is nothing to trust");
      new TrustStore(environment).add({ ...thingOf(read, roots), trusted_at: "2026-01-31T12:00:00Z", by: "ann" });
    },
  };
}

function textOf(content: unknown): string {
  return typeof content === "string" ? content : JSON.stringify(content, null, 2);
}

test("without a project's file the user's own configuration applies unchanged", async () => {
  const { open, roots, root } = await workspace(undefined, { max_turns: 7 });

  expect(open().settings.max_turns).toBe(7);
  expect(open()).toMatchObject({ files: [{ owner: "user" }], refused: [] });
  expect(roots()).toEqual([root]);
});

test("a project's file narrows the settings; values that would widen them are reported with their line", async () => {
  const { open, root } = await workspace(
    { profile: "autonomous", max_turns: 5, state_dir: "/tmp", tool_timeout_seconds: 3000, colour: "red" },
    { max_turns: 7 },
  );
  const path = join(root, ".agent/config.json");

  const { settings, sources, refused, files } = open();

  expect([settings.profile, settings.max_turns, settings.state_dir]).toEqual(["guarded", 5, undefined]);
  expect([sources.max_turns, sources.profile]).toEqual([path, "default"]);
  expect(files[1]).toMatchObject({ path, owner: "project", trusted: false });
  expect(refused).toEqual([
    { where: `${path}:2:3`, what: "profile", why: '"autonomous" is wider than "guarded"', until_trusted: true },
    { where: `${path}:4:3`, what: "state_dir", why: "a project's file cannot set this", until_trusted: false },
    { where: `${path}:5:3`, what: "tool_timeout_seconds", why: "3000 is wider than 30", until_trusted: true },
    { where: `${path}:6:3`, what: "colour", why: "it is not a setting", until_trusted: false },
  ]);
});

test("a project's rules are marked as its own, with their lines; the user's keep theirs", async () => {
  const { open, root, environment } = await workspace(
    '{ "rules": [\n{ "effect": "deny", "tool": "bash" },\n\n{ "effect": "allow", "tool": "write" }] }',
    { rules: [{ effect: "confirm", tool: "ls" }] },
  );
  const path = join(root, ".agent/config.json");

  const { policy, refused } = open();

  expect(policy.configuration.rules).toEqual([{ effect: "confirm", tool: "ls" }]);
  expect(policy.origins).toEqual([
    { file: join(environment["XDG_CONFIG_HOME"] ?? "", "autonous/config.json"), line: 1 },
  ]);
  expect(policy.projects?.[0]?.configuration.rules).toHaveLength(2);
  expect(policy.projects?.[0]?.origins).toEqual([2, 4].map((line) => ({ file: path, line })));
  expect(refused).toEqual([
    { where: `${path}:4:1`, what: "rules.1", why: "allow tool=write needs trust", until_trusted: true },
  ]);
});

test("tools, quotas and the network are narrowed; nothing is approved or challenged less by a project", async () => {
  const approve = ["a".repeat(64)];
  const { open, trust } = await workspace(
    {
      tools: ["ls", "bash"],
      quotas: [{ per: "run", calls: 5 }],
      network: { allow: ["a.example", "b.example"] },
      approve,
      reverse_thinking: "instead",
    },
    { tools: ["ls", "read"], quotas: [{ per: "run", calls: 9 }], network: { allow: ["a.example", "c.example"] } },
  );

  const { configuration } = open().policy;
  const untrusted = open().refused;
  trust();
  const trusted = open().policy.configuration;

  expect(configuration.tools).toEqual(["ls"]);
  expect(configuration.quotas).toHaveLength(2);
  expect(configuration.network).toEqual({ allow: ["a.example"] });
  expect([configuration.approve, configuration.reverse_thinking]).toEqual([undefined, undefined]);
  expect(untrusted.map(({ what }) => what)).toEqual(["approve", "network.allow.1", "reverse_thinking"]);
  expect(trusted.network?.allow).toEqual(expect.arrayContaining(["a.example", "b.example", "c.example"]));
  expect([trusted.approve, trusted.reverse_thinking]).toEqual([undefined, "instead"]);
  expect(open().refused.map(({ what }) => what)).toEqual(["approve"]);
});

test("a trusted file applies; once it has changed, it is untrusted again", async () => {
  const { open, trust, root } = await workspace({ profile: "autonomous", rules: [{ effect: "allow", tool: "bash" }] });

  expect(open().settings.profile).toBe("guarded");
  trust();
  expect(open().settings.profile).toBe("autonomous");
  expect(open().policy).toMatchObject({ profile: "autonomous", configuration: { rules: [{ tool: "bash" }] } });
  expect(open().policy.projects).toBeUndefined();
  expect(open().refused).toEqual([]);

  writeFileSync(join(root, ".agent/config.json"), '{ "profile": "autonomous", "max_turns": 500 }');
  expect(open().settings).toMatchObject({ profile: "guarded", max_turns: 50 });
});

test("trust for one folder does not extend to several folders", async () => {
  const { open, trust, root, path, make } = await workspace({ profile: "autonomous" });
  await make({ "other/": "" });
  trust();

  expect(open().settings.profile).toBe("autonomous");
  expect(open({ roots: [root, join(path, "other")] }).settings.profile).toBe("guarded");
});

test("the environment is narrowed, and takes precedence over a trusted file that would widen it", async () => {
  const { open, trust } = await workspace({ profile: "guarded", max_turns: 500 });
  trust();

  expect(open({ env: { AUTONOUS_PROFILE: "autonomous" } }).settings.profile).toBe("guarded");
  expect(open({ env: { AUTONOUS_MAX_TURNS: "20" } })).toMatchObject({
    settings: { max_turns: 20 },
    refused: [{ what: "max_turns", why: "AUTONOUS_MAX_TURNS says 20", until_trusted: false }],
  });
});

test("a denylist is added to the user's, and the sources name both", async () => {
  const { open, root } = await workspace({ tool_bash_denylist: "npm publish" }, { tool_bash_denylist: "git push" });

  const { settings, sources } = open();

  expect(settings.tool_bash_denylist).toBe("git push,npm publish");
  expect(sources.tool_bash_denylist).toMatch(new RegExp(`autonous/config.json, ${root}/.agent/config.json$`));
});

test("a project restricts tools to its own folders, and cannot replace the user's own roots setting", async () => {
  const { open, roots, root } = await workspace({ tool_allowed_roots: ["src", "/etc"] });

  expect(roots()).toEqual([join(root, "src")]);
  expect(open().settings.tool_allowed_roots).toBeUndefined();
  expect(open().refused).toMatchObject([{ what: "tool_allowed_roots", until_trusted: false }]);
});

test("the files of all roots are read, and that of the working folder has the last word", async () => {
  const { path, make, open, root } = await workspace({ max_turns: 9, rules: [{ effect: "deny", tool: "bash" }] });
  await make({
    "other/.agent/config.json": '{ "max_turns": 8, "rules": [{ "effect": "confirm", "tool": "write" }] }',
    "work/src/.agent/config.json": '{ "max_turns": 40, "profile": "readonly" }',
  });

  const { files, settings, policy } = open({ roots: [root, join(path, "other")], cwd: join(root, "src") });

  expect(files.map((file) => file.path.slice(path.length))).toEqual([
    "/config/autonous/config.json",
    "/work/.agent/config.json",
    "/other/.agent/config.json",
    "/work/src/.agent/config.json",
  ]);
  expect(settings).toMatchObject({ max_turns: 8, profile: "readonly" });
  const theirs = policy.projects?.flatMap(({ configuration }) => configuration.rules) ?? [];
  expect(theirs.map(({ tool }) => tool)).toEqual(["bash", "write"]);
  expect(policy.projects?.flatMap(({ origins = [] }) => origins)).toHaveLength(2);
});

// oxfmt-ignore
const REFUSED = [
  { title: "a link",                        files: { "work/.agent/config.json": "-> ../../elsewhere.json" },          why: /^it is a link$/ },
  { title: "a link to a file beside it",    files: { "work/.agent/config.json": "-> other.json", "work/.agent/other.json": "{}" }, why: /^it is a link$/ },
  { title: "in a folder that is a link",    files: { "work/.agent": "-> ../elsewhere", "elsewhere/config.json": '{"max_turns":1}' }, why: /^it leads to ".*\/elsewhere\/config\.json"$/ },
  { title: "a folder",                      files: { "work/.agent/config.json/": "" },                                why: /^it is not a regular file$/ },
  { title: "larger than any configuration", files: { "work/.agent/config.json": " ".repeat(2_000_000) },              why: /^it has 2000000 bytes/ },
] as const;

for (const { title, files, why } of REFUSED) {
  test(`a project's file that is ${title} is not read, and that is reported`, async () => {
    const { make, open, root } = await workspace(undefined);
    await make({ "elsewhere.json": '{"max_turns":1}', ...files });

    const { settings, refused, files: read } = open();

    expect(settings.max_turns).toBe(50);
    expect(refused).toEqual([
      {
        where: join(root, ".agent/config.json"),
        what: "the whole file",
        why: expect.stringMatching(why) as string,
        until_trusted: false,
      },
    ]);
    expect(read[1]).toEqual({ path: join(root, ".agent/config.json"), owner: "project", trusted: false });
  });
}

test("an unreadable restriction stops the start instead of being skipped", async () => {
  const { open, root } = await workspace(
    '{\n  "rules": [{ "effect": "denny", "tool": "bash" }],\n  "max_turns": "few"\n}',
  );
  const path = join(root, ".agent/config.json");

  expect(open).toThrow(ConfigurationError);
  expect(open).toThrow(`${path}:3:3: "max_turns" has to be`);
  expect(open).toThrow(`${path}:2:15: rules.0.effect`);
});

test("settings per model are the user's own: a project's are refused, its smaller numbers hold", async () => {
  const models = { m: { effort: "max" } };
  const { open } = await workspace({ models, max_output_tokens: 900 }, { models: { n: { max_output_tokens: 5000 } } });
  const { models: inForce, refused, settings } = open();
  expect(inForce).toEqual({ n: { max_output_tokens: 5000 } });
  expect(settings.max_output_tokens).toBe(900);
  expect(refused.map(({ what, until_trusted }) => [what, until_trusted])).toEqual([["models", false]]);
});

test("every mistake in settings per model is listed with its place", async () => {
  const { open } = await workspace(undefined, { models: { m: { effort: "most", max_turns: 1 } } });
  expect(open).toThrow(
    /\(2 problems\):\n- .*config.json:1:\d+: models: "m": "effort" has to be one of .*\n- .*max_turns/,
  );
});
