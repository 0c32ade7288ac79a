import type {
  FileBefore,
  FileChange,
  OfferedTool,
  PlannedFile,
  ToolContext,
  ToolFiles,
  Transcript,
} from "../../contract/context.ts";
import type { UndoRecord } from "../../contract/undo.ts";
import type { ClosedPaths } from "../../policy/closed-paths.ts";
import { decide } from "../../policy/decide.ts";
import { skillFolderAround } from "../../policy/skill-places.ts";
import { isInForce } from "../../policy/tools-in-force.ts";
import { ToolError } from "../../protocol/errors.ts";
import type { GateCall, GateParts } from "../call.ts";
import { draftEvent } from "../call.ts";
import { factsOf } from "../permit.ts";
import type { Registry } from "../registry.ts";
import { staleApproval } from "../stale-approval.ts";
import { ProgressRecord } from "./progress-record.ts";
import { openTodoList } from "./todo-list.ts";
import { openTranscript } from "./transcript.ts";
import { openAttachment } from "./attachment.ts";
import { redactingMemory } from "./redacting-memory.ts";

interface ContextOptions {
  readonly signal: AbortSignal;
  /** Resolves when the start of the call is on disk. Omitted: nothing will change. */
  readonly recorded?: () => Promise<void>;
  /** If set, changes are only planned, and reported here. */
  readonly onPlanned?: (files: readonly PlannedFile[]) => void;
}

/** Creates the tool context: handles limited to what the decision allows, and bound to what was approved. */
export function createContext(call: GateCall, parts: GateParts, options: ContextOptions): ToolContext {
  const { tool_call_id, run_id } = call.request;
  const { signal, recorded = () => Promise.resolve(), onPlanned } = options;
  const handles = parts.openHandles({
    run_id,
    tool_call_id,
    touches: call.touches,
    commands: call.commands,
    confirmed: call.approval?.approved === true,
    closedPaths: () => closedFor(call, parts),
    signal,
    judgeBelow: (real) => judgeBelow(call, parts, real),
    recorded,
    ...(onPlanned === undefined ? {} : { onPlanned }),
  });
  const context: ToolContext = {
    tool_call_id,
    run_id,
    signal,
    ...handles,
    files: boundFiles(handles.files, { call, parts, signal }),
    processes: countedProcesses(handles.processes, call),
    skills: boundSkills(handles.skills, call),
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
        await refuseOtherBases(call, parts, signal);
        const planning = onPlanned === undefined ? {} : { onPlanned };
        return await parts.undo.restore({ run_id, tool_call_id, signal, recorded, force, ...planning }, items);
      },
    },
    limits: parts.limits,
    cursors: parts.cursors,
    progress: (fraction, detail, output) => {
      const { onProgress } = call.options;
      if (onProgress !== undefined) {
        const shown = { tool_call_id, fraction, detail: parts.redactor.redact(detail).text };
        onProgress(output === undefined ? shown : { ...shown, output });
      }
      // Command output is stored elsewhere; a preview has no side effects.
      if (output !== undefined || onPlanned !== undefined || call.is_over === true) return;
      call.progress ??= new ProgressRecord(call, parts);
      call.progress.report(fraction, detail);
    },
    display: async (shown) => {
      if (onPlanned !== undefined) return; // a preview shows nothing
      const payload = { tool_call_id, ...(parts.redactor.redactValue(shown).value as object) };
      await parts.journal.append([draftEvent(call, "display", payload, parts.clock())]);
    },
    todo: openTodoList(call, parts),
  };
  return context;
}

