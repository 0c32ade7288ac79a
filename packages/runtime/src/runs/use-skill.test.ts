import { createRuntime } from "@autonous/runtime";
import type { RuntimeEvent, RuntimeOptions } from "@autonous/runtime";
import type { AuditRecord } from "@autonous/runtime/internal";
import { expect, onTestFinished, test } from "vitest";
import { scratch } from "../../../../test/support/scratch.ts";
import type { Scratch } from "../../../../test/support/scratch.ts";

const skill = (name: string, tools: string): Record<string, string> => ({
  [`root/.agents/skills/${name}/SKILL.md`]: `---\nname: ${name}\ndescription: x\n${tools}---\nWork with care.\n`,
});

async function withSkills(options: Partial<RuntimeOptions> = {}): Promise<Scratch> {
  const made = await scratch({ run_id: "run_1", isTrustedSkill: ({ name }) => name !== "strange", ...options });
  await made.make({
    "root/a.txt": "a",
    ...skill("reader", "allowed-tools: Read, Grep\n"),
    ...skill("gitter", "allowed-tools:\n  - Read\n  - Bash(git status:*)\n  - Bash(git log:*)\n"),
    ...skill("broad", "allowed-tools: Read Write Bash(git:*)\n"),
    ...skill("open", ""),
    ...skill("all", 'allowed-tools: "*"\n'),
    ...skill("strange", "allowed-tools: Bash, Write\n"),
  });
  return made;
}

const read = (name: string) => ({ name: "read", args: { path: `.agents/skills/${name}/SKILL.md` } });
const write = { name: "write", args: { path: "b.txt", content: "x" } };

async function activations({ events }: Scratch): Promise<readonly RuntimeEvent[]> {
  return (await events()).filter(({ type }) => type === "skill.activated");
}

test("a task that has read a trusted SKILL.md is restricted from then on, on record; another task is not", async () => {
  const made = await withSkills();
  const { runtime } = made;
  const inTask = (task_id: string, call: object) =>
    runtime.call({ ...call, task_id } as typeof write & { task_id: string });

  expect((await inTask("one", write)).ok).toBe(true);
  expect((await inTask("one", read("reader"))).ok).toBe(true);
  const refused = await inTask("one", write);
  expect(refused.error).toMatchObject({
    code: "ToolNotAllowed",
    message: 'Cannot use "write": the active skill "reader" does not list it in allowed-tools',
  });
  expect((await inTask("one", { name: "display", args: { content: "x" } })).ok).toBe(true);
  expect((await inTask("one", { name: "read_skill", args: { name: "open" } })).ok).toBe(true);
  expect((await inTask("two", write)).ok).toBe(true);
  expect(runtime.tools({ task_id: "one" }).map(({ name }) => name)).toEqual([
    "grep",
    "read",
    "display",
    "todo",
    "read_skill",
    "tool_search",
  ]);
  expect(runtime.tools().map(({ name }) => name)).toContain("write");
  expect(runtime.tools({ task_id: "one" })).toBe(runtime.tools({ task_id: "one" }));

  const [event, ...others] = await activations(made);
  expect(others).toEqual([]);
  expect(event).toMatchObject({
    task_id: "one",
    payload: {
      skill: "reader",
      source: "project",
      reason: "its SKILL.md was read",
      tools: expect.arrayContaining(["read"]) as [],
    },
  });
  const ended = (await made.events()).filter(({ payload }) => payload["tool_name"] === "write" && "audit" in payload);
  const audits = ended.map(({ payload }) => payload["audit"] as AuditRecord);
  expect(audits.map(({ policy, skill: active }) => [policy.decision, policy.rule, active?.names])).toEqual([
    ["ALLOW", "profile:guarded:change", undefined],
    ["DENY", "tools_in_force", ["reader"]],
    ["ALLOW", "profile:guarded:change", undefined],
  ]);
  for (const audit of audits)
    expect(await runtime.decideAgain(audit)).toMatchObject({ decision: { effect: audit.policy.decision } });
});

