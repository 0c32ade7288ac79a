import { existsSync } from "node:fs";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace } from "../open-runtime.ts";

/** `autonous state show`: the path alone, for scripts. Makes nothing. */
// oxlint-disable-next-line typescript/require-await -- every command is a promise
export async function showState(input: CommandInput): Promise<ExitCode> {
  const { print } = input;
  const { state_dir } = findWorkplace(input);
  if (print.json) print.document({ state_dir, exists: existsSync(state_dir) });
  print.text(state_dir);
  return EXIT.done;
}
