import { z } from "zod";
import type { TranscriptEnd } from "../contract/context.ts";
import { SCRIPT_FOLDERS, SKILL_SOURCES } from "../contract/skills.ts";
import type { ReadyScript, ScriptEnd, ScriptName, SkillReference } from "../contract/skills.ts";
import { defineTool } from "../contract/tool.ts";
import type { ToolOutput } from "../contract/tool.ts";
import { makeVisible } from "../output/visible.ts";
import { ToolError } from "../protocol/errors.ts";
import { networkHint } from "./command-hints.ts";
import { keepOutput, presentCommand, notifySetAside, unprotectedError } from "./command-output.ts";
import { quoteForShell } from "../protocol/shell-quote.ts";

/** Well below the limits of the system: 128 KB for one argument, and 2 MB including the environment. */
// oxfmt-ignore
const LIMITS = {
  args:      256,
  arg_bytes: 32_768,
  all_bytes: 131_072,
} as const;

const MAX_SECONDS = 600;

const args = () =>
  z
    .strictObject({
      skill: z
        .union([
          z.string().min(1).max(200),
          z.strictObject({ name: z.string().min(1).max(200), source: z.enum(SKILL_SOURCES).optional() }),
        ])
        .describe("Name of the skill, or its name and source"),
      relative_path: z
        .string()
        .min(1)
        .max(4096)
        .optional()
        .describe("The script, relative to the skill's folder: scripts/fill.py"),
      module: z
        .string()
        .min(1)
        .max(400)
        .optional()
        .describe("Instead of relative_path: a Python module of the skill, run with python3 -m: scripts.report"),
      args: argumentList().default([]).describe("Arguments of the script, passed literally without a shell"),
      timeout_seconds: z.int().min(1).max(MAX_SECONDS).optional().describe("Timeout in seconds (default 120)"),
      workdir: z
        .enum(SCRIPT_FOLDERS)
        .default("sandbox")
        .describe(
          "Working directory: sandbox (default; a scratch folder of the run), workspace (for relative paths in args), or skill (read-only)",
        ),
    })
    .refine(
      ({ relative_path, module }) => (relative_path === undefined) !== (module === undefined),
      "pass either relative_path or module",
    );
type Args = z.output<ReturnType<typeof args>>;

function argumentList() {
  const argument = z
    .string()
    .refine((text) => !text.includes("\0"), "contains a NUL character, which is not allowed in arguments")
    .refine((text) => Buffer.byteLength(text) <= LIMITS.arg_bytes, `has more than ${LIMITS.arg_bytes} bytes`);
  return z
    .array(argument)
    .max(LIMITS.args)
    .refine((list) => bytesOf(list) <= LIMITS.all_bytes, `together have more than ${LIMITS.all_bytes} bytes`);
}

function bytesOf(list: readonly string[]): number {
  return list.reduce((bytes, each) => bytes + Buffer.byteLength(each) + 1, 0);
}

const returns = () =>
  z.strictObject({
    skill: z.strictObject({ name: z.string(), source: z.enum(SKILL_SOURCES), digest: z.string() }),
    script: z.string(),
    sha256: z.string(),
    exit_code: z.int(),
    signal: z.string().nullable(),
    ended_by: z.enum(["itself", "timeout", "cancel", "limit"]),
    sandbox: z.string(),
  });
type Data = z.input<ReturnType<typeof returns>>;

