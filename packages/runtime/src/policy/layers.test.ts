import * as fc from "fast-check";
import { expect, test } from "vitest";
import { any, callOf, STRICTNESS, WORKSPACE } from "../../../../test/support/calls.ts";
import type { GivenCall } from "../../../../test/support/calls.ts";
import { PROFILE_NAMES, REVERSE_THINKING_ORDERS } from "../protocol/configuration.ts";
import type { PolicyConfiguration, PolicyRule } from "../protocol/configuration.ts";
import { judgeAddress } from "./check-address.ts";
import { decide } from "./decide.ts";
import type { CallFacts, Decision, DecisionSettings, PolicyLayer } from "./decide.ts";
import { mergeTrusted, narrowBy } from "./layers.ts";

function userOf(configuration: Partial<PolicyConfiguration>, more: Partial<DecisionSettings> = {}): DecisionSettings {
  return { profile: "guarded", configuration: { rules: [], quotas: [], ...configuration }, ...more };
}

function projectOf(configuration: Partial<PolicyConfiguration>, more: Partial<PolicyLayer> = {}): PolicyLayer {
  return { configuration: { rules: [], quotas: [], ...configuration }, ...more };
}

const denyWrite: PolicyRule = { effect: "deny", tool: "write" };
const allowWrite: PolicyRule = { effect: "allow", tool: "write" };
const allowRemove: PolicyRule = { effect: "allow", tool: "remove" };

interface Case {
  readonly title: string;
  readonly call: GivenCall;
  readonly user?: readonly PolicyRule[];
  readonly project: readonly PolicyRule[];
  readonly untrusted: string;
  readonly trusted: string;
}

const WRITE = { tool: "write", touches: [{ access: "write" }] } as const;
const REMOVE = { tool: "remove", touches: [{ access: "delete" }] } as const;
const HOOK = { tool: "write", touches: [{ real: "/work/.git/hooks/a", access: "write" }] } as const;

// oxfmt-ignore
const CASES: readonly Case[] = [
  { title: "a project's deny",                            call: WRITE,  project: [denyWrite],                                       untrusted: "DENY project_rule:1 (deny tool=write)",                        trusted: "DENY rule:1 (deny tool=write)" },
  { title: "a project's allow",                           call: REMOVE, project: [allowRemove],                                     untrusted: "REQUIRE_CONFIRMATION profile:guarded:reach_out",               trusted: "ALLOW rule:1 (allow tool=remove)" },
  { title: "a project's confirm of what is allowed",      call: WRITE,  project: [{ effect: "confirm", tool: "write" }],            untrusted: "REQUIRE_CONFIRMATION project_rule:1 (confirm tool=write)",     trusted: "REQUIRE_CONFIRMATION rule:1 (confirm tool=write)" },
  { title: "a closer confirm against a user's deny",      call: WRITE,  user: [denyWrite], project: [{ effect: "confirm", path: "a" }], untrusted: "DENY rule:1 (deny tool=write)",                            trusted: "REQUIRE_CONFIRMATION rule:2 (confirm path=a)" },
  { title: "an equal allow against a user's deny",        call: WRITE,  user: [denyWrite], project: [allowWrite],                   untrusted: "DENY rule:1 (deny tool=write)",                                trusted: "DENY rule:1 (deny tool=write)" },
  { title: "an equal deny against a user's allow",        call: WRITE,  user: [allowWrite], project: [denyWrite],                   untrusted: "DENY project_rule:1 (deny tool=write)",                        trusted: "DENY rule:2 (deny tool=write)" },
  { title: "a wider deny against a user's closer allow",  call: WRITE,  user: [{ effect: "allow", path: "a" }], project: [denyWrite], untrusted: "DENY project_rule:1 (deny tool=write)",                      trusted: "ALLOW rule:1 (allow path=a)" },
  { title: "a project's exception from its own deny",     call: WRITE,  project: [denyWrite, { effect: "allow", path: "a" }],       untrusted: "ALLOW profile:guarded:change",                                 trusted: "ALLOW rule:2 (allow path=a)" },
  { title: "an allow that names a hook",                  call: HOOK,   project: [{ effect: "allow", path: ".git/hooks/**" }],      untrusted: "REQUIRE_CONFIRMATION builtin:files_that_run_later",            trusted: "ALLOW rule:1 (allow path=.git/hooks/**)" },
  { title: "an allow for what the floor closes",          call: { tool: "ls", touches: [{ real: "/etc/passwd" }] }, project: [{ effect: "allow", path: "/etc/**" }], untrusted: "DENY floor:roots",      trusted: "DENY floor:roots" },
  { title: "a rule for something else",                   call: { tool: "ls" }, project: [denyWrite],                               untrusted: "ALLOW profile:guarded:look",                                   trusted: "ALLOW profile:guarded:look" },
];

