import { pipeline } from "node:stream/promises";
import { redact } from "@autonous/runtime";
import { createRedactStream, secretsOf } from "@autonous/runtime/internal";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { readAll, readJsonLines } from "../output/json-lines.ts";
import type { JsonLine } from "../output/json-lines.ts";
import { standardInput } from "../session/standard-input.ts";

/** `autonous redact`: standard input to standard output through the redactor. */
export async function redactInput({ args, print, signal }: CommandInput): Promise<ExitCode> {
  const known = secretsOf(process.env);
  const [mode] = args;
  if (mode !== undefined && mode !== "-")
    throw new UsageError(`Cannot redact "${mode}": text comes from stdin (autonous redact < file)`);
  if (mode === "-") {
    for await (const line of readJsonLines(standardInput(signal))) {
      signal.throwIfAborted();
      print.document(redactLine(line, known));
    }
  } else if (print.json) {
    print.document(redact(await readAll(standardInput(signal)), { known }));
  } else {
    await pipeline(standardInput(signal), createRedactStream({ known }), process.stdout, { end: false });
  }
  return EXIT.done;
}

function redactLine(line: JsonLine, known: readonly string[]): unknown {
  if ("problem" in line) return { error: { code: "InvalidArguments", message: line.problem } };
  const { text } = Object(line.value) as { text?: unknown };
  if (typeof text !== "string")
    return { error: { code: "InvalidArguments", message: 'The line has to be {"text":"…"}' } };
  return redact(text, { known });
}
