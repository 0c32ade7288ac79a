import type { PlannedFile, ToolContext } from "../../contract/context.ts";
import type { GateCall, GateParts } from "../call.ts";
import { need } from "../call.ts";
import { createContext } from "../context/context.ts";

/**
 * Runs the call without side effects if its tool supports that, and returns the planned changes. Throws the call's own
 * error, so that a person is not asked about an impossible call.
 */
export async function previewCall(call: GateCall, parts: GateParts): Promise<readonly PlannedFile[] | undefined> {
  const tool = need(call.tool, "tool");
  if (!tool.previews) return undefined;
  const planned: PlannedFile[] = [];
  const deadline = AbortSignal.timeout(tool.deadline_ms ?? parts.timeout_ms);
  const { signal } = call.options;
  const stop = signal === undefined ? deadline : AbortSignal.any([deadline, signal]);
  const context = withoutEffect(
    createContext(call, parts, { signal: stop, onPlanned: (files) => planned.push(...files) }),
  );
  await tool.execute(need(call.args, "args"), context);
  return planned;
}

function withoutEffect(context: ToolContext): ToolContext {
  const refuse = (): never => {
    throw new Error('A tool that "previews" may use files, search and undo only');
  };
  const closed = new Proxy({}, { get: () => refuse });
  return {
    ...context,
    processes: closed as ToolContext["processes"],
    network: closed as ToolContext["network"],
    skills: closed as ToolContext["skills"],
    openTranscript: refuse,
    undo: { ...context.undo, revert: () => Promise.resolve() },
    progress: () => {},
  };
}
