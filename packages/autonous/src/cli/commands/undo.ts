import { openAttended, stderrScreen } from "../session/approver.ts";
import type { CommandInput } from "../command.ts";
import { exitCodeOfResult } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace } from "../session/find-workplace.ts";
import { showResult } from "../output/show-result.ts";

/** `autonous undo`: reverts one change, or all changes of a run. A governed call like any other. */
export async function undo(input: CommandInput): Promise<ExitCode> {
  const { args, options, print, signal } = input;
  const [id = ""] = args;
  const place = findWorkplace(input);
  const runtime = await openAttended(input, { place, scopes: [], screen: stderrScreen() });
  try {
    const result = await runtime.undo(id, { force: options["force"] === true, signal });
    if (print.json) print.document(result);
    else showResult(result, print);
    return exitCodeOfResult(result);
  } finally {
    await runtime.close();
  }
}
