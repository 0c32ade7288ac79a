import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { makeVisible, parseStrictJson } from "@autonous/runtime/internal";
import type { Decision, Runtime, ToolCallInput } from "@autonous/runtime";
import { wrap } from "../../channels/words/width.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { readAll, readJsonLines } from "../output/json-lines.ts";
import { inspectRuntime } from "../../workplace/runtime-options.ts";
import { findWorkplace, optionsWithModules } from "../session/find-workplace.ts";
import type { Print } from "../output/print.ts";
import { standardInput } from "../session/standard-input.ts";
import { requestOf } from "./call.ts";

/** The fields that a case can check; missing ones are not checked. */
const EXPECTED = ["effect", "code", "rule"] as const;
type Expected = Partial<Pick<Decision, (typeof EXPECTED)[number]>>;

interface Case {
  readonly line: number;
  readonly request: ToolCallInput;
  readonly who: { readonly chat?: string; readonly user?: string };
  readonly expect: Expected;
  readonly about?: string;
}

interface Failed {
  readonly line: number;
  readonly tool: string;
  readonly args: unknown;
  readonly about?: string;
  readonly expected: Expected;
  readonly found: Pick<Decision, "effect" | "code" | "rule" | "reason">;
}

/** `autonous policy test`: expected decisions, checked like unit tests. Runs none of the calls. */
export async function test(input: CommandInput): Promise<ExitCode> {
  const { args, print, signal } = input;
  const [file = ""] = args;
  const cases = await readCases(file, signal);
  const options = await optionsWithModules(findWorkplace(input), print);
  const failed: Failed[] = [];
  await inspectRuntime(options, async (runtime) => {
    for (const each of cases) {
      signal.throwIfAborted();
      const found = await check(runtime, each);
      if (found !== undefined) failed.push(found);
    }
  });
  report({ passed: cases.length - failed.length, failed }, print);
  return failed.length === 0 ? EXIT.done : EXIT.failed;
}

async function check(runtime: Runtime, { line, request, who, expect, about }: Case): Promise<Failed | undefined> {
  const { effect, code, rule, reason } = await runtime.explain(request, who);
  const found = { effect, ...(code === undefined ? {} : { code }), rule, reason };
  if (EXPECTED.every((field) => expect[field] === undefined || expect[field] === found[field])) return undefined;
  const { name: tool, args } = request;
  return { line, tool, args, ...(about === undefined ? {} : { about }), expected: expect, found };
}

function report({ passed, failed }: { passed: number; failed: readonly Failed[] }, print: Print): void {
  if (print.json) return print.document({ passed, failed: failed.length, failures: failed });
  for (const { line, tool, args, about, expected, found } of failed) {
    const call = makeVisible(
      `line ${line}: ${tool} ${JSON.stringify(args)}${about === undefined ? "" : ` (${about})`}`,
    );
    const outcome = makeVisible(`expected ${wordsOf(expected)}, found ${wordsOf(found)}: ${found.reason}`);
    const width = print.textWidth;
    const lines = width === undefined ? [call, outcome] : [...wrap(call, width - 2), ...wrap(outcome, width - 2)];
    print.text(lines.map((each, i) => (i === 0 ? each : `  ${each}`)).join("\n"));
  }
  print.text(`${passed} passed, ${failed.length} failed`);
}

function wordsOf(of: Expected): string {
  return EXPECTED.flatMap((field) => (of[field] === undefined ? [] : [of[field]])).join(" by ");
}

/** Throws one error with all problems of the file: an invalid case would check nothing. */
async function readCases(file: string, signal: AbortSignal): Promise<readonly Case[]> {
  const cases: Case[] = [];
  const problems: string[] = [];
  for await (const { line, value, problem } of readLines(file, signal)) {
    const read = problem === undefined ? readCase(value, line) : { problem };
    if ("problem" in read) problems.push(`line ${line}: ${read.problem}`);
    else cases.push(read);
  }
  if (problems.length > 0) throw new UsageError(`Cannot use "${file}":\n${problems.slice(0, 20).join("\n")}`);
  if (cases.length === 0) throw new UsageError(`No cases in "${file}"; write one per line, such as ${EXAMPLE}`);
  return cases;
}

const EXAMPLE = '{"tool":"bash","args":{"cmd":"rm -rf /"},"expect":"DENY"}';
const EFFECTS = new Set<unknown>(["ALLOW", "DENY", "REQUIRE_CONFIRMATION"]);

function readCase(value: unknown, line: number): Case | { readonly problem: string } {
  const { expect, about, chat, user, ...call } = Object(value) as Readonly<Record<string, unknown>>;
  const expected =
    typeof expect === "string" ? { effect: expect } : (Object(expect) as Readonly<Record<string, unknown>>);
  if (!EFFECTS.has(expected["effect"]))
    return { problem: `"expect" has to be ALLOW, DENY or REQUIRE_CONFIRMATION, or {"effect":…,"code":…,"rule":…}` };
  const unknown = Object.keys(expected).find((field) => !(EXPECTED as readonly string[]).includes(field));
  if (unknown !== undefined)
    return { problem: `unknown field "${unknown}" in "expect" (known: ${EXPECTED.join(", ")})` };
  const { request, problem } = requestOf({ value: call });
  if (problem !== undefined) return { problem };
  return {
    line,
    request,
    who: { ...(typeof chat === "string" ? { chat } : {}), ...(typeof user === "string" ? { user } : {}) },
    expect: expected,
    ...(typeof about === "string" ? { about } : {}),
  };
}

interface Line {
  readonly line: number;
  readonly value?: unknown;
  readonly problem?: string;
}

/** One case per line, or one JSON list of cases. */
async function* readLines(file: string, signal: AbortSignal): AsyncIterable<Line> {
  const text = await readText(file, signal);
  if (text.trimStart().startsWith("[")) {
    const list = parseList(text, file);
    yield* list.map((value, index) => ({ line: index + 1, value }));
    return;
  }
  let line = 0;
  for await (const each of readJsonLines(Readable.from([Buffer.from(text)]))) {
    line += 1;
    if ("problem" in each && each.problem === "The line is empty") continue;
    yield { line, ...each };
  }
}

async function readText(file: string, signal: AbortSignal): Promise<string> {
  try {
    return await readAll(file === "-" ? standardInput(signal) : createReadStream(file));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new UsageError(`Cannot read "${file}" (${code})`);
  }
}

function parseList(text: string, file: string): readonly unknown[] {
  try {
    return parseStrictJson(text) as readonly unknown[];
  } catch (error) {
    throw new UsageError(
      `Cannot use "${file}": it starts like a JSON list but is not valid JSON (${(error as Error).message})`,
    );
  }
}
