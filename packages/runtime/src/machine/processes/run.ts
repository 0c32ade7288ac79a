import type { CommandEnd, CommandLimits, CommandOptions } from "../../contract/processes.ts";
import { ToolError } from "../../protocol/errors.ts";
import { startChild } from "./child.ts";
import type { Launch } from "./launch.ts";

export interface RunOptions extends CommandOptions {
  readonly call_id: string;
  readonly limits: CommandLimits;
}

/** Runs a command to its end. It takes at most 2 s longer than its time, and nothing of it is left then. */
export async function runCommand(launch: Launch, options: RunOptions): Promise<CommandEnd> {
  const { timeout_ms, signal, call_id, limits, onOutput = () => {} } = options;
  if (signal.aborted) {
    launch.close();
    signal.throwIfAborted();
  }
  const began = performance.now();
  let stopped_by: "timeout" | "cancel" | undefined;
  const child = startChild(launch, { call_id, limits, onOutput });
  const stop = (why: "timeout" | "cancel"): void => {
    stopped_by ??= why;
    child.stop();
  };
  const timer = setTimeout(() => stop("timeout"), timeout_ms);
  const cancel = (): void => stop("cancel");
  signal.addEventListener("abort", cancel, { once: true });
  try {
    const end = await child.ended;
    return {
      ...end,
      ended_by: end.limit_reached === undefined ? (stopped_by ?? "itself") : "limit",
      duration_ms: performance.now() - began,
      sandbox: launch.sandbox,
      ...(launch.left_out === 0 ? {} : { left_out_places: launch.left_out }),
    };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", cancel);
  }
}

/** What a sandbox closes may go away while it is put up, as the sockets of others do, and then it does not start. */
const STARTS = 3;

/** As `runCommand`, in a sandbox that is put up anew where it did not start: nothing has run then. */
export async function runFresh(launch: () => Launch, options: RunOptions): Promise<CommandEnd> {
  for (let left = STARTS - 1; ; left--) {
    try {
      return await runCommand(launch(), options);
    } catch (error) {
      if (left === 0 || !(error instanceof ToolError) || error.code !== "SandboxUnavailable") throw error;
    }
  }
}
