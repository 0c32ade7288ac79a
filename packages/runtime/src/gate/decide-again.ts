import type { UndoLog, UndoRecord } from "../contract/undo-keeper.ts";
import type { WorkspaceContext } from "../policy/decide.ts";
import { narrowFurther } from "../policy/skill-limits.ts";
import type { SkillLimits } from "../policy/skill-limits.ts";
import type { AuditRecord } from "../protocol/audit.ts";
import type { ToolCallRequest } from "../protocol/call.ts";
import { ToolError } from "../protocol/errors.ts";
import type { Redactor } from "../redact/redact.ts";
import type { CallOptions, DecidingParts } from "./parts.ts";
import { explainCall } from "./gate.ts";
import type { ExplainedCall } from "./gate.ts";

/** The parts of an audit record that a new decision needs. `params` must be complete. */
export type RecordedCall = Pick<
  AuditRecord,
  "tool" | "version" | "params" | "requested_permissions" | "places" | "chat" | "user" | "sandbox" | "skill"
>;

/** The decision of the current policy, or why it cannot be determined. */
export type Redecided = Pick<ExplainedCall, "decision"> | { readonly problem: string };

/**
 * Repeats recorded decisions with the policy of `parts`: paths and sandbox are those of the record. Reads nothing else.
 */
export class Replay {
  readonly #parts: DecidingParts;
  /** Derived data is cached per workspace; without this it would be rebuilt for every call. */
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
      trackedIn: () => undefined, // git's index at that time is not recorded
      prepareCommands: () => Promise.resolve(),
      undo: { ...this.#parts.undo, undoLog: changedAt(places) },
    };
    const request: ToolCallRequest = {
      ...NO_CALLER,
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

/** The record is already redacted. */
const UNCHANGED: Pick<Redactor, "redactValue"> = { redactValue: (value) => ({ value, redacted: false }) };

const NO_CALLER = { tool_call_id: "", trace_id: "", timestamp: 0, run_id: "" } as const;

function unknownPlace(): never {
  throw new ToolError("NotFound", "The audit record lacks the resolved location of some paths");
}

/** For an undo call, the recorded places are the paths of the undone changes. */
function changedAt(places: NonNullable<RecordedCall["places"]>): UndoLog {
  const files = places.map(({ path, real }) => ({ path, real, before: null, after: null }));
  const record: UndoRecord = { undo_id: "", run_id: "", tool_call_id: "", ts: "", files };
  return { find: () => Promise.resolve([record]), content: () => Promise.resolve(undefined) };
}
