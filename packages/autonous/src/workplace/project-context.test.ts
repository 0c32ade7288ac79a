import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import type { ProjectContext } from "../agent/instructions.ts";
import { findWorkplace } from "../cli/session/find-workplace.ts";
import { readProject } from "./project-context.ts";

/** Reads the project in a folder that `prepare` has filled. */
async function read(prepare: (folder: string, home: string) => void): Promise<ProjectContext> {
  const outer = mkdtempSync(join(tmpdir(), "autonous-test-"));
  onTestFinished(() => rmSync(outer, { recursive: true, force: true }));
  const folder = join(outer, "work");
  const home = join(outer, "home");
  mkdirSync(folder);
  mkdirSync(home);
  vi.stubEnv("HOME", home);
  vi.stubEnv("XDG_CONFIG_HOME", join(home, ".config"));
  onTestFinished(() => void vi.unstubAllEnvs());
  prepare(folder, home);
  return await readProject(findWorkplace({ options: { root: [folder], stateDir: join(outer, "state") } }));
}

function writeSkill(place: string, name: string, more = ""): void {
  mkdirSync(join(place, name), { recursive: true });
  writeFileSync(join(place, name, "SKILL.md"), `---\nname: ${name}\ndescription: To ${name}\n${more}---\nBody`);
}

test("a workspace without notes or skills is described by its content", async () => {
  const { surroundings, ...more } = await read((folder) => {
    mkdirSync(join(folder, "src"));
    writeFileSync(join(folder, "README.md"), "# Thing\n");
  });
  expect(more).toEqual({});
  expect(surroundings).toMatchObject({
    date: expect.stringMatching(/^\d{4}-\d{2}-\d{2}$/) as string,
    system: expect.stringMatching(/^Linux \S+, \w+$/) as string,
    workspace: { entries: ["README.md", "src/"], readme: { name: "README.md", text: "# Thing" } },
  });
});

test("notes of the user and the workspace are read, and skipped ones are listed", async () => {
  const { surroundings: _, ...more } = await read((folder, home) => {
    mkdirSync(join(home, ".codex"));
    writeFileSync(join(home, ".codex/AGENTS.md"), "Be brief.\n");
    writeFileSync(join(folder, "CLAUDE.md"), "Use spaces.\n");
    symlinkSync(join(home, "key"), join(folder, "AGENTS.md"));
    writeFileSync(join(home, "key"), "secret");
  });
  expect(more).toEqual({
    notes: {
      notes: [
        { path: "~/.codex/AGENTS.md", standing: "user", text: "Be brief.\n", bytes: 10 },
        { path: "CLAUDE.md", standing: "workspace", text: "Use spaces.\n", bytes: 12 },
      ],
      skipped: [{ path: "AGENTS.md", why: "it points outside the allowed roots" }],
    },
  });
});

test("the model gets the user's skills and trusted ones of the workspace, but none that only a user may select", async () => {
  const { skills = [] } = await read((folder, home) => {
    writeSkill(join(home, ".agents/skills"), "mine");
    writeSkill(join(home, ".agents/skills"), "hidden", "disable-model-invocation: true\n");
    writeSkill(join(folder, ".agents/skills"), "theirs");
  });
  expect(skills.map(({ name, description }) => [name, description])).toEqual([["mine", "To mine"]]);
});
