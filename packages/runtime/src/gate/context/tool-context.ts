import type { OfferedTool, PlannedFile, ToolContext, Transcript } from "../../contract/context.ts";
import type { MemoryKeeper } from "../../contract/memory.ts";
import type { UndoRecord } from "../../contract/undo-keeper.ts";
import { closedPaths } from "../../policy/paths/closed-paths.ts";
import type { ClosedPaths } from "../../policy/paths/closed-paths.ts";
import { decide } from "../../policy/decide.ts";
import { skillFolderAround } from "../../policy/paths/skill-places.ts";
import { isInForce } from "../../policy/tools-in-force.ts";
import { ToolError } from "../../protocol/errors.ts";
import type { Redactor } from "../../redact/redact.ts";
import { draftEvent } from "../draft-event.ts";
import type { GateParts } from "../parts.ts";
import { factsOf } from "../permit.ts";
import type { Registry } from "../registry.ts";
import type { Approved, Attempt, Permitted } from "../stages.ts";
import { bindFiles, bindSkills, refuseOtherBases } from "./approved-content.ts";
import type { ApprovedCall } from "./approved-content.ts";
import { ProgressRecord } from "./progress-record.ts";
import { openTodoList } from "./todo-list.ts";
import { openTranscript } from "./transcript.ts";
import { openAttachment } from "./attach-file.ts";

interface ContextOptions {
  /** What was approved. Null: nothing had to be, or is yet. */
  readonly approval: Approved["approval"];
  readonly signal: AbortSignal;
  /** Resolves when the start of the call is on disk. Omitted: nothing will change. */
  readonly recorded?: () => Promise<void>;
  /** If set, changes are only planned, and reported here. */
  readonly onPlanned?: (files: readonly PlannedFile[]) => void;
}

/** Creates the tool context: handles limited to what the decision allows, and bound to what was approved. */
export function createContext(call: Permitted, parts: GateParts, options: ContextOptions): ToolContext {
  const { attempt } = call;
  const { tool_call_id, run_id } = call.request;
  const { approval, signal, recorded = () => Promise.resolve(), onPlanned } = options;
  const approved = { call, parts, approval, signal };
  const handles = parts.openHandles({
    run_id,
    tool_call_id,
    touches: call.touches,
    commands: call.commands,
    confirmed: approval !== null,
    closedPaths: () => Promise.resolve(closedFor(approved)),
    signal,
    judgeBelow: (real) => judgeBelow(approved, real),
    recorded,
    ...(onPlanned === undefined ? {} : { onPlanned }),
  });
  const context: ToolContext = {
    tool_call_id,
    run_id,
    signal,
    ...handles,
    files: bindFiles(handles.files, approved),
    processes: countedProcesses(handles.processes, attempt),
    skills: bindSkills(handles.skills, approved),
    openTranscript: () => transcriptOf(call, parts),
    memory: parts.memory && redactingMemory(parts.memory, parts.redactor),
    openAttachment: (file) => openAttachment(file, { call, parts }),
    tools: () => offeredTools(parts),
    observations: { open: async (storage_ref) => await parts.openOwn(parts.folder.pathOf(storage_ref)) },
    undo: {
      records: call.undo_records,
      content: (sha256) => parts.undo.undoLog.content(sha256),
      revert: (record) => revertWith(parts.registry, record, context),
      async restore(items, { force }) {
        await refuseOtherBases(approved);
        const planning = onPlanned === undefined ? {} : { onPlanned };
        return await parts.undo.restore({ run_id, tool_call_id, signal, recorded, force, ...planning }, items);
      },
    },
    limits: parts.limits,
    cursors: parts.cursors,
    progress: progressOf(call, parts, onPlanned !== undefined),
    display: async (shown) => {
      if (onPlanned !== undefined) return; // a preview shows nothing
      const payload = { tool_call_id, ...(parts.redactor.redactValue(shown).value as object) };
      await parts.journal.append([draftEvent(call, "display", payload, parts.clock())]);
    },
    todo: openTodoList(call, parts),
  };
  return context;
}

