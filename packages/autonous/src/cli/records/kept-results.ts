import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { readOwnText, runPath } from "@autonous/runtime/internal";
import type { ToolCallResult } from "@autonous/runtime";

/**
 * Results of a run's calls, redacted as the model saw them, in the run's folder. The record only says
 * that they ended; a resumed run also needs their output.
 */
export class KeptResults {
  readonly #file: string;
  #read: ReadonlyMap<string, ToolCallResult> | undefined;

  constructor(state_dir: string, run_id: string) {
    this.#file = join(runPath(state_dir, run_id), "results.jsonl");
  }

  /** A line break precedes each entry, so that a truncated one does not damage the next. */
  keep(result: ToolCallResult): void {
    try {
      appendFileSync(this.#file, `\n${JSON.stringify(result)}`, { mode: 0o600 });
    } catch {
      // For example, the disk is full. A resumed run reports that the result was not stored.
    }
  }

  /** Searches the results as of the first call. */
  find(tool_call_id: string): ToolCallResult | undefined {
    return (this.#read ??= this.#readAll()).get(tool_call_id);
  }

  #readAll(): ReadonlyMap<string, ToolCallResult> {
    let text = "";
    try {
      text = readOwnText(this.#file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
    const results = text.split("\n").flatMap((line) => parse(line) ?? []);
    return new Map(results.map((result) => [result.tool_call_id, result]));
  }
}

function parse(line: string): ToolCallResult | undefined {
  try {
    const result = JSON.parse(line) as Partial<ToolCallResult> | null;
    return typeof result?.tool_call_id === "string" && result.artifacts !== undefined
      ? (result as ToolCallResult)
      : undefined;
  } catch {
    return undefined; // empty or truncated
  }
}
