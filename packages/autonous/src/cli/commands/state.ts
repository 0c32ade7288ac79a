import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { adoptOldState, isRunByCall, openState } from "@autonous/runtime/internal";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { checkWorkplace } from "../session/find-workplace.ts";
import type { CheckedWorkplace } from "../session/find-workplace.ts";
import { readTypedLine } from "../session/standard-input.ts";

/** `autonous state show`: prints only the path, for scripts. Creates nothing. */
// oxlint-disable-next-line typescript/require-await -- every command is a promise
export async function showState(input: CommandInput): Promise<ExitCode> {
  const { print } = input;
  const { state_dir, state_problem } = checkWorkplace(input);
  if (print.json) print.document({ state_dir, exists: existsSync(state_dir), problem: state_problem ?? null });
  print.text(state_dir);
  if (state_problem !== undefined) print.note(state_problem);
  return EXIT.done;
}

/** `autonous state adopt`: the user declares an unmarked state folder as their own. All other checks still apply. */
export async function adoptState(input: CommandInput): Promise<ExitCode> {
  const { print } = input;
  const place = checkWorkplace(input);
  const { state_dir, opened, state_problem } = place;
  if (input.args[0] !== undefined) return await adoptOld(resolve(input.args[0]), place, input);
  if (state_problem === undefined) {
    if (print.json) print.document({ ok: true, state_dir, adopted: false });
    print.note(`Nothing to adopt: "${state_dir}" can already be used`);
    return EXIT.done;
  }
  if (isRunByCall()) throw new UsageError("Cannot adopt a state folder from inside a tool call: only a person can");
  if (!(await isAgreed(state_dir, input))) return EXIT.approval_needed;
  const { problem } = openState({ workspace: process.cwd(), state_dir, roots: opened, adopting: true });
  if (problem !== undefined) throw new UsageError(`Cannot adopt it: ${problem}`);
  if (print.json) print.document({ ok: true, state_dir, adopted: true });
  print.note(`Adopted "${state_dir}": it is bound to this user and machine`);
  return EXIT.done;
}

/** Moves old state: from an earlier version, or of a workspace that was moved. */
async function adoptOld(
  from: string,
  { state_dir, opened, state_is_named }: CheckedWorkplace,
  input: CommandInput,
): Promise<ExitCode> {
  const { print } = input;
  if (isRunByCall()) throw new UsageError("Cannot adopt a state folder from inside a tool call: only a person can");
  if (!existsSync(from)) throw new UsageError(`The folder "${from}" does not exist`);
  if (!(await isAgreed(from, input))) return EXIT.approval_needed;
  const named = state_is_named ? { state_dir } : {};
  const problem = adoptOldState(from, { workspace: process.cwd(), roots: opened, ...named });
  if (problem !== undefined) throw new UsageError(`Cannot adopt "${from}": ${problem}`);
  if (print.json) print.document({ ok: true, state_dir, adopted: true });
  print.note(`Moved the state from "${from}" to "${state_dir}"`);
  return EXIT.done;
}

async function isAgreed(folder: string, { options, print, signal }: CommandInput): Promise<boolean> {
  if (options["yes"] === true) return true;
  const what = `Everything in "${folder}" will be trusted: queued tasks run, approvals apply, and its HTTP token grants access`;
  if (!process.stdin.isTTY) {
    print.note(`${what}.\nNot adopted: run this at a terminal, or add --yes if you know where the folder comes from`);
    return false;
  }
  print.note(`${what}. Type yes if you created this folder yourself:`);
  return (await readTypedLine(signal)).trim() === "yes";
}
