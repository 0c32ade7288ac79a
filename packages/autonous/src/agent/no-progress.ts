import { hash } from "node:crypto";
import { canonicalJson } from "@autonous/runtime/internal";
import type { ToolCallResult } from "@autonous/runtime";
import { outputText } from "../model/prompt/result-text.ts";
import { isKept } from "./recorded-result.ts";

/** The longest cycle of calls that is looked for. */
const MAX_CYCLE = 5;
/** How often a cycle comes before it is one: fewer are a second look. */
const REPEATS = 5;

/** A cycle of calls that all gave what they gave before. */
export interface Cycle {
  /** How many calls it has. */
  readonly length: number;
  readonly repeats: number;
}

interface CompletedCall {
  readonly name: string;
  readonly arguments: unknown;
  readonly result: ToolCallResult;
}

/**
 * Watches what calls give, across turns. The same calls with the same results, over and over, are no progress; a call
 * whose result changes, such as one that polls, is.
 */
export class CycleDetector {
  /** Of the last calls, oldest first. */
  readonly #keys: string[] = [];

  /** Takes note of a call. Gives the cycle that it closes, where there is one. */
  note(call: CompletedCall): Cycle | undefined {
    this.#keys.push(keyOf(call));
    if (this.#keys.length > MAX_CYCLE * REPEATS) this.#keys.shift();
    return findCycle(this.#keys);
  }

  reset(): void {
    this.#keys.length = 0;
  }
}

/** The shortest cycle that the list ends in. */
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
  // What was not kept may have been different each time.
  const output = isKept(result)
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
