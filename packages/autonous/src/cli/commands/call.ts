import { runPath } from "@autonous/runtime/internal";
import type { Runtime, RuntimeEvent, ToolCallInput } from "@autonous/runtime";
import { attachedLines, createLiveView } from "../../channels/terminal/live-view.ts";
import { createProgressView } from "../../channels/terminal/progress-view.ts";
import { openAttended, stderrScreen } from "../session/approver.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT, exitCodeOfResult } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { parseJson, readAll, readJsonLines } from "../output/json-lines.ts";
import type { JsonLine } from "../output/json-lines.ts";
import { findWorkplace } from "../session/find-workplace.ts";
import { showResult } from "../output/show-result.ts";
import { standardInput } from "../session/standard-input.ts";

/** `autonous call`: one governed call, or one per line of standard input. */
export async function call(input: CommandInput): Promise<ExitCode> {
  const { args, print, signal } = input;
  const [name = "", text] = args;
  const request = name === "-" ? undefined : { name, args: await readArgs(text, signal) };
  const place = findWorkplace(input);
  const screen = stderrScreen();
  const view = createLiveView(screen);
  const onEvent = (event: RuntimeEvent): void => {
    if (print.json) return; // the document already contains the result
    if (event.type === "display" || event.type === "todo") view.event(event);
    screen.print(attachedLines(event.payload, runPath(place.state_dir, event.run_id)));
  };
  const attended = { place, scopes: [], screen, isInputTaken: request === undefined };
  const runtime = await openAttended(input, attended, { onEvent });
  try {
    if (request === undefined) return await callLines(runtime, input);
    const bar = createProgressView(screen, { nameOf: () => name });
    const result = await runtime.call(request, { signal, onProgress: bar.show });
    bar.over(result.tool_call_id);
    if (print.json) print.document(result);
    else showResult(result, print);
    return exitCodeOfResult(result);
  } finally {
    await runtime.close();
  }
}

/** The arguments of one call from the command line. Any JSON is passed on: the gate validates it. */
export async function readArgs(text: string | undefined, signal: AbortSignal): Promise<unknown> {
  if (text === undefined) return {};
  const json = text === "-" ? await readAll(standardInput(signal)) : text;
  const args = parseJson(json, "Cannot read the arguments: not valid JSON");
  if ("problem" in args) throw new UsageError(`${args.problem}; example: '{"path":"src"}'`);
  return args.value;
}

async function callLines(runtime: Runtime, { print, signal }: CommandInput): Promise<ExitCode> {
  for await (const line of readJsonLines(standardInput(signal))) {
    signal.throwIfAborted();
    const { request, problem } = requestOf(line);
    const result = await runtime.call(request, { signal });
    const isUnread = problem !== undefined && result.error?.code === "InvalidArguments";
    print.document(isUnread ? { ...result, error: { ...result.error, message: problem } } : result);
  }
  return EXIT.done;
}

interface LineRequest {
  readonly request: ToolCallInput;
  /** Why the line is not a valid request. */
  readonly problem?: string;
}

/** Turns a line into a request. Invalid lines too, so that they are refused, answered and recorded like any other. */
export function requestOf(line: JsonLine): LineRequest {
  const none = { name: "", args: {} };
  if ("problem" in line) return { request: none, problem: line.problem };
  const { tool, name = tool, ...rest } = Object(line.value) as Readonly<Record<string, unknown>>;
  if (typeof name === "string" && (tool === undefined || tool === name)) {
    return { request: { args: {}, ...rest, name } };
  }
  const given = { ...rest, name: "" } as ToolCallInput; // other fields, such as its id, stay in the answer
  return { request: given, problem: 'The line must name one tool, such as {"tool":"ls","args":{"path":"."}}' };
}
