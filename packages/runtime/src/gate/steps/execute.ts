import { ToolError } from "../../protocol/errors.ts";
import { createContext } from "../context/tool-context.ts";
import type { GateParts } from "../parts.ts";
import type { Executed, Started } from "../stages.ts";
import { hasSideEffects, waitForRecord } from "./record-start.ts";

/** Time for a changing tool to report what it did after it was told to stop: ending a command takes 2 s. */
const WIND_UP_MS = 3_000;

/**
 * Step 9: runs the tool with a deadline. A tool that ignores its signal is abandoned and its call ends anyway. What a
 * tool reports after the signal is returned together with the error.
 */
export async function execute(call: Started, parts: GateParts): Promise<Executed> {
  const { tool, attempt } = call;
  const deadline = openDeadline(call, tool.deadline_ms ?? parts.timeout_ms);
  let executed: Executed;
  try {
    const { approval } = call;
    const recorded = () => waitForRecord(call);
    const context = createContext(call, parts, { approval, signal: deadline.signal, recorded });
    const output = await Promise.race([tool.execute(call.args, context), deadline.passed]);
    attempt.reached = executed = { ...call, output }; // what it reported counts, even if the call fails from here on
    attempt.reached = executed = await keepRevert(executed, parts);
  } catch (error) {
    throw deadline.problem() ?? error;
  } finally {
    deadline.close();
  }
  const { failure } = executed.output;
  const problem = deadline.problem();
  if (problem === undefined || failure === undefined) return executed; // completed work counts, even after the deadline
  const saysSo = failure.code === "Cancelled" && !(problem instanceof ToolError);
  if (!saysSo) throw problem;
  return executed;
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

function openDeadline(call: Started, timeout_ms: number): Deadline {
  const { name } = call.tool;
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
async function keepRevert(call: Executed, { undo }: GateParts): Promise<Executed> {
  const { name, revert } = call.tool;
  const { output } = call;
  if (revert === undefined || output.undo === undefined) return call;
  const { run_id, tool_call_id } = call.request;
  const undo_id = await undo.keepRevert({ run_id, tool_call_id, tool: name, undo: output.undo });
  return { ...call, output: { ...output, artifacts: { ...output.artifacts, undo_id } } };
}
