import type { z } from "zod";
import type { ArgsAdapter, Tool } from "../contract/tool.ts";
import type { ToolCallRequest } from "../protocol/call.ts";
import { ToolError } from "../protocol/errors.ts";
import type { DecidingParts, GateCall } from "./call.ts";
import { need } from "./call.ts";

/** Step 1: name, alias and version to the tool. */
export function findTool(call: GateCall, { registry }: DecidingParts): void {
  const { tool, adapters } = registry.find(call.request.name, call.request.version);
  call.tool = tool;
  call.adapters = adapters;
}

/** Step 2: the arguments as the tool's own schema has them, every default filled in. */
export function checkArgs(call: GateCall, { redactor }: DecidingParts): void {
  const tool = need(call.tool, "tool");
  const adapted = call.adapters.reduce((args, adapt) => runAdapter(tool, adapt, args), call.request.args);
  const parsed = tool.args.safeParse(adapted);
  if (!parsed.success) throw wrongArguments(tool, parsed.error);
  call.args = parsed.data;
  const { value, redacted } = redactor.redactValue(parsed.data);
  call.params = value;
  call.params_redacted = redacted;
  call.risk = tool.riskOf(parsed.data);
}

/** Step 3: where each path that the arguments name really leads. */
export function resolvePaths(call: GateCall, { resolve }: DecidingParts): void {
  const touches = need(call.tool, "tool").touches(need(call.args, "args"));
  call.touches = touches.map(({ path, access, show_sensitive = false }) => ({
    path,
    access,
    show_sensitive,
    ...resolve(path),
  }));
}

function runAdapter(tool: Tool, adapt: ArgsAdapter, args: ToolCallRequest["args"]): ToolCallRequest["args"] {
  try {
    return adapt(args);
  } catch (error) {
    throw new ToolError(
      "InvalidArguments",
      `Cannot call "${tool.name}": its arguments do not fit the name or version that was used`,
      {},
      error,
    );
  }
}

const MAX_ISSUES = 10;

function wrongArguments(tool: Tool, error: z.ZodError): ToolError {
  const fields = error.issues.slice(0, MAX_ISSUES).flatMap(describeIssue);
  const list = fields.map(({ field, problem }) => `"${field}" ${problem}`).join("; ");
  return new ToolError("InvalidArguments", `Cannot call "${tool.name}": ${list}`, { fields });
}

/** What is wrong with which field. Never repeats a value: it may be a secret. */
function describeIssue(issue: z.core.$ZodIssue): { field: string; problem: string }[] {
  const at = issue.path.map(String).join(".");
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({
      field: at === "" ? key : `${at}.${key}`,
      problem: "is not an argument of this tool",
    }));
  }
  return [{ field: at === "" ? "args" : at, problem: `is wrong: ${issue.message}` }];
}
