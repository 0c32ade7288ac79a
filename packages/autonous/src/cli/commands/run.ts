import { createRuntime, ERRORS, ToolError } from "@autonous/runtime";
import type { Runtime, RuntimeEvent } from "@autonous/runtime";
import { runAgent } from "../../agent/loop.ts";
import type { AgentOptions, AgentOutcome } from "../../agent/run.ts";
import { createProvider } from "../../model/choose.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { liveLines } from "../event-text.ts";
import { EXIT, exitCodeOf } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace, runtimeOptions } from "../open-runtime.ts";
import { readLimit } from "../options.ts";
import type { Print } from "../print.ts";
import { cutTo } from "../table.ts";

/** `autonous run`: one task in the current folder. What happens as it happens, then the answer. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const { args, options, print, signal } = input;
  const text = args.join(" ");
  if (text.trim() === "") throw new UsageError('The task is empty; say what to do, such as autonous run "/ls ."');
  const place = findWorkplace(input);
  const { settings } = place.configuration;
  const limits = { max_turns: readLimit(options["maxTurns"], settings.max_turns) };
  const provider = await createProvider((options["model"] as string | undefined) ?? settings.model);
  const runtime = await createRuntime({ ...runtimeOptions(place), onEvent: (event) => show(event, print) });
  try {
    const outcome = await runRecorded({ runtime, provider, task: { text }, limits, signal });
    report(outcome, runtime, print);
    if (outcome.outcome === "completed") return EXIT.done;
    return outcome.outcome === "cancelled" ? EXIT.interrupted : exitCodeOf(outcome.error?.code ?? "InternalError");
  } finally {
    await runtime.close();
  }
}

function show(event: RuntimeEvent, print: Print): void {
  if (print.json) return print.document(event);
  for (const line of liveLines(event)) print.note(print.noteWidth === undefined ? line : cutTo(line, print.noteWidth));
}

/** What the loop throws is the journal's: a run whose record cannot be kept is not gone on with. */
async function runRecorded(options: AgentOptions): Promise<AgentOutcome> {
  try {
    return await runAgent(options);
  } catch (error) {
    if (error instanceof ToolError) throw error;
    const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    const message = `Cannot go on with the task: its record could not be written (${reason})`;
    throw new ToolError("RecordFailed", message, {}, error);
  }
}

function report({ outcome, answer, error, turns, calls }: AgentOutcome, { run_id }: Runtime, print: Print): void {
  if (print.json) {
    return print.document({ ok: outcome === "completed", outcome, answer, error: error ?? null, turns, calls, run_id });
  }
  print.note(`${count(turns, "turn")}, ${count(calls, "call")}; autonous events tree ${run_id} shows them`);
  if (answer !== "") print.text(answer);
  if (error === undefined) return;
  print.note(`${error.code}: ${error.message}`);
  print.note(ERRORS[error.code].hint);
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}
