import { z } from "zod";
import type { ToolContext, TranscriptEnd } from "../contract/context.ts";
import type { CommandChanges } from "../contract/command-changes.ts";
import type { CommandEnd } from "../contract/processes.ts";
import { defineTool } from "../contract/tool.ts";
import type { ToolOutput } from "../contract/tool.ts";
import { makeVisible } from "../output/visible.ts";
import { ToolError } from "../protocol/errors.ts";

/** Spec 2: at most so long, whatever a call asks for. */
const MAX_SECONDS = 600;
/** For a command that is being ended. */
const GRACE_MS = 10_000;

const args = () =>
  z.strictObject({
    cmd: z.string().min(1).max(100_000).describe("The command, for bash"),
    workdir: z.string().min(1).default(".").describe("Folder to run it in, relative to the workspace"),
    timeout_seconds: z
      .number()
      .min(0.1)
      .max(MAX_SECONDS)
      .optional()
      .describe("It is stopped after so long; default 120"),
    is_background: z.boolean().default(false).describe("Go on at once; read its output with background_output"),
    network: z
      .boolean()
      .default(false)
      .describe("Let it reach the network allowlist, which a person has to confirm; not in the background"),
    description: z.string().max(1000).optional().describe("What it is for, in a few words"),
  });
type Args = z.output<ReturnType<typeof args>>;

const returns = () =>
  z.strictObject({
    exit_code: z.int().nullable().describe("Null while it runs in the background"),
    signal: z.string().nullable(),
    ended_by: z.enum(["itself", "timeout", "cancel", "limit"]).nullable(),
    sandbox: z.string(),
    background_id: z.string().optional(),
    pid: z.int().optional(),
  });
type Output = ToolOutput<z.input<ReturnType<typeof returns>>>;

export const bash = defineTool({
  name: "bash",
  version: "1.0.0",
  description:
    "Run a command in bash, confined to the workspace and without network. Long output is cut in the middle; the whole is kept. Nothing of it is left running, unless is_background is set.",
  args,
  returns,
  aliases: [{ name: "run_terminal_cmd", adapt: adaptRunTerminalCmd }],
  required_permissions: ["proc.exec"],
  side_effects: ["process", "files"],
  risk: "medium",
  touches: ({ cmd, workdir, network }) => [{ command: cmd, workdir, network }],
  permission_class: "bash",
  audit_operation: "execute",
  deadline_ms: MAX_SECONDS * 1000 + GRACE_MS,
  search_hint: "run shell command terminal program bash",

  execute: (given, context) => (given.is_background ? startInBackground(given, context) : runToEnd(given, context)),
});

async function runToEnd(given: Args, context: ToolContext): Promise<Output> {
  const { cmd, workdir, timeout_seconds } = given;
  const transcript = context.openTranscript();
  const end = await context.processes.run(
    { run: cmd, workdir, network: given.network ? "allowlist" : "loopback" },
    {
      timeout_ms: timeout_seconds === undefined ? context.processes.timeout_ms : timeout_seconds * 1000,
      signal: context.signal,
      onOutput(stream, piece) {
        const text = transcript.write(stream, piece);
        if (text !== "") context.progress(null, text);
      },
    },
  );
  const { stdout, stderr, aside, truncated_lines, truncated_bytes } = transcript.end();
  const failure = failureOf(end, { stdout, stderr });
  const { files, undo_id } = end.changes;
  return {
    data: { exit_code: end.exit_code, signal: end.signal, ended_by: end.ended_by, sandbox: end.sandbox },
    stdout,
    stderr: `${stderr}${noteOn(end.changes)}`,
    exit_code: end.exit_code,
    truncated_lines,
    truncated_bytes,
    ...(aside === undefined ? {} : { aside }),
    ...(failure === undefined ? {} : { failure }),
    artifacts: {
      commands_run: [cmd],
      files_changed: files.slice(0, MAX_FILES).map(({ path }) => path),
      ...(undo_id === undefined ? {} : { undo_id }),
    },
    meta: {
      ...(files.length > MAX_FILES ? { files_changed: files.length } : {}),
      ...(end.connections.length > 0 ? { connections: end.connections.slice(0, MAX_FILES) } : {}),
    },
  };
}

