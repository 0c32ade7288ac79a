import type { UndoLog, UndoRecord } from "../contract/undo.ts";
import type { WorkspaceContext } from "../policy/decide.ts";
import { narrowFurther } from "../policy/skill-limits.ts";
import type { SkillLimits } from "../policy/skill-limits.ts";
import type { AuditRecord } from "../protocol/audit.ts";
import type { ToolCallRequest } from "../protocol/call.ts";
import { ToolError } from "../protocol/errors.ts";
import type { Redactor } from "../redact/redact.ts";
import type { CallOptions, DecidingParts } from "./call.ts";
import { explainCall } from "./gate.ts";
import type { Decided } from "./gate.ts";

/** What of a record a decision is made again on. `params` have to be whole. */
export type RecordedCall = Pick<
  AuditRecord,
  "tool" | "version" | "params" | "requested_permissions" | "places" | "chat" | "user" | "sandbox" | "skill"
>;

/** What the policy in force would say, or why it cannot be asked. */
export type Redecided = Pick<Decided, "decision"> | { readonly problem: string };

/**
 * Makes recorded decisions again, under the policy of `parts`: each path leads where it led then, and commands run in
 * what they ran in. Looks at nothing but the record.
 */
export class Replay {
  readonly #parts: DecidingParts;
  /** Forms that are kept per workspace would be made for every call otherwise. */
  readonly #workspaces = new Map<string, WorkspaceContext>();

  constructor(parts: DecidingParts) {
    this.#parts = parts;
  }

  async decideAgain(record: RecordedCall): Promise<Redecided> {
    const { tool, version, params, requested_permissions, places = [], chat, user } = record;
    const known = new Map(places.map(({ path, real }) => [path, { real, exists: true }]));
    const parts: DecidingParts = {
      ...this.#parts,
      workspace: this.#workspaceOf(record),
      redactor: { ...this.#parts.redactor, ...UNCHANGED },
      resolve: (path) => known.get(path) ?? unknownPlace(),
      ownSkillAround: (real) => Promise.resolve(places.find((place) => place.real === real)?.skill_folder),
      trackedIn: () => undefined, // the record does not tell what git knew then
      prepareCommands: () => Promise.resolve(),
      undo: { ...this.#parts.undo, undoLog: changedAt(places) },
    };
    const request: ToolCallRequest = {
      ...NOBODY,
      name: tool,
      args: params as Record<string, unknown>,
      ...(version === null ? {} : { version }),
      ...(requested_permissions === undefined ? {} : { requested_permissions }),
    };
    const who: CallOptions = { ...(chat === undefined ? {} : { chat }), ...(user === undefined ? {} : { user }) };
    try {
      return await explainCall({ request }, who, parts);
    } catch (error) {
      if (error instanceof ToolError) return { problem: error.message };
      throw error;
    }
  }

  #workspaceOf({ sandbox, skill }: RecordedCall): WorkspaceContext {
    const key = skill === undefined ? sandbox : JSON.stringify([sandbox, skill]);
    const known = this.#workspaces.get(key);
    if (known !== undefined) return known;
    const base = { ...this.#parts.workspace, sandbox };
    const made = skill === undefined ? base : { ...base, ...narrowFurther(base, recordedLimits(skill)) };
    this.#workspaces.set(key, made);
    return made;
  }
}

function recordedLimits({ names, tools, commands }: NonNullable<RecordedCall["skill"]>): SkillLimits {
  return {
    skill_names: names,
    skill_tools: tools,
    ...(commands === undefined ? {} : { skill_commands: commands }),
  };
}

/** The record was redacted when it was made. */
const UNCHANGED: Pick<Redactor, "redactValue"> = { redactValue: (value) => ({ value, redacted: false }) };

const NOBODY = { tool_call_id: "", trace_id: "", timestamp: 0, run_id: "" } as const;

function unknownPlace(): never {
  throw new ToolError("NotFound", "The record does not tell where all of its paths led");
}

/** Of a call that took changes back, the places are what those had changed. */
function changedAt(places: NonNullable<RecordedCall["places"]>): UndoLog {
  const files = places.map(({ path, real }) => ({ path, real, before: null, after: null }));
  const record: UndoRecord = { undo_id: "", run_id: "", tool_call_id: "", ts: "", files };
  return { find: () => Promise.resolve([record]), content: () => Promise.resolve(undefined) };
}
