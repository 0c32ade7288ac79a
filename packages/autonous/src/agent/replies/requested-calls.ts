import { canonicalJson, makeId } from "@autonous/runtime/internal";
import type { ToolInfo } from "@autonous/runtime";
import { readCallArguments } from "../../model/calls/call-arguments.ts";
import { meantTool } from "../../model/calls/called-name.ts";
import { fitArguments } from "../../model/calls/fit-arguments.ts";
import { isToolName } from "../../model/calls/json-reply.ts";
import type { ParsedCall } from "../../model/calls/json-reply.ts";
import type { NativeCall } from "../../model/provider.ts";
import { cutText } from "../window/excerpts.ts";
import type { Run } from "../agent-run.ts";

/** A call as a reply asked for it. */
export interface RequestedCall {
  readonly tool_call_id: string;
  /** The id that the provider gave it. */
  readonly provider_call_id?: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The record has other arguments than the model gave: something in them was secret. */
  readonly redacted: boolean;
  /** Why its arguments cannot be used. It is answered with this and not run. */
  readonly problem?: string;
  /** What was repaired in it, where it had one reading. */
  readonly repaired?: readonly string[];
}

/** A call as the model wrote it: what it means, or why it means nothing. */
export interface InterpretedCall extends Pick<RequestedCall, "name" | "arguments" | "problem"> {
  readonly id?: string;
  readonly repaired: readonly string[];
}

const MAX_ID = 512;
/** Of arguments that cannot be read, as the model sees them again. */
const SHOWN_CHARACTERS = 4096;

/** A call by function calling, or written as text. Its arguments are JSON text, and may be broken. */
export function readCall(run: Run, { id, name, input }: NativeCall): InterpretedCall {
  const tools = run.options.runtime.tools();
  const given = id === "" ? {} : { id };
  const called = meantTool(name, tools);
  const repaired = called.repaired === undefined ? [] : [called.repaired];
  if (!isToolName(called.name))
    return { ...given, name: "unknown", arguments: {}, problem: "its tool name is not valid", repaired: [] };
  const read = readCallArguments(input);
  if ("problem" in read) {
    // The model sees what it wrote: every provider takes an object, and none takes broken JSON.
    const shown = run.redact(input);
    const args = { invalid_json: shown.length <= SHOWN_CHARACTERS ? shown : cutText(shown, SHOWN_CHARACTERS) };
    const problem = `its arguments cannot be read: ${read.problem}`;
    return { ...given, name: called.name, arguments: args, problem, repaired };
  }
  return { ...given, ...fit({ ...read, name: called.name, repaired: [...repaired, ...read.repaired] }, tools) };
}

/** A call of the plain protocol, whose JSON has been read. */
export function meantCall(run: Run, { name, arguments: args }: ParsedCall): InterpretedCall {
  const tools = run.options.runtime.tools();
  const called = meantTool(name, tools);
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

/** With its members in the order in which the record gives them back: a request is the same, byte by byte, after a crash. */
export function asRecorded(value: unknown): unknown {
  return JSON.parse(canonicalJson(value));
}
