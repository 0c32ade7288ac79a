import { findProgram } from "@autonous/runtime/internal";
import type { Workplace } from "../../workplace/workplace.ts";

/** Reports a missing bubblewrap, its effect and the command that installs it. Silent if the sandbox is off. */
export async function noteMissingSandbox(
  { roots, configuration }: Workplace,
  say: (line: string) => void,
): Promise<void> {
  const { sandbox } = configuration.settings;
  if (sandbox === "off" || (await findProgram("bwrap", { roots })) !== undefined) return;
  const effect = sandbox === "required" ? "no command can run" : "every command needs approval";
  say(`No sandbox: bubblewrap is not installed, so ${effect}. Install it: autonous doctor --fix`);
}
