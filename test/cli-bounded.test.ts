import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { autonous } from "./support/cli.ts";
import { scratchFolder } from "./support/scratch.ts";

const MANY = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`field_${i}`, i]));
const LONG = "x".repeat(100_000);
const CHARACTERS = 40_000;

test("the refusal of a call with 100,000 unknown arguments is short, as text and as JSON", async () => {
  const { path } = await scratchFolder();
  for (const more of [[], ["--json"]]) {
    const { code, stdout, stderr } = await autonous(["call", "ls", "-", ...more], {
      cwd: path,
      input: JSON.stringify(MANY),
    });
    expect(code).toBe(2);
    expect(stdout.length + stderr.length).toBeLessThan(CHARACTERS);
    expect(stdout + stderr).toMatch(/field_0.*more/);
  }
});

// oxfmt-ignore
const USAGE = [
  { title: "a command",          words: [LONG] },
  { title: "an option",          words: ["call", "ls", `--${LONG}`] },
  { title: "a tool",             words: ["call", LONG, "{}"] },
  { title: "arguments",          words: ["call", "ls", `{${LONG}`] },
  { title: "a run",              words: ["events", LONG] },
  { title: "a state",            words: ["tasks", "list", "--state", LONG] },
] as const;

for (const { title, words } of USAGE) {
  test(`the refusal of ${title} of 100 kB is short`, async () => {
    const { path } = await scratchFolder();
    const { code, stdout, stderr } = await autonous(words, { cwd: path });
    expect(code).not.toBe(0);
    expect(stdout.length + stderr.length).toBeLessThan(CHARACTERS);
  });
}

const CONFIGURATIONS = [
  { title: "100,000 unknown keys", content: MANY },
  { title: "a key of 100 kB", content: { [LONG]: 1 } },
  { title: "100,000 wrong rules", content: { rules: Array.from({ length: 100_000 }, () => ({ effect: "maybe" })) } },
  { title: "a pattern of 100 kB", content: { rules: [{ effect: "deny", path: `[${LONG}` }] } },
];

for (const { title, content } of CONFIGURATIONS) {
  test(`the refusal of a configuration with ${title} is short`, async () => {
    const { path } = await scratchFolder();
    mkdirSync(join(path, "config/autonous"), { recursive: true });
    writeFileSync(join(path, "config/autonous/config.json"), JSON.stringify(content));
    for (const more of [[], ["--json"]]) {
      const env = { XDG_CONFIG_HOME: join(path, "config") };
      const { code, stdout, stderr } = await autonous(["call", "ls", ...more], { cwd: path, env });
      expect(code).not.toBe(0);
      expect(stdout.length + stderr.length).toBeLessThan(CHARACTERS);
    }
  });
}

test("the refusal of a setting of 100 kB in the environment is short", async () => {
  const { path } = await scratchFolder();
  const env = { AUTONOUS_MAX_TURNS: LONG, AUTONOUS_PROFILE: LONG };
  const { code, stdout, stderr } = await autonous(["run", "/ls ."], { cwd: path, env });
  expect(code).not.toBe(0);
  expect(stdout.length + stderr.length).toBeLessThan(CHARACTERS);
});
