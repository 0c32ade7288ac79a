import { basename } from "node:path";
import type { SkillEntry } from "../../contract/skills.ts";
import { ToolError } from "../../protocol/errors.ts";
import type { ActiveSkill } from "./active-skills.ts";
import { draftEvent } from "../call.ts";
import type { GateCall, GateParts } from "../call.ts";
import { reasonOf } from "../../protocol/error-reason.ts";

/** Some publishers write it in lower case. */
const SKILL_FILE = /^skill\.md$/i;

/**
 * After a call that read a SKILL.md: the `allowed-tools` of a trusted skill restrict the following calls. That is
 * recorded before the caller gets the text. An untrusted skill neither restricts nor allows anything.
 */
export async function activateSkills(call: GateCall, parts: GateParts): Promise<void> {
  if (call.output?.failure !== undefined) return;
  const read = [...call.read_skills];
  for (const { real, access, exists } of call.touches) {
    if (!exists || access !== "read" || !SKILL_FILE.test(basename(real))) continue;
    const skill = await parts.findSkillAt(real);
    if (skill !== undefined) read.push(skill);
  }
  for (const skill of read) await activate(skill, call, parts);
}

async function activate(entry: SkillEntry, call: GateCall, parts: GateParts): Promise<void> {
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
