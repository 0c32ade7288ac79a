import type { CommandFinding } from "./commands/check-command.ts";
import { findLaterPlace } from "./paths/check-path.ts";
import type { CallFacts, ResolvedTouch } from "./facts.ts";
import { withoutNeeds } from "./commands/needed-permissions.ts";
import { CAUTIONS, MANY_FILES } from "./profiles.ts";
import { findRuleAmong, namesPlace, rulesOf } from "./rules/rules.ts";
import { confirm, deny, isChange, quote } from "./verdict.ts";
import type { Subject, Verdict } from "./verdict.ts";

const RESTORES = "It only restores what was there before a run changed it";

/** A general allow rule does not cover these; a rule that names the path does. */
export function checkRunLater({ call, workspace, rule }: Subject): Verdict | string {
  if (call.restores === true) return RESTORES;
  if (call.commands?.some(({ later }) => later) === true) {
    return confirm("The command asks to change files that other programs run later", "builtin:files_that_run_later");
  }
  for (const { access, path, real } of call.touches) {
    if (!isChange(access)) continue;
    const place = findLaterPlace(real, workspace);
    if (place === undefined || (rule?.effect === "allow" && namesPlace(rule, place))) continue;
    const reason = `Changing ${quote(path)} changes what runs later without approval (${place.path}: ${place.why})`;
    return confirm(reason, "builtin:files_that_run_later");
  }
  return "No file that runs later would change, or a rule names it";
}

/** A general allow rule does not cover these; a rule that names the folder does. */
export function checkHiddenNames(subject: Subject): Verdict | string {
  const { call, rule } = subject;
  const touch = call.touches.find(showsHidden);
  if (touch === undefined) return "No hidden names are requested";
  if (rule?.effect === "allow" && rule.pathNames !== undefined) return "A rule for this path allows it";
  return byProfile(subject, {
    caution: "hidden_names",
    rule: "builtin:hidden_names",
    asked: `Listing ${quote(touch.path)} would show hidden names`,
    passed: "shows hidden names",
    refused: "does not show hidden names",
  });
}

export function showsHidden({ access, show_sensitive }: ResolvedTouch): boolean {
  return access === "list" && show_sensitive;
}

/** Needs approval whatever rules allow: a rule is about files, not about how many at once. */
export function checkManyFiles(subject: Subject): Verdict | string {
  if (subject.call.restores === true) return RESTORES;
  const count = countChanged(subject.call);
  if (count <= MANY_FILES) return "Few files would change at once";
  return byProfile(subject, {
    caution: "many_files",
    rule: "builtin:many_files",
    asked: `It would change ${count} files at once, more than ${MANY_FILES}`,
    passed: "does not limit how many files change at once",
    refused: "changes no files",
  });
}

/**
 * How many files a call would change; 0 if it names at most `MANY_FILES` paths, since the limit cannot be exceeded
 * then.
 */
export function countChanged({ touches }: CallFacts): number {
  if (touches.length <= MANY_FILES) return 0;
  return new Set(touches.filter(({ access }) => isChange(access)).map(({ real }) => real)).size;
}

/** A general allow rule does not cover these; a rule that names the command does. */
export function checkRisky(subject: Subject): Verdict | string {
  const { rule } = subject;
  const found = findRisky(subject);
  if (found === undefined) return "No command is risky or opaque";
  if (rule?.effect === "allow" && rule.namesCommand) return "A rule for this command allows it";
  return byProfile(subject, {
    caution: "risky_commands",
    rule: `builtin:${found.level}_commands`,
    asked: `${quote(found.command)} is ${found.level}: ${found.reason}`,
    passed: "runs risky commands",
    refused: "runs no commands",
  });
}

function findRisky({ call, workspace }: Subject): CommandFinding | undefined {
  const isCovered = call.undo_covers_workspace ?? workspace.sandbox !== "none";
  for (const { verdict, background } of call.commands ?? []) {
    const isLost = !isCovered || background === true;
    const found = verdict.findings.find(({ level }) => isAskedFor(level) || (isLost && level === "undoable"));
    if (found !== undefined) return found.level === "undoable" ? beyondUndo(found) : found;
  }
  return undefined;
}

function beyondUndo(found: CommandFinding): CommandFinding {
  return { ...found, level: "risky", reason: `${found.reason}, and undo does not cover it` };
}

function isAskedFor(level: CommandFinding["level"]): boolean {
  return level === "risky" || level === "opaque";
}

/** A general allow rule does not cover this; a rule for the permission does. */
export function checkNetwork(subject: Subject): Verdict | string {
  if (subject.call.commands?.some(({ network }) => network) !== true) return "No command asks for the network";
  if (allowsNetwork(subject)) return "A rule for the network allows it";
  return byProfile(subject, {
    caution: "network_commands",
    rule: "builtin:network_commands",
    asked: "The command asks for the network",
    passed: "lets commands ask for the network",
    refused: "runs no commands",
  });
}

function allowsNetwork({ call, workspace, settings }: Subject): boolean {
  const rules = rulesOf(settings.configuration).filter(({ permission }) => permission === "net.connect");
  const asked = { ...call, touches: [], tool: { ...call.tool, required_permissions: ["net.connect"] as const } };
  const rule = findRuleAmong(rules, { ...asked, commands: withoutNeeds(call.commands) }, workspace.roots);
  return rule?.effect === "allow";
}

interface Caution {
  readonly caution: keyof typeof CAUTIONS;
  readonly rule: string;
  /** The reason shown to the user who approves. */
  readonly asked: string;
  /** What a profile that allows it does, and what a profile that does not allow it does. */
  readonly passed: string;
  readonly refused: string;
}

function byProfile({ call, settings: { profile } }: Subject, caution: Caution): Verdict | string {
  const effect = CAUTIONS[caution.caution][profile];
  if (effect === "confirm") return confirm(caution.asked, caution.rule);
  if (effect === "allow") return `The profile "${profile}" ${caution.passed}`;
  const reason = `Cannot use "${call.tool.name}" this way: the profile "${profile}" ${caution.refused}`;
  return deny("ToolNotAllowed", reason, caution.rule);
}
