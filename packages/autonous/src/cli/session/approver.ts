import { isatty } from "node:tty";
import { createRuntime, isRunByCall } from "@autonous/runtime";
import type { ApprovalAnswer, OnApproval, Runtime, RuntimeOptions } from "@autonous/runtime";
import type { LongScope } from "../../channels/terminal/answers.ts";
import { createScreen } from "../../channels/terminal/screen.ts";
import type { Screen } from "../../channels/terminal/screen.ts";
import type { CommandInput } from "../command.ts";
import { runtimeOptions, tellRefused } from "./open-runtime.ts";
import type { Workplace } from "./open-runtime.ts";
import { personName, whyNoPerson } from "./person.ts";
import { replayOptions } from "../records/replay-options.ts";

interface Attended {
  readonly place: Workplace;
  readonly screen: Screen;
  /** How long a yes may hold here beyond the one call. */
  readonly scopes: readonly LongScope[];
  /** Standard input is not the person's to answer with. */
  readonly isInputTaken?: boolean;
  /** Stops everything: somebody pressed Ctrl-C twice at a question. Default: as if by a signal. */
  readonly stop?: () => void;
}

/** The skill that restricts the whole run, as the command line names it. */
export function namedSkill({ options }: CommandInput): string | undefined {
  return options["skill"] as string | undefined;
}

/** Lets the skill restrict the run; one that cannot ends it. */
export async function startWith(skill: string | undefined, runtime: Runtime): Promise<void> {
  try {
    if (skill !== undefined) await runtime.useSkill(skill);
  } catch (error) {
    await runtime.close();
    throw error;
  }
}

/** A runtime that asks whoever sits at the terminal. */
export async function openAttended(
  input: CommandInput,
  attended: Attended,
  more: Partial<RuntimeOptions> = {},
): Promise<Runtime> {
  const { place } = attended;
  tellRefused(place, input.print);
  const onApproval = openApprover(input, attended);
  const own = await runtimeOptions(place, input.print);
  const { onReverseThinking = more.onReverseThinking } = own; // a module's own counts before a model
  return await createRuntime({
    ...own,
    replay_options: replayOptions(place),
    ...(onApproval === undefined ? {} : { onApproval }),
    ...more,
    ...(onReverseThinking === undefined ? {} : { onReverseThinking }),
  });
}

/**
 * Who answers for a command: the digest that was given with it, else the person at the terminal. Undefined where nobody
 * can: then a call that has to be asked for is refused at once, and says how to go on.
 */
function openApprover({ options, print }: CommandInput, attended: Attended): OnApproval | undefined {
  const digest = options["approve"] as string | undefined;
  const isAsking = options["nonInteractive"] !== true && attended.isInputTaken !== true && canAsk();
  const ask = isAsking ? lazyApprover(attended) : undefined;
  // Where a child of ours, or a program, writes the command line, no digest on it is anybody's yes.
  if (digest === undefined || !isatty(0) || isUnattended() || isRunByCall()) return ask;
  return (request, asked) => {
    if (request.digest === digest)
      return { answer: "grant", by: personName(), via: "terminal" } satisfies ApprovalAnswer;
    print.note("--approve names another call, or this one before something that it depends on changed");
    return ask?.(request, asked) ?? null;
  };
}

/** Somebody is there who sees what is asked and can answer. */
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

/** Loaded when something is asked: most commands ask nothing. */
function lazyApprover({ place, scopes, screen, stop = interruptSelf }: Attended): OnApproval {
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
