import { isatty } from "node:tty";
import { createRuntime } from "@autonous/runtime";
import { isRunByCall } from "@autonous/runtime/internal";
import type { ApprovalAnswer, OnApproval, Runtime, RuntimeOptions } from "@autonous/runtime";
import type { LongScope } from "../../channels/terminal/answers.ts";
import { createScreen } from "../../channels/terminal/screen.ts";
import type { Screen } from "../../channels/terminal/screen.ts";
import type { CommandInput } from "../command.ts";
import { optionsWithModules, printRefused } from "./find-workplace.ts";
import type { Workplace } from "../../workplace/workplace.ts";
import { personName, whyNoPerson } from "./person.ts";
import { replayOptions } from "../records/replay-options.ts";

interface AttendedRun {
  readonly place: Workplace;
  readonly screen: Screen;
  /** The scopes offered for an approval beyond the single call. */
  readonly scopes: readonly LongScope[];
  /** Standard input is used for data, so it cannot be used for answers. */
  readonly isInputTaken?: boolean;
  /** Stops everything after a second Ctrl-C at a question. Default: like a signal. */
  readonly stop?: () => void;
}

/** The skill from the command line that restricts the whole run. */
export function namedSkill({ options }: CommandInput): string | undefined {
  return options["skill"] as string | undefined;
}

/** Activates the skill for the run; fails if it cannot be used. */
export async function startWith(skill: string | undefined, runtime: Runtime): Promise<void> {
  try {
    if (skill !== undefined) await runtime.useSkill(skill);
  } catch (error) {
    await runtime.close();
    throw error;
  }
}

/** A runtime that asks the user at the terminal. */
export async function openAttended(
  input: CommandInput,
  attended: AttendedRun,
  more: Partial<RuntimeOptions> = {},
): Promise<Runtime> {
  const { place } = attended;
  printRefused(place, input.print);
  const onApproval = openApprover(input, attended);
  const own = await optionsWithModules(place, input.print);
  const { onReverseThinking = more.onReverseThinking } = own; // a module's handler takes precedence over a model
  return await createRuntime({
    ...own,
    replay_options: replayOptions(place),
    ...(onApproval === undefined ? {} : { onApproval }),
    ...more,
    ...(onReverseThinking === undefined ? {} : { onReverseThinking }),
  });
}

/**
 * Answers approval requests: by the digest given with the command, else by asking the user at the terminal. Undefined if
 * neither is possible: then a call that needs approval is refused immediately, with a hint.
 */
function openApprover({ options, print }: CommandInput, attended: AttendedRun): OnApproval | undefined {
  const digest = options["approve"] as string | undefined;
  const isAsking = options["nonInteractive"] !== true && attended.isInputTaken !== true && canAsk();
  const ask = isAsking ? lazyApprover(attended) : undefined;
  // If an agent's command or another program wrote the command line, its digest is not a person's approval.
  if (digest === undefined || !isatty(0) || isUnattended() || isRunByCall()) return ask;
  return (request, asked) => {
    if (request.digest === digest)
      return { answer: "grant", by: personName(), via: "terminal" } satisfies ApprovalAnswer;
    print.note("--approve is for a different call, or for this one before something it depends on changed");
    return ask?.(request, asked) ?? null;
  };
}

/** Whether a person can see the question and answer it. */
export function canAsk(): boolean {
  return !isUnattended() && whyNoPerson() === undefined;
}

function isUnattended(): boolean {
  return !["", "0", "false"].includes((process.env["CI"] ?? "").toLowerCase());
}

export function stderrScreen(): Screen {
  return createScreen(process.stderr, process.env);
}

function interruptSelf(): void {
  process.kill(process.pid, "SIGINT");
}

/** Loaded on demand: most commands never ask. */
function lazyApprover({ place, scopes, screen, stop = interruptSelf }: AttendedRun): OnApproval {
  let approver: OnApproval | undefined;
  return async (request, options) => {
    const { createTerminalApprover } = await import("../../channels/terminal/ask.ts");
    approver ??= createTerminalApprover({
      screen,
      scopes,
      by: personName(),
      roots: place.roots,
      env: process.env,
      stop,
    });
    return await approver(request, options);
  };
}
