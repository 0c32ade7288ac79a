import { z } from "zod";
import type { ToolOutput } from "../../contract/tool.ts";
import type { OutputLimits } from "../../contract/context.ts";
import { excerptHead } from "../../output/excerpt.ts";
import type { Excerpt } from "../../output/excerpt.ts";
import type { Artifacts, CallError, Payload, ToolCallResult } from "../../protocol/result.ts";
import { boundData, boundText } from "../../protocol/bounds.ts";
import { ToolError } from "../../protocol/errors.ts";
import { faultReason, isProgramReplaced, RESTART_HINT } from "../../protocol/program-fault.ts";
import { resultDetails } from "../parked.ts";
import type { GateParts } from "../parts.ts";
import type { Opened, Settled, Stage } from "../stages.ts";

interface Outcome {
  /** The furthest stage. */
  readonly call: Stage;
  /** Why it stopped. Undefined: it did not. */
  readonly problem: unknown;
  /** Undefined: it did not run. */
  readonly output: ToolOutput<unknown> | undefined;
}

/** Data above this multiple of the output limit is stored too. It mostly repeats the text. */
const DATA_FACTOR = 8;

/** Step 10: turns any outcome into one result: redacted first, then stored, then truncated. */
export function settle({ call, problem, output }: Outcome, parts: GateParts): Settled {
  const failure = problem ?? checkOutput(call, output) ?? output?.failure;
  const error = failure === undefined ? undefined : toToolError(call, failure);
  const { redactor } = parts;
  const { attempt } = call;
  const stdout = redactor.redact(output?.stdout ?? "", output?.around);
  const stderr = redactor.redact(output?.stderr ?? "");
  const rest = redactor.redactValue({
    data: output?.data ?? {},
    meta: output?.meta ?? {},
    artifacts: artifactsOf(output),
  });
  const { data, meta, artifacts } = rest.value as { data: unknown; meta: Payload["meta"]; artifacts: Artifacts };
  const told = error === undefined ? undefined : describeError(error, parts);
  const texts = { stdout: stdout.text, stderr: stderr.text };
  const edited = call.is_edited && "params" in call ? { edited_args: call.params } : {};
  const payload =
    output === undefined
      ? null
      : makePayload(
          { ...output, ...texts, data, meta: { ...meta, ...edited } },
          { call, parts, failed: error !== undefined },
        );
  const result: ToolCallResult = {
    tool_call_id: call.request.tool_call_id,
    ok: error === undefined,
    payload,
    error: told?.error ?? null,
    artifacts,
    duration_ms: Math.max(0, parts.clock() - attempt.opened_ms - attempt.waited_ms), // without waiting times
    redacted:
      stdout.redacted ||
      stderr.redacted ||
      rest.redacted ||
      told?.redacted === true ||
      ("params_redacted" in call && call.params_redacted) ||
      attempt.is_output_redacted,
  };
  return { call, result, cause: error === undefined ? null : causeOf(error, parts) };
}

/** What the call has put out so far. Undefined: it did not run. */
export function outputOf(call: Stage): ToolOutput<unknown> | undefined {
  if (!("started" in call)) return undefined;
  const output: ToolOutput<unknown> | null | undefined = "output" in call ? call.output : undefined;
  return output ?? NO_OUTPUT; // a tool in untyped JavaScript may return nothing
}

export const NO_OUTPUT: ToolOutput<unknown> = { data: {} };

/** Enough for a stack trace and its message. */
const CAUSE_CHARACTERS = 16_384;

/** The output must match the tool's schema. */
function checkOutput(call: Stage, output: ToolOutput<unknown> | undefined): unknown {
  if (!("output" in call)) return new Error("The call stopped, and its step gave no reason");
  const { tool } = call;
  const checked = tool.returns.safeParse(output?.data);
  if (checked.success) return undefined;
  return new ToolError(
    "InternalError",
    `"${tool.name}" ran, but its result does not match its return_schema`,
    {},
    new Error(z.prettifyError(checked.error)),
  );
}

function toToolError(call: Stage, problem: unknown): ToolError {
  if (problem instanceof ToolError) return problem;
  const { name } = call.request;
  if (call.options.signal?.aborted === true) {
    const when = "started" in call ? "while it ran" : "before it ran";
    return new ToolError("Cancelled", `"${name}" was cancelled ${when}`, {}, problem);
  }
  if (isProgramReplaced(problem)) {
    const message = `Cannot run "${name}": ${faultReason(problem)}`;
    return new ToolError("InternalError", message, { hint: RESTART_HINT }, problem);
  }
  return new ToolError("InternalError", `"${name}" failed unexpectedly; see the audit log for details`, {}, problem);
}

