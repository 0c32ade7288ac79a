import { hash } from "node:crypto";
import { redact } from "@autonous/runtime";
import { canonicalJson, listSkills, unifiedDiff } from "@autonous/runtime/internal";
import type { SkillEntry, SkillIndex } from "@autonous/runtime/internal";
import type { RefusedSetting } from "../../config/load.ts";
import { bindModule } from "../../config/module-files.ts";
import { thingOf } from "../../config/project.ts";
import { readTexts } from "../../config/thing-texts.ts";
import { changesSince, filesChangedSince } from "../../config/trust-store.ts";
import type { FileChange, TrustItem, TrustedItem, TrustStore } from "../../config/trust-store.ts";
import { isTrustedSkill } from "../../workplace/runtime-options.ts";
import type { Workplace } from "../../workplace/workplace.ts";
import { count } from "../usage.ts";

/** A configuration, module or skill of the workspace, with its trust status. */
export interface WorkspaceThing {
  readonly thing: TrustItem;
  readonly status: "trusted" | "new" | "changed" | "narrows";
  /** Changes since it was trusted, as clauses. */
  readonly changes: readonly string[];
  /** The same changes, file by file. */
  readonly files_changed: readonly ChangedFile[];
  /** The state that was trusted. */
  readonly before?: TrustedItem;
  /** Configurations only: the parts that need trust. */
  readonly widens: readonly RefusedSetting[];
  /** Skills only. */
  readonly skill?: SkillEntry;
  /** Shadowed skills only: the folder of the skill that is used instead. */
  readonly shadowed_by?: string;
}

export interface ChangedFile extends FileChange {
  /** A redacted unified diff, if both texts are known. */
  readonly diff?: string;
}

interface WorkspaceThings {
  readonly things: readonly WorkspaceThing[];
  /** Skills of the workspace that are left out, as sentences; trust does not cover them. */
  readonly left_out: readonly string[];
}

export async function findWorkspaceThings(place: Workplace, store: TrustStore): Promise<WorkspaceThings> {
  const index = await indexOf(place);
  const all = [...configurationsOf(place), ...projectSkills(index), ...modulesOf(place, store)];
  return { things: await Promise.all(all.map((each) => statusOf(each, store))), left_out: leftOut(index) };
}

function leftOut({ broken, problems }: SkillIndex): readonly string[] {
  const number = broken.filter(({ source }) => source === "project").length;
  const unread = number === 0 ? [] : [`${count(number, "broken skill")} not loaded; autonous skills says why`];
  return [...unread, ...problems];
}

type FoundThing = Pick<WorkspaceThing, "thing" | "widens" | "skill" | "shadowed_by"> & {
  readonly isTrusted: boolean;
  readonly narrows?: boolean;
};

function configurationsOf({ configuration, opened }: Workplace): readonly FoundThing[] {
  return configuration.files.flatMap(({ owner, trusted, read }): readonly FoundThing[] => {
    if (owner === "user" || read === undefined) return [];
    const widens = configuration.refused.filter(
      ({ where, until_trusted }) => until_trusted && where.startsWith(`${read.path}:`),
    );
    const narrows = !trusted && widens.length === 0;
    return [{ thing: thingOf(read, opened), isTrusted: trusted, narrows, widens }];
  });
}

async function indexOf({ roots, cwd, state_dir }: Workplace): Promise<SkillIndex> {
  return await listSkills({ roots, cwd, state_dir, isTrustedSkill });
}

export async function skillsOf(place: Workplace): Promise<readonly FoundThing[]> {
  return projectSkills(await indexOf(place));
}

function projectSkills({ skills, shadowed }: SkillIndex): readonly FoundThing[] {
  const all = [
    ...skills.map((skill) => ({ skill })),
    ...shadowed.map(({ skill, by }) => ({ skill, shadowed_by: by.folder })),
  ];
  return all
    .filter(({ skill: { source } }) => source === "project")
    .map((each) => ({ ...each, thing: thingOfSkill(each.skill), isTrusted: each.skill.trusted, widens: [] }));
}

function thingOfSkill({ folder, digest, files, allowed_tools }: SkillEntry): TrustItem {
  return {
    kind: "skill",
    path: folder,
    digest,
    files: files.map(({ path, sha256, executable }) => ({ path, sha256, executable })),
    allowed_tools: allowed_tools ?? null,
  };
}

/** Unreadable modules cannot be trusted; loading them reports the reason. */
export function modulesOf({ configuration }: Workplace, store: TrustStore): readonly FoundThing[] {
  return configuration.modules.flatMap(({ path }) => {
    const module = bindModule(path);
    if ("problem" in module) return [];
    return [{ thing: module.thing, isTrusted: store.isTrusted(module.thing), widens: [] }];
  });
}

async function statusOf({ isTrusted, narrows, ...found }: FoundThing, store: TrustStore): Promise<WorkspaceThing> {
  const { thing } = found;
  const before = isTrusted ? undefined : store.find(thing);
  if (before === undefined) {
    const status = isTrusted ? "trusted" : "new";
    return { ...found, status: narrows === true ? "narrows" : status, changes: [], files_changed: [] };
  }
  const changes = changesSince(before, thing);
  const files_changed = await changedFiles(before, thing, store);
  return { ...found, before, changes, files_changed, status: narrows === true ? "narrows" : "changed" };
}

async function changedFiles(before: TrustedItem, thing: TrustItem, store: TrustStore): Promise<readonly ChangedFile[]> {
  const [old, now] = [store.textsOf(before), readTexts(thing)];
  return await Promise.all(
    filesChangedSince(before, thing).map(async (each): Promise<ChangedFile> => {
      const [from, to] = [old[each.path], now[each.path]];
      if (each.change !== "changed" || from === undefined || to === undefined) return each;
      return { ...each, diff: redact(await unifiedDiff(each.path, from, to)).text };
    }),
  );
}

/** Covers the content, the paths and the roots, so that approving it approves nothing else. */
export function digestOf(selected: readonly WorkspaceThing[], { opened }: Pick<Workplace, "opened">): string {
  const things = selected.map(({ thing: { kind, path, digest } }) => ({ kind, path, digest }));
  return hash("sha256", canonicalJson({ roots: opened, things }));
}
