import type { StartCommit } from "../contract/journal.ts";
import type { Counts } from "../contract/quotas.ts";
import { ToolError } from "../protocol/errors.ts";
import type { GateCall, GateParts } from "./call.ts";
import { actorOf, draftEvent, need } from "./call.ts";
import { createContext } from "./context.ts";
import { shortenParams } from "./params.ts";
import { onlyLooks } from "./permit.ts";
import { quotaHolder } from "./quota.ts";

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
  call.durable?.catch(() => {}); // told to whoever is about to change something
}

/**
 * What the start of a call uses up: its approval, and its part of the quotas. A journal that can does it in the commit of
 * the start; else it is done before, so that no approval is ever good for two.
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
      `Cannot run "${need(call.tool, "tool").name}": its approval was used, taken back or over before it began`,
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

/** Calls that change something are on the disk before they run; for the others surviving the process is enough. */
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

export function reasonOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? (error as Error).message;
}

/** A tool that changes things and was told to stop has so long to say what it did until then: a command's end takes 2 s. */
const WIND_UP_MS = 3_000;

/**
 * Step 9: the work, under a deadline. A tool that does not heed its signal is left behind; its call ends all the same.
 * What one that does has to show for itself until then is given with the error.
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
  if (problem === undefined || failure === undefined) return; // work that was done whole is done, however late
  const saysSo = failure.code === "Cancelled" && !(problem instanceof ToolError);
  if (!saysSo) throw problem;
}

interface Deadline {
  /** Aborted when the time is over, and when somebody outside says so. */
  readonly signal: AbortSignal;
  /** Rejects when the tool has had its time to wind up after that. */
  readonly passed: Promise<never>;
  /** Why it was stopped: `Timeout`, or what the one outside gave as a reason. Undefined while it is not. */
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
    stopping.abort(new ToolError("Timeout", `"${name}" was stopped after ${seconds} seconds`, { timeout_ms }));
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

/** What a tool can take back itself is kept like what the file handle takes back. */
async function keepRevert(call: GateCall, { undo }: GateParts): Promise<void> {
  const { name, revert } = need(call.tool, "tool");
  const output = need(call.output, "output");
  if (revert === undefined || output.undo === undefined) return;
  const { run_id, tool_call_id } = call.request;
  const undo_id = await undo.keepRevert({ run_id, tool_call_id, tool: name, undo: output.undo });
  call.output = { ...output, artifacts: { ...output.artifacts, undo_id } };
}
