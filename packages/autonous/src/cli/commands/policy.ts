import type { Explanation, Runtime, ToolCallInput } from "@autonous/runtime";
import type { CommandInput } from "../command.ts";
import { EXIT, exitCodeOf } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { readJsonLines } from "../json-lines.ts";
import { openRuntime } from "../open-runtime.ts";
import { table } from "../print.ts";
import { readArgs, requestOf } from "./call.ts";

/** `autonous policy explain`: the decision on a call that is not made. */
export async function explain(input: CommandInput): Promise<ExitCode> {
  const { args, print } = input;
  const [name = "", text] = args;
  const request = name === "-" ? undefined : ({ name, args: await readArgs(text) } satisfies ToolCallInput);
  const runtime = await openRuntime(input);
  try {
    if (request === undefined) return await explainLines(runtime, input);
    const explanation = await runtime.explain(request);
    if (print.json) print.document(explanation);
    print.text(describe(explanation));
    return exitCode(explanation);
  } finally {
    await runtime.close();
  }
}

async function explainLines(runtime: Runtime, { print, signal }: CommandInput): Promise<ExitCode> {
  for await (const line of readJsonLines(process.stdin)) {
    if (signal.aborted) return EXIT.interrupted;
    print.document(await runtime.explain(requestOf(line)));
  }
  return EXIT.done;
}

function describe({ effect, code, reason, rule, checks }: Explanation): string {
  const steps = checks.map(({ check, effect: verdict, reason: why }) => [`  ${check}`, verdict, why]);
  const head = [`${effect}${code === undefined ? "" : ` (${code})`}: ${reason}`, `decided by ${rule}`];
  return [...head, ...(steps.length === 0 ? [] : ["", table(steps)])].join("\n");
}

function exitCode({ effect, code }: Explanation): ExitCode {
  if (effect === "ALLOW") return EXIT.done;
  return effect === "REQUIRE_CONFIRMATION" ? EXIT.approval_needed : exitCodeOf(code ?? "ToolNotAllowed");
}
