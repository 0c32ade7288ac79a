import type { ToolContext } from "../contract/context.ts";
import type { UndoRecord } from "../contract/undo.ts";
import { decide } from "../policy/decide.ts";
import { ToolError } from "../protocol/errors.ts";
import type { GateCall, GateParts } from "./call.ts";
import { draftEvent, need } from "./call.ts";
import { shortenParams } from "./params.ts";
import { factsOf } from "./permit.ts";
import type { Registry } from "./registry.ts";
import { openTranscript } from "./transcript.ts";

/** Step 8. If the start cannot be recorded, nothing runs. */
export async function recordStart(call: GateCall, parts: GateParts): Promise<void> {
  const tool = need(call.tool, "tool");
  call.options.signal?.throwIfAborted();
  const { tool_call_id } = call.request;
  const isDurable = hasSideEffects(call);
  const isLater = isDurable && tool.changes_by_handle && parts.journal.sync !== undefined;
  try {
    const payload = { tool_call_id, tool_name: tool.name, arguments: shortenParams(call, parts) };
    const draft = draftEvent(call, "tool_call.started", payload, parts.clock());
    await parts.journal.append([draft], { durable: isDurable && !isLater });
    call.started = draft.event_id;
  } catch (error) {
    throw startNotRecorded(tool.name, error);
  }
  if (!isLater) return;
  call.durable = parts.journal.sync?.();
  call.durable?.catch(() => {}); // told to whoever is about to change something
}

async function waitForRecord({ tool, durable }: GateCall): Promise<void> {
  try {
    await durable;
  } catch (error) {
    throw startNotRecorded(need(tool, "tool").name, error);
  }
}

function startNotRecorded(name: string, error: unknown): ToolError {
  return new ToolError(
    "RecordFailed",
    `Cannot run "${name}": its start could not be recorded (${reasonOf(error)}), so nothing was run`,
    {},
    error,
  );
}

/** Calls that change something are on the disk before they run; for the others surviving the process is enough. */
export function hasSideEffects(call: GateCall): boolean {
  return need(call.tool, "tool").side_effects.some((effect) => effect !== "none");
}

export function reasonOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? (error as Error).message;
}

/** Step 9: the work, under a deadline. A tool that does not heed its signal is left behind; its call ends all the same. */
export async function execute(call: GateCall, parts: GateParts): Promise<void> {
  const tool = need(call.tool, "tool");
  const deadline = new AbortController();
  const outside = call.options.signal;
  const stop = (): void => deadline.abort(outside?.reason);
  outside?.addEventListener("abort", stop, { once: true });
  const timeout_ms = tool.deadline_ms ?? parts.timeout_ms;
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    deadline.abort(new Error("timed out"));
  }, timeout_ms);
  const aborted = new Promise<never>((_, reject) => {
    deadline.signal.addEventListener("abort", () => reject(deadline.signal.reason as Error), { once: true });
  });
  if (outside?.aborted === true) stop();
  try {
    const work = tool.execute(need(call.args, "args"), createContext(call, parts, deadline.signal));
    call.output = await Promise.race([work, aborted]);
    await keepRevert(call, parts);
  } catch (error) {
    if (timedOut)
      throw new ToolError("Timeout", `"${tool.name}" was stopped after ${timeout_ms / 1000} seconds`, { timeout_ms });
    throw error;
  } finally {
    clearTimeout(timer);
    outside?.removeEventListener("abort", stop);
  }
}

/** What a tool can take back itself is kept like what the file handle takes back. */
async function keepRevert(call: GateCall, { undo }: GateParts): Promise<void> {
  const { name, revert } = need(call.tool, "tool");
  const output = need(call.output, "output");
  if (revert === undefined || output.undo === undefined) return;
  const { run_id, tool_call_id } = call.request;
  const undo_id = await undo.keepRevert({ run_id, tool_call_id, tool: name, undo: output.undo });
  call.output = { ...output, artifacts: { ...output.artifacts, undo_id } };
}

/** A tool that goes down from a folder it may list asks at each one below: a rule may close it, or want it confirmed. */
function judgeBelow(call: GateCall, { workspace, settings }: GateParts, real: string): string | undefined {
  if (settings.configuration.rules.length === 0) return undefined;
  const touch = { path: real, real, access: "list", show_sensitive: false, exists: true } as const;
  const { effect, reason } = decide({ ...factsOf(call), touches: [touch] }, workspace, settings);
  const confirmed = effect === "REQUIRE_CONFIRMATION" && call.approval?.approved === true;
  return effect === "ALLOW" || confirmed ? undefined : reason;
}

function createContext(call: GateCall, parts: GateParts, signal: AbortSignal): ToolContext {
  const { tool_call_id, run_id } = call.request;
  const { touches } = call;
  const below = (real: string): string | undefined => judgeBelow(call, parts, real);
  const context: ToolContext = {
    tool_call_id,
    run_id,
    signal,
    ...parts.openHandles({
      run_id,
      tool_call_id,
      touches,
      commands: call.commands,
      confirmed: call.approval?.approved === true,
      signal,
      judgeBelow: below,
      recorded: () => waitForRecord(call),
    }),
    openTranscript: () =>
      openTranscript({
        limits: parts.limits,
        redactor: parts.redactor,
        openAside: () => parts.folder.openAside(`${tool_call_id}.txt`),
      }),
    observations: { open: async (storage_ref) => await parts.openOwn(parts.folder.pathOf(storage_ref)) },
    undo: {
      records: call.undo_records,
      content: (sha256) => parts.undo.undoLog.content(sha256),
      revert: (record) => revertWith(parts.registry, record, context),
    },
    limits: parts.limits,
    cursors: parts.cursors,
    progress: (fraction, detail) => {
      call.options.onProgress?.({ tool_call_id, fraction, detail: parts.redactor.redact(detail).text });
    },
  };
  return context;
}

async function revertWith(registry: Registry, { undo_id, revert }: UndoRecord, context: ToolContext): Promise<void> {
  const tool = revert === undefined ? undefined : registry.get(revert.tool);
  if (tool?.revert === undefined) {
    throw new ToolError(
      "UnknownTool",
      `Cannot take back "${undo_id}": the tool ${JSON.stringify(revert?.tool)} that made the change is not here to do it`,
      { undo_id },
    );
  }
  await tool.revert(revert?.undo, context);
}
