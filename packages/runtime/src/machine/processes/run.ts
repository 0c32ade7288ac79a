import type { CommandEnd, CommandLimits, CommandOptions } from "../../contract/processes.ts";
import type { Launch } from "./launch.ts";
import { startFresh } from "./start-fresh.ts";

export interface RunOptions extends CommandOptions {
  readonly call_id: string;
  readonly limits: CommandLimits;
}

/** Runs a command until it ends: at most 2 s longer than its timeout, and no process is left behind. */
export async function runCommand(launch: () => Launch, options: RunOptions): Promise<CommandEnd> {
  const { timeout_ms, signal, call_id, limits, onOutput = () => {} } = options;
  signal.throwIfAborted();
  const began = performance.now();
  let stopped_by: "timeout" | "cancel" | undefined;
  const child = startFresh(launch, { call_id, limits, onOutput });
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
      ended_by:
        end.limit_reached === undefined
          ? (stopped_by ?? (end.unprotected === undefined ? "itself" : "cancel"))
          : "limit",
      duration_ms: performance.now() - began,
      sandbox: child.launch.sandbox,
      ...(child.launch.left_out === 0 ? {} : { left_out_places: child.launch.left_out }),
      ...(child.launch.packages_closed === true ? { packages_closed: true } : {}),
    };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", cancel);
  }
}
