import { expect, test } from "vitest";
import { makePolicySchema } from "../protocol/configuration.ts";
import { checkConfiguration } from "./check-configuration.ts";

test("a configuration that is right comes back with its defaults", () => {
  const rules = [
    { effect: "deny", path: "a/**", tool: "l*" },
    { effect: "allow", risk: "low" },
  ];
  expect(checkConfiguration({ rules })).toEqual({ configuration: { rules, quotas: {} }, problems: [] });
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
  { title: "a key that is none",           given: { rule: [] },                                                   says: [/rule/] },
  { title: "patterns that cannot be read", given: { rules: [{ effect: "deny", tool: "{a,b}".repeat(9), path: "x".repeat(2000) }] }, says: [/^rules\.0\.tool/, /^rules\.0\.path/] },
  { title: "no object",                    given: 5,                                                              says: [/./] },
] as const;

for (const { title, given, says } of WRONG) {
  test(`${title} is told`, () => {
    const { configuration, problems } = checkConfiguration(given);
    expect(configuration).toEqual({ rules: [], quotas: {} });
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
