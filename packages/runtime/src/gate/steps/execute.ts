import type { StartCommit } from "../../contract/journal.ts";
import type { Counts } from "../../contract/quotas.ts";
import { ToolError } from "../../protocol/errors.ts";
import type { GateCall, GateParts } from "../call.ts";
import { actorOf, draftEvent, need } from "../call.ts";
import { createContext } from "../context/context.ts";
import { shortenParams } from "./params.ts";
import { onlyLooks } from "../permit.ts";
import { quotaHolder } from "../quota/quota.ts";
import { reasonOf } from "../../protocol/error-reason.ts";

/** Step 8. If the start cannot be recorded, nothing runs. */
export async function recordStart(call: GateCall, parts: GateParts): Promise<void> {
  const tool = need(call.tool, "tool");
  call.options.signal?.throwIfAborted();
  const { tool_call_id } = call.request;
  const isDurable = needsDisk(call);
  const isLater = isDurable && tool.changes_by_handle && parts.journal.sync !== undefined;
  try {
    const payload = {
      tool_call_id,
      tool_name: tool.name,
      arguments: shortenParams(call, parts),
      actor: actorOf(call, parts),
    };
    const draft = draftEvent(call, "tool_call.started", payload, parts.clock());
    await parts.quotas.charge(call, async (counts) => {
      const commit = await useUp(call, parts, counts);
      await parts.journal.append([draft], {
        durable: isDurable && !isLater,
        ...(commit === undefined ? {} : { commit }),
      });
    });
    call.started = draft.event_id;
  } catch (error) {
    throw error instanceof ToolError ? error : startNotRecorded(tool.name, error);
  }
  if (!isLater) return;
  call.durable = parts.journal.sync?.();
  call.durable?.catch(() => {}); // reported when the tool first changes something
}

/**
 * Consumes the approval and quota of a call at its start. Journals with `commits` do it in the same transaction; for
 * others it is done before, so that an approval never covers two calls.
 */
async function useUp(
  call: GateCall,
  { journal, host_keeps, approvals, quotas }: GateParts,
  counts: Counts | undefined,
): Promise<StartCommit | undefined> {
  const { approval_id } = call;
  const commits = {
    approval: journal.commits === true && host_keeps.approvals,
    quota: journal.commits === true && host_keeps.quotas,
  };
  if (approval_id !== undefined && !commits.approval && !(await approvals.use(approval_id))) {
    throw new ToolError(
      "ApprovalExpired",
      `Cannot run "${need(call.tool, "tool").name}": its approval was used, revoked or expired before it started`,
      { approval_id },
    );
  }
  if (counts !== undefined && !commits.quota) await quotas.add(call, counts);
  const commit = {
    ...(approval_id !== undefined && commits.approval ? { approval_id } : {}),
    ...(counts !== undefined && commits.quota ? { quota: { holder: quotaHolder(call), counts } } : {}),
  };
  return Object.keys(commit).length === 0 ? undefined : commit;
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

/** Calls that change something are recorded on disk before they run; for others it is enough to survive the process. */
export function needsDisk(call: GateCall): boolean {
  const { commands, touches } = call;
  const commandsOnlyLook =
    commands.length > 0 &&
    commands.every(({ read_only, network }) => read_only && !network) &&
    touches.every(({ access }) => access === "read" || access === "list");
  return hasSideEffects(call) && !commandsOnlyLook;
}

function hasSideEffects(call: GateCall): boolean {
  return !onlyLooks(call) && need(call.tool, "tool").side_effects.some((effect) => effect !== "none");
}

/** Time for a changing tool to report what it did after it was told to stop: ending a command takes 2 s. */
const WIND_UP_MS = 3_000;

/**
 * Step 9: runs the tool with a deadline. A tool that ignores its signal is abandoned and its call ends anyway. What a
 * tool reports after the signal is returned together with the error.
 */
export async function execute(call: GateCall, parts: GateParts): Promise<void> {
  const tool = need(call.tool, "tool");
  const deadline = openDeadline(call, tool.deadline_ms ?? parts.timeout_ms);
  try {
    const work = tool.execute(
      need(call.args, "args"),
      createContext(call, parts, { signal: deadline.signal, recorded: () => waitForRecord(call) }),
    );
    call.output = await Promise.race([work, deadline.passed]);
    await keepRevert(call, parts);
  } catch (error) {
    throw deadline.problem() ?? error;
  } finally {
    deadline.close();
  }
  const { failure } = call.output;
  const problem = deadline.problem();
  if (problem === undefined || failure === undefined) return; // completed work counts, even after the deadline
  const saysSo = failure.code === "Cancelled" && !(problem instanceof ToolError);
  if (!saysSo) throw problem;
}

interface Deadline {
  /** Aborted on timeout and on cancellation by the caller. */
  readonly signal: AbortSignal;
  /** Rejects when the grace period after the abort is over. */
  readonly passed: Promise<never>;
  /** Why it was stopped: `Timeout`, or the caller's abort reason. Undefined while it runs. */
  problem(): unknown;
  close(): void;
}

function openDeadline(call: GateCall, timeout_ms: number): Deadline {
  const { name } = need(call.tool, "tool");
  const stopping = new AbortController();
  const outside = call.options.signal;
  const windUp_ms = hasSideEffects(call) ? WIND_UP_MS : 0;
  let windUp: NodeJS.Timeout | undefined;
  const passed = new Promise<never>((_, reject) => {
    const leave = (): void => reject(stopping.signal.reason as Error);
    stopping.signal.addEventListener("abort", () => void (windUp = setTimeout(leave, windUp_ms)), { once: true });
  });
  const stop = (): void => stopping.abort(outside?.reason);
  outside?.addEventListener("abort", stop, { once: true });
  const timer = setTimeout(() => {
    const seconds = timeout_ms / 1000;
    stopping.abort(new ToolError("Timeout", `"${name}" timed out after ${seconds} s`, { timeout_ms }));
  }, timeout_ms);
  if (outside?.aborted === true) stop();
  return {
    signal: stopping.signal,
    passed,
    problem: () => (stopping.signal.aborted ? (stopping.signal.reason as unknown) : undefined),
    close() {
      clearTimeout(timer);
      clearTimeout(windUp);
      outside?.removeEventListener("abort", stop);
    },
  };
}

/** Stores the undo data of tools with their own `revert`, like that of file changes. */
async function keepRevert(call: GateCall, { undo }: GateParts): Promise<void> {
  const { name, revert } = need(call.tool, "tool");
  const output = need(call.output, "output");
  if (revert === undefined || output.undo === undefined) return;
  const { run_id, tool_call_id } = call.request;
  const undo_id = await undo.keepRevert({ run_id, tool_call_id, tool: name, undo: output.undo });
  call.output = { ...output, artifacts: { ...output.artifacts, undo_id } };
}
