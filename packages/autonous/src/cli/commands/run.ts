import { ERRORS, ToolError } from "@autonous/runtime";
import type { CallError, Runtime, RuntimeOptions } from "@autonous/runtime";
import { runAgent } from "../../agent/loop.ts";
import { createReverseThinker } from "../../agent/reverse-thinking.ts";
import type { AgentOptions, AgentOutcome } from "../../agent/run.ts";
import { createLiveView } from "../../channels/terminal/live-view.ts";
import { createProvider } from "../../model/choose.ts";
import { openAttended, stderrScreen } from "../approver.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT, exitCodeOf } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace } from "../open-runtime.ts";
import { readLimit } from "../options.ts";
import type { Print } from "../print.ts";

/** `autonous run`: one task in the current folder. What happens as it happens, then the answer. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const { args, options, print, signal } = input;
  const text = args.join(" ");
  if (text.trim() === "") throw new UsageError('The task is empty; say what to do, such as autonous run "/ls ."');
  const place = findWorkplace(input);
  const { settings } = place.configuration;
  const limits = { max_turns: readLimit(options["maxTurns"], settings.max_turns) };
  const provider = await createProvider((options["model"] as string | undefined) ?? settings.model);
  const screen = stderrScreen();
  const view = createLiveView(screen);
  const unasked: CallError[] = [];
  const onEvent: RuntimeOptions["onEvent"] = (event, result) => {
    if (result?.error?.code === "ApprovalRequired") unasked.push(result.error);
    if (print.json) print.document(event);
    else view.event(event, result);
  };
  const redactValue: Runtime["redactValue"] = (value) => runtime.redactValue(value);
  const onReverseThinking = createReverseThinker({ provider, redactValue, signal });
  const runtime: Runtime = await openAttended(
    input,
    { place, scopes: ["run"], screen },
    { onEvent, onReverseThinking },
  );
  try {
    const onProgress = print.json ? {} : { onProgress: view.progress };
    const outcome = await runRecorded({ runtime, provider, task: { text }, limits, signal, ...onProgress });
    report({ ...outcome, unasked }, runtime, print);
    // The model was told, and made of it what it could: a script that started it has to know all the same.
    if (outcome.outcome === "completed") return unasked.length === 0 ? EXIT.done : EXIT.approval_needed;
    return outcome.outcome === "cancelled" ? EXIT.interrupted : exitCodeOf(outcome.error?.code ?? "InternalError");
  } finally {
    await runtime.close();
  }
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

interface Reported extends AgentOutcome {
  /** Calls that had to be asked for where nobody could be. */
  readonly unasked: readonly CallError[];
}

function report(reported: Reported, { run_id }: Runtime, print: Print): void {
  const { outcome, answer, error, turns, calls, unasked } = reported;
  if (print.json) {
    const ok = outcome === "completed" && unasked.length === 0;
    return print.document({ ok, outcome, answer, error: error ?? unasked[0] ?? null, turns, calls, run_id });
  }
  print.note(`${count(turns, "turn")}, ${count(calls, "call")}; autonous events tree ${run_id} shows them`);
  if (answer !== "") print.text(answer);
  if (unasked.length > 0)
    print.note(`${count(unasked.length, "call")} needed approval, and nobody was asked: see above`);
  if (error === undefined) return;
  print.note(`${error.code}: ${error.message}`);
  print.note(ERRORS[error.code].hint);
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}
