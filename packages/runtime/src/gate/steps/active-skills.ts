import { basename } from "node:path";
import type { SkillEntry } from "../../contract/skills.ts";
import type { WorkspaceContext } from "../../policy/decide.ts";
import { narrowFurther } from "../../policy/skill-limits.ts";
import type { SkillLimits } from "../../policy/skill-limits.ts";
import { ToolError } from "../../protocol/errors.ts";
import type { EventDraft } from "../../protocol/event-record.ts";
import { reasonOf } from "../../protocol/error-reason.ts";
import { draftEvent } from "../draft-event.ts";
import type { GateParts } from "../parts.ts";
import type { Executed } from "../stages.ts";

/** An active skill of a run, as recorded. */
export interface ActiveSkill {
  readonly skill: string;
  readonly source: string;
  readonly digest: string;
  readonly reason: string;
  /** Omitted: no tool restriction. */
  readonly tools?: readonly string[];
  readonly commands?: readonly (readonly string[])[];
  readonly notes?: readonly string[];
  readonly tool_call_id?: string;
}

const NO_TASK = "";

/**
 * The skills that restrict the calls of a run. A skill activated in a task restricts that task; each user message
 * starts a new task. A skill activated outside a task restricts the entire run. With several skills only the tools that
 * all of them allow remain.
 */
export class ActiveSkills {
  readonly #base: WorkspaceContext;
  readonly #active: { readonly task_id: string | null; readonly skill: ActiveSkill }[] = [];
  readonly #workspaces = new Map<string, WorkspaceContext>();

  constructor(base: WorkspaceContext) {
    this.#base = base;
  }

  /** Applies recorded events of the run. Other event types are ignored. */
  hear({ type, task_id, payload }: Pick<EventDraft, "type" | "task_id" | "payload">): void {
    if (type === "skill.activated" && isActiveSkill(payload)) this.add(payload, task_id);
  }

  add(skill: ActiveSkill, task_id: string | null): void {
    if (this.isActive(skill.digest, task_id)) return;
    this.#active.push({ task_id, skill });
    this.#workspaces.clear();
  }

  isActive(digest: string, task_id: string | null): boolean {
    return this.#for(task_id).some((skill) => skill.digest === digest);
  }

  /** Returns the same object until something changes, because derived data is cached per object. */
  workspaceFor(task_id: string | null): WorkspaceContext {
    const skills = this.#for(task_id).filter(({ tools }) => tools !== undefined);
    if (skills.length === 0) return this.#base;
    const key = task_id ?? NO_TASK;
    let workspace = this.#workspaces.get(key);
    if (workspace === undefined) this.#workspaces.set(key, (workspace = this.#narrow(skills)));
    return workspace;
  }

  #for(task_id: string | null): readonly ActiveSkill[] {
    return this.#active.filter((each) => each.task_id === null || each.task_id === task_id).map(({ skill }) => skill);
  }

  #narrow(skills: readonly ActiveSkill[]): WorkspaceContext {
    const limits = skills.map(limitsOf).reduce(narrowFurther, this.#base);
    // The sandbox is determined later, so getters are copied as getters.
    const copy = Object.defineProperties({}, Object.getOwnPropertyDescriptors(this.#base)) as WorkspaceContext;
    return Object.assign(copy, pickLimits(limits));
  }
}

function limitsOf({ skill, tools, commands }: ActiveSkill): SkillLimits {
  return {
    skill_names: [skill],
    ...(tools === undefined ? {} : { skill_tools: tools }),
    ...(commands === undefined ? {} : { skill_commands: commands }),
  };
}

function pickLimits({ skill_names, skill_tools, skill_commands }: SkillLimits): SkillLimits {
  return {
    ...(skill_names === undefined ? {} : { skill_names }),
    ...(skill_tools === undefined ? {} : { skill_tools }),
    ...(skill_commands === undefined ? {} : { skill_commands }),
  };
}

function isActiveSkill(payload: unknown): payload is ActiveSkill {
  const { skill, digest } = Object(payload) as Readonly<Record<string, unknown>>;
  return typeof skill === "string" && typeof digest === "string";
}

/** Some publishers write it in lower case. */
const SKILL_FILE = /^skill\.md$/i;

/**
 * After a call that read a SKILL.md: the `allowed-tools` of a trusted skill restrict the following calls. That is
 * recorded before the caller gets the text. An untrusted skill neither restricts nor allows anything.
 */
export async function activateSkills(call: Executed, parts: GateParts): Promise<Executed> {
  if (call.output.failure !== undefined) return call;
  try {
    await activateRead(call, parts);
    return call;
  } catch (error) {
    call.attempt.reached = withoutText(call);
    throw error;
  }
}

/** What the call did, without what it read. */
function withoutText({ output: { artifacts }, ...call }: Executed): Executed {
  return { ...call, output: { data: {}, ...(artifacts === undefined ? {} : { artifacts }) } };
}

async function activateRead(call: Executed, parts: GateParts): Promise<void> {
  const read = [...call.attempt.read_skills];
  for (const { real, access, exists } of call.touches) {
    if (!exists || access !== "read" || !SKILL_FILE.test(basename(real))) continue;
    const skill = await parts.findSkillAt(real);
    if (skill !== undefined) read.push(skill);
  }
  for (const skill of read) await activate(skill, call, parts);
}

async function activate(entry: SkillEntry, call: Executed, parts: GateParts): Promise<void> {
  const { tool_call_id, task_id = null } = call.request;
  const restricts = entry.trusted && entry.allowed_tools !== undefined;
  if (!restricts || parts.active.isActive(entry.digest, task_id)) return;
  const limits = await parts.limitsOf(entry);
  if (limits.tools === undefined) return; // no restriction
  const skill: ActiveSkill = { ...limits, reason: "its SKILL.md was read", tool_call_id };
  const payload = parts.redactor.redactValue(skill).value as ActiveSkill;
  try {
    await parts.journal.append([draftEvent(call, "skill.activated", { ...payload }, parts.clock())], { durable: true });
  } catch (error) {
    const message = `Cannot read the skill "${entry.name}": its tool restrictions could not be recorded (${reasonOf(error)})`;
    throw new ToolError("RecordFailed", message, {}, error);
  }
  parts.active.add(skill, task_id);
}
