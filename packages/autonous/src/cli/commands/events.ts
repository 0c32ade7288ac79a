import { buildTree } from "@autonous/runtime";
import type { RuntimeEvent } from "@autonous/runtime";
import { cutTo } from "../../channels/terminal/width.ts";
import type { CommandInput } from "../command.ts";
import { eventLine, treeLines } from "../event-text.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace } from "../open-runtime.ts";
import { readLimit } from "../options.ts";
import { Records } from "../records.ts";
import { RunTails } from "../run-tails.ts";

const LOOK_MS = 200;

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

/** `autonous events tail`: the events of the runs' files, which follow the service's store within moments. */
export async function tail(input: CommandInput): Promise<ExitCode> {
  const { args, options, print, signal } = input;
  const { state_dir } = findWorkplace(input);
  const lines = readLimit(options["lines"], 20);
  const only = args[0] === undefined ? undefined : await findRun(state_dir, args[0]);
  const tails = new RunTails(state_dir, only);
  const events = tails.last(lines);
  show(events, print);
  if (events.length === 0) print.note(`Nothing is on record in ${state_dir} yet`);
  while (options["follow"] === true) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    signal.throwIfAborted();
    show(tails.next(), print);
  }
  return EXIT.done;
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
