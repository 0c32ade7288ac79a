import type { Decision, Explanation, Runtime, ToolCallInput } from "@autonous/runtime";
import type { CommandInput } from "../command.ts";
import { EXIT, exitCodeOf } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { readJsonLines } from "../output/json-lines.ts";
import type { JsonLine } from "../output/json-lines.ts";
import { inspectRuntime } from "../../workplace/runtime-options.ts";
import { findWorkplace, optionsWithModules, printRefused } from "../session/find-workplace.ts";
import { standardInput } from "../session/standard-input.ts";
import { table } from "../output/table.ts";
import { readArgs, requestOf } from "./call.ts";

/** `autonous policy explain`: shows the decision on a call without making it. */
export async function explain(input: CommandInput): Promise<ExitCode> {
  const { args, print, signal } = input;
  const [name = "", text] = args;
  const request = name === "-" ? undefined : ({ name, args: await readArgs(text, signal) } satisfies ToolCallInput);
  const place = findWorkplace(input);
  printRefused(place, print);
  return await inspectRuntime(await optionsWithModules(place, print), async (runtime) => {
    const skill = input.options["skill"] as string | undefined;
    if (skill !== undefined) await runtime.useSkill(skill);
    if (request === undefined) return await explainLines(runtime, input);
    const explanation = await runtime.explain(request);
    if (print.json) print.document(explanation);
    print.text(describe(explanation, print.textWidth));
    return exitCode(explanation);
  });
}

async function explainLines(runtime: Runtime, { print, signal }: CommandInput): Promise<ExitCode> {
  for await (const line of readJsonLines(standardInput(signal))) {
    signal.throwIfAborted();
    const { request, problem } = requestOf(withoutRemarks(line));
    const explanation = await runtime.explain(request);
    print.document(problem === undefined ? explanation : { ...explanation, reason: problem });
  }
  return EXIT.done;
}

/** Accepts files of `policy test` too: drops the expectation and comment, which are not part of the call. */
function withoutRemarks(line: JsonLine): JsonLine {
  if ("problem" in line || typeof line.value !== "object" || line.value === null) return line;
  const { expect: _, about: __, ...value } = line.value as Readonly<Record<string, unknown>>;
  return { ...line, value };
}

function describe(explanation: Explanation, width: number | undefined): string {
  const { effect, code, reason, rule, origin, checks, suggestions } = explanation;
  const steps = checks.map(({ check, effect: verdict, reason: why }) => [`  ${check}`, verdict, why]);
  const where = origin === undefined ? "" : ` (${origin.file}:${origin.line})`;
  const head = [`${effect}${code === undefined ? "" : ` (${code})`}: ${reason}`, `decided by ${rule}${where}`];
  const changes = suggestions.map((each) => ["  -", each.words]);
  return [
    ...head,
    ...(steps.length === 0 ? [] : ["", table(steps, { width })]),
    ...(changes.length === 0 ? [] : ["", "What would change the decision:", table(changes, { width })]),
  ].join("\n");
}

function exitCode({ effect, code }: Decision): ExitCode {
  if (effect === "ALLOW") return EXIT.done;
  return effect === "REQUIRE_CONFIRMATION" ? EXIT.approval_needed : exitCodeOf(code ?? "ToolNotAllowed");
}
