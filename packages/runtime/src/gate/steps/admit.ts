import type { z } from "zod";
import type { AddressTouch, ArgsAdapter, CommandTouch, Tool, Touch } from "../../contract/tool.ts";
import type { UndoRecord } from "../../contract/undo-keeper.ts";
import type { NamedAddress, NamedCommand, ResolvedTouch } from "../../policy/decide.ts";
import type { ToolCallRequest } from "../../protocol/call.ts";
import { boundText } from "../../protocol/bounds.ts";
import { isRemovableKey, judgePlace } from "../../policy/paths/check-path.ts";
import { isReadAccess } from "../../policy/paths/skill-places.ts";
import { ToolError } from "../../protocol/errors.ts";
import type { DecidingParts } from "../parts.ts";
import type { Admitted, Checked, Identified, Opened, Resolved } from "../stages.ts";

/** Step 1: resolves name, alias and version to the tool. */
export function findTool(call: Opened, { registry }: DecidingParts): Identified {
  const { tool, adapters } = registry.find(call.request.name, call.request.version);
  // A person edits the arguments as the tool got them: already converted.
  return { ...call, tool, adapters: call.is_edited ? [] : adapters };
}

/** Step 2: validates the arguments and fills in all defaults. */
export function checkArgs(call: Identified, { redactor }: DecidingParts): Checked {
  const { tool } = call;
  const adapted = call.adapters.reduce((args, adapt) => runAdapter(tool, adapt, args), call.request.args);
  const parsed = tool.args.safeParse(adapted);
  if (!parsed.success) throw wrongArguments(tool, parsed.error, adapted);
  const { value, redacted } = redactor.redactValue(parsed.data);
  return { ...call, args: parsed.data, params: value, params_redacted: redacted, risk: tool.riskOf(parsed.data) };
}

/** Step 3: resolves the paths that the arguments name, or that the changes to undo touched. */
export async function resolvePaths(call: Checked, parts: DecidingParts): Promise<Resolved> {
  const { tool, args } = call;
  const undo = tool.undoes === undefined ? NO_UNDO : await findUndo(tool.undoes(args), parts);
  const declared = tool.touches(args);
  const commandTouches = declared.filter((touch) => "command" in touch);
  const pathTouches = declared.filter((touch) => "path" in touch).map((touch) => resolveTouch(touch, parts));
  const isOutside = pathTouches.some((touch) => isLookOutside(touch, parts));
  const touches = [
    ...(isOutside ? await findSkillFolders(pathTouches, parts) : pathTouches), // an await costs more than the rest
    // Commands do not run in the folder of a skill.
    ...commandTouches.map((command) => resolveTouch(folderOf(command), parts)),
    ...touchesOf(undo.undo_records, parts),
  ];
  const { undo_records, restores } = undo;
  // A tool's own `revert` can have any effect; its record does not say which.
  const risk = undo_records.some(({ revert }) => revert !== undefined) ? "high" : call.risk;
  return { ...call, risk, declared, touches, undo_records, restores };
}

/** Step 3, its second half: the commands and addresses. If it fails, the paths are recorded all the same. */
export function readTargets(call: Resolved, parts: DecidingParts): Admitted | Promise<Admitted> {
  const runsPrograms = call.tool.required_permissions.includes("proc.exec");
  const isPlain = !runsPrograms && call.declared.every((touch) => "path" in touch);
  return isPlain ? { ...call, commands: [], addresses: [] } : readOtherTargets(call, parts);
}

async function readOtherTargets(call: Resolved, parts: DecidingParts): Promise<Admitted> {
  const { tool, declared, touches } = call;
  const commandTouches = declared.filter((touch) => "command" in touch);
  const runsPrograms = commandTouches.length > 0 || tool.required_permissions.includes("proc.exec");
  // A tool that runs programs without naming a command also needs to know the sandbox.
  if (runsPrograms) await parts.prepareCommands();
  const addressTouches = declared.filter((touch) => "address" in touch);
  const addresses = addressTouches.length === 0 ? [] : await readAddresses(addressTouches, parts);
  const commands = commandTouches.length === 0 ? [] : await readCommands(commandTouches, touches, parts);
  return { ...call, commands, addresses };
}

const NO_UNDO = { undo_records: [], restores: false } as const;

async function findUndo(
  target: ReturnType<NonNullable<Tool["undoes"]>>,
  parts: DecidingParts,
): Promise<Pick<Resolved, "undo_records" | "restores">> {
  const records = await parts.undo.undoLog.find(target);
  const onlyRestores = records.every(({ set_aside, revert }) => set_aside !== true && revert === undefined);
  return {
    undo_records: records.map((record) => withCurrentPaths(record, parts)),
    restores: !target.force && onlyRestores,
  };
}

function resolveTouch(touch: Touch, { resolve }: DecidingParts): ResolvedTouch {
  return { show_sensitive: false, ...touch, ...resolve(touch.path) };
}

function isLookOutside({ access, real }: ResolvedTouch, { workspace }: DecidingParts): boolean {
  return isReadAccess(access) && judgePlace(real, workspace) !== undefined;
}

