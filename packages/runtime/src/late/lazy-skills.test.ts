import { createRuntime } from "@autonous/runtime";
import { listSkills } from "@autonous/runtime/internal";
import { expect, test } from "vitest";
import { scratch } from "../../../../test/support/scratch.ts";
import type { RuntimeOptions } from "@autonous/runtime";
import type { SkillIdentity } from "@autonous/runtime/internal";

const KIT = {
  "root/.agents/skills/kit/SKILL.md": "---\nname: kit\ndescription: helps\nallowed-tools: Read\n---\n",
  "root/.agents/skills/kit/scripts/a.sh": "echo ran\n",
};

/** A runtime on a workspace that brings a skill. */
async function withKit(options: Partial<RuntimeOptions> = {}) {
  const made = await scratch({ ...options, onApproval: () => ({ answer: "grant" }) });
  await made.make(KIT);
  const roots = [`${made.path}/root`];
  return { ...made, roots, run: () => made.call("run_script", { skill: "kit", relative_path: "scripts/a.sh" }) };
}

test("a skill that came with the workspace runs nothing unless the host says that it is trusted", async () => {
  const { run } = await withKit();

  const result = await run();

  expect(result.error).toMatchObject({
    code: "ToolNotAllowed",
    hint: expect.stringMatching(/autonous policy trust/) as string,
  });
});

test("the host is asked about exactly what would run, each time", async () => {
  const asked: SkillIdentity[] = [];
  const trusted = new Set<string>();
  const isTrustedSkill = (skill: SkillIdentity): boolean => {
    asked.push(skill);
    return trusted.has(skill.digest);
  };
  const { run, roots, make } = await withKit({ isTrustedSkill });
  const [kit] = (await listSkills({ roots })).skills;
  trusted.add(kit?.digest ?? "");

  const first = await run();
  await make({ "root/.agents/skills/kit/scripts/a.sh": "echo something else\n" });
  const second = await run();

  expect(first.payload?.stdout).toBe("ran\n");
  expect(second.error?.code).toBe("ToolNotAllowed");
  expect(asked[0]).toEqual({ name: "kit", source: "project", folder: kit?.folder, digest: kit?.digest });
});

test("the allowed-tools of a skill narrow a runtime only where it is trusted", async () => {
  const { roots } = await withKit();

  await expect(createRuntime({ roots, skill: "kit" })).rejects.toMatchObject({ code: "ToolNotAllowed" });
  const runtime = await createRuntime({ roots, skill: "kit", isTrustedSkill: () => true });
  expect(runtime.tools().map(({ name }) => name)).toEqual(["read"]);
  await runtime.close();
});

test("what is listed says who is trusted, as the host has it", async () => {
  const { roots } = await withKit();

  expect((await listSkills({ roots })).skills).toMatchObject([{ name: "kit", trusted: false }]);
  expect((await listSkills({ roots, isTrustedSkill: () => true })).skills).toMatchObject([
    { name: "kit", trusted: true },
  ]);
});

test("under readonly a rule with offer has a script asked for, and nothing else", async () => {
  const asked: string[] = [];
  const made = await scratch({
    profile: "readonly",
    config: { rules: [{ effect: "confirm", tool: "run_script", offer: true }] },
    isTrustedSkill: () => true,
    onApproval: ({ tool }) => {
      asked.push(tool);
      return { answer: asked.length === 1 ? "grant" : "deny" };
    },
  });
  await made.make(KIT);
  const run = () => made.call("run_script", { skill: "kit", relative_path: "scripts/a.sh" });

  expect((await run()).payload?.stdout).toBe("ran\n");
  expect((await run()).error?.code).toBe("ApprovalDenied");
  expect((await made.call("bash", { cmd: "true" })).error?.code).toBe("ToolNotAllowed");
  expect(asked).toEqual(["run_script", "run_script"]);
});
