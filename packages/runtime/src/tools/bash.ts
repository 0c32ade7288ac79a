import { z } from "zod";
import type { ToolContext, TranscriptEnd } from "../contract/context.ts";
import type { CommandEnd } from "../contract/processes.ts";
import { defineTool } from "../contract/tool.ts";
import type { ToolOutput } from "../contract/tool.ts";
import { ToolError } from "../protocol/errors.ts";
import { hintFor, networkHint } from "./command-hints.ts";
import type { CommandOutcome } from "./command-hints.ts";
import { keepOutput, presentCommand, notifySetAside, unprotectedError } from "./command-output.ts";

/** Spec 2: the maximum, whatever a call requests. */
const MAX_SECONDS = 600;
/** For a command that is being ended. */
const GRACE_MS = 10_000;

const args = () =>
  z.strictObject({
    cmd: z.string().min(1).max(100_000),
    workdir: z.string().min(1).default(".").describe("Folder to run it in"),
    timeout_seconds: z.number().min(0.1).max(MAX_SECONDS).optional().describe("Timeout in seconds (default 120)"),
    is_background: z.boolean().default(false).describe("Return at once; read output with background_output"),
    network: z.boolean().default(false).describe("Allow the network allowlist; needs approval"),
    change_run_later: z
      .boolean()
      .default(false)
      .describe("Allow changes to AGENTS.md, .vscode and the like; needs approval"),
    description: z.string().max(1000).optional().describe("Purpose in a few words"),
  });
type Args = z.output<ReturnType<typeof args>>;

const returns = () =>
  z.strictObject({
    exit_code: z.int().nullable().describe("Null while the command runs in the background"),
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
    "Run a bash command, sandboxed to the workspace, without network. All its processes end with it unless is_background is set.",
  args,
  returns,
  aliases: [{ name: "run_terminal_cmd", adapt: adaptRunTerminalCmd }],
  required_permissions: ["proc.exec"],
  side_effects: ["process", "files"],
  destructive: true,
  risk: "medium",
  touches: ({ cmd, workdir, network, is_background, change_run_later }) => [
    { command: cmd, workdir, network, background: is_background, later: change_run_later },
  ],
  permission_class: "bash",
  audit_operation: "execute",
  deadline_ms: MAX_SECONDS * 1000 + GRACE_MS,
  search_hint: "run shell command terminal program bash",

  execute: (given, context) => (given.is_background ? startInBackground(given, context) : runToEnd(given, context)),
});

async function runToEnd(given: Args, context: ToolContext): Promise<Output> {
  const { cmd, workdir, timeout_seconds, network } = given;
  const { processes, signal } = context;
  const timeout_ms = timeout_seconds === undefined ? processes.timeout_ms : timeout_seconds * 1000;
  const { end, printed } = await keepOutput(context, async (onOutput) => {
    const command = { run: cmd, workdir, network: network ? "allowlist" : "loopback" } as const;
    return await processes.run(command, { timeout_ms, signal, onOutput });
  });
  const { exit_code, ended_by, sandbox, changes, connections } = end;
  await notifySetAside(changes, context);
  const presented = presentCommand({
    command: cmd,
    changes,
    printed,
    failure: failureOf({ ...end, network }, printed),
  });
  const reached = connections.length === 0 ? {} : { connections: connections.slice(0, MAX_CONNECTIONS) };
  return {
    ...presented,
    data: { exit_code, signal: end.signal, ended_by, sandbox },
    exit_code,
    meta: { ...presented.meta, ...reached },
  };
}

/** Maximum number of names in a record. */
const MAX_CONNECTIONS = 1000;

async function startInBackground(given: Args, { processes }: ToolContext): Promise<Output> {
  const { cmd, workdir, network, change_run_later } = given;
  if (change_run_later) {
    const why = "files that run later stay read-only for background commands";
    throw new ToolError("InvalidArguments", `Cannot run the command with "change_run_later": ${why}`, {
      hint: "Run it without is_background.",
    });
  }
  const { background_id, pid, sandbox } = await processes.start({
    run: cmd,
    workdir,
    network: network ? "allowlist" : "loopback",
  });
  return {
    data: { exit_code: null, signal: null, ended_by: null, sandbox, background_id, pid },
    stdout: `Started ${background_id} (process ${pid}); read its output with background_output\n`,
    artifacts: { commands_run: [cmd] },
  };
}

function failureOf(
  end: CommandEnd & CommandOutcome,
  output: Pick<TranscriptEnd, "stdout" | "stderr">,
): ToolError | undefined {
  const { exit_code, signal, ended_by, limit_reached, duration_ms, sandbox } = end;
  if (ended_by === "timeout") {
    const seconds = Math.round(duration_ms / 100) / 10;
    return new ToolError("Timeout", `The command timed out after ${seconds} s; its output until then is included`, {
      timeout: true,
      hint: networkHint(end, output) ?? "Do less per command, set timeout_seconds (at most 600), or use is_background.",
    });
  }
  if (end.unprotected !== undefined) {
    return unprotectedError("The command", end.unprotected);
  }
  if (ended_by === "cancel") {
    return new ToolError("Cancelled", "The command was cancelled; its output and changes until then are included");
  }
  if (limit_reached !== undefined) {
    const { limit, allowed, found } = limit_reached;
    return new ToolError("LimitReached", `The command was killed: ${limit} limit exceeded (${found} of ${allowed})`, {
      ...limit_reached,
      hint: "Use smaller steps. The user can raise the limit: command_limits of the runtime, AUTONOUS_COMMAND_… in the settings.",
    });
  }
  const stale = sandbox === "none" ? undefined : staleFiles(output);
  if (stale !== undefined) {
    const why = "files that run later are read-only for commands";
    const message = `Git could not change ${stale}: ${why}. The working tree is now incomplete`;
    return new ToolError("ExitNonZero", message, { exit_code, signal, hint: CHANGES_LATER });
  }
  if (exit_code === 0) return undefined;
  const how = signal === null ? `exited with code ${exit_code}` : `was killed by ${signal}`;
  const hint = hintFor(end, output);
  return new ToolError("ExitNonZero", `The command ${how}`, {
    exit_code,
    signal,
    ...(hint === undefined ? {} : { hint }),
  });
}

const CHANGES_LATER =
  'Undo this call, then retry with "change_run_later": true (needs approval), or ask the user to run it.';

/** Git continues without the files that it cannot replace, and `git checkout` even reports success. */
const NOT_REPLACED =
  /^(?:error|fatal|warning): unable to (?:unlink old|unlink|create file|write file) '?([^'\n]{1,200}?)'?: (?:Read-only file system|Device or resource busy)$/gm;
const MAX_NAMED = 5;

function staleFiles({ stderr }: Pick<TranscriptEnd, "stderr">): string | undefined {
  const names = [...new Set([...stderr.slice(-65_536).matchAll(NOT_REPLACED)].map(([, name = ""]) => name))];
  if (names.length === 0) return undefined;
  const shown = names.slice(0, MAX_NAMED).map((name) => JSON.stringify(name));
  return `${shown.join(", ")}${names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : ""}`;
}

/** Names that other clients use for the same tool. */
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
