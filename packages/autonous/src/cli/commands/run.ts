import { createRuntime } from "@autonous/runtime";
import type { RuntimeEvent } from "@autonous/runtime";
import { runAgent } from "../../agent/loop.ts";
import { createProvider } from "../../model/choose.ts";
import { eventLine } from "../event-text.ts";
import type { CommandInput } from "../command.ts";
import { EXIT, exitCodeOf } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace, runtimeOptions } from "../open-runtime.ts";
import { readLimit } from "../options.ts";

/** `autonous run`: one task in the current folder. Events as they come, then the answer. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const { args, options, print, signal } = input;
  const place = findWorkplace(input);
  const { settings } = place.configuration;
  const provider = await createProvider((options["model"] as string | undefined) ?? settings.model);
  const show = (event: RuntimeEvent): void => (print.json ? print.document(event) : print.note(eventLine(event)));
  const runtime = await createRuntime({ ...runtimeOptions(place), onEvent: show });
  try {
    const limits = { max_turns: readLimit(options["maxTurns"], settings.max_turns) };
    const { outcome, answer, error, turns, calls } = await runAgent({
      runtime,
      provider,
      task: { text: args[0] ?? "" },
      limits,
      signal,
    });
    if (print.json) print.document({ outcome, answer, error: error ?? null, turns, calls, run_id: runtime.run_id });
    if (answer !== "") print.text(answer);
    if (error !== undefined) print.note(`${error.code}: ${error.message}`);
    if (outcome === "completed") return EXIT.done;
    return outcome === "cancelled" ? EXIT.interrupted : exitCodeOf(error?.code ?? "InternalError");
  } finally {
    await runtime.close();
  }
}
