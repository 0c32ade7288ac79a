import { ERRORS, redact } from "@autonous/runtime";
import { secretsOf } from "@autonous/runtime/internal";
import { CUT_NOTE } from "../../agent/replies/answer-pieces.ts";
import { createScreen } from "../../channels/terminal/screen.ts";
import { REASONS } from "../../model/failures/model-failure.ts";
import type { ModelProvider } from "../../model/provider.ts";
import { openSession } from "../session/agent-session.ts";
import type { AgentSession, TaskOutcome, PreviousAttempt } from "../session/agent-session.ts";
import { providerOf } from "../../workplace/model-requests.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT, exitCodeOf } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace } from "../session/find-workplace.ts";
import type { Workplace } from "../../workplace/workplace.ts";
import { readLimits } from "../options.ts";
import { MAX_PIPED_BYTES, readPiped, withContext } from "../session/piped-input.ts";
import type { Print } from "../output/print.ts";
import { findRecordedRun, historyOf } from "../records/recorded-tasks.ts";
import { noteMissingSandbox } from "../output/sandbox-notice.ts";
import { count, usageText } from "../usage.ts";

/** `autonous run`: one task in the current folder. Shows live progress, then the answer. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const { args, options, print } = input;
  const resume = options["resume"] as string | undefined;
  checkWords(args.join(" "), resume);
  const place = findWorkplace(input);
  const limits = readLimits(options, place.configuration.settings);
  const provider = await chooseProvider(input, place);
  const start = resume === undefined ? await newTask(input, provider) : await recordedTask(place, resume);
  const { task, run_id, before } = start;
  await noteMissingSandbox(place, print.note);
  const session = await openSession(input, {
    place,
    provider,
    limits,
    scopes: ["run"],
    taskOf: "run",
    ...(run_id === undefined ? {} : { run_id }),
  });
  try {
    const asked = await session.ask(task, before === undefined ? {} : { before });
    const { run_id: id } = session.runtime;
    if (!print.json) print.note(`${usageText(asked)}; autonous events tree ${id} shows them`);
    await report(asked, session, print);
    if (!print.json && asked.outcome !== "completed") print.note(`Resume: autonous run --resume ${id}`);
    return exitCodeFor(asked);
  } finally {
    await session.close();
  }
}

type Task = Parameters<AgentSession["ask"]>[0];

interface RunStart {
  readonly task: Task;
  readonly run_id?: string;
  readonly before?: PreviousAttempt;
}

function checkWords(text: string, resume: string | undefined): void {
  if (resume === undefined && text.trim() === "")
    throw new UsageError('The task is empty; give one, such as autonous run "/ls ."');
  if (resume !== undefined && text.trim() !== "")
    throw new UsageError(
      `--resume continues the run's own task; to add a message, use autonous chat --resume ${resume}`,
    );
}

/** The model of the command line, else of the configuration. */
export async function chooseProvider({ options }: CommandInput, { configuration }: Workplace): Promise<ModelProvider> {
  return await providerOf(configuration, options["model"] as string | undefined);
}

/** `-` alone: the task itself is piped in. Otherwise piped input is attached to the task. */
async function newTask({ args, print, signal }: CommandInput, provider: ModelProvider): Promise<RunStart> {
  const text = args.join(" ");
  const piped = await readPiped({ signal, note: print.note });
  if (text === "-") {
    if (piped.text.trim() === "") throw new UsageError("The task is empty: standard input has no text");
    if (piped.isCut)
      throw new UsageError(
        `The task on standard input is longer than ${MAX_PIPED_BYTES} bytes; put the data into a file`,
      );
    return { task: { text: piped.text } };
  }
  // Redact before quoting: a multi-line key is not recognised line by line.
  const context = { ...piped, text: redact(piped.text, { known: secretsOf(process.env) }).text };
  if (provider.name !== "direct") return { task: { text: withContext(text, context) } };
  if (piped.text !== "") print.note("Piped input is ignored: no model is configured to read it (AUTONOUS_MODEL)");
  return { task: { text } };
}

async function recordedTask({ state_dir }: Workplace, id: string): Promise<RunStart> {
  const { run_id, tasks } = await findRecordedRun(state_dir, id);
  const { task_id, trace_id, text, ended } = tasks.at(-1) ?? tasks[0];
  const task = { task_id, trace_id, text, history: historyOf(tasks.slice(0, -1)) };
  if (ended === "completed") return { task, run_id };
  return { task, run_id, before: ended ?? "interrupted" };
}

function exitCodeFor({ outcome, unapproved, error }: TaskOutcome): ExitCode {
  // The model handled the refusals, but the calling script has to know about them too.
  if (outcome === "completed") return unapproved.length === 0 ? EXIT.done : EXIT.approval_needed;
  if (outcome === "parked") return EXIT.approval_needed;
  return outcome === "cancelled" ? EXIT.interrupted : exitCodeOf(error?.code ?? "InternalError");
}

/** Reports the outcome: one document for programs; for people the answer, unless it was already shown live. */
export async function report(asked: TaskOutcome, session: AgentSession, print: Print): Promise<void> {
  const { runtime, view, provider } = session;
  const { outcome, answer, error, turns, calls, unapproved, usage, model } = asked;
  if (print.json) {
    const ok = outcome === "completed" && unapproved.length === 0;
    return print.document({
      ok,
      outcome,
      answer,
      ...(asked.cut === true ? { cut: true } : {}),
      error: error ?? unapproved[0] ?? null,
      turns,
      calls,
      usage,
      ...(model === undefined ? {} : { model }),
      run_id: runtime.run_id,
    });
  }
  if (answer !== "" && !(view.isAnswerShown && print.textWidth !== undefined))
    await printAnswer(answer, provider, print);
  else if (asked.cut === true) print.note(CUT_NOTE);
  if (unapproved.length > 0)
    print.note(`${count(unapproved.length, "call")} needed approval, but no one could be asked: see above`);
  if (error === undefined) return;
  print.note(`${error.code}: ${error.message}`);
  print.note(error.reason === undefined ? ERRORS[error.code].hint : REASONS[error.reason].hint);
}

/** Renders Markdown at a terminal with colours; otherwise prints the raw text, as for `direct`, whose answer is call output. */
async function printAnswer(answer: string, { name }: ModelProvider, print: Print): Promise<void> {
  const screen = createScreen(process.stdout, process.env);
  if (name === "direct" || screen.columns === undefined || !screen.colours) return print.text(answer);
  const { createMarkdownLayout } = await import("../../channels/terminal/markdown-layout.ts");
  screen.print(createMarkdownLayout(screen.paint).take(answer, screen.columns - 1, true).rows);
}
