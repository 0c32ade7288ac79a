import { hash } from "node:crypto";
import { canonicalJson } from "@autonous/runtime/internal";
import type { ToolCallResult } from "@autonous/runtime";
import { outputText } from "../model/prompt/result-text.ts";
import { hasOutput } from "./recorded-result.ts";

/** The longest detected cycle of calls. */
const MAX_CYCLE = 5;
/** Repetitions that make a cycle: fewer may be deliberate checks. */
const REPEATS = 5;

/** A cycle of calls that all returned the same results as before. */
export interface Cycle {
  /** Calls per cycle. */
  readonly length: number;
  readonly repeats: number;
}

interface CompletedCall {
  readonly name: string;
  readonly arguments: unknown;
  readonly result: ToolCallResult;
}

/**
 * Watches results of calls across turns. The same calls with the same results, repeated, count as no progress; a call whose
 * result changes, such as polling, is.
 */
export class CycleDetector {
  /** The last calls, oldest first. */
  readonly #keys: string[] = [];

  /** Adds a call. Returns the cycle that it completes, if any. */
  note(call: CompletedCall): Cycle | undefined {
    this.#keys.push(keyOf(call));
    if (this.#keys.length > MAX_CYCLE * REPEATS) this.#keys.shift();
    return findCycle(this.#keys);
  }

  reset(): void {
    this.#keys.length = 0;
  }
}

/** The shortest cycle at the end of the list. */
export function findCycle(keys: readonly string[]): Cycle | undefined {
  for (let length = 1; length <= MAX_CYCLE; length++) {
    const span = length * REPEATS;
    if (keys.length < span) return undefined;
    const tail = keys.slice(-span);
    if (tail.every((key, index) => key === tail[index % length])) return { length, repeats: REPEATS };
  }
  return undefined;
}

function keyOf({ name, arguments: args, result }: CompletedCall): string {
  const { tool_call_id, error, payload } = result;
  // Output that was not stored may have differed each time.
  const output = hasOutput(result)
    ? outputText(result).replaceAll(payload?.storage_ref ?? tool_call_id, "")
    : tool_call_id;
  return hash(
    "sha256",
    canonicalJson([name, args, error?.code ?? null, error?.message ?? null, payload?.exit_code ?? null, output]),
  );
}

export function describeCycle({ length, repeats }: Cycle): string {
  return length === 1
    ? `the same call was made ${repeats} times in a row with the same result`
    : `the same ${length} calls were made ${repeats} times in turn with the same results`;
}
