/** Rules on paths and permissions, held by real commands in the real sandbox. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import type { RuntimeOptions } from "@autonous/runtime";
import { describe, expect, test } from "vitest";
import { scratch } from "./support/scratch.ts";
import type { Scratch } from "./support/scratch.ts";

const hasSandbox = spawnSync("bwrap", ["--version"]).status === 0;
const needs = hasSandbox ? "" : " (skipped: needs bwrap, apt-get install bubblewrap)";

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

/** Contents of the files that this process holds open for what commands may change. */
function keptByWatch(): string {
  return readdirSync("/proc/self/fd")
    .filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).endsWith(".contents");
      } catch {
        return false; // it was the one that listed the others
      }
    })
    .map((fd) => readFileSync(`/proc/self/fd/${fd}`, "latin1"))
    .join("");
}

function stateOf(data: unknown): string | undefined {
  return (data as { readonly state?: string } | undefined)?.state;
}

function idOf(data: unknown): string {
  return String((data as { readonly background_id?: string } | undefined)?.background_id);
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

describe.skipIf(!hasSandbox)(`what words do not show, the sandbox closes${needs}`, () => {
  test("a path that may not be read is hidden, also from background commands", async () => {
    const { call, path } = await place([
      DENY,
      { effect: "deny", path: "conf/deep/**" },
      { effect: "deny", path: "*.key" },
    ]);
    const { payload, artifacts } = await call("bash", {
      cmd: "bash run.sh; find . -type f -exec cat {} + 2>/dev/null; true",
    });
    const shown = `${payload?.stdout} ${payload?.stderr}`;
    expect(shown).toContain("plain");
    expect(shown).not.toMatch(/CANARY/);
    expect(existsSync(join(path, "root/secrets/new"))).toBe(false);
    expect(JSON.stringify(artifacts)).not.toContain("secrets/");
    const started = await call("bash", { cmd: "bash run.sh", is_background: true });
    const background_id = idOf(started.payload?.data);
    const outputs: string[] = [];
    const read = async (): Promise<string> => {
      outputs.push((await call("background_output", { background_id })).payload?.stdout ?? "");
      return outputs.join("");
    };
    await expect.poll(read, { timeout: 30_000 }).toContain("plain");
    expect(outputs.join("")).not.toMatch(/CANARY/);
  });

  test("a path that may not be changed is read-only", async () => {
    const { call, read, path } = await place([{ effect: "deny", permission: "fs.write", path: "secrets/**" }]);
    const { payload } = await call("bash", { cmd: "bash run.sh" });
    expect(payload?.stdout).toMatch(/CANARY-1/);
    expect(existsSync(join(path, "root/secrets/new"))).toBe(false);
    expect(await read("root/secrets/key")).toBe("CANARY-1\n");
  });

  test("a folder that contains a closed one cannot be moved away with it", async () => {
    const { call, read } = await place([{ effect: "deny", path: "conf/deep/**" }]);
    await call("bash", { cmd: 'd=co; eval "mv ${d}nf other"; true' });
    await call("bash", { cmd: 'python3 -c \'import os; os.rename("con" + "f", "oth" + "er")\'; true' });
    await call("bash", { cmd: "node -e 'fs.renameSync([`con`, `f`].join(``), `oth` + `er`)'; true" });
    expect(await read("root/conf/deep/token")).toBe("CANARY-2\n");
  });

  test("a person's change in a hidden folder is not reported to the model whose command runs meanwhile", async () => {
    const { call, path, make, read } = await place([DENY]);
    const running = call("bash", { cmd: "touch begun; while [ ! -e go ]; do sleep 0.05; done; echo x > out" });
    await expect.poll(() => existsSync(join(path, "root/begun")), { timeout: 30_000 }).toBe(true);
    await make({ "root/secrets/key": "CANARY-4\n", "root/secrets/more": "CANARY-5\n", "root/go": "" });
    const { payload, artifacts } = await running;
    expect(artifacts.files_changed).toContain("out");
    expect(JSON.stringify([payload, artifacts])).not.toMatch(/secrets|CANARY/);
    expect(await read("root/secrets/key")).toBe("CANARY-4\n");
  });

  test("a process that a background command starts later is kept from the same", async () => {
    const { call, path, make } = await place([DENY, { effect: "deny", permission: "fs.write", path: "conf/**" }]);
    await make({
      "root/later.sh": [
        "touch begun; until [ -e go ]; do sleep 0.05; done",
        "(setsid sh -c 'd=$(printf sec)rets; cat $d/key $d/open/note; echo x > $d/new; echo x >> conf/deep/token; mv $d away; ln $d/key hard; cat hard; echo over')",
      ].join("\n"),
    });
    const started = await call("bash", { cmd: "bash later.sh 2>&1", is_background: true });
    const background_id = idOf(started.payload?.data);
    await expect.poll(() => existsSync(join(path, "root/begun")), { timeout: 30_000 }).toBe(true);
    await make({ "root/secrets/key": "CANARY-6\n", "root/secrets/later": "CANARY-7\n", "root/go": "" });
    const outputs: string[] = [];
    const printed = async (): Promise<string | undefined> => {
      const { payload, artifacts } = await call("background_output", { background_id, wait_seconds: 5 });
      outputs.push(`${payload?.stdout} ${payload?.stderr} ${JSON.stringify(artifacts)}`);
      return stateOf(payload?.data);
    };
    await expect.poll(printed, { timeout: 30_000 }).toBe("exited");
    expect(outputs.join("")).toMatch(/over/);
    expect(outputs.join("")).not.toMatch(/CANARY|NOTE|secrets\/later/);
    expect(existsSync(join(path, "root/secrets/new"))).toBe(false);
    expect(readFileSync(join(path, "root/conf/deep/token"), "utf8")).toBe("CANARY-2\n");
  });

  test("a background command that finds what a rule hides is stopped, and the result says so", async () => {
    const { call, path, make } = await place([{ effect: "deny", path: "vault/**" }]);
    const started = await call("bash", {
      cmd: "touch begun; while :; do sleep 0.05; done",
      is_background: true,
    });
    const background_id = idOf(started.payload?.data);
    await expect.poll(() => existsSync(join(path, "root/begun")), { timeout: 30_000 }).toBe(true);
    await make({ "root/vault/key": "CANARY-8\n" });
    let told = await call("background_output", { background_id, wait_seconds: 5 });
    const state = async (): Promise<string | undefined> => {
      told = await call("background_output", { background_id, wait_seconds: 5 });
      return stateOf(told.payload?.data);
    };
    await expect.poll(state, { timeout: 30_000 }).toBe("stopped");
    expect(told.payload?.data).toMatchObject({ unprotected: join(path, "root/vault") });
    expect(told.payload?.stderr).toMatch(/\[stopped: ".*vault" was created or replaced while the command ran/);
    const next = await call("bash", { cmd: 'cat "$(printf va)ult/key"; true' });
    expect(JSON.stringify(next)).not.toMatch(/CANARY/);
  });

  test("a command that creates what a rule denies is stopped, and the result says so", async () => {
    const { call, make } = await place([{ effect: "deny", path: "vault/**" }]);
    await make({ "root/make.sh": 'd=$(printf va)ult; mkdir "$d"; touch "$d/x"; while :; do sleep 0.05; done\n' });
    const { ok, error } = await call("bash", { cmd: "bash make.sh" });
    expect(ok).toBe(false);
    expect(error).toMatchObject({ code: "Cancelled" });
    expect(error?.message).toMatch(/The command was stopped: ".*vault" was created or replaced/);
  });

  test("files that a rule hides are not stored by the command watch, for any caller", async () => {
    const { call, path } = await place([DENY, { effect: "deny", path: "*.key" }]);
    const { artifacts } = await call("bash", { cmd: "bash -c 'echo new > src/a.txt'" });
    expect(artifacts.undo_id).toBeDefined();
    const kept = keptByWatch();
    expect(kept).toContain("plain"); // what was changed is kept
    expect(kept).toContain("CANARY-2"); // and what is not hidden, in case it changes
    expect(kept).not.toMatch(/CANARY-[13]|NOTE/);
    expect(readFileSync(join(path, "root/src/a.txt"), "utf8")).toBe("new\n");
  });

  test("a path whose rule confirms is closed until the user approves", async () => {
    const rules: Rules = [{ effect: "confirm", path: "secrets/**" }];
    const unapproved = await place(rules);
    expect((await unapproved.call("bash", { cmd: "bash run.sh" })).payload?.stdout).not.toMatch(/CANARY/);
    expect((await unapproved.call("bash", { cmd: "cat secrets/key" })).error?.code).toBe("ApprovalRequired");
    const asked = await place(rules, { onApproval: () => Promise.resolve({ answer: "grant" }) });
    expect((await asked.call("bash", { cmd: "cat secrets/key" })).payload?.stdout).toBe("CANARY-1\n");
  });

  test("a path that a more specific rule allows stays open", async () => {
    const { call } = await place([DENY, { effect: "allow", path: "secrets/open/**" }]);
    const { payload } = await call("bash", { cmd: "find . -type f -exec cat {} + 2>/dev/null; true" });
    expect(payload?.stdout).toMatch(/NOTE/);
    expect(payload?.stdout).not.toMatch(/CANARY-1/);
  });

  test("an untrusted project can close paths, but not open them", async () => {
    const projects = [{ configuration: { rules: [DENY, { effect: "allow", path: "conf/**" } as const], quotas: [] } }];
    const { call } = await place([{ effect: "deny", path: "conf/deep/**" }], { projects });
    const { payload } = await call("bash", { cmd: "find . -type f -exec cat {} + 2>/dev/null; true" });
    expect(payload?.stdout).toMatch(/plain/);
    expect(payload?.stdout).not.toMatch(/CANARY-[12]/);
  });

  test("unknown programs cannot write where no command may, nor change the repository", async () => {
    const writing = await place([{ effect: "deny", permission: "fs.write" }]);
    await writing.call("bash", {
      cmd: "python3 -c 'open(\"new\", \"w\")' || node -e 'fs.writeFileSync(`new`, ``)'; true",
    });
    expect(existsSync(join(writing.path, "root/new"))).toBe(false);
    const git = await place([{ effect: "deny", permission: "git.write" }]);
    spawnSync("git", ["init", "-q", join(git.path, "root")]);
    const { ok } = await git.call("bash", {
      cmd: "node -e 'fs.writeFileSync(`.git/x`, ``)' || python3 -c 'open(\".git/x\", \"w\")'",
    });
    expect(ok).toBe(false);
    expect(existsSync(join(git.path, "root/.git/x"))).toBe(false);
    expect((await git.call("bash", { cmd: "git commit -m x" })).error?.code).toBe("ToolNotAllowed");
    expect((await git.call("bash", { cmd: "node -e 'fs.writeFileSync(`y`, ``)'" })).ok).toBe(true);
  });
});

test("without a sandbox a command that could read there unseen needs approval", async () => {
  const { call } = await place([DENY], { sandbox: "off", profile: "autonomous" });
  const { error } = await call("bash", { cmd: "bash run.sh" });
  expect(error?.code).toBe("ApprovalRequired");
  expect(error?.message).toContain("without a sandbox");
  expect((await call("bash", { cmd: "cat src/a.txt" })).payload?.stdout).toBe("plain\n");
});

test("a rule that never has an effect stops the start with a message", async () => {
  await expect(place([{ effect: "deny", tool: "ls", permission: "git.write" }])).rejects.toThrow(
    /config\.rules\.0: "ls" never needs "git\.write", so the rule has no effect/,
  );
});