function causeOf({ code, cause }: ToolError, { redactor }: GateParts): string | null {
  if (code !== "InternalError" || cause === undefined) return null;
  return boundText(redactor.redact(causeText(cause)).text, CAUSE_CHARACTERS);
}

function causeText(cause: unknown): string {
  return cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
}

function describeError(error: ToolError, { redactor }: GateParts): { error: CallError; redacted: boolean } {
  const details = resultDetails(error);
  const { replay } = error;
  const told = {
    code: error.code,
    class: error.class,
    message: error.message,
    ...(Object.keys(details).length === 0 ? {} : { details: boundData(details) }),
    hint: boundText(error.hint),
    ...(replay === "" ? {} : { replay }),
  };
  const { value, redacted } = redactor.redactValue(told);
  return { error: value as CallError, redacted };
}

function artifactsOf(output: ToolOutput<unknown> | undefined): Artifacts {
  return { files_changed: [], commands_run: [], ...output?.artifacts };
}

interface PayloadOptions {
  readonly call: Opened;
  readonly parts: GateParts;
  readonly failed: boolean;
}

function makePayload(
  output: ToolOutput<unknown> & { stdout: string; stderr: string; meta: Payload["meta"] },
  { call, parts, failed }: PayloadOptions,
): Payload {
  const { limits, folder } = parts;
  const { tool_call_id } = call.request;
  const shown = shorten(output, {
    limits,
    storeText: () => folder.storeText(`${tool_call_id}.txt`, wholeOutput(output)),
  });
  const { data, meta } = keepSmall(output, parts, call);
  return {
    exit_code: output.exit_code ?? (failed ? 1 : 0),
    stdout: shown.stdout.text,
    stderr: shown.stderr.text,
    truncated_lines: output.truncated_lines === true || shown.stdout.truncated_lines || shown.stderr.truncated_lines,
    truncated_bytes: output.truncated_bytes === true || shown.stdout.truncated_bytes || shown.stderr.truncated_bytes,
    ...(output.next_page_cursor === undefined ? {} : { next_page_cursor: output.next_page_cursor }),
    ...(shown.stored ?? output.aside),
    data,
    meta,
  };
}

interface ShortOutput {
  readonly stdout: Excerpt;
  readonly stderr: Excerpt;
  readonly stored?: StoredText;
}

type StoredText = ReturnType<GateParts["folder"]["storeText"]>;

/** Limits each stream. Truncated output ends with a reference to the full output, also within the limits. */
function shorten(
  { stdout, stderr }: { stdout: string; stderr: string },
  { limits, storeText }: { limits: OutputLimits; storeText: () => StoredText },
): ShortOutput {
  const whole = { stdout: excerptHead(stdout, limits), stderr: excerptHead(stderr, limits) };
  if (whole.stdout.text === stdout && whole.stderr.text === stderr) return whole;
  const stored = storeText();
  const note = `[truncated; full output: ${stored.storage_ref}]\n`;
  const left = { lines: Math.max(1, limits.lines - 1), bytes: Math.max(1, limits.bytes - note.length - 1) };
  const cut = (text: string, excerpt: Excerpt): Excerpt => {
    if (excerpt.text === text) return excerpt;
    const shorter = excerptHead(text, left).text;
    return { ...excerpt, text: `${shorter}${shorter === "" || shorter.endsWith("\n") ? "" : "\n"}${note}` };
  };
  return { stdout: cut(stdout, whole.stdout), stderr: cut(stderr, whole.stderr), stored };
}

function wholeOutput({ stdout, stderr }: { stdout: string; stderr: string }): string {
  return stderr === ""
    ? stdout
    : `${stdout}${stdout === "" || stdout.endsWith("\n") ? "" : "\n"}--- stderr ---\n${stderr}`;
}

function keepSmall(
  { data, meta }: { data: unknown; meta: Payload["meta"] },
  { folder, limits }: GateParts,
  { attempt, request }: Opened,
): { data: unknown; meta: Payload["meta"] } {
  const text = JSON.stringify(data);
  if (text.length <= limits.bytes * DATA_FACTOR) return { data, meta };
  const { storage_ref, sha256 } = folder.storeText(`${request.tool_call_id}.data.json`, text);
  attempt.stored = { ...attempt.stored, [storage_ref]: sha256 };
  return { data: {}, meta: { ...meta, data_ref: storage_ref, data_sha256: sha256 } };
}
