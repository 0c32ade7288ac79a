import type { CallState } from "../contract/journal.ts";
import type { RuntimeEvent } from "../protocol/event-record.ts";

const ABOUT = new Set(["tool_call.started", "tool_call.completed", "tool_call.failed"]);

/** What became of each call of a run, by its id. */
export class CallStates {
  readonly #states = new Map<string, CallState>();

  add({ type, payload }: Pick<RuntimeEvent, "type" | "payload">): void {
    const id = payload["tool_call_id"];
    if (!ABOUT.has(type) || typeof id !== "string") return;
    this.#states.set(id, type === "tool_call.started" ? "open" : "ended");
  }

  get(tool_call_id: string): CallState | undefined {
    return this.#states.get(tool_call_id);
  }
}
