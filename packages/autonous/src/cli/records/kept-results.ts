import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { readOwnText, runPath } from "@autonous/runtime";
import type { ToolCallResult } from "@autonous/runtime";

/**
 * What the calls of a run gave back, in the folder of the run, as the model saw it: without secrets. The record says
 * only that they ended; who goes on with the run has to know what they printed.
 */
export class KeptResults {
  readonly #file: string;
  #read: ReadonlyMap<string, ToolCallResult> | undefined;

  constructor(state_dir: string, run_id: string) {
    this.#file = join(runPath(state_dir, run_id), "results.jsonl");
  }

  /** A new line goes before each: one that was cut off spoils no other. */
  keep(result: ToolCallResult): void {
    try {
      appendFileSync(this.#file, `\n${JSON.stringify(result)}`, { mode: 0o600 });
    } catch {
      // The disk is full, say. Whoever goes on with the run is told that it was not kept.
    }
  }

  /** Of a run as it was when this was first asked for. */
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
    return undefined; // empty, or cut off
  }
}
