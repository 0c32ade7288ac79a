import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../test/support/scratch.ts";
import { applyProject } from "./narrow.ts";
import type { ProjectValue } from "./narrow.ts";
import { SETTINGS } from "./settings.ts";
import type { SettingName } from "./settings.ts";

// oxfmt-ignore
const CASES = [
  { name: "max_turns",            inForce: 50,         value: 10,           gives: 10,           trusted: 10 },
  { name: "max_turns",            inForce: 50,         value: 500,          gives: 50,           trusted: 500,          why: "500 is wider than 50" },
  { name: "max_turns",            inForce: 50,         value: 50,           gives: 50,           trusted: 50 },
  { name: "tool_timeout_seconds", inForce: 30,         value: 31,           gives: 30,           trusted: 31,           why: "31 is wider than 30" },
  { name: "profile",              inForce: "guarded",  value: "readonly",   gives: "readonly",   trusted: "readonly" },
  { name: "profile",              inForce: "guarded",  value: "autonomous", gives: "guarded",    trusted: "autonomous", why: '"autonomous" is wider than "guarded"' },
  { name: "profile",              inForce: "readonly", value: "guarded",    gives: "readonly",   trusted: "guarded",    why: '"guarded" is wider than "readonly"' },
  { name: "sandbox",              inForce: "auto",     value: "required",   gives: "required",   trusted: "required" },
  { name: "sandbox",              inForce: "auto",     value: "off",        gives: "auto",       trusted: "off",        why: '"off" is wider than "auto"' },
  { name: "sandbox",              inForce: "required", value: "auto",       gives: "required",   trusted: "auto",       why: '"auto" is wider than "required"' },
  { name: "tool_bash_denylist",   inForce: undefined,  value: "npm *",      gives: "npm *",      trusted: "npm *" },
  { name: "tool_bash_denylist",   inForce: "git push", value: "npm *",      gives: "git push,npm *", trusted: "git push,npm *" },
  { name: "max_cost_cents",       inForce: undefined,  value: 500,          gives: 500,          trusted: 500 },
  { name: "model",                inForce: "direct",   value: "script:x",   gives: "direct",     trusted: "script:x",   why: '"script:x" needs trust' },
  { name: "model",                inForce: "direct",   value: "google:g",   gives: "direct",     trusted: "google:g",   why: '"google:g" needs trust' },
  { name: "model",                inForce: "direct",   value: "compatible:m@http://h/v1", gives: "direct", trusted: "direct", why: "a project's file cannot name a server: prompts and the API key would be sent there" },
  { name: "command_memory_megabytes", inForce: 2000,   value: 500,          gives: 500,          trusted: 500 },
  { name: "command_memory_megabytes", inForce: 2000,   value: 2001,         gives: 2000,         trusted: 2000,         why: "2001 is higher than 2000, and a project's file can only lower it" },
  { name: "command_processes",    inForce: 300,        value: 400,          gives: 300,          trusted: 300,          why: "400 is higher than 300, and a project's file can only lower it" },
  { name: "command_open_files",   inForce: 8192,       value: 100_000,      gives: 8192,         trusted: 8192,         why: "100000 is higher than 8192, and a project's file can only lower it" },
  { name: "task_retry_base_ms",   inForce: 2000,       value: 1,            gives: 2000,         trusted: 1,            why: "1 needs trust" },
  { name: "state_dir",            inForce: ".agent",   value: "/tmp/x",     gives: ".agent",     trusted: ".agent",     why: "a project's file cannot set this" },
  { name: "state_dir",            inForce: undefined,  value: "/tmp/x",     gives: undefined,    trusted: undefined,    why: "a project's file cannot set this" },
  { name: "http_port",            inForce: 8787,       value: 80,           gives: 8787,         trusted: 8787,         why: "a project's file cannot set this" },
] as const;

for (const { name, inForce, value, gives, trusted, ...rest } of CASES) {
  test(`${name}: ${value} from a project where ${String(inForce)} is in force`, () => {
    const given: ProjectValue = { name, value, inForce, folder: "/", trusted: false, fixed: undefined };

    expect(applyProject(given).value).toBe(gives);
    expect(applyProject(given).refused).toBe("why" in rest ? rest.why : undefined);
    expect(applyProject({ ...given, trusted: true }).value).toBe(trusted);
  });
}

test("a value from the environment is not widened by a trusted project, but narrowed by any project", () => {
  const given = { name: "max_turns", inForce: 50, folder: "/", trusted: true, fixed: "AUTONOUS_MAX_TURNS" } as const;

  expect(applyProject({ ...given, value: 500 })).toEqual({
    value: 50,
    refused: "AUTONOUS_MAX_TURNS says 50",
    counts: false,
  });
  expect(applyProject({ ...given, value: 5 })).toEqual({ value: 5, counts: true });
});

test("a project can restrict tools to some of its folders but add none, trusted or not", async () => {
  const { path, make } = await scratchFolder();
  await make({ "work/src/": "", "work/docs/": "", "work/out": "-> ../other", "other/": "", "work/file": "" });
  const folder = join(path, "work");
  const given = { name: "tool_allowed_roots", inForce: [folder], folder, fixed: undefined } as const;
  const rootsFor = (value: readonly string[], trusted: boolean) => applyProject({ ...given, value, trusted });

  for (const trusted of [true, false]) {
    expect(rootsFor(["src", join(folder, "docs")], trusted)).toEqual({
      value: [join(folder, "src"), join(folder, "docs")],
      counts: true,
    });
    expect(rootsFor(["src", "..", "out", "file", ""], trusted)).toEqual({
      value: [join(folder, "src")],
      refused: expect.stringMatching(
        /is not a folder; a root is empty; .*lies outside.*; .*other" lies outside/,
      ) as string,
      counts: true,
    });
    expect(rootsFor(["/"], trusted)).toEqual({
      value: [folder],
      refused: `the root "/" lies outside ${folder}`,
      counts: false,
    });
    expect(rootsFor([], trusted)).toMatchObject({ value: [folder], counts: false });
  }
});

test("an untrusted project's file never widens a setting", () => {
  const names = (Object.keys(SETTINGS) as SettingName[]).filter((name) => {
    const { type } = SETTINGS[name].kind;
    return type === "number" || type === "choice";
  });
  const value = (name: SettingName) => {
    const { kind } = SETTINGS[name];
    if (kind.type === "number") return fc.integer({ min: kind.min, max: kind.max });
    return fc.constantFrom(...(kind.type === "choice" ? kind.of : [""]));
  };
  const cases = fc
    .constantFrom(...names)
    .chain((name) => fc.tuple(fc.constant(name), value(name), value(name), fc.constantFrom(undefined, "AUTONOUS_X")));
  const rank = (name: SettingName, each: unknown): number => {
    const { kind } = SETTINGS[name];
    return kind.type === "choice" ? (kind.of as readonly unknown[]).indexOf(each) : Number(each);
  };
  fc.assert(
    fc.property(cases, ([name, inForce, wanted, fixed]) => {
      const { value: result } = applyProject({ name, value: wanted, inForce, folder: "/", trusted: false, fixed });
      expect(rank(name, result)).toBeLessThanOrEqual(rank(name, inForce));
    }),
  );
});
