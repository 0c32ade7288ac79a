import { ToolError } from "@autonous/runtime";
import type { CallError, RuntimeEvent, ToolCallResult } from "@autonous/runtime";
import { canAsk } from "./approver.ts";
import type { CommandInput } from "../command.ts";
import type { TaskOutcome } from "./agent-session.ts";

/** Who a task belongs to: a chat continues when the task is stopped. */
export type TaskOwner = "chat" | "run";

/** A second Ctrl-C within this time stops more than the first. */
const TWICE_MS = 2000;

/** The state of the running task, and what Ctrl-C stops. */
export class SessionState {
  readonly #input: CommandInput;
  readonly #taskOf: TaskOwner;
  readonly #say: (text: string) => void;
  #task = new AbortController();
  #calls = new AbortController();
  readonly #running = new Set<unknown>();
  #unapproved: CallError[] = [];
  #undoIds: string[] = [];
  #isEstimated = false;
  #isReported = false;
  #lastMs = -TWICE_MS;
  #releaseInterrupt = (): void => {};

  constructor(input: CommandInput, { taskOf, say }: { taskOf: TaskOwner; say: (text: string) => void }) {
    this.#input = input;
    this.#taskOf = taskOf;
    this.#say = say;
  }

  /** Returns the signal of the task. */
  begin(): AbortSignal {
    this.#task = new AbortController();
    this.#running.clear();
    this.#unapproved = [];
    this.#undoIds = [];
    this.#isEstimated = false;
    this.#isReported = false;
    this.#releaseInterrupt = this.#input.onInterrupt(() => this.#interrupt());
    return AbortSignal.any([this.#input.signal, this.#task.signal]);
  }

  beginCalls(): AbortSignal {
    this.#calls = new AbortController();
    return this.#calls.signal;
  }

  end(): void {
    this.#releaseInterrupt();
  }

  collected(): Pick<TaskOutcome, "unapproved" | "undo_ids" | "isEstimated" | "isReported"> {
    const counted = { isEstimated: this.#isEstimated, isReported: this.#isReported };
    return { unapproved: this.#unapproved, undo_ids: this.#undoIds, ...counted };
  }

  note({ type, payload }: RuntimeEvent, result: ToolCallResult | undefined): void {
    if (type === "tool_call.started") this.#running.add(payload["tool_call_id"]);
    const { estimated, input_tokens } = Object(payload["usage"]) as Readonly<Record<string, unknown>>;
    if (type === "model.completed" || type === "model.billed") {
      this.#isEstimated ||= estimated === true;
      // The estimated usage of a failed attempt is shown too, because it counts against the limits.
      this.#isReported ||= input_tokens !== undefined && (estimated !== true || type === "model.billed");
    }
    if (result === undefined) return;
    this.#running.delete(result.tool_call_id);
    if (result.error?.code === "ApprovalRequired") this.#unapproved.push(result.error);
    if (result.artifacts.undo_id !== undefined) this.#undoIds.push(result.artifacts.undo_id);
  }

  /** Stops the task after a second Ctrl-C. */
  stop(): void {
    if (this.#taskOf === "chat") this.#task.abort();
    else process.kill(process.pid, "SIGINT");
    this.#releaseInterrupt();
  }

  /** Stops the running calls first, then the task, and in a run the program. True: handled, stop nothing else. */
  #interrupt(): boolean {
    const isTwice = performance.now() - this.#lastMs < TWICE_MS;
    this.#lastMs = performance.now();
    const isChat = this.#taskOf === "chat";
    if (!isTwice && canAsk() && this.#running.size > 0) {
      this.#calls.abort(new ToolError("Cancelled", "The user cancelled the call at the terminal"));
      this.#say(`Stopping the call; Ctrl-C again stops the ${isChat ? "task" : "run"}`);
      return true;
    }
    if (!isChat && (this.#task.signal.aborted || !canAsk())) return false;
    this.#task.abort();
    return true;
  }
}
