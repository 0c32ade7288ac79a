import { expect, test } from "vitest";
import type { Permission, Risk } from "../../protocol/call.ts";
import type { PolicyRule } from "../../protocol/configuration.ts";
import { judgeAddress } from "../check-address.ts";
import type { CallFacts, ResolvedTouch } from "../facts.ts";
import { findRule } from "./rules.ts";

interface CaseInput {
  readonly tool?: string;
  readonly permissions?: readonly Permission[];
  readonly risk?: Risk;
  readonly reads?: readonly string[];
  readonly writes?: readonly string[];
  readonly chat?: string;
  readonly user?: string;
  readonly roots?: readonly string[];
  readonly urls?: readonly string[];
}

function ruleFor(rules: readonly PolicyRule[], given: CaseInput): string | undefined {
  return findRule(callOf(given), given.roots ?? ["/work"], { rules: [...rules] })?.id;
}

function callOf(given: CaseInput): CallFacts {
  const { tool = "ls", permissions = ["fs.read"], risk = "low", reads = [], writes = [] } = given;
  return {
    tool: {
      name: tool,
      permission_class: "file",
      required_permissions: permissions,
      side_effects: ["none"],
      requires_checkpoint: false,
    },
    risk,
    touches: [...reads.map((real) => touch(real, "read")), ...writes.map((real) => touch(real, "write"))],
    ...(given.urls !== undefined && {
      addresses: given.urls.map((shown) => ({ shown, verdict: judgeAddress(shown, ["*"]) })),
    }),
    ...(given.chat !== undefined && { chat: given.chat }),
    ...(given.user !== undefined && { user: given.user }),
  };
}

function touch(real: string, access: ResolvedTouch["access"]): ResolvedTouch {
  return { path: "as given", real, access, show_sensitive: false, exists: true };
}