export const runScript = defineTool({
  name: "run_script",
  version: "1.0.0",
  description:
    "Run a script of a skill, directly and without a shell. read_skill lists a skill's scripts. " +
    'With workdir "workspace", relative paths in args refer to the workspace; otherwise pass absolute paths. ' +
    "Changes in the workspace are listed; undo reverts them.",
  args,
  returns,
  required_permissions: ["proc.exec"],
  side_effects: ["process", "files"],
  destructive: true,
  risk: "medium",
  permission_class: "bash",
  audit_operation: "execute",
  runs_script: (given) => ({ skill: referenceOf(given), script: scriptNameOf(given) }),
  deadline_ms: MAX_SECONDS * 1000 + 30_000, // it is copied first, and then ended by its own limit
  search_hint: "run execute skill script program",

  async execute(given, { skills, processes, openTranscript, progress, display }) {
    const script = await skills.openScript(referenceOf(given), scriptNameOf(given));
    const { timeout_seconds = processes.script_timeout_ms / 1000 } = given;
    const options = { workdir: given.workdir, timeout_ms: timeout_seconds * 1000 };
    try {
      const { end, printed } = await keepOutput(
        { openTranscript, progress },
        async (onOutput) => await script.run(given.args, { ...options, onOutput }),
      );
      await notifySetAside(end.changes, { display });
      return present({ given, timeout_seconds, script, end, printed });
    } finally {
      script.close();
    }
  },
});

function referenceOf({ skill }: Args): SkillReference {
  return typeof skill === "string" ? { name: skill } : skill;
}

/** The schema allows exactly one of them. */
function scriptNameOf({ relative_path = "", module }: Args): ScriptName {
  return module === undefined ? { path: relative_path } : { module };
}

interface Ended {
  readonly given: Args;
  readonly timeout_seconds: number;
  readonly script: ReadyScript;
  readonly end: ScriptEnd;
  readonly printed: TranscriptEnd;
}

function present(ended: Ended): ToolOutput<Data> {
  const { given, end, printed } = ended;
  const { skill, script } = ended.script;
  const { exit_code, signal, ended_by, sandbox, changes } = end;
  const { name, source, digest } = skill;
  // The record includes the hash, which identifies the content that ran, whatever the file contains later.
  const { module } = ended.script;
  const shown = module === undefined ? `${name}/${script.path}` : `${name}: python3 -m ${module}`;
  const command = `${describeCommand(shown, given.args)} # sha256:${script.sha256}`;
  return {
    ...presentCommand({ command, changes, printed, failure: failureOf(ended) }),
    data: {
      skill: { name, source, digest },
      script: script.path,
      sha256: script.sha256,
      exit_code,
      signal,
      ended_by,
      sandbox,
    },
    exit_code,
  };
}

function failureOf({ timeout_seconds, script: { skill, script }, end, printed }: Ended): ToolError | undefined {
  const what = `"${script.path}" of the skill "${skill.name}"`;
  const { exit_code, signal, limit_reached: reached } = end;
  if (end.ended_by === "timeout") {
    return new ToolError("Timeout", `${what} timed out after ${timeout_seconds} s`, {
      timeout: true,
      timeout_seconds,
      ...hinted(networkHint({ ...end, network: false }, printed)),
    });
  }
  if (end.unprotected !== undefined) return unprotectedError(what, end.unprotected);
  if (end.ended_by === "cancel") return new ToolError("Cancelled", `${what} was cancelled`);
  if (end.ended_by === "limit") {
    const over =
      reached === undefined ? "" : ` of ${reached.limit} (${reached.allowed} allowed, ${reached.found} found)`;
    return new ToolError("LimitReached", `${what} was killed: limit exceeded${over}`, { ...reached });
  }
  if (exit_code === 0) return undefined;
  const how = signal === null ? `exited with code ${exit_code}` : `was killed by ${signal}`;
  const hint = networkHint({ ...end, network: false }, printed);
  return new ToolError("ExitNonZero", `${what} ${how}`, { exit_code, signal, ...hinted(hint) });
}

/** Scripts never get network access: anything they need must be fetched before. */
function hinted(hint: string | undefined): { readonly hint?: string } {
  if (hint === undefined) return {};
  return {
    hint: "Scripts have no network, and this one seems to need it. Fetch what it needs with bash or network_request first.",
  };
}

/** Quoted as for a shell, so that people can see where each argument ends. */
function describeCommand(program: string, list: readonly string[]): string {
  const words = list.map((word) => quoteForShell(makeVisible(word)));
  return [program, ...words].join(" ");
}