test("what is on record restricts the run when it is resumed, whatever the skill says by then", async () => {
  const made = await withSkills();
  await made.runtime.call({ ...read("reader"), task_id: "one" });
  await made.runtime.useSkill("gitter");
  await made.runtime.close();
  await made.make({ ...skill("reader", "allowed-tools: Write\n"), ...skill("gitter", "") });

  const resumed = await createRuntime({ roots: [`${made.path}/root`], run_id: "run_1", resumes: true });
  onTestFinished(() => resumed.close());
  expect(resumed.tools({ task_id: "one" }).map(({ name }) => name)).toEqual([
    "read",
    "display",
    "todo",
    "read_skill",
    "tool_search",
  ]);
  expect((await resumed.call({ ...write, task_id: "one" })).error?.message).toMatch(/active skill "(reader|gitter)"/);
  expect((await resumed.call({ ...write, task_id: "two" })).error?.message).toMatch(/active skill "gitter"/);
  expect(await resumed.explain(write)).toMatchObject({ effect: "DENY", rule: "tools_in_force" });
});

test("several skills leave what all of them leave", async () => {
  const { runtime } = await withSkills();
  await runtime.call(read("broad"));
  expect((await runtime.call(write)).ok).toBe(true);
  expect((await runtime.explain({ name: "bash", args: { cmd: "git diff" } })).rule).not.toBe("tools_in_force");
  await runtime.call(read("gitter"));
  expect((await runtime.call(write)).error?.message).toMatch(/active skill "broad" or "gitter"/);
  expect((await runtime.explain({ name: "bash", args: { cmd: "git status -s" } })).rule).not.toBe("tools_in_force");
  for (const cmd of ["git diff", "git", "ls", "git status; ls"])
    expect(await runtime.explain({ name: "bash", args: { cmd } })).toMatchObject({ rule: "tools_in_force" });
});

// oxfmt-ignore
const UNRESTRICTING = [
  { title: "that is not trusted",            name: "strange" },
  { title: "without allowed-tools",         name: "open" },
  { title: "that lists everything",         name: "all" },
];

for (const { title, name } of UNRESTRICTING) {
  test(`reading a skill ${title} restricts nothing, and opens nothing that is closed`, async () => {
    const made = await withSkills();
    await made.runtime.call({ ...read("reader"), task_id: "one" });
    await made.runtime.call({ ...read(name), task_id: "one" });
    await made.runtime.call({ ...read(name), task_id: "two" });
    expect((await made.runtime.call({ ...write, task_id: "two" })).ok).toBe(true);
    expect((await made.runtime.call({ ...write, task_id: "one" })).error?.code).toBe("ToolNotAllowed");
    expect(await activations(made)).toHaveLength(1);
  });
}

test("read_skill gives the text of a trusted skill, and refuses others", async () => {
  const made = await withSkills();
  const given = await made.call("read_skill", { name: "gitter" });
  expect(given.payload?.stdout).toBe("allowed-tools: Read, Bash(git status:*), Bash(git log:*)\nWork with care.\n");
  expect(await activations(made)).toMatchObject([
    {
      payload: {
        skill: "gitter",
        commands: [
          ["git", "status"],
          ["git", "log"],
        ],
      },
    },
  ]);
  expect((await made.call("read_skill", { name: "strange" })).error?.code).toBe("ToolNotAllowed");
  expect((await made.call("read_skill", { name: "none" })).error?.code).toBe("NotFound");
});

test("a skill that a host names restricts the run once; a person can still undo; one that is not trusted is refused", async () => {
  const made = await withSkills();
  const { runtime } = made;
  const changed = await runtime.call(write);
  await runtime.useSkill("reader");
  await runtime.useSkill("reader");
  expect(await activations(made)).toMatchObject([{ task_id: null, payload: { reason: "the user named it" } }]);
  expect((await runtime.call({ ...write, task_id: "one" })).error?.code).toBe("ToolNotAllowed");
  expect((await made.call("undo", { undo_id: changed.artifacts.undo_id })).error?.code).toBe("ToolNotAllowed");
  expect((await runtime.undo(String(changed.artifacts.undo_id))).ok).toBe(true);
  await expect(runtime.useSkill("strange")).rejects.toMatchObject({ code: "ToolNotAllowed" });
  await expect(runtime.useSkill("none")).rejects.toMatchObject({ code: "NotFound" });
});