// oxfmt-ignore
const MATCHING: readonly { rule: PolicyRule; given: CaseInput; matches: boolean }[] = [
  { rule: { effect: "deny",  tool: "ls" },                         given: {},                                                        matches: true },
  { rule: { effect: "deny",  tool: "l" },                          given: {},                                                        matches: false },
  { rule: { effect: "deny",  tool: "l*" },                         given: {},                                                        matches: true },
  { rule: { effect: "deny",  tool: "{ls,find}" },                  given: {},                                                        matches: true },
  { rule: { effect: "deny",  tool: "w*" },                         given: {},                                                        matches: false },
  { rule: { effect: "deny",  permission: "fs.read" },              given: {},                                                        matches: true },
  { rule: { effect: "deny",  permission: "fs.write" },             given: {},                                                        matches: false },
  { rule: { effect: "deny",  permission: "fs.write" },             given: { writes: ["/work/a"] },                                   matches: true },
  { rule: { effect: "allow", permission: "fs.read" },              given: {},                                                        matches: true },
  { rule: { effect: "allow", permission: "fs.read" },              given: { writes: ["/work/a"] },                                   matches: false },
  { rule: { effect: "allow", permission: "fs.read" },              given: { permissions: ["fs.read", "net.connect"] },               matches: false },
  { rule: { effect: "allow", permission: "fs.delete" },            given: { permissions: ["fs.read", "fs.delete"] },                 matches: true },
  { rule: { effect: "allow", permission: "fs.delete" },            given: { permissions: ["fs.delete", "net.connect"] },             matches: false },
  { rule: { effect: "deny",  permission: "fs.delete" },            given: { permissions: ["fs.delete", "net.connect"] },             matches: true },
  { rule: { effect: "deny",  risk: "low" },                        given: {},                                                        matches: true },
  { rule: { effect: "deny",  risk: "high" },                       given: {},                                                        matches: false },
  { rule: { effect: "deny",  risk: "high" },                       given: { permissions: ["fs.delete"] },                            matches: true },
  { rule: { effect: "allow", risk: "low" },                        given: { permissions: ["fs.delete"] },                            matches: false },
  { rule: { effect: "deny",  user: "ann" },                        given: { user: "ann" },                                           matches: true },
  { rule: { effect: "deny",  user: "ann" },                        given: { user: "bob" },                                           matches: false },
  { rule: { effect: "deny",  user: "ann" },                        given: {},                                                        matches: false },
  { rule: { effect: "deny",  chat: "1" },                          given: { chat: "1" },                                             matches: true },
  { rule: { effect: "deny",  chat: "1" },                          given: { chat: "2" },                                             matches: false },
  { rule: { effect: "deny",  chat: "telegram:*" },                 given: { chat: "telegram:-1001" },                                matches: true },
  { rule: { effect: "deny",  chat: "telegram:*" },                 given: { chat: "http:telegram:1" },                               matches: false },
  { rule: { effect: "deny",  chat: "http:*" },                     given: { chat: "http:team/a" },                                   matches: true },
  { rule: { effect: "allow", chat: "telegram:500?" },              given: { chat: "http:x/telegram:5001" },                          matches: false },
  { rule: { effect: "deny",  chat: "http:team/*" },                given: { chat: "http:team/a/b" },                                 matches: true },
  { rule: { effect: "deny",  chat: "telegram:*" },                 given: {},                                                        matches: false },
  { rule: { effect: "deny",  user: "{ann,bob}" },                  given: { user: "bob" },                                           matches: true },
  { rule: { effect: "deny",  user: "{ann,bob}" },                  given: { user: "bobby" },                                         matches: false },
  { rule: { effect: "deny",  user: "[1-3]*" },                     given: { user: "200" },                                           matches: true },
  { rule: { effect: "allow", user: "ann[1]" },                     given: { user: "ann[1]" },                                        matches: true },
  // One name in two forms of Unicode is one name; in another case, only for a rule that refuses or asks.
  { rule: { effect: "allow", user: "Zo\u00eb" },                   given: { user: "Zoe\u0308" },                                      matches: true },
  { rule: { effect: "allow", user: "Zoe\u0308" },                  given: { user: "Zo\u00eb" },                                       matches: true },
  { rule: { effect: "allow", chat: "http:caf\u00e9/*" },           given: { chat: "http:cafe\u0301/a" },                              matches: true },
  { rule: { effect: "allow", chat: "http:cafe\u0301/*" },          given: { chat: "http:caf\u00e9/a" },                               matches: true },
  { rule: { effect: "allow", user: "ann" },                        given: { user: "Ann" },                                           matches: false },
  { rule: { effect: "allow", chat: "http:team*" },                 given: { chat: "http:Team1" },                                    matches: false },
  { rule: { effect: "allow", user: "ann" },                        given: { user: "a\u200bnn" },                                     matches: false },
  { rule: { effect: "allow", user: "zoe" },                        given: { user: "zo\u00eb" },                                      matches: false },
  { rule: { effect: "deny",  user: "zoe" },                        given: { user: "zo\u00eb" },                                      matches: false },
  { rule: { effect: "deny",  user: "ann" },                        given: { user: "ANN" },                                           matches: true },
  { rule: { effect: "deny",  user: "ANN" },                        given: { user: "ann" },                                           matches: true },
  { rule: { effect: "confirm", user: "Zo\u00cb" },                 given: { user: "zoe\u0308" },                                      matches: true },
  { rule: { effect: "deny",  user: "stra\u00dfe" },                given: { user: "STRASSE" },                                       matches: true },
  { rule: { effect: "deny",  user: "\u039d\u03af\u03ba\u03bf\u03c2" },  given: { user: "\u039d\u038a\u039a\u039f\u03a3" },                     matches: true },
  { rule: { effect: "deny",  user: "ann" },                        given: { user: "a\u200bn\u00adn" },                               matches: true },
  { rule: { effect: "deny",  user: "\u212aelvin" },                given: { user: "kelvin" },                                        matches: true },
  { rule: { effect: "deny",  chat: "http:TEAM/{A,B}*" },           given: { chat: "http:team/b1" },                                  matches: true },
  { rule: { effect: "deny",  chat: "http:[A-C]*" },                given: { chat: "http:bob" },                                      matches: true },
  { rule: { effect: "deny",  chat: "telegram:7" },                 given: { chat: "telegram:70" },                                   matches: false },
  { rule: { effect: "deny",  chat: "telegram:7" },                 given: { chat: "telegram:\uff17" },                               matches: false },
  { rule: { effect: "deny",  tool: "ls", risk: "high" },           given: {},                                                        matches: false },
  { rule: { effect: "deny",  mcp_server: "github" },               given: { tool: "mcp__github__search" },                           matches: true },
  { rule: { effect: "deny",  mcp_server: "g*" },                   given: { tool: "mcp__github__search" },                           matches: true },
  { rule: { effect: "deny",  mcp_server: "GitHub" },               given: { tool: "mcp__github__search" },                           matches: false },
  { rule: { effect: "deny",  mcp_server: "search" },               given: { tool: "mcp__github__search" },                           matches: false },
  { rule: { effect: "deny",  mcp_server: "*" },                    given: {},                                                        matches: false },
  { rule: { effect: "allow", mcp_server: "*" },                    given: {},                                                        matches: false },
  { rule: { effect: "allow", mcp_server: "github" },               given: { tool: "mcp__github__search" },                           matches: true },
  { rule: { effect: "deny",  mcp_server: "a" },                    given: { tool: "mcp__a__b__c" },                                  matches: true },
  { rule: { effect: "deny",  mcp_server: "a__b" },                 given: { tool: "mcp__a__b__c" },                                  matches: true },
  { rule: { effect: "allow", mcp_server: "a" },                    given: { tool: "mcp__a__b__c" },                                  matches: false },
  { rule: { effect: "allow", mcp_server: "a*" },                   given: { tool: "mcp__a__b__c" },                                  matches: true },
  { rule: { effect: "deny",  mcp_server: "*" },                    given: { tool: "mcp__a" },                                        matches: false },

  { rule: { effect: "deny",  domain: "example.com" },              given: { urls: ["https://example.com/a"] },                       matches: true },
  { rule: { effect: "deny",  domain: "Example.COM" },              given: { urls: ["https://EXAMPLE.com./a"] },                      matches: true },
  { rule: { effect: "deny",  domain: "*.example.com" },            given: { urls: ["https://example.com/a"] },                       matches: false },
  { rule: { effect: "deny",  domain: "*.example.com" },            given: { urls: ["https://a.b.example.com/a"] },                   matches: true },
  { rule: { effect: "deny",  domain: "example.com" },              given: { urls: ["https://badexample.com/a"] },                    matches: false },
  { rule: { effect: "deny",  domain: "example.com" },              given: { urls: ["https://other.org/a", "https://example.com/a"] }, matches: true },
  { rule: { effect: "allow", domain: "example.com" },              given: { urls: ["https://other.org/a", "https://example.com/a"] }, matches: false },
  { rule: { effect: "allow", domain: "{example.com,other.org}" },  given: { urls: ["https://other.org/a", "https://example.com/a"] }, matches: true },
  { rule: { effect: "deny",  domain: "*" },                        given: { urls: ["http://127.0.0.1/"] },                           matches: false },
  { rule: { effect: "allow", domain: "*" },                        given: {},                                                        matches: false },
  { rule: { effect: "deny",  domain: "*" },                        given: {},                                                        matches: false },
  { rule: { effect: "deny" },                                      given: {},                                                        matches: true },

  { rule: { effect: "deny",  path: "secret/**" },                  given: { reads: ["/work/secret/a"] },                             matches: true },
  { rule: { effect: "deny",  path: "secret/**" },                  given: { reads: ["/work/secret"] },                               matches: true },
  { rule: { effect: "deny",  path: "./secret//**" },               given: { reads: ["/work/secret/a"] },                             matches: true },
  { rule: { effect: "deny",  path: "secret/**" },                  given: { reads: ["/work/secrets"] },                              matches: false },
  { rule: { effect: "deny",  path: "secret/**" },                  given: { reads: ["/work/sub/secret/a"] },                         matches: false },
  { rule: { effect: "deny",  path: "secret/**" },                  given: { reads: ["/other/secret/a"] },                            matches: false },
  { rule: { effect: "allow", path: "secret/**" },                  given: { reads: ["/home/secret/a"] },                             matches: false },
  { rule: { effect: "deny",  path: "secret/**" },                  given: { reads: ["/other/secret/a"], roots: ["/work", "/other"] }, matches: true },
  { rule: { effect: "deny",  path: "secret/**" },                  given: { reads: ["/secret/a"], roots: ["/"] },                    matches: true },
  { rule: { effect: "deny",  path: "secret/**" },                  given: { reads: ["/work/SECRET/a"] },                             matches: true },
  { rule: { effect: "deny",  path: "Secret/**" },                  given: { reads: ["/work/s\u200becret/a"] },                       matches: true },
  { rule: { effect: "confirm", path: "stra\u00dfe/*" },            given: { reads: ["/work/STRASSE/a"] },                            matches: true },
  { rule: { effect: "allow", path: "secret/**" },                  given: { reads: ["/work/SECRET/a"] },                             matches: false },
  { rule: { effect: "allow", path: "secret/**" },                  given: { reads: ["/work/secret/a"] },                             matches: true },
  { rule: { effect: "deny",  path: "secret/**" },                  given: { reads: ["/work/a", "/work/secret/a"] },                  matches: true },
  { rule: { effect: "allow", path: "secret/**" },                  given: { reads: ["/work/secret/b", "/work/a"] },                  matches: false },
  { rule: { effect: "allow", path: "secret/**" },                  given: { reads: ["/work/secret/b", "/work/secret/a"] },           matches: true },
  { rule: { effect: "allow", path: "**" },                         given: {},                                                        matches: false },
  { rule: { effect: "deny",  path: "**" },                         given: {},                                                        matches: false },
  { rule: { effect: "deny",  path: "*.md" },                       given: { reads: ["/work/a/b.md"] },                               matches: true },
  { rule: { effect: "deny",  path: "." },                          given: { reads: ["/work"] },                                      matches: true },
  { rule: { effect: "deny",  path: "./" },                         given: { reads: ["/work"] },                                      matches: true },
  { rule: { effect: "deny",  path: "." },                          given: { reads: ["/work/a"] },                                    matches: false },
  { rule: { effect: "deny",  path: ".*" },                         given: { reads: ["/work"] },                                      matches: false },
  { rule: { effect: "deny",  path: "/work/a" },                    given: { reads: ["/work/a"] },                                    matches: true },
  { rule: { effect: "deny",  path: "/Work/**" },                   given: { reads: ["/work/a"] },                                    matches: true },
  { rule: { effect: "allow", path: "/Work/**" },                   given: { reads: ["/work/a"] },                                    matches: false },
  { rule: { effect: "allow", path: "/a" },                         given: { reads: ["/work/a"] },                                    matches: false },
  { rule: { effect: "allow", path: "/work" },                      given: { reads: ["/work"] },                                      matches: true },
  { rule: { effect: "allow", path: "/work" },                      given: { reads: ["/work/work"] },                                 matches: false },
  { rule: { effect: "allow", path: "/" },                          given: { reads: ["/"], roots: ["/"] },                            matches: true },
  { rule: { effect: "allow", path: "/" },                          given: { reads: ["/a/:"], roots: ["/"] },                         matches: false },
  { rule: { effect: "allow", path: "/**" },                        given: { reads: ["/", "/a/b"], roots: ["/"] },                    matches: true },
];

