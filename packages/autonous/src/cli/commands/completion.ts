import { nearestNames } from "@autonous/runtime/internal";
import { COMMANDS } from "../all.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { bashScript, completionTable, fishScript, zshScript } from "../output/completion-scripts.ts";
import type { CompletionTable } from "../output/completion-scripts.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";

const SCRIPTS: Readonly<Record<string, (table: CompletionTable) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** `autonous completion`: a completion script for a shell. */
export async function completion({ args, print }: CommandInput): Promise<ExitCode> {
  const [shell = ""] = args;
  const makeScript = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
  if (makeScript === undefined) {
    const [nearest] = nearestNames(shell, Object.keys(SCRIPTS));
    const meant = nearest === undefined ? "" : `; did you mean ${nearest}?`;
    throw new UsageError(
      `Unknown shell "${shell.slice(0, 60)}"${meant} It is one of ${Object.keys(SCRIPTS).join(", ")}`,
    );
  }
  const script = makeScript(completionTable(COMMANDS));
  if (print.json) print.document({ shell, script });
  else print.text(script);
  return EXIT.done;
}
