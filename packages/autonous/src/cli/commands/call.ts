import type { ApprovalRequest, Runtime, ToolCallInput, ToolCallResult } from "@autonous/runtime";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT, exitCodeOfResult } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { readAll, readJsonLines } from "../json-lines.ts";
import type { JsonLine } from "../json-lines.ts";
import { openRuntime } from "../open-runtime.ts";
import type { Print } from "../print.ts";

/** `autonous call`: one governed call, or one for each line of standard input. */
export async function call(input: CommandInput): Promise<ExitCode> {
  const { args, options, print, signal } = input;
  const [name = "", text] = args;
  const digest = options["approve"] as string | undefined;
  const request = name === "-" ? undefined : { name, args: await readArgs(text) };
  const runtime = await openRuntime(input, digest === undefined ? {} : { onApproval: approveExactly(digest) });
  try {
    if (request === undefined) return await callLines(runtime, input);
    const result = await runtime.call(request, { signal, onProgress: ({ detail }) => print.note(detail) });
    if (print.json) print.document(result);
    else showResult(result, print);
    return exitCodeOfResult(result);
  } finally {
    await runtime.close();
  }
}

/** The arguments of one call from the command line. Anything that is JSON is passed on: the gate judges it. */
export async function readArgs(text: string | undefined): Promise<unknown> {
  if (text === undefined) return {};
  const json = text === "-" ? await readAll(process.stdin) : text;
  try {
    return JSON.parse(json) as unknown;
  } catch (error) {
    throw new UsageError(
      `Cannot read the arguments: they are no JSON (${(error as Error).message}). Example: '{"path":"src"}'`,
    );
  }
}

async function callLines(runtime: Runtime, { print, signal }: CommandInput): Promise<ExitCode> {
  for await (const line of readJsonLines(process.stdin)) {
    if (signal.aborted) return EXIT.interrupted;
    const result = await runtime.call(requestOf(line), { signal });
    const error =
      "problem" in line && result.error !== null ? { ...result.error, message: line.problem } : result.error;
    print.document({ ...result, error });
  }
  return EXIT.done;
}

/** A line as a request. A line that is none is passed on too, so that it is refused, answered and recorded like any other. */
export function requestOf(line: JsonLine): ToolCallInput {
  if ("problem" in line) return { name: "", args: {} };
  const { tool, ...rest } = Object(line.value) as { tool?: string };
  return { name: tool as string, ...rest } as ToolCallInput;
}

/** Lets through the one call that the digest stands for, when a person at a terminal says so. */
function approveExactly(digest: string): (request: ApprovalRequest) => { answer: "grant"; by: string } | null {
  return (request) =>
    request.digest === digest && process.stdin.isTTY
      ? { answer: "grant", by: `terminal:${process.env["USER"] ?? "user"}` }
      : null;
}

export function showResult({ ok, payload, error }: ToolCallResult, print: Print): void {
  if (payload !== null && payload.stdout !== "") print.text(payload.stdout);
  if (payload !== null && payload.stderr !== "") print.note(payload.stderr);
  if (ok && payload?.next_page_cursor !== undefined)
    print.note(`There is more. Go on with "cursor": "${payload.next_page_cursor}"`);
  if (error === null) return;
  print.note(`${error.code}: ${error.message}`);
  if (error.hint !== undefined) print.note(error.hint);
  if (error.replay !== undefined) print.note(`To approve it, at a terminal: ${error.replay}`);
}
