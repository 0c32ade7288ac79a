import { expect, test } from "vitest";
import { fitsSchema } from "../../../../test/support/json-schema.ts";
import { parseConfiguration } from "./read-file.ts";
import { makeConfigurationSchema } from "./settings-schema.ts";
import { SETTINGS } from "./settings.ts";

const schema = makeConfigurationSchema();

// oxfmt-ignore
const CASES = [
  { content: {},                                                          fits: true },
  { content: { $schema: "./config.schema.json", profile: "readonly" },   fits: true },
  { content: { profile: "yolo" },                                         fits: false },
  { content: { max_turns: 5, model: "direct", tool_allowed_roots: ["/a"] }, fits: true },
  { content: { max_turns: "5" },                                          fits: false },
  { content: { max_turns: 0 },                                            fits: false },
  { content: { max_turns: 1.5 },                                          fits: false },
  { content: { model: " " },                                              fits: false },
  { content: { tool_allowed_roots: [] },                                  fits: false },
  { content: { max_turn: 5 },                                             fits: false },
  { content: { rules: [{ effect: "deny", tool: "ls" }] },                 fits: true },
  { content: { rules: [{ effect: "deny" }] },                             fits: false },
  { content: { rules: [{ effect: "deny", reason: "why" }] },              fits: false },
  { content: { rules: [{ effect: "denny", tool: "ls" }] },                fits: false },
  { content: { rules: [{ tool: "ls" }] },                                 fits: false },
  { content: { rules: [{ effect: "deny", tol: "ls" }] },                  fits: false },
  { content: { quotas: [{ per: "run", calls: 5 }] },                      fits: true },
  { content: { quotas: [{ per: "run" }] },                                fits: false },
  { content: { quotas: [{ per: "chat", calls: 5 }] },                     fits: false },
  { content: { quotas: [{ per: "chat", window_seconds: 60, calls: 5 }] }, fits: true },
  { content: { network: { allow: ["example.com"] }, tools: ["ls"] },      fits: true },
  { content: { network: ["example.com"] },                                fits: false },
  { content: { approve: ["0".repeat(64)], reverse_thinking: "after" },    fits: true },
  { content: { approve: ["yes"] },                                        fits: false },
  { content: { telegram_token: "1:a" },                                   fits: false },
  { content: { telegram_allowed_users: [42] },                            fits: true },
  { content: { telegram_allowed_users: ["42"] },                          fits: false },
  { content: { telegram_api_root: "ftp://a" },                            fits: false },
  { content: [],                                                          fits: false },
];

for (const { content, fits } of CASES) {
  test(`the schema ${fits ? "takes" : "refuses"} ${JSON.stringify(content)}`, () => {
    expect(fitsSchema(content, schema)).toBe(fits);
  });
}

test("the schema and the program accept the same rules and quotas", () => {
  for (const { content, fits } of CASES) {
    const problems: string[] = [];
    const read = parseConfiguration("config.json", JSON.stringify(content), problems);
    const isTaken = problems.length === 0 && read?.unknown.length === 0;
    // Roots are checked where they are used, against the machine.
    if (!("tool_allowed_roots" in content)) expect([content, isTaken]).toEqual([content, fits]);
  }
});

test("the schema has every setting except the secrets, with its meaning and default", () => {
  const properties = schema["properties"] as Readonly<Record<string, { description?: string; default?: unknown }>>;
  for (const [name, { kind, meaning, default: fallback }] of Object.entries(SETTINGS)) {
    if (kind.type === "secret") {
      expect(properties).not.toHaveProperty(name);
      continue;
    }
    expect(properties[name]?.description).toContain(meaning);
    expect(properties[name]?.default).toBe(fallback);
  }
});
