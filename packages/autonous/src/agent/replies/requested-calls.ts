import { canonicalJson, makeId } from "@autonous/runtime/internal";
import type { ToolInfo } from "@autonous/runtime";
import { readCallArguments } from "../../model/calls/call-arguments.ts";
import { resolveToolName } from "../../model/calls/called-name.ts";
import { fitArguments } from "../../model/calls/fit-arguments.ts";
import { isToolName } from "../../model/calls/json-reply.ts";
import type { ParsedCall } from "../../model/calls/json-reply.ts";
import type { NativeCall } from "../../model/provider.ts";
import { cutText } from "../window/excerpts.ts";
import type { Run } from "../agent-run.ts";

/** A call requested in a reply. */
export interface RequestedCall {
  readonly tool_call_id: string;
  /** The provider's id of the call. */
  readonly provider_call_id?: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The recorded arguments differ from the model's, because they contained a secret. */
  readonly redacted: boolean;
  /** Why its arguments are unusable. Sent to the model instead of running the call. */
  readonly problem?: string;
  /** What was repaired, where only one reading was possible. */
  readonly repaired?: readonly string[];
}

/** A call as the model wrote it, interpreted; `problem` says why it is unusable. */
export interface InterpretedCall extends Pick<RequestedCall, "name" | "arguments" | "problem"> {
  readonly id?: string;
  readonly repaired: readonly string[];
}

const MAX_ID = 512;
/** Maximum length of unreadable arguments that are shown to the model again. */
const SHOWN_CHARACTERS = 4096;

/** Reads a native call, or one written as text. Its arguments are JSON text and may be broken. */
export function readCall(run: Run, { id, name, input }: NativeCall): InterpretedCall {
  const tools = run.options.runtime.tools();
  const given = id === "" ? {} : { id };
  const called = resolveToolName(name, tools);
  const repaired = called.repaired === undefined ? [] : [called.repaired];
  if (!isToolName(called.name))
    return { ...given, name: "unknown", arguments: {}, problem: "its tool name is not valid", repaired: [] };
  const read = readCallArguments(input);
  if ("problem" in read) {
    // The model sees what it wrote; providers accept only objects, not broken JSON.
    const shown = run.redact(input);
    const args = { invalid_json: shown.length <= SHOWN_CHARACTERS ? shown : cutText(shown, SHOWN_CHARACTERS) };
    const problem = `its arguments cannot be read: ${read.problem}`;
    return { ...given, name: called.name, arguments: args, problem, repaired };
  }
  return { ...given, ...fit({ ...read, name: called.name, repaired: [...repaired, ...read.repaired] }, tools) };
}

/** Reads a call of the plain protocol, whose JSON is already parsed. */
export function readPlainCall(run: Run, { name, arguments: args }: ParsedCall): InterpretedCall {
  const tools = run.options.runtime.tools();
  const called = resolveToolName(name, tools);
  const repaired = called.repaired === undefined ? [] : [called.repaired];
  return fit({ name: called.name, arguments: args, repaired }, tools);
}

/** Arguments under an alias have another schema. */
function fit<Call extends InterpretedCall>(call: Call, tools: readonly ToolInfo[]): Call {
  const tool = tools.find(({ name }) => name === call.name);
  if (tool === undefined) return call;
  const fitted = fitArguments(call.arguments, tool.args_schema);
  return { ...call, arguments: fitted.arguments, repaired: [...call.repaired, ...fitted.repaired] };
}

/** The call as it is run, and as it is recorded. */
export function redactCall(run: Run, wanted: InterpretedCall): Record<"call" | "recorded", RequestedCall> {
  const { id, name, arguments: args, problem, repaired } = wanted;
  const tool_call_id = makeId("call", run.now());
  const { value, redacted: isChanged } = run.options.runtime.redactValue(args);
  const shown = run.redact(name);
  const redacted = isChanged || shown !== name;
  const about = {
    tool_call_id,
    ...(id === undefined || id.length > MAX_ID || run.redact(id) !== id ? {} : { provider_call_id: id }),
    redacted,
    ...(problem === undefined ? {} : { problem: run.redact(problem) }),
    ...(repaired.length === 0 ? {} : { repaired: repaired.slice(0, MAX_REPAIRS) }),
  };
  return {
    call: { ...about, name, arguments: args },
    recorded: { ...about, name: shown, arguments: asRecorded(value) as RequestedCall["arguments"] },
  };
}

const MAX_REPAIRS = 20;

/** With members in the order of the record, so that requests are byte-identical after a crash. */
export function asRecorded(value: unknown): unknown {
  return JSON.parse(canonicalJson(value));
}