/** A path outside the roots may be a file of one of the user's own skills. */
async function findSkillFolders(
  touches: readonly ResolvedTouch[],
  parts: DecidingParts,
): Promise<readonly ResolvedTouch[]> {
  const placed: ResolvedTouch[] = [];
  for (const touch of touches) {
    const skill_folder = isLookOutside(touch, parts) ? await parts.ownSkillAround(touch.real) : undefined;
    placed.push(skill_folder === undefined ? touch : { ...touch, skill_folder });
  }
  return placed;
}

async function readAddresses(touches: readonly AddressTouch[], parts: DecidingParts): Promise<NamedAddress[]> {
  const { judgeAddress, showAddress } = await import("../../policy/check-address.ts");
  return touches.map(({ address }) => ({
    shown: showAddress(address),
    verdict: judgeAddress(address, parts.network_allow),
  }));
}

let naming: typeof import("../../policy/commands/name-command.ts") | undefined;

function folderOf({ workdir }: CommandTouch): Touch {
  return { path: workdir, access: "list" };
}

/** The parser and its tables are loaded on first use: most processes run no command. */
async function readCommands(
  commands: readonly CommandTouch[],
  touches: readonly ResolvedTouch[],
  { resolve, workspace, denylist, trackedIn }: DecidingParts,
): Promise<NamedCommand[]> {
  const { nameCommand } = (naming ??= await import("../../policy/commands/name-command.ts"));
  const { roots, home, git_places = [] } = workspace;
  return commands.map(({ command, workdir, network, background = false, later = false }) => {
    const folder = (touches.find(({ path }) => path === workdir) ?? resolve(workdir)).real;
    const ground = { roots, home, git_places, folder };
    const asked = { network, background, later, tracked: trackedIn };
    return nameCommand(command, { ...ground, ...asked, denylist, resolve: (path) => realOf(path, resolve) });
  });
}

/** A string that cannot be a path is evaluated as written. So is a path whose resolution was not recorded. */
function realOf(path: string, resolve: DecidingParts["resolve"]): string {
  try {
    return resolve(path).real;
  } catch (error) {
    if (error instanceof ToolError) return path;
    throw error;
  }
}

/** Paths are shown relative to the current working folder, which may differ from the recorded one. */
function withCurrentPaths(record: UndoRecord, { pathFor }: DecidingParts): UndoRecord {
  const files = record.files.map((file) => {
    const path = pathFor(file.real);
    return path === file.path ? file : { ...file, path };
  });
  return { ...record, files };
}

/**
 * Change paths come from the record and are not resolved again: the restore step verifies the folders that it opens. A
 * key file that a command created is closed to tools; the restore step removes it without reading it.
 */
function touchesOf(records: readonly UndoRecord[], { workspace }: DecidingParts): readonly ResolvedTouch[] {
  const changed = records.flatMap((record) => record.files);
  const open = changed.filter(({ real, before }) => before !== null || !isRemovableKey(real, workspace));
  const files = new Map(open.map((file) => [file.real, file] as const));
  return Array.from(files.values(), ({ path, real, after }) => ({
    path,
    real,
    access: "write",
    show_sensitive: false,
    exists: after !== null,
  }));
}

function runAdapter(tool: Tool, adapt: ArgsAdapter, args: ToolCallRequest["args"]): ToolCallRequest["args"] {
  try {
    return adapt(args);
  } catch (error) {
    throw new ToolError(
      "InvalidArguments",
      `Cannot call "${tool.name}": its arguments do not match the name or version used`,
      {},
      error,
    );
  }
}

const MAX_ISSUES = 10;
const FIELD_CHARACTERS = 100;
const PROBLEM_CHARACTERS = 300;

function wrongArguments(tool: Tool, error: z.ZodError, given: unknown): ToolError {
  const all = error.issues.flatMap((issue) => describeIssue(issue, given));
  const fields = all.slice(0, MAX_ISSUES);
  const more = all.length > fields.length ? { more: all.length - fields.length } : {};
  const list = fields.map(({ field, problem }) => `"${field}" ${problem}`).join("; ");
  const rest = more.more === undefined ? "" : `; and ${more.more} more`;
  return new ToolError("InvalidArguments", `Cannot call "${tool.name}": ${list}${rest}`, { fields, ...more });
}

/** What the schema reports for a field that is absent, by the kind of the field. */
const MISSING_CODES: ReadonlySet<string> = new Set(["invalid_type", "invalid_value", "invalid_union"]);

/** The schema's message without its preamble. A union that nothing matches has only the preamble. */
function textOf({ message }: z.core.$ZodIssue): string {
  return message === "Invalid input" ? "it has none of the accepted forms" : message.replace(/^Invalid \w+: /, "");
}

/** Names the field and the problem. Never repeats a value: it may be a secret. */
function describeIssue(issue: z.core.$ZodIssue, given: unknown): { field: string; problem: string }[] {
  const at = boundText(issue.path.map(String).join("."), FIELD_CHARACTERS);
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({
      field: boundText(at === "" ? key : `${at}.${key}`, FIELD_CHARACTERS),
      problem: "is not an argument of this tool",
    }));
  }
  const isMissing = MISSING_CODES.has(issue.code) && valueAt(given, issue.path) === undefined;
  return [
    {
      field: at === "" ? "args" : at,
      problem: isMissing ? "is missing" : `is invalid: ${boundText(textOf(issue), PROBLEM_CHARACTERS)}`,
    },
  ];
}

function valueAt(given: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, key) => (Object(value) as Record<PropertyKey, unknown>)[key], given);
}
