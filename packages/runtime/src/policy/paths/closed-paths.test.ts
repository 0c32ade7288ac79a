import { expect, test } from "vitest";
import { callOf, TOOLS, WORKSPACE } from "../../../../../test/support/calls.ts";
import type { PolicyRule } from "../../protocol/configuration.ts";
import { closedPaths } from "./closed-paths.ts";
import type { DecisionSettings } from "../facts.ts";

interface CaseInput {
  readonly rules?: readonly PolicyRule[];
  readonly project?: readonly PolicyRule[];
  readonly command?: string;
  readonly confirmed?: boolean;
}

function closedFor({ rules = [], project, command = "./x.sh", confirmed = false }: CaseInput) {
  const configuration = (list: readonly PolicyRule[]) => ({ rules: [...list], quotas: [] });
  const settings = {
    profile: "guarded",
    configuration: configuration(rules),
    ...(project !== undefined && { projects: [{ configuration: configuration(project) }] }),
  } as const;
  return closedPaths(callOf({ tool: "bash", command }), WORKSPACE, settings, { confirmed });
}

const DENY: PolicyRule = { effect: "deny", path: "secrets/**" };

// oxfmt-ignore
const CLOSED: readonly (readonly [title: string, given: CaseInput, real: string, closed: string | undefined])[] = [
  ["a denied folder",                 { rules: [DENY] },                                                        "/work/secrets",       "hide"],
  ["what is in it",                   { rules: [DENY] },                                                        "/work/secrets/a/b",   "hide"],
  ["another spelling",                { rules: [DENY] },                                                        "/work/Secrets/a",     "hide"],
  ["what is beside it",               { rules: [DENY] },                                                        "/work/src",           undefined],
  ["what is in a folder of a name",   { rules: [{ effect: "deny", path: "conf/x" }] },                          "/work/conf/x/y",      "hide"],
  ["what may not be written",         { rules: [{ ...DENY, permission: "fs.write" }] },                         "/work/secrets/a",     "read_only"],
  ["what may not be deleted",         { rules: [{ ...DENY, permission: "fs.delete" }] },                        "/work/secrets/a",     "read_only"],
  ["what may not be read",            { rules: [{ ...DENY, permission: "fs.read" }] },                          "/work/secrets/a",     "hide"],
  ["what is asked for",               { rules: [{ ...DENY, effect: "confirm" }] },                              "/work/secrets/a",     "hide"],
  ["what was asked for",              { rules: [{ ...DENY, effect: "confirm" }], confirmed: true },             "/work/secrets/a",     undefined],
  ["what stays denied after a yes",   { rules: [DENY], confirmed: true },                                       "/work/secrets/a",     "hide"],
  ["what a closer rule allows",       { rules: [DENY, { effect: "allow", path: "secrets/open/**" }] },          "/work/secrets/open/a", undefined],
  ["what a project allows",           { rules: [DENY], project: [{ effect: "allow", path: "secrets/a" }] },     "/work/secrets/a",     "hide"],
  ["what a project denies",           { project: [DENY] },                                                      "/work/secrets/a",     "hide"],
  ["writing, to unknown programs",    { rules: [{ effect: "deny", permission: "fs.write" }] },                  "/work",               "read_only"],
  ["writing, where rules allow it",   { rules: [{ effect: "deny", permission: "fs.write" }, { effect: "allow", permission: "fs.write", path: "out/**" }] }, "/work/out/a", undefined],
  ["deleting, to unknown programs",   { rules: [{ effect: "deny", permission: "fs.delete" }] },                 "/work/a",             "read_only"],
  ["the repository",                  { rules: [{ effect: "deny", permission: "git.write" }] },                 "/work/sub/.git",      "read_only"],
  ["what is beside the repository",   { rules: [{ effect: "deny", permission: "git.write" }] },                 "/work/sub",           undefined],
];

test.each(CLOSED)("rules close %s", (_title, given, real, closed) => {
  expect(closedFor(given)?.judge(real, false)).toBe(closed);
});

// oxfmt-ignore
const OPEN: readonly (readonly [title: string, given: CaseInput])[] = [
  ["no rules",                                  {}],
  ["rules that allow",                          { rules: [{ effect: "allow", path: "a/**" }] }],
  ["rules for other tools",                     { rules: [{ ...DENY, tool: "read" }] }],
  ["rules for other people",                    { rules: [{ ...DENY, user: "bob" }] }],
  ["a rule that was asked for",                 { rules: [{ ...DENY, effect: "confirm" }], confirmed: true }],
  ["a permission that words tell",              { rules: [{ effect: "deny", permission: "fs.delete" }], command: "touch a" }],
  ["a permission that no sandbox can close",    { rules: [{ effect: "deny", permission: "fs.read" }] }],
  ["a permission that a rule of the tool allows", { rules: [{ effect: "deny", permission: "fs.write" }, { effect: "allow", tool: "bash", permission: "fs.write" }], command: "./x.sh" }],
];

