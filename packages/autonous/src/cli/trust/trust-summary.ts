import { dirname, relative } from "node:path";
import type { SkillEntry } from "@autonous/runtime/internal";
import { cutTo } from "../../channels/words/width.ts";
import { table } from "../output/table.ts";
import { oneLine } from "../output/text-lines.ts";
import { count } from "../usage.ts";
import type { WorkspaceThing, ChangedFile } from "./workspace-things.ts";

// oxfmt-ignore
export const STATUS = {
  trusted: "trusted",
  new:     "not trusted yet",
  changed: "changed since it was trusted",
  narrows: "needs no trust: it only restricts",
} as const satisfies Record<WorkspaceThing["status"], string>;

/** Items that need a decision come first. */
const ORDER: readonly WorkspaceThing["status"][] = ["changed", "new", "narrows", "trusted"];
const MAX_NAME_WIDTH = 26;
/** Further files are shown only in the details. */
const MAX_FILES = 6;
/** At a terminal, items that need a decision must not scroll away before the question. */
const MAX_ROWS = 30;

interface SummaryOptions {
  readonly width: number | undefined;
  /** Skill paths are shown relative to it. */
  readonly cwd: string;
}

/**
 * One line per skill, and everything that trust would allow: a configuration's settings and rules, modules that run
 * as this program, files that are new or changed since they were trusted, and changed allowed-tools.
 */
export function summaryLines(selected: readonly WorkspaceThing[], options: SummaryOptions): readonly string[] {
  const skills = selected.filter(({ skill }) => skill !== undefined);
  return [
    ...selected.filter(({ skill }) => skill === undefined).flatMap(thingLines),
    ...(skills.length === 0 ? [] : skillLines(skills, options)),
  ];
}

export function widensLines({ widens }: WorkspaceThing): readonly string[] {
  return widens.map(({ what, where, why }) => `  would allow: ${what} (${where}): ${why}`);
}

function thingLines(each: WorkspaceThing): readonly string[] {
  const { thing, status } = each;
  const names = thing.files.slice(0, MAX_FILES).map(({ path }) => path);
  const more = thing.files.length > MAX_FILES ? ` and ${thing.files.length - MAX_FILES} more` : "";
  const runs = thing.kind === "module" ? [`  runs as this program: ${names.join(", ")}${more}`] : [];
  return [`${thing.kind} (${STATUS[status]}): ${thing.path}`, ...changeLines(each), ...widensLines(each), ...runs];
}

function skillLines(skills: readonly WorkspaceThing[], { width, cwd }: SummaryOptions): readonly string[] {
  const sorted = [...skills].sort((one, other) => rankOf(one) - rankOf(other));
  const shown = width === undefined ? sorted : fewest(sorted);
  const rows = shown.map((each) => rowOf(each, width));
  const lines = table([["SKILL", "STATE", "FILES", "SCRIPTS", "ABOUT"], ...rows], { width, fixed: 4, last: "cut" });
  const [head = "", ...body] = lines.split("\n");
  const places = [...new Set(skills.map(({ thing }) => relative(cwd, dirname(thing.path)) || "."))];
  return [
    `${count(skills.length, "skill")} in ${places.join(", ")}: ${stateCounts(skills)}`,
    head,
    ...shown.flatMap((each, at) => [body[at] ?? "", ...changeLines(each)]),
    ...moreLines(sorted.slice(shown.length), shown),
  ];
}

/** Sorted by state; within a state, skills with scripts come first. */
function rankOf({ status, skill }: WorkspaceThing): number {
  return 2 * ORDER.indexOf(status) + (hasScripts(skill) ? 0 : 1);
}

function hasScripts(skill: SkillEntry | undefined): boolean {
  return skill !== undefined && skill.scripts.length > 0;
}

/** If anything needs a decision, trusted items are only counted. */
function fewest(sorted: readonly WorkspaceThing[]): readonly WorkspaceThing[] {
  const waiting = sorted.filter(({ status }) => status !== "trusted");
  return (waiting.length === 0 ? sorted : waiting).slice(0, MAX_ROWS);
}

function moreLines(more: readonly WorkspaceThing[], shown: readonly WorkspaceThing[]): readonly string[] {
  const isTrusted = ({ status }: WorkspaceThing): boolean => status === "trusted";
  if (more.length === 0 || (more.every(isTrusted) && !shown.some(isTrusted))) return []; // the first line counts them
  const scripts = more.filter(({ skill }) => hasScripts(skill)).length;
  return [`not listed here: ${stateCounts(more)} (${scripts} with scripts); the details list all`];
}

function stateCounts(skills: readonly WorkspaceThing[]): string {
  const counts = ORDER.map((state) => ({ state, number: skills.filter(({ status }) => status === state).length }));
  return counts.flatMap(({ state, number }) => (number === 0 ? [] : [`${number} ${state}`])).join(", ");
}

function rowOf({ thing, status, skill, shadowed_by }: WorkspaceThing, width: number | undefined): readonly string[] {
  const { name = "", description = "", scripts = [], allowed_tools, left_out = [], warnings = [] } = skill ?? {};
  const about = [
    ...(shadowed_by === undefined ? [] : ["shadowed"]),
    ...(warnings.length === 0 ? [] : [`! ${count(warnings.length, "warning")}`]),
    ...(left_out.length === 0 ? [] : [`! ${count(left_out.length, "file")} left out`]),
    ...(allowed_tools === undefined ? [] : [`only ${allowed_tools.join(", ") || "no tools"}`]),
    oneLine(description),
  ].join("; ");
  const shown = width === undefined ? name : cutTo(name, MAX_NAME_WIDTH);
  return [shown, status, String(thing.files.length), String(scripts.length), about];
}

/** Executable files come first: they matter most for the decision. */
function changeLines({ status, changes, files_changed, before, skill }: WorkspaceThing): readonly string[] {
  if (status !== "changed") return [];
  const runnable = new Set(skill?.scripts.map(({ path }) => path));
  const sorted = [...files_changed].sort(
    (one, other) => Number(runnable.has(other.path)) - Number(runnable.has(one.path)),
  );
  const words = sorted.slice(0, MAX_FILES).map((file) => changeWords(file, runnable.has(file.path)));
  const more = sorted.length > MAX_FILES ? [`${sorted.length - MAX_FILES} more files`] : [];
  const files = sorted.length === 0 ? changes : [[...words, ...more].join("; ")];
  return [...files.map((line) => `    ${line}`), ...toolsChange(before?.allowed_tools, skill?.allowed_tools ?? null)];
}

function changeWords({ path, change, diff }: ChangedFile, runs: boolean): string {
  const words = diff === undefined ? change : lineCounts(diff);
  return `${path} ${words}${runs ? " (runs)" : ""}`;
}

/** `+3 -1`. */
function lineCounts(diff: string): string {
  const lines = diff.split("\n").filter((line) => !/^(?:---|\+\+\+) /.test(line));
  const [added, removed] = ["+", "-"].map((mark) => lines.filter((line) => line.startsWith(mark)).length);
  return `+${added} -${removed}`;
}

/** Undefined: an older version did not store them. Null: no restriction. */
function toolsChange(before: readonly string[] | null | undefined, now: readonly string[] | null): readonly string[] {
  if (before === undefined || JSON.stringify(before) === JSON.stringify(now)) return [];
  const words = (tools: readonly string[] | null): string =>
    tools === null ? "no restriction" : tools.join(", ") || "no tools";
  return [`    allowed-tools: was ${words(before)}; now ${words(now)}`];
}
