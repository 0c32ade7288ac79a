/** Rules on paths and permissions, held by real commands in the real sandbox. */
import type { RuntimeOptions } from "@autonous/runtime";
import { expect, test } from "vitest";
import { scratch } from "./support/scratch.ts";
import type { Scratch } from "./support/scratch.ts";

type Rules = NonNullable<NonNullable<RuntimeOptions["config"]>["rules"]>;

async function place(rules: Rules, options: Partial<RuntimeOptions> = {}): Promise<Scratch> {
  const made = await scratch({ config: { rules }, ...options });
  await made.make({
    "root/secrets/key": "CANARY-1\n",
    "root/secrets/open/note": "NOTE\n",
    "root/conf/deep/token": "CANARY-2\n",
    "root/src/a.key": "CANARY-3\n",
    "root/src/a.txt": "plain\n",
    "root/link": "-> secrets",
    "root/run.sh":
      'cat "$(printf sec)$(printf rets)/key"; cat src/*.txt; echo x > "$(printf sec)rets/new"; ls sec*ts; true\n',
    "root/py.py":
      "import os\nfor f, d, n in os.walk('.'):\n  for x in n:\n    try: print(open(os.path.join(f, x)).read())\n    except OSError as e: print(type(e).__name__)\n",
  });
  return made;
}

const DENY: Rules[number] = { effect: "deny", path: "secrets/**" };

// oxfmt-ignore
const NAMING = [
  "cat secrets/key", "rm secrets/key", "echo x > secrets/new", "cat link/key", "cd secrets && cat key", "cat s*/key", "mv secrets gone", "cp -r secrets out",
];

test.each(NAMING)(
  "a rule that denies a path refuses a command that names it, and explain says which: %s",
  async (cmd) => {
    const { call, runtime, read } = await place([DENY]);
    const { ok, error } = await call("bash", { cmd });
    expect({ ok, code: error?.code, rule: error?.details?.["rule"] }).toEqual({
      ok: false,
      code: "ToolNotAllowed",
      rule: "rule:1 (deny path=secrets/**)",
    });
    const explained = await runtime.explain({ name: "bash", args: { cmd } });
    expect(explained).toMatchObject({ effect: "DENY", rule: "rule:1 (deny path=secrets/**)" });
    const background = await call("bash", { cmd, is_background: true });
    expect(background.error?.code).toBe("ToolNotAllowed");
    expect(await read("root/secrets/key")).toBe("CANARY-1\n");
  },
);

test("without a sandbox a command that could read there unseen is asked for", async () => {
  const { call } = await place([DENY], { sandbox: "off", profile: "autonomous" });
  const { error } = await call("bash", { cmd: "bash run.sh" });
  expect(error?.code).toBe("ApprovalRequired");
  expect(error?.message).toContain("without a sandbox");
  expect((await call("bash", { cmd: "cat src/a.txt" })).payload?.stdout).toBe("plain\n");
});

test("a rule that never has an effect stops the start, with words", async () => {
  await expect(place([{ effect: "deny", tool: "ls", permission: "git.write" }])).rejects.toThrow(
    /config\.rules\.0: "ls" never needs "git\.write", so the rule has no effect/,
  );
});