function progressOf(call: Permitted, parts: GateParts, isPreview: boolean): ToolContext["progress"] {
  const { attempt, request, options } = call;
  const { tool_call_id } = request;
  return (fraction, detail, output) => {
    if (options.onProgress !== undefined) {
      const shown = { tool_call_id, fraction, detail: parts.redactor.redact(detail).text };
      options.onProgress(output === undefined ? shown : { ...shown, output });
    }
    // Command output is stored elsewhere; a preview has no side effects.
    if (output !== undefined || isPreview || attempt.is_over) return;
    attempt.progress ??= new ProgressRecord(call, parts);
    attempt.progress.report(fraction, detail);
  };
}

/** The paths that rules close to the commands of this call. Most configurations have no rules. */
function closedFor({ call, parts, approval }: ApprovedCall): ClosedPaths | undefined {
  const { workspace, settings } = parts;
  const hasRules = [settings, ...(settings.projects ?? [])].some(({ configuration }) => configuration.rules.length > 0);
  if (!hasRules) return undefined;
  return closedPaths(factsOf(call), workspace, settings, { confirmed: approval !== null });
}

function offeredTools({ registry, workspace, settings }: GateParts): readonly OfferedTool[] {
  const inForce = registry.all().filter((tool) => isInForce(tool, workspace, settings).inForce);
  return inForce.map((tool) => ({
    name: tool.name,
    description: tool.describe({ roots: workspace.roots }),
    args_schema: tool.args_schema,
    search_hint: tool.search_hint ?? null,
  }));
}

/** Redactions happen before the call is settled, and are attributed to the call. */
function transcriptOf(call: Permitted, { limits, redactor, folder }: GateParts): Transcript {
  const openAside = () => folder.openAside(`${call.request.tool_call_id}.txt`);
  const transcript = openTranscript({ limits, redactor, openAside });
  return {
    ...transcript,
    end() {
      const printed = transcript.end();
      call.attempt.is_output_redacted ||= printed.redacted;
      return printed;
    },
  };
}

function countedProcesses(processes: ToolContext["processes"], attempt: Attempt): ToolContext["processes"] {
  return {
    ...processes,
    async run(command, options) {
      const end = await processes.run(command, options);
      attempt.bytes_written += end.changes.bytes_written;
      return end;
    },
  };
}

/** Redacts memory entries before they are stored. */
function redactingMemory(memory: MemoryKeeper, redactor: Redactor): MemoryKeeper {
  const hide = <Given>(given: Given): Given => redactor.redactValue(given).value as Given;
  return {
    create: (entry) => memory.create(hide(entry)),
    update: (id, change) => memory.update(id, hide(change)),
    restore: (entry) => memory.restore(hide(entry)),
    remove: (id) => memory.remove(id),
    get: (id) => memory.get(id),
    list: (options) => memory.list(options),
    search: (query, options) => memory.search(query, options),
  };
}

/** A tool that descends from a listed folder calls this for each subfolder: a rule may close it or require approval. */
function judgeBelow({ call, parts, approval }: ApprovedCall, real: string): string | undefined {
  const { workspace, settings } = parts;
  if (settings.configuration.rules.length === 0) return undefined;
  const skill_folder = skillFolderAround(real, call.touches);
  const skill = skill_folder === undefined ? {} : { skill_folder };
  const touch = { path: real, real, access: "list", show_sensitive: false, exists: true, ...skill } as const;
  const { effect, reason } = decide({ ...factsOf(call), touches: [touch] }, workspace, settings);
  const confirmed = effect === "REQUIRE_CONFIRMATION" && approval !== null;
  return effect === "ALLOW" || confirmed ? undefined : reason;
}

async function revertWith(registry: Registry, { undo_id, revert }: UndoRecord, context: ToolContext): Promise<void> {
  const tool = revert === undefined ? undefined : registry.get(revert.tool);
  if (tool?.revert === undefined) {
    throw new ToolError(
      "UnknownTool",
      `Cannot undo "${undo_id}": the tool ${JSON.stringify(revert?.tool)} that made the change is not available`,
      { undo_id },
    );
  }
  await tool.revert(revert?.undo, context);
}