for (const { rule, given, matches } of MATCHING) {
  const text = JSON.stringify(rule).slice(0, 80);
  test(`${text} ${matches ? "applies" : "does not apply"} to ${JSON.stringify(given)}`, () => {
    expect(ruleFor([rule], given) !== undefined).toBe(matches);
  });
}

// Each rule is more specific than all before it, so whichever of them stand together, the last one decides.
const FROM_GENERAL_TO_SPECIFIC: readonly PolicyRule[] = [
  { effect: "allow", user: "a*" },
  { effect: "deny", user: "a*", chat: "?" },
  { effect: "allow", user: "ann" },
  { effect: "deny", user: "ann", chat: "?" },
  { effect: "allow", user: "ann", chat: "1" },
  { effect: "deny", risk: "medium" },
  { effect: "allow", risk: "medium", user: "ann", chat: "1" },
  { effect: "deny", permission: "fs.write" },
  { effect: "allow", permission: "fs.write", risk: "medium" },
  { effect: "deny", mcp_server: "disk" },
  { effect: "allow", mcp_server: "disk", permission: "fs.write", risk: "medium", user: "ann", chat: "1" },
  { effect: "deny", tool: "*wri*" },
  { effect: "allow", tool: "*wri*", permission: "fs.write", risk: "medium", user: "ann" },
  { effect: "deny", tool: "mcp__disk__write" },
  { effect: "allow", tool: "mcp__disk__write", permission: "fs.write", risk: "medium", user: "ann", chat: "1" },
  { effect: "deny", path: "/**" },
  { effect: "allow", path: "/work/**" },
  { effect: "deny", path: "src/**" },
  { effect: "allow", path: "src/**", tool: "mcp__disk__write" },
  { effect: "deny", path: "src/deep/**" },
  { effect: "allow", path: "/work/src/deep/a.*" },
  { effect: "deny", path: "src/deep/[a-z].ts" },
  { effect: "allow", path: "src/deep/a.ts" },
];