/** The paths that rules close to the commands of this call. Most configurations have no rules. */
async function closedFor(call: GateCall, { workspace, settings }: GateParts): Promise<ClosedPaths | undefined> {
  const hasRules = [settings, ...(settings.projects ?? [])].some(({ configuration }) => configuration.rules.length > 0);
  if (!hasRules) return undefined;
  const { closedPaths } = await import("../../policy/closed-paths.ts");
  return closedPaths(factsOf(call), workspace, settings, { confirmed: call.approval?.approved === true });
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
function transcriptOf(call: GateCall, { limits, redactor, folder }: GateParts): Transcript {
  const openAside = () => folder.openAside(`${call.request.tool_call_id}.txt`);
  const transcript = openTranscript({ limits, redactor, openAside });
  return {
    ...transcript,
    end() {
      const printed = transcript.end();
      call.is_output_redacted ||= printed.redacted;
      return printed;
    },
  };
}

interface Bound {
  readonly call: GateCall;
  readonly parts: GateParts;
  readonly signal: AbortSignal;
}

/** Only approved content is changed: verified again under the lock of the change itself. */
function boundFiles(files: ToolFiles, bound: Bound): ToolFiles {
  return {
    ...files,
    async change(paths, plan) {
      let bytes = 0;
      const changed = await files.change(paths, async (befores) => {
        for (const before of befores) await refuseOtherBase(before, bound);
        const changes = await plan(befores);
        bytes = changes.reduce((sum, change) => sum + bytesOf(change), 0);
        return changes;
      });
      if (changed.files.length > 0) bound.call.bytes_written += bytes;
      return changed;
    },
  };
}

async function refuseOtherBase(before: FileBefore, { call, parts, signal }: Bound): Promise<void> {
  const { bases } = call;
  if (bases === undefined) return;
  const touch = call.touches.find(({ path, real }) => path === before.path && real in bases);
  if (touch === undefined) return;
  const approved = bases[touch.real] ?? null;
  const isContent = approved === null || approved.startsWith("sha256:");
  const found = before.facts === null ? null : `sha256:${await before.sha256()}`;
  const now = isContent ? found : await parts.baseOf(touch.real, signal);
  if (now !== approved) throw staleApproval(call, [`"${before.path}" has changed`]);
}

/** The same for restored files: each is compared again right before it is restored. */
async function refuseOtherBases(call: GateCall, parts: GateParts, signal: AbortSignal): Promise<void> {
  for (const [real, approved] of Object.entries(call.bases ?? {})) {
    if ((await parts.baseOf(real, signal)) === approved) continue;
    const path = call.touches.find((touch) => touch.real === real)?.path ?? real;
    throw staleApproval(call, [`"${path}" has changed`]);
  }
}

function bytesOf(change: FileChange): number {
  if ("content" in change) return change.content.length;
  return "append" in change ? change.append.length : 0;
}

function countedProcesses(processes: ToolContext["processes"], call: GateCall): ToolContext["processes"] {
  return {
    ...processes,
    async run(command, options) {
      const end = await processes.run(command, options);
      call.bytes_written += end.changes.bytes_written;
      return end;
    },
  };
}

/** Records which skills are read. A script runs only from a copy with the approved content. */
function boundSkills(skills: ToolContext["skills"], call: GateCall): ToolContext["skills"] {
  const { script: approved } = call;
  const noting: ToolContext["skills"] = {
    ...skills,
    async read(reference) {
      const found = await skills.read(reference);
      call.read_skills = [...call.read_skills, found.skill];
      return found;
    },
    async openFile(reference, path) {
      const found = await skills.openFile(reference, path);
      call.read_skills = [...call.read_skills, found.skill];
      return found;
    },
  };
  if (approved === undefined) return noting;
  return {
    ...noting,
    async openScript(reference, script) {
      const ready = await skills.openScript(reference, script);
      if (ready.skill.digest === approved.skill_digest && ready.script.sha256 === approved.sha256) return ready;
      ready.close();
      throw staleApproval(call, ["the script changed"]);
    },
  };
}

/** A tool that descends from a listed folder calls this for each subfolder: a rule may close it or require approval. */
function judgeBelow(call: GateCall, { workspace, settings }: GateParts, real: string): string | undefined {
  if (settings.configuration.rules.length === 0) return undefined;
  const skill_folder = skillFolderAround(real, call.touches);
  const skill = skill_folder === undefined ? {} : { skill_folder };
  const touch = { path: real, real, access: "list", show_sensitive: false, exists: true, ...skill } as const;
  const { effect, reason } = decide({ ...factsOf(call), touches: [touch] }, workspace, settings);
  const confirmed = effect === "REQUIRE_CONFIRMATION" && call.approval?.approved === true;
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
