import { readFileSync } from "node:fs";
import { ERRORS, ToolError } from "@autonous/runtime";
import { boundText } from "@autonous/runtime/internal";
import { z } from "zod";
import { ConfigurationError } from "../config/load.ts";
import { UsageError } from "./command.ts";
import type { CommandInput } from "./command.ts";
import { EXIT, exitCodeOf } from "./exit-codes.ts";
import type { ExitCode } from "./exit-codes.ts";
import { createPrint } from "./output/print.ts";
import type { Print } from "./output/print.ts";
import { parseCommandLine } from "./program.ts";

// Schemas are used only a few times per process: compiling them costs more than it saves.
z.config({ jitless: true });

/** The user or the system stopped the command. */
class Interrupted extends Error {}

/** Runs the command and returns the exit code. Never throws. */
export async function main(words: readonly string[]): Promise<ExitCode> {
  const interrupt = new AbortController();
  const taker = watchSignals((signal) => interrupt.abort(new Interrupted(`Interrupted by ${signal}`)));
  const output = watchOutput((error) => interrupt.abort(error));
  const exitCode = await runWords(words, { signal: interrupt.signal, onInterrupt: taker });
  return (await output.problem()) ?? exitCode;
}

/** Lets a command handle Ctrl-C before it stops the whole command. */
function watchSignals(stop: (signal: string) => void): CommandInput["onInterrupt"] {
  let take: (() => boolean) | undefined;
  process.once("SIGTERM", () => stop("SIGTERM"));
  process.on("SIGINT", function onSigint() {
    if (take?.() === true) return;
    process.removeListener("SIGINT", onSigint); // the next Ctrl-C has no handler and kills the process
    stop("SIGINT");
  });
  return (wanted) => {
    take = wanted;
    return () => void (take = undefined);
  };
}

type Interrupts = Pick<CommandInput, "signal" | "onInterrupt">;

async function runWords(words: readonly string[], interrupts: Interrupts): Promise<ExitCode> {
  const { signal } = interrupts;
  let print = createPrint(words.includes("--json"));
  try {
    const chosen = parseCommandLine(words, version);
    if ("about" in chosen) {
      if (print.json) print.document({ [chosen.about]: chosen.text.trimEnd() });
      print.text(chosen.text);
      return EXIT.done;
    }
    const { command, args, options } = chosen;
    print = createPrint(options["json"] === true);
    const run = await command.load();
    return await run({ args, options, print, ...interrupts });
  } catch (error) {
    if (!signal.aborted) return report(error, print);
    return signal.reason instanceof Interrupted ? reportInterrupt(signal.reason, print) : EXIT.failed;
  }
}

function reportInterrupt({ message }: Interrupted, print: Print): ExitCode {
  if (print.json) print.document({ ok: false, error: { code: "Cancelled", message } });
  else print.note(message);
  return EXIT.interrupted;
}

/** Reports an error: as text for people, as a JSON document for programs. */
function report(error: unknown, print: Print): ExitCode {
  const { code, exitCode, message, hint } = classify(error);
  if (print.json) {
    const problems = error instanceof ConfigurationError ? { problems: error.problems } : {};
    print.document({ ok: false, error: { code, message, ...(hint === undefined ? {} : { hint }), ...problems } });
  } else if (error instanceof UsageError) {
    print.note(error.help ?? message);
  } else {
    print.note(message);
    if (hint !== undefined) print.note(hint);
  }
  return exitCode;
}

interface ErrorReport {
  readonly code: string;
  readonly exitCode: ExitCode;
  readonly message: string;
  readonly hint?: string;
}

function classify(error: unknown): ErrorReport {
  const message = boundText(error instanceof Error ? error.message : String(error), 16_384);
  if (error instanceof ToolError) {
    return { code: error.code, exitCode: exitCodeOf(error.code), message, hint: error.hint };
  }
  if (error instanceof ConfigurationError) return { code: "InvalidConfiguration", exitCode: EXIT.usage_error, message };
  if (error instanceof UsageError) return { code: "UsedWrongly", exitCode: EXIT.usage_error, message };
  const { code, syscall } = Object(error) as NodeJS.ErrnoException;
  if (syscall !== undefined) return { code: "IOError", exitCode: EXIT.failed, message, hint: ERRORS.IOError.hint };
  return { code: code ?? "InternalError", exitCode: EXIT.failed, message };
}

/** Stops the command when its output can no longer be written. */
function watchOutput(stop: (error: Error) => void): { problem(): Promise<ExitCode | undefined> } {
  let broken: NodeJS.ErrnoException | undefined;
  function onError(error: NodeJS.ErrnoException): void {
    broken ??= error;
    stop(error);
  }
  process.stdout.on("error", onError);
  process.stderr.on("error", onError);
  return {
    async problem() {
      await createPrint(false).flushed(); // earlier writes have failed by then
      if (broken === undefined) return undefined;
      if (broken.code === "EPIPE") return EXIT.done; // `autonous … | head` is not an error
      process.stderr.write(`Cannot write the output (${broken.code}): check the free space at its destination\n`);
      return EXIT.failed;
    },
  };
}

function version(): string {
  const manifest = new URL("../../package.json", import.meta.url);
  return (JSON.parse(readFileSync(manifest, "utf8")) as { version: string }).version;
}
