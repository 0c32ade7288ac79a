import { checkAll } from "../checks.ts";
import type { CheckResult } from "../checks.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace } from "../open-runtime.ts";
import { table } from "../print.ts";
import type { Print } from "../print.ts";

/** `autonous doctor`: the self-check. */
export async function doctor(input: CommandInput): Promise<ExitCode> {
  const checks = await checkAll(findWorkplace(input));
  showChecks(checks, input.print);
  return checks.some((check) => check.outcome === "failed") ? EXIT.failed : EXIT.done;
}

export function showChecks(checks: readonly CheckResult[], print: Print): void {
  if (print.json) print.document({ ok: checks.every((check) => check.outcome !== "failed"), checks });
  print.text(table(checks.map(({ check, outcome, message }) => [outcome, check, message])));
}
