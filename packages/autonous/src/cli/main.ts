import { readFileSync } from "node:fs";
import { ToolError } from "@autonous/runtime";
import { ConfigurationError } from "../config/load.ts";
import { UsageError } from "./command.ts";
import { EXIT, exitCodeOf } from "./exit-codes.ts";
import type { ExitCode } from "./exit-codes.ts";
import { createPrint } from "./print.ts";
import type { Print } from "./print.ts";
import { choose, NothingChosen } from "./program.ts";

/** Runs the command that the words name and gives the exit code. Never throws. */
export async function main(words: readonly string[]): Promise<number> {
  process.stdout.on("error", endQuietlyOnClosedPipe);
  const interrupt = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => interrupt.abort(new Error(signal)));
  let print = createPrint(words.includes("--json"));
  try {
    const { command, args, options } = choose(words, version());
    print = createPrint(options["json"] === true);
    const run = await command.load();
    return await run({ args, options, print, signal: interrupt.signal });
  } catch (error) {
    if (error instanceof NothingChosen) return error.exitCode;
    return report(error, print);
  }
}

/** Says what went wrong: in words to people, as a document to programs. */
function report(error: unknown, print: Print): ExitCode {
  const { code, exitCode, message } = classify(error);
  if (print.json)
    print.document({
      ok: false,
      error: { code, message, ...(error instanceof ConfigurationError ? { problems: error.problems } : {}) },
    });
  else print.note(message);
  return exitCode;
}

function classify(error: unknown): { code: string; exitCode: ExitCode; message: string } {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof ToolError) return { code: error.code, exitCode: exitCodeOf(error.code), message };
  if (error instanceof ConfigurationError)
    return { code: "InvalidConfiguration", exitCode: EXIT.used_wrongly, message };
  if (error instanceof UsageError) return { code: "UsedWrongly", exitCode: EXIT.used_wrongly, message };
  return { code: "InternalError", exitCode: EXIT.failed, message };
}

/** `autonous … | head` is no error. */
function endQuietlyOnClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code === "EPIPE") process.exit(EXIT.done);
  throw error;
}

function version(): string {
  const manifest = new URL("../../package.json", import.meta.url);
  return (JSON.parse(readFileSync(manifest, "utf8")) as { version: string }).version;
}
