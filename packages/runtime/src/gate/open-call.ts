import { toolCallInput } from "../protocol/call.ts";
import type { ToolCallRequest } from "../protocol/call.ts";
import { ToolError } from "../protocol/errors.ts";
import { makeId, makeTraceId } from "../protocol/ids.ts";

export interface Opened {
  readonly request: ToolCallRequest;
  /** Set where what was given is no request at all. It is recorded like any other refusal. */
  readonly refusal?: ToolError;
}

/** Fills in what a caller left out of a request. Never throws. */
export function openCall(input: unknown, { run_id, now }: { readonly run_id: string; readonly now: number }): Opened {
  const parsed = toolCallInput.safeParse(input);
  const made = { tool_call_id: makeId("call", now), trace_id: makeTraceId(), timestamp: now, run_id };
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = issue?.path.map(String).join(".") ?? "";
    const problem = issue?.code === "unrecognized_keys" ? `"${issue.keys.join('", "')}" is not a field of a request` : issue?.message;
    const refusal = new ToolError("InvalidArguments", `Cannot take the request: ${field === "" ? "" : `"${field}" `}${problem}`, { field });
    return { request: { ...made, name: nameOf(input), args: {} }, refusal };
  }
  const { args, ...given } = parsed.data;
  const named = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  // `args` is checked by step 2, whatever it is.
  return { request: { ...made, ...named, args: (args ?? {}) as ToolCallRequest["args"] } as ToolCallRequest };
}

function nameOf(input: unknown): string {
  const name = typeof input === "object" && input !== null && "name" in input ? input.name : undefined;
  return typeof name === "string" ? name.toWellFormed().slice(0, 200) : "(no name)";
}
