import type { CommandEnd, CommandLimits, CommandOptions } from "../../contract/processes.ts";
import { inOurWords } from "../files/system-error.ts";
import { startChild } from "./child.ts";
import { OutputCollector } from "./collect-output.ts";
import type { Launch } from "./launch.ts";

export interface RunOptions extends CommandOptions {
  readonly call_id: string;
  readonly limits: CommandLimits;
}

/** Runs a command to its end. It takes at most 2 s longer than its time, and nothing of it is left then. */
export async function runCommand(launch: Launch, options: RunOptions): Promise<CommandEnd> {
  const output = openOutput(launch, options);
  try {
    return await runToEnd(launch, options, output);
  } finally {
    output.end();
  }
}

function openOutput(launch: Launch, options: RunOptions): OutputCollector {
  try {
    options.signal.throwIfAborted();
    return new OutputCollector(options);
  } catch (error) {
    launch.close();
    throw inOurWords(error, options.output_file?.path ?? "", "change");
  }
}

async function runToEnd(launch: Launch, options: RunOptions, output: OutputCollector): Promise<CommandEnd> {
  const { timeout_ms, signal, call_id, limits } = options;
  const began = performance.now();
  let stopped_by: "timeout" | "cancel" | undefined;
  const child = startChild(launch, { call_id, limits, onOutput: (stream, piece) => output.add(stream, piece) });
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
      ...output.end(),
      duration_ms: performance.now() - began,
      sandbox: launch.sandbox,
      ...(launch.left_out === 0 ? {} : { left_out_places: launch.left_out }),
    };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", cancel);
  }
}
