import { expect, test } from "vitest";
import { makePolicySchema } from "../protocol/configuration.ts";
import { checkConfiguration } from "./check-configuration.ts";

test("a configuration that is right comes back with its defaults", () => {
  const rules = [
    { effect: "deny", path: "a/**", tool: "l*" },
    { effect: "allow", risk: "low" },
  ];
  expect(checkConfiguration({ rules })).toEqual({ configuration: { rules, quotas: [] }, problems: [] });
});

test("everything that a configuration can say is taken", () => {
  const given = {
    tools: ["ls"],
    rules: [
      {
        effect: "confirm",
        domain: "*.example.com",
        mcp_server: "github",
        command: "git push *",
        chat: "1",
        user: "ann",
      },
    ],
    quotas: [
      { per: "run", calls: 500, executions: 50 },
      { per: "chat", window_seconds: 3600, tokens: 100_000 },
      { per: "user", window_seconds: 86_400, bytes_written: 1_000_000 },
    ],
    network: { allow: ["example.com"] },
    approve: ["0".repeat(64)],
    reverse_thinking: "instead",
  };
  expect(checkConfiguration(given)).toEqual({ configuration: given, problems: [] });
});

test("a configuration that says nothing is what the schema makes of it", () => {
  expect(checkConfiguration({})).toEqual({ configuration: makePolicySchema().parse({}), problems: [] });
  const { configuration } = checkConfiguration({});
  expect(checkConfiguration(configuration).configuration).toBe(configuration);
  expect(checkConfiguration([]).problems).not.toEqual([]);
  expect(checkConfiguration(null).problems).not.toEqual([]);
});

// oxfmt-ignore
const WRONG = [
  { title: "a rule without a condition",   given: { rules: [{ effect: "deny" }] },                                says: [/^rules\.0: A rule needs/] },
  { title: "an effect that is none",       given: { rules: [{ effect: "maybe", tool: "ls" }] },                   says: [/^rules\.0\.effect/] },
  { title: "an offer that allows",         given: { rules: [{ effect: "allow", tool: "ls", offer: true }] },      says: [/^rules\.0: A rule with "offer" has the effect "confirm"/] },
  { title: "an offer of several tools",    given: { rules: ["mcp__*", "{a,b}", "a?"].map((tool) => ({ effect: "confirm", tool, offer: true })) }, says: [/^rules\.0: A rule with "offer"/, /^rules\.1: A rule/, /^rules\.2: A rule/] },
  { title: "an offer of no tool",          given: { rules: [{ effect: "confirm", permission: "proc.exec", offer: true }] }, says: [/^rules\.0: A rule with "offer"/] },
  { title: "an offer for one chat",        given: { rules: [{ effect: "confirm", tool: "ls", chat: "a", offer: true }] }, says: [/^rules\.0: A rule with "offer"/] },
  { title: "an offer that is none",        given: { rules: [{ effect: "confirm", tool: "ls", offer: false }] },   says: [/^rules\.0\.offer/] },
  { title: "a key that is none",           given: { rule: [] },                                                   says: [/rule/] },
  { title: "patterns that cannot be read", given: { rules: [{ effect: "deny", tool: "{a,b}".repeat(9), path: "x".repeat(2000) }] }, says: [/^rules\.0\.tool/, /^rules\.0\.path/] },
  { title: "domains that are not hosts",    given: { rules: ["https://a.b/", "a.b:80", "b\u00fccher.de", "::1", "a.b"].map((domain) => ({ effect: "deny", domain })) }, says: [/^rules\.0\.domain: it is not a valid host/, /^rules\.1\.domain/, /^rules\.2\.domain: .*xn--/] },
  { title: "servers that cannot be read",  given: { rules: [{ effect: "deny", mcp_server: "{a,b}".repeat(9) }] }, says: [/^rules\.0\.mcp_server/] },
  { title: "a quota without a limit",      given: { quotas: [{ per: "run" }] },                                   says: [/^quotas\.0: A quota needs at least one of calls, executions, tokens, bytes_written$/] },
  { title: "a quota for a run's window",   given: { quotas: [{ per: "run", calls: 1, window_seconds: 60 }] },     says: [/^quotas\.0: .*window_seconds/] },
  { title: "a quota without a window",     given: { quotas: [{ per: "chat", calls: 1 }] },                        says: [/^quotas\.0\.window_seconds/] },
  { title: "a quota of nothing",           given: { quotas: [{ per: "user", window_seconds: 60, tokens: 0 }] },   says: [/^quotas\.0\.tokens/] },
  { title: "the quotas of an older file",  given: { quotas: { calls_per_run: 1 } },                               says: [/^quotas: /] },
  { title: "a digest that is none",        given: { approve: ["abc"] },                                           says: [/^approve\.0: must be a digest/] },
  { title: "an order that is none",        given: { reverse_thinking: "never" },                                  says: [/^reverse_thinking/] },
  { title: "no object",                    given: 5,                                                              says: [/./] },
] as const;

for (const { title, given, says } of WRONG) {
  test(`${title} is told`, () => {
    const { configuration, problems } = checkConfiguration(given);
    expect(configuration).toEqual({ rules: [], quotas: [] });
    expect(problems).toHaveLength(says.length);
    says.forEach((pattern, i) => expect(problems[i]).toMatch(pattern));
  });
}

test("an allowlist entry that says nothing is a problem", () => {
  expect(checkConfiguration({ network: { allow: ["example.com", "https://x/", ""] } }).problems).not.toEqual([]);
  expect(checkConfiguration({ network: { allow: ["example.com", "http://x/y"] } }).problems).toEqual([
    expect.stringMatching(/^network\.allow\.1: /),
  ]);
  expect(checkConfiguration({ network: { allow: ["*.example.com:8443"] } }).problems).toEqual([]);
});
