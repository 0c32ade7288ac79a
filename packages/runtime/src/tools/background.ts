import { READ_ONLY } from "./read-only.ts";
import { z } from "zod";
import type { BackgroundFacts } from "../contract/processes.ts";
import { defineTool } from "../contract/tool.ts";
import { makeVisible } from "../output/visible.ts";
import { startOfCharacter } from "../text/characters.ts";
import { decodeLeniently } from "../text/encoding.ts";
import { countFiles, noteOn, stoppedBy, describeChanges } from "./command-output.ts";

/** For longer waits the model repeats the call: one that waits for minutes looks like one that hangs. */
const MAX_WAIT_SECONDS = 20;

const idArgument = () => z.string().min(1).describe("The background_id returned by bash");

const facts = () =>
  z.strictObject({
    background_id: z.string(),
    state: z.enum(["running", "exited", "stopped", "failed", "lost"]),
    pid: z.int(),
    command: z.string(),
    started_at: z.string(),
    ended_at: z.string().optional(),
    exit_code: z.int().optional(),
    signal: z.string().optional(),
    sandbox: z.string(),
    unprotected: z
      .string()
      .optional()
      .describe("The command was stopped because the sandbox could not protect this path"),
    files_changed: z.int().optional().describe("Number of changed files; set once the command has ended"),
  });
type Facts = z.output<ReturnType<typeof facts>>;

function shownFacts(found: BackgroundFacts): Facts {
  const { background_id, state, pid, started_at, ended_at, exit_code, signal, sandbox, changes, unprotected } = found;
  return {
    background_id,
    state,
    pid,
    command: typeof found.run === "string" ? found.run : found.run.join(" "),
    started_at,
    ...(ended_at === undefined ? {} : { ended_at }),
    ...(exit_code === undefined ? {} : { exit_code }),
    ...(signal === undefined ? {} : { signal }),
    sandbox,
    ...(unprotected === undefined ? {} : { unprotected }),
    ...(changes === undefined ? {} : { files_changed: countFiles(changes) }),
  };
}

/** Its changes, described as for other commands. */
function told({ changes, changes_problem, unprotected }: BackgroundFacts) {
  const unknown = changes_problem === undefined ? "" : `[changed files unknown: ${changes_problem}]\n`;
  const stopped = unprotected === undefined ? "" : `[${makeVisible(stoppedBy(unprotected))}]\n`;
  return {
    note: `${stopped}${changes === undefined ? unknown : noteOn(changes, true)}`,
    ...(changes === undefined ? {} : describeChanges(changes)),
  };
}

function line({ background_id, state, pid, exit_code, command, files_changed }: Facts): string {
  const facts = [
    ...(exit_code === undefined ? [] : [`exit code ${exit_code}`]),
    ...(files_changed === undefined ? [] : [`${files_changed} ${files_changed === 1 ? "file" : "files"} changed`]),
  ];
  const end = facts.length === 0 ? "" : ` (${facts.join(", ")})`;
  return `${background_id} ${state}${end}, process ${pid}: ${makeVisible(command)}\n`;
}

const position = () => z.strictObject({ position: z.int().min(0) });

export const backgroundOutput = defineTool({
  name: "background_output",
  version: "1.0.0",
  description:
    "Show a background command's new output since the cursor, its state, and, once it has ended, which files it changed.",
  args: () =>
    z.strictObject({
      background_id: idArgument(),
      cursor: z.string().optional().describe("next_page_cursor of the previous call (default: from the start)"),
      wait_seconds: z
        .number()
        .min(0)
        .max(MAX_WAIT_SECONDS)
        .default(0)
        .describe("Seconds to wait for new output (default 0)"),
    }),
  returns: () => facts().extend({ skipped_bytes: z.int() }),
  ...READ_ONLY,
  required_permissions: ["fs.read"],
  search_hint: "background process output log",

  async execute({ background_id, cursor, wait_seconds }, { processes, cursors, signal, limits }) {
    const bound = ["background_output", background_id];
    const from = cursor === undefined ? 0 : position().parse(cursors.open(cursor, bound)).position;
    const found = await processes.output(background_id, { position: from, wait_ms: wait_seconds * 1000, signal });
    const page = firstPage(found.output, limits.bytes);
    const shown = shownFacts(found.facts);
    const { note, ...changed } = told(found.facts);
    return {
      ...changed,
      data: { ...shown, skipped_bytes: found.skipped },
      stdout: decodeLeniently(page).text,
      stderr: `${line(shown)}${note}`,
      next_page_cursor: cursors.seal({ position: found.position - (found.output.length - page.length) }, bound),
    };
  },
});

/** Whole lines if there are any: a part of a word cannot be distinguished from a full one. */
function firstPage(output: Buffer, bytes: number): Buffer {
  const page = output.subarray(0, bytes);
  const lineEnd = page.lastIndexOf(10);
  if (lineEnd >= 0) return page.subarray(0, lineEnd + 1);
  return output.length <= bytes ? page : page.subarray(0, startOfCharacter(output, bytes));
}

export const backgroundStop = defineTool({
  name: "background_stop",
  version: "1.0.0",
  description: "Stop a background command and all its processes; lists the files it changed.",
  args: () => z.strictObject({ background_id: idArgument() }),
  returns: facts,
  required_permissions: ["proc.exec"],
  side_effects: ["process"],
  risk: "medium",
  permission_class: "bash",
  audit_operation: "execute",
  idempotent: true,
  search_hint: "stop kill background process",

  async execute({ background_id }, { processes }) {
    const stopped = await processes.stop(background_id);
    const shown = shownFacts(stopped);
    const { note, ...changed } = told(stopped);
    return { ...changed, data: shown, stdout: line(shown), stderr: note };
  },
});

export const backgroundList = defineTool({
  name: "background_list",
  version: "1.0.0",
  description: "List background commands and their state.",
  args: () => z.strictObject({}),
  returns: () => z.strictObject({ background: z.array(facts()) }),
  ...READ_ONLY,
  required_permissions: ["fs.read"],
  search_hint: "list background processes",

  async execute(_, { processes }) {
    const background = (await processes.list()).map(shownFacts);
    return { data: { background }, stdout: background.map(line).join("") };
  },
});
