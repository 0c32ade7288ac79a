import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { listSkills } from "@autonous/runtime/internal";
import { readFrontMatter } from "../../packages/runtime/src/skills/front-matter.ts";
import type { Verdict } from "./verdict.ts";

type Index = Awaited<ReturnType<typeof listSkills>>;

interface SkillCase {
  readonly dir: string;
  readonly skill_md: string;
}

interface Expectation {
  readonly load: boolean;
  readonly name?: string;
  readonly description?: string;
  readonly description_contains?: string;
  readonly diagnostics?: readonly string[];
  readonly disable_model_invocation?: boolean;
}

interface FrontMatterCase {
  readonly input: string;
  readonly frontmatter?: Readonly<Record<string, unknown>>;
  readonly body?: string;
  readonly error?: string;
}

interface Document {
  readonly cases: readonly (SkillCase & { readonly expect: Expectation })[];
  readonly collision: readonly SkillCase[];
  readonly frontmatter: readonly FrontMatterCase[];
}

/** `skills.json`: all cases as one workspace, in the index that `autonous skills` shows; then the reader of front matter. */
export async function* runSkills(document: unknown): AsyncIterable<Verdict> {
  const { cases, collision, frontmatter } = document as Document;
  const index = await indexOf(cases);
  for (const { dir, expect } of cases) yield verdict(`skill ${dir}`, expect, faultOf(dir, expect, index));
  const both = await indexOf(collision);
  const winner = both.skills.find(({ name }) => name === "calendar")?.description;
  const isTold = both.shadowed.length === 1 && winner === "First calendar skill.";
  yield verdict("collision", "the first wins, and the other is told", isTold ? undefined : JSON.stringify(both));
  for (const each of frontmatter) {
    const read = await readFrontMatter(each.input);
    yield verdict(
      `front matter ${JSON.stringify(each.input)}`,
      each,
      holds(each, read) ? undefined : JSON.stringify(read),
    );
  }
}

function verdict(name: string, expected: unknown, fault: string | undefined): Verdict {
  const id = "skills";
  return fault === undefined ? { id, name } : { id, name, differs: { expected: JSON.stringify(expected), got: fault } };
}

/** The cases' folders, unchanged, below the folders that are searched for skills: a case's parent counts as one. */
async function indexOf(cases: readonly SkillCase[]): Promise<Index> {
  const folder = mkdtempSync(join(tmpdir(), "autonous-corpora-"));
  const root = join(folder, "work");
  try {
    for (const [place, own] of Object.entries(
      Object.groupBy(cases, ({ dir }) => (dirname(dir).startsWith("skills-collision") ? dirname(dir) : "")),
    )) {
      const at = place.endsWith("second") ? ".claude/skills" : ".agents/skills";
      for (const { dir, skill_md } of own ?? []) {
        const target = join(root, at, place === "" ? dir : basename(dir));
        mkdirSync(target, { recursive: true });
        writeFileSync(join(target, "SKILL.md"), skill_md);
      }
    }
    return await listSkills({ roots: [root], state_dir: join(folder, "state") });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function faultOf(dir: string, expect: Expectation, index: Index): string | undefined {
  const skill = index.skills.find(({ folder }) => folder.endsWith(`/skills/${dir}`));
  const broken = index.broken.find(({ folder }) => folder.endsWith(`/skills/${dir}`));
  if ((skill !== undefined) !== expect.load)
    return skill === undefined ? `not loaded: ${broken?.problems.join("; ") ?? "not found"}` : "loaded";
  if (skill === undefined) return undefined;
  const differs = [
    expect.name !== undefined && expect.name !== skill.name,
    expect.description !== undefined && expect.description !== skill.description,
    !skill.description.includes(expect.description_contains ?? ""),
    expect.disable_model_invocation !== undefined && expect.disable_model_invocation !== skill.disable_model_invocation,
  ];
  return differs.includes(true) ? JSON.stringify(skill) : undefined;
}

function holds(wanted: FrontMatterCase, read: Awaited<ReturnType<typeof readFrontMatter>>): boolean {
  if ("problem" in read) return wanted.error !== undefined;
  if (wanted.error !== undefined) return false;
  const isBody = wanted.body === undefined || wanted.body === read.body;
  return isBody && (wanted.frontmatter === undefined || isDeepStrictEqual(wanted.frontmatter, { ...read.values }));
}