function shown({ effect, rule }: Decision): string {
  return `${effect} ${rule}`;
}

for (const { title, call, user = [], project, untrusted, trusted } of CASES) {
  test(`${title}: ${untrusted} before it is trusted, ${trusted} after`, () => {
    const [ours, theirs] = [userOf({ rules: [...user] }), projectOf({ rules: [...project] })];
    expect(shown(decide(callOf(call), WORKSPACE, narrowBy(ours, theirs)))).toBe(untrusted);
    expect(shown(decide(callOf(call), WORKSPACE, mergeTrusted(ours, theirs)))).toBe(trusted);
  });
}

test("where a project's rule stands is told, trusted or not", () => {
  const user = userOf({ rules: [allowWrite, denyWrite] }, { origins: [{ file: "own.json", line: 3 }] });
  const project = projectOf(
    { rules: [{ effect: "deny", tool: "ls" }] },
    { origins: [{ file: "theirs.json", line: 9 }] },
  );
  const before = decide(callOf({ tool: "ls" }), WORKSPACE, narrowBy(user, project));
  expect(before).toMatchObject({ rule: "project_rule:1 (deny tool=ls)", origin: { file: "theirs.json", line: 9 } });
  expect(before.checks.at(-1)?.reason).toBe(
    `A rule of the project's configuration denies "ls" here (theirs.json, line 9)`,
  );
  const after = decide(callOf({ tool: "ls" }), WORKSPACE, mergeTrusted(user, project));
  expect(after).toMatchObject({ rule: "rule:3 (deny tool=ls)", origin: { file: "theirs.json", line: 9 } });
  expect(mergeTrusted(user, projectOf({})).origins).toEqual([{ file: "own.json", line: 3 }, undefined]);
});

test("each of several projects can tighten, and none can loosen what another one says", () => {
  const rules: readonly PolicyRule[] = [
    { effect: "confirm", tool: "ls" },
    { effect: "deny", risk: "low" },
    { effect: "allow", tool: "ls" },
  ];
  const only = (...indexes: number[]): string =>
    shown(
      decide(
        callOf({ tool: "ls" }),
        WORKSPACE,
        indexes.reduce(
          (user, index) => narrowBy(user, projectOf({ rules: rules.slice(index, index + 1) })),
          userOf({}),
        ),
      ),
    );
  const [confirmed, denied] = [
    "REQUIRE_CONFIRMATION project_rule:1 (confirm tool=ls)",
    "DENY project_rule:1 (deny risk=low)",
  ];
  expect([only(0, 2), only(2, 0), only(0, 1), only(1, 0), only(1, 2), only(2, 1), only(2), only()]).toEqual([
    confirmed,
    confirmed,
    denied,
    denied,
    denied,
    denied,
    "ALLOW profile:guarded:look",
    "ALLOW profile:guarded:look",
  ]);
});

test("a project's rule that allows says where it stands, and that it only does not object", () => {
  const project = projectOf({ rules: [allowWrite] }, { origins: [{ file: "theirs.json", line: 2 }] });
  const { checks } = decide(callOf(WRITE), WORKSPACE, narrowBy(userOf({}), project));
  expect(checks.at(-1)).toEqual({
    check: "project_rules",
    effect: "PASS",
    reason: "The project's configuration allows it (theirs.json, line 2)",
  });
});

type Part = Partial<PolicyConfiguration>;