for (const [low, general] of FROM_GENERAL_TO_SPECIFIC.entries()) {
  for (const [offset, specific] of FROM_GENERAL_TO_SPECIFIC.slice(low + 1).entries()) {
    test(`rule ${low + offset + 2} of the ladder is more specific than rule ${low + 1}, in either order`, () => {
      const given: CaseInput = {
        tool: "mcp__disk__write",
        permissions: ["fs.write"],
        risk: "medium",
        writes: ["/work/src/deep/a.ts"],
        user: "ann",
        chat: "1",
      };
      expect(ruleFor([general, specific], given)).toMatch(/^rule:2 /);
      expect(ruleFor([specific, general], given)).toMatch(/^rule:1 /);
    });
  }
}

test("among equals deny beats confirm beats allow, and then the first", () => {
  const [allow, confirm, deny] = (["allow", "confirm", "deny"] as const).map((effect) => ({ effect, tool: "ls" }));
  expect(ruleFor([allow!, confirm!, deny!], {})).toBe("rule:3 (deny tool=ls)");
  expect(ruleFor([deny!, confirm!, allow!], {})).toBe("rule:1 (deny tool=ls)");
  expect(ruleFor([allow!, confirm!], {})).toBe("rule:2 (confirm tool=ls)");
  expect(ruleFor([allow!, allow!], {})).toBe("rule:1 (allow tool=ls)");
});