test.each(OPEN)("%s close nothing", (_title, given) => {
  const closed = closedFor(given);
  if (closed !== undefined) expect(closed.judge("/work/a", false)).toBeUndefined();
});

test("a closed folder in which a rule opens something is looked through", () => {
  const closed = closedFor({
    rules: [
      { effect: "deny", path: "a/b/**" },
      { effect: "allow", path: "a/b/c/d" },
    ],
  });
  const judged = ["/work/a", "/work/a/b", "/work/a/b/c", "/work/a/b/c/d", "/work/a/b/x"].map((each) =>
    closed?.judge(each, true),
  );
  expect(judged).toEqual([undefined, undefined, undefined, undefined, "hide"]);
  expect(closed?.judge("/work/a/b/c/e", false)).toBe("hide");
});

test("which folders have to be looked through is known", () => {
  const below = (given: CaseInput, folder: string): boolean | undefined => closedFor(given)?.mayCloseBelow(folder);
  const rules: PolicyRule[] = [
    { effect: "deny", path: "a/b/**" },
    { effect: "allow", path: "c/**" },
  ];
  expect(["/work", "/work/a", "/work/a/b", "/work/c", "/srv"].map((each) => below({ rules }, each))).toEqual([
    true,
    true,
    true,
    false,
    false,
  ]);
  expect(below({ rules: [{ effect: "deny", path: "*.key" }] }, "/work/node_modules")).toBe(true);
  expect(below({ rules: [{ effect: "deny", path: "/srv/x/**" }] }, "/srv")).toBe(true);
  expect(below({ rules: [{ effect: "deny", permission: "fs.write" }] }, "/work/any")).toBe(true);
  expect(below({ rules: [{ effect: "deny", permission: "fs.delete" }] }, "/work/any")).toBe(true);
  expect(below({ rules: [{ effect: "deny", permission: "git.write" }] }, "/work/node_modules")).toBe(false);
});

test("what may be neither read nor written is told from what may be written", () => {
  const forbidden = (rules: readonly PolicyRule[], real: string, isFolder = false): boolean | undefined =>
    closedFor({ rules })?.forbids(real, isFolder);
  expect(forbidden([DENY], "/work/secrets", true)).toBe(true);
  expect(forbidden([DENY], "/work/secrets/new/deep")).toBe(true);
  expect(forbidden([DENY], "/work/secretsx")).toBe(false);
  expect(forbidden([{ ...DENY, permission: "fs.read" }], "/work/secrets/a")).toBe(false);
  expect(forbidden([{ ...DENY, permission: "fs.write" }], "/work/secrets/a")).toBe(false);
  const opened: readonly PolicyRule[] = [DENY, { effect: "allow", path: "secrets/open/**" }];
  expect(forbidden(opened, "/work/secrets", true)).toBe(false);
  expect(forbidden(opened, "/work/secrets/open/x")).toBe(false);
  expect(forbidden(opened, "/work/secrets/x")).toBe(true);
});

test("the workspace as a whole is read-only where nothing in it may be changed", () => {
  const deny: PolicyRule = { effect: "deny", permission: "fs.write" };
  expect(closedFor({ rules: [deny] })?.read_only).toBe(true);
  expect(closedFor({ rules: [deny, { effect: "allow", permission: "fs.write", path: "out/**" }] })?.read_only).toBe(
    false,
  );
  expect(closedFor({ rules: [DENY] })?.read_only).toBe(false);
});

test("the key differs where answers can", () => {
  const keys = [
    closedFor({ rules: [DENY] }),
    closedFor({ rules: [{ ...DENY, effect: "confirm" }] }),
    closedFor({ rules: [DENY], confirmed: true }),
    closedFor({ rules: [{ effect: "deny", permission: "fs.write" }] }),
    closedFor({ rules: [{ ...DENY, command: "rm *" }], command: "rm a; ./x" }),
    closedFor({ rules: [{ ...DENY, command: "rm *" }], command: "ls" }),
  ].map((closed) => closed?.key);
  expect(new Set(keys).size).toBe(keys.length);
  expect(closedFor({ rules: [DENY] })?.key).toBe(closedFor({ rules: [DENY], command: "./other" })?.key);
});

test("a script is kept from the same", () => {
  const tool = { ...TOOLS.bash, name: "run_script", side_effects: ["process", "files"] } as const;
  const settings: DecisionSettings = { profile: "guarded", configuration: { rules: [DENY], quotas: [] } };
  const closed = closedPaths(callOf({ tool }), WORKSPACE, settings, { confirmed: false });
  expect(closed?.judge("/work/secrets/a", false)).toBe("hide");
});