// oxfmt-ignore
const CONFIGURATIONS: readonly { title: string; user: Part; project: Part; untrusted: Part; trusted: Part }[] = [
  { title: "tools that both list",            user: { tools: ["ls", "write"] }, project: { tools: ["write", "bash"] },    untrusted: { tools: ["write"] },  trusted: { tools: ["write"] } },
  { title: "tools that only the project lists", user: {},                       project: { tools: ["write"] },            untrusted: { tools: ["write"] },  trusted: { tools: ["write"] } },
  { title: "tools that only the user lists",  user: { tools: ["ls"] },          project: {},                              untrusted: { tools: ["ls"] },     trusted: { tools: ["ls"] } },
  { title: "quotas, which all hold",          user: { quotas: [{ per: "run", calls: 9 }] }, project: { quotas: [{ per: "run", calls: 99 }] }, untrusted: { quotas: [{ per: "run", calls: 9 }, { per: "run", calls: 99 }] }, trusted: { quotas: [{ per: "run", calls: 9 }, { per: "run", calls: 99 }] } },
  { title: "an allowlist",                    user: { network: { allow: ["*.a.com"] } }, project: { network: { allow: ["x.a.com", "b.com"] } }, untrusted: { network: { allow: ["x.a.com"] } }, trusted: { network: { allow: ["*.a.com", "x.a.com", "b.com"] } } },
  { title: "an allowlist of the project's",   user: {},                         project: { network: { allow: ["b.com"] } }, untrusted: { network: { allow: [] } }, trusted: { network: { allow: ["b.com"] } } },
  { title: "an allowlist of the user's",      user: { network: { allow: ["a.com"] } }, project: {},                       untrusted: { network: { allow: ["a.com"] } }, trusted: { network: { allow: ["a.com"] } } },
  { title: "digests, which only the user's count", user: { approve: ["1"] },    project: { approve: ["2"] },              untrusted: { approve: ["1"] },    trusted: { approve: ["1"] } },
  { title: "digests of the project's alone",  user: {},                         project: { approve: ["2"] },              untrusted: {},                    trusted: {} },
  { title: "an order without approval",       user: {},                         project: { reverse_thinking: "instead" }, untrusted: {},                    trusted: { reverse_thinking: "instead" } },
  { title: "an order that asks",              user: { reverse_thinking: "instead" }, project: { reverse_thinking: "before" }, untrusted: { reverse_thinking: "before" }, trusted: { reverse_thinking: "before" } },
  { title: "the user's order that asks",      user: { reverse_thinking: "after" }, project: { reverse_thinking: "before" }, untrusted: { reverse_thinking: "after" }, trusted: { reverse_thinking: "before" } },
  { title: "the user's order without approval", user: { reverse_thinking: "instead" }, project: {},                       untrusted: { reverse_thinking: "instead" }, trusted: { reverse_thinking: "instead" } },
];

for (const { title, user, project, untrusted, trusted } of CONFIGURATIONS) {
  test(`two files together: ${title}`, () => {
    const [ours, theirs] = [userOf(user), projectOf(project)];
    expect(narrowBy(ours, theirs).configuration).toEqual({ rules: [], quotas: [], ...untrusted });
    expect(mergeTrusted(ours, theirs).configuration).toEqual({ rules: [], quotas: [], ...trusted });
  });
}

test("of two profiles the stricter one holds until the project is trusted, and then the project's", () => {
  for (const [index, profile] of PROFILE_NAMES.entries()) {
    for (const [theirIndex, theirs] of PROFILE_NAMES.entries()) {
      const [user, project] = [userOf({}, { profile }), projectOf({}, { profile: theirs })];
      expect(narrowBy(user, project).profile).toBe(PROFILE_NAMES[Math.min(index, theirIndex)]);
      expect(mergeTrusted(user, project).profile).toBe(theirs);
    }
    expect(narrowBy(userOf({}, { profile }), projectOf({})).profile).toBe(profile);
    expect(mergeTrusted(userOf({}, { profile }), projectOf({})).profile).toBe(profile);
  }
});