/** As many as a record should name; how many there were is told beside. */
const MAX_FILES = 1000;
const MAX_NOTES = 20;

/** What was taken back, what cannot be taken back, and where nobody looked. */
function noteOn({ files, taken_back, left_out, left_out_more }: CommandChanges): string {
  const stays = files.filter(({ undoable }) => !undoable);
  const notes = [
    ...taken_back.map(
      ({ path, why, outcome }) => `${path}: ${TAKEN_BACK[outcome]}, for it runs later or is closed (${why})`,
    ),
    ...stays
      .slice(0, MAX_NOTES)
      .map(({ path, why_not }) => `${path}: undo cannot take this back${why_not === undefined ? "" : `: ${why_not}`}`),
    ...(stays.length > MAX_NOTES ? [`${stays.length - MAX_NOTES} more changes that undo cannot take back`] : []),
    ...left_out.slice(0, MAX_NOTES).map(({ path, why }) => `${path}: changes in it are not listed: ${why}`),
    ...(left_out_more > 0 ? [`${left_out_more} more places are not listed`] : []),
  ];
  return notes.map((note) => `[${makeVisible(note)}]\n`).join("");
}

const TAKEN_BACK = {
  restored: "the change was taken back",
  removed: "it was removed again",
  stays: "it could not be taken back",
} as const;

async function startInBackground({ cmd, workdir, network }: Args, { processes }: ToolContext): Promise<Output> {
  const { background_id, pid, sandbox } = await processes.start({
    run: cmd,
    workdir,
    network: network ? "allowlist" : "loopback",
  });
  return {
    data: { exit_code: null, signal: null, ended_by: null, sandbox, background_id, pid },
    stdout: `Started ${background_id} (process ${pid}); background_output shows what it prints\n`,
    artifacts: { commands_run: [cmd] },
  };
}

function failureOf(end: CommandEnd, output: Pick<TranscriptEnd, "stdout" | "stderr">): ToolError | undefined {
  const { exit_code, signal, ended_by, limit_reached, duration_ms } = end;
  if (ended_by === "timeout") {
    const seconds = Math.round(duration_ms / 100) / 10;
    return new ToolError(
      "Timeout",
      `The command was stopped after ${seconds} seconds; what it printed until then is given`,
      {
        hint: "Do less in one command, set timeout_seconds (600 at most), or run it with is_background.",
      },
    );
  }
  if (limit_reached !== undefined) {
    const { limit, allowed, found } = limit_reached;
    return new ToolError(
      "LimitReached",
      `The command was ended: it took more ${limit} than it may (${found} of ${allowed})`,
      {
        ...limit_reached,
        hint: "Do it in smaller parts.",
      },
    );
  }
  if (exit_code === 0) return undefined;
  const how = signal === null ? `exit code ${exit_code}` : `signal ${signal}`;
  const hint = looksLikeNoNetwork(end, output) ? { hint: NETWORK_HINT } : {};
  return new ToolError("ExitNonZero", `The command ended with ${how}`, { exit_code, signal, ...hint });
}

const NETWORK_HINT =
  'It seems to need the network; "network": true asks for what is on the allowlist, and a person has to confirm.';

const NO_NETWORK =
  /could not resolve host|name or service not known|temporary failure in name resolution|network is unreachable|EAI_AGAIN|ENETUNREACH|getaddrinfo|failed to resolve|no route to host|connection refused/i;

function looksLikeNoNetwork(
  { sandbox }: CommandEnd,
  { stdout, stderr }: Pick<TranscriptEnd, "stdout" | "stderr">,
): boolean {
  return sandbox !== "none" && NO_NETWORK.test(`${stderr.slice(-4096)}\n${stdout.slice(-4096)}`);
}

/** The names that other clients use for the same thing. */
function adaptRunTerminalCmd(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { command, explanation, cwd, directory, timeout, require_user_approval: _, ...rest } = given;
  const workdir = cwd ?? directory;
  return {
    ...(command === undefined ? {} : { cmd: command }),
    ...(explanation === undefined ? {} : { description: explanation }),
    ...(workdir === undefined ? {} : { workdir }),
    ...(typeof timeout === "number" ? { timeout_seconds: timeout > MAX_SECONDS ? timeout / 1000 : timeout } : {}),
    ...rest,
  };
}
