import type { RuntimeEvent } from "@autonous/runtime";
import type { Totals } from "./usage/meter.ts";
import { contextUse } from "./window/request.ts";
import type { AgentError, AgentOutcome, Run } from "./agent-run.ts";

/** How a run ends. */
export type End = { readonly answer: string; readonly cut?: true } | AgentError | "parked";

/** Records the end of a run and returns its outcome. A parked run has not ended. */
export async function finish(run: Run, parent_id: string, end: End): Promise<AgentOutcome> {
  const counts = { turns: run.turns, calls: run.done.length, usage: run.meter.totals };
  const { messages, window: shown } = run;
  const { task: _task, ...window } = shown;
  const context = contextUse(run);
  const inUse = run.provider === run.models[0] ? {} : { model: run.provider.name };
  if (end === "parked") return { outcome: "parked", answer: "", ...counts, ...inUse, messages, window, context };
  if ("answer" in end) {
    const cut = end.cut === undefined ? {} : { cut: end.cut };
    await run.write({ type: "agent.completed", parent_id, payload: { answer: end.answer, ...cut, ...counts } });
    const said = { role: "assistant", text: end.answer } as const;
    return {
      outcome: "completed",
      answer: end.answer,
      ...cut,
      ...counts,
      ...inUse,
      messages: messages.at(-1)?.role === "assistant" ? messages : [...messages, said],
      window,
      context,
    };
  }
  const files_changed = [...run.files_changed];
  await run.write({
    type: "agent.failed",
    parent_id,
    payload: { ...end, ...counts, done: run.done, files_changed },
  });
  return { ...failedOutcome({ ...end, ...counts }), ...inUse, messages, window, context };
}

interface Failure extends AgentError {
  readonly turns: number;
  readonly calls: number;
  readonly usage: Totals;
}

function failedOutcome({ code, message, reason, turns, calls, usage }: Failure): AgentOutcome {
  const outcome = code === "Cancelled" ? "cancelled" : "failed";
  const error = { code, message, ...(reason === undefined ? {} : { reason }) };
  return { outcome, answer: "", error, turns, calls, usage };
}

/** Reads our own event, written by `finish`. */
export function recordedOutcome({ type, payload }: RuntimeEvent): AgentOutcome {
  if (type === "agent.failed") return failedOutcome(payload as unknown as Failure);
  const { answer, cut, turns, calls, usage } = payload as unknown as Failure & {
    readonly answer: string;
    readonly cut?: true;
  };
  return { outcome: "completed", answer, ...(cut === undefined ? {} : { cut }), turns, calls, usage };
}

const MAX_CALLS = 10;
const MAX_FILES = 20;

/** For continuing the work after a limit stopped the run. */
export function progressText({ done, files_changed }: Run): string {
  if (done.length === 0) return "No call was made";
  const listed = done.slice(-MAX_CALLS).join(", ");
  const calls = `Done so far: ${done.length > MAX_CALLS ? `${done.length} calls, the last of them ` : ""}${listed}`;
  if (files_changed.size === 0) return calls;
  const more = files_changed.size > MAX_FILES ? ` and ${files_changed.size - MAX_FILES} more` : "";
  return `${calls}. Files changed: ${[...files_changed].slice(0, MAX_FILES).join(", ")}${more}`;
}