const UNREADABLE = ["x".repeat(2000), "{a,b}".repeat(12)];

for (const pattern of UNREADABLE) {
  test(`a rule with the unreadable pattern "${pattern.slice(0, 10)}…" opens nothing and refuses everything`, () => {
    const reads = ["/work/a"];
    const deny: PolicyRule = { effect: "deny", tool: "ls", reason: "Readable" };
    for (const condition of [{ path: pattern }, { tool: `*${pattern}` }, { user: `*${pattern}` }]) {
      expect(ruleFor([{ effect: "allow", ...condition }], { reads })).toBeUndefined();
      expect(ruleFor([deny, { effect: "confirm", ...condition }], { reads })).toMatch(/^rule:2 \(confirm /);
      const rules: PolicyRule[] = [{ effect: "confirm", ...condition }];
      const found = findRule(callOf({ reads }), ["/work"], { rules });
      expect(found?.effect).toBe("deny");
      expect(found?.reason).toMatch(/^Rule 1 of the configuration cannot be read/);
    }
  });
}

test("a rule that covers several paths counts by its careful end", () => {
  const roots = ["/work", "/work/longer/root"];
  const reads = ["/work/a/x", "/work/longer/root/a/x"];
  const named: PolicyRule = { effect: "deny", path: "/work/longer/**" };
  // "a/**" is as close as "/work/a/" for the first path and "/work/longer/root/a/" for the second.
  expect(ruleFor([{ effect: "allow", path: "a/**" }, named], { reads, roots })).toMatch(/^rule:2 /);
  expect(ruleFor([{ effect: "confirm", path: "a/**" }, named], { reads, roots })).toMatch(/^rule:1 /);
});

test("a rule is told with its conditions in one order, and conditions that are not set are left out", () => {
  const rule: PolicyRule = { user: "ann", chat: undefined, path: "*", risk: "low", effect: "deny", tool: "ls" };
  expect(ruleFor([rule], { reads: ["/work/a"], user: "ann" })).toBe("rule:1 (deny tool=ls risk=low path=* user=ann)");
});
