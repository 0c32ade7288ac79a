import { buildTree } from "@autonous/runtime/internal";
import type { RuntimeEvent } from "@autonous/runtime";
import { cutTo } from "../../channels/words/width.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EventTails } from "../records/event-tails.ts";
import { eventLine, treeLines } from "../output/event-text.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace } from "../session/find-workplace.ts";
import { readLimit } from "../options.ts";
import { Records } from "../records/records.ts";

/** `autonous events tree`. */
export async function tree(input: CommandInput): Promise<ExitCode> {
  const { args, print } = input;
  const records = await Records.open(findWorkplace(input).state_dir);
  try {
    const run_id = await records.findRun(args[0] ?? "");
    const events: RuntimeEvent[] = [];
    for await (const event of records.read(run_id)) events.push(event);
    const roots = buildTree(events);
    if (print.json) print.document({ run_id, tree: roots });
    print.text([run_id, ...treeLines(roots).map((line) => fitLine(line, print))].join("\n"));
    return EXIT.done;
  } finally {
    await records.close();
  }
}

/** `autonous events tail`: the service's events and those of the command line. */
export async function tail(input: CommandInput): Promise<ExitCode> {
  const { options, print, signal } = input;
  const { state_dir } = findWorkplace(input);
  const lines = readLimit(options["lines"], 20);
  const tails = new EventTails({ state_dir, ...(await readChoice(input, state_dir)) });
  try {
    const events = await tails.last(lines);
    show(events, print);
    if (events.length === 0) print.note(`No events recorded in ${state_dir} yet`);
    if (options["follow"] !== true) return EXIT.done;
    for await (const recent of tails.live(signal)) show(recent, print);
    signal.throwIfAborted();
    return EXIT.done;
  } finally {
    await tails.close();
  }
}

/** Which events to show: all, those of a run, or those of a task, which may share its run with others. */
async function readChoice(
  { args, options }: CommandInput,
  state_dir: string,
): Promise<{ readonly run_id?: string; readonly task_id?: string }> {
  const [id] = args;
  const run = options["run"] as string | undefined;
  const task = options["task"] as string | undefined;
  const named = [id, run, task].filter((each) => each !== undefined);
  if (named.length > 1) throw new UsageError("Name one: a task or run, --run <run> or --task <task>");
  if (named[0] === undefined) return {};
  const run_id = await findRun(state_dir, named[0]);
  if (run !== undefined && run_id !== run) throw new UsageError(`"${run}" is a task, not a run: use --task`);
  if (task !== undefined && run_id === task) throw new UsageError(`"${task}" is a run, not a task: use --run`);
  return { run_id, ...(task === undefined ? {} : { task_id: task }) };
}

async function findRun(state_dir: string, id: string): Promise<string> {
  const records = await Records.open(state_dir);
  try {
    return await records.findRun(id);
  } finally {
    await records.close();
  }
}

function show(events: readonly RuntimeEvent[], print: CommandInput["print"]): void {
  for (const event of events) {
    if (print.json) print.document(event);
    else print.text(fitLine(eventLine(event), print));
  }
}

function fitLine(line: string, { textWidth }: CommandInput["print"]): string {
  return textWidth === undefined ? line : cutTo(line, textWidth);
}