test("the reason says whose list leaves a tool out", () => {
  const narrowed = narrowBy(userOf({ tools: ["ls", "write"] }), projectOf({ tools: ["ls"] }));
  expect(decide(callOf(WRITE), WORKSPACE, narrowed).reason).toMatch(/the project's configuration does not list it/);
  expect(decide(callOf(REMOVE), WORKSPACE, narrowBy(userOf({ tools: ["ls"] }), projectOf({}))).reason).toMatch(
    /the configuration does not list it/,
  );
});

// Most calls would be refused for something that has nothing to do with layers, so these are nearer to everyday ones.
const NAMES = ["ls", "write", "mcp__github__search"] as const;
const anyWorkspace = fc
  .constantFrom("none", "bwrap")
  .map((sandbox) => ({ ...WORKSPACE, sandbox, checkpoint_handler: true }));
const anyCall = fc
  .tuple(any.call, fc.constantFrom(...NAMES), fc.constantFrom("/work/a", "/work/.git/hooks/a", "/work/ls/a/write"))
  .map(([call, name, real]) => ({
    ...call,
    tool: { ...call.tool, name },
    touches: call.touches.map((touch) => ({ ...touch, real })),
    commands: (call.commands ?? []).filter(({ verdict }) => verdict.level !== "destructive"),
  }));
const anyConfiguration: fc.Arbitrary<PolicyConfiguration> = fc.record(
  {
    rules: fc.array(any.rule, { maxLength: 4 }),
    quotas: fc.constant<[]>([]),
    tools: fc.subarray([...NAMES]),
    network: fc.record({ allow: fc.subarray(["example.com", "*.example.com", "*", "127.0.0.1:80"]) }),
    approve: fc.subarray(["1", "2"]),
    reverse_thinking: fc.constantFrom(...REVERSE_THINKING_ORDERS),
  },
  { requiredKeys: ["rules", "quotas"] },
);
const anyLayer: fc.Arbitrary<PolicyLayer> = fc.record(
  { profile: fc.constantFrom(...PROFILE_NAMES), configuration: anyConfiguration },
  { requiredKeys: ["configuration"] },
);
const anyUser: fc.Arbitrary<DecisionSettings> = fc
  .tuple(fc.constantFrom(...PROFILE_NAMES, "guarded" as const, "autonomous" as const), anyConfiguration, fc.boolean())
  .map(([profile, { tools = [], ...configuration }, isListed]) => ({
    profile,
    configuration: { ...configuration, ...(isListed && { tools: [...tools, "ls", "write"] }) },
  }));
const anyUrls = fc.option(
  fc.subarray(["https://example.com/", "https://a.example.com/", "https://b.org/", "http://127.0.0.1/"]),
  { freq: 1 },
);

/** The call as the gate would put it: its addresses are judged by the allowlist in force. */
function facts(call: CallFacts, urls: readonly string[] | null, { configuration }: DecisionSettings): CallFacts {
  if (urls === null) return call;
  const allow = configuration.network?.allow ?? [];
  return { ...call, addresses: urls.map((shown) => ({ shown, verdict: judgeAddress(shown, allow) })) };
}

test("whatever an untrusted project says, no answer is weaker than without it", () => {
  fc.assert(
    fc.property(
      anyCall,
      anyWorkspace,
      fc.tuple(anyUser, anyLayer),
      anyUrls,
      (call, workspace, [user, project], urls) => {
        const narrowed = narrowBy(user, project);
        const before = decide(facts(call, urls, user), workspace, user);
        const after = decide(facts(call, urls, narrowed), workspace, narrowed);
        expect(STRICTNESS[after.effect]).toBeGreaterThanOrEqual(STRICTNESS[before.effect]);
        expect(narrowed.configuration.approve).toEqual(user.configuration.approve);
        if (narrowed.configuration.reverse_thinking === "instead") {
          expect(user.configuration.reverse_thinking).toBe("instead");
        }
      },
    ),
    { numRuns: 3000 },
  );
});

test("a stricter profile never gives a weaker answer", () => {
  fc.assert(
    fc.property(anyCall, anyWorkspace, anyConfiguration, (call, workspace, configuration) => {
      const [readonly, guarded, autonomous] = PROFILE_NAMES.map(
        (profile) => STRICTNESS[decide(call, workspace, { profile, configuration }).effect],
      ) as [number, number, number];
      expect(readonly).toBeGreaterThanOrEqual(guarded);
      expect(guarded).toBeGreaterThanOrEqual(autonomous);
    }),
    { numRuns: 3000 },
  );
});

test("a trusted project opens nothing that the floor closes", () => {
  fc.assert(
    fc.property(
      anyCall,
      fc.constantFrom("/etc/passwd", "/work/.ssh/x"),
      anyUser,
      anyLayer,
      (call, real, user, project) => {
        const touches = callOf({ tool: "ls", touches: [{ real }] }).touches;
        expect(decide({ ...call, touches }, WORKSPACE, mergeTrusted(user, project)).effect).toBe("DENY");
      },
    ),
  );
});
