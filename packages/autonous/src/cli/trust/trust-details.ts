import type { SkillEntry } from "@autonous/runtime/internal";
import { oneLine } from "../output/text-lines.ts";
import type { WorkspaceThing, ChangedFile } from "./workspace-things.ts";
import { STATUS, widensLines } from "./trust-summary.ts";

/** For longer diffs, users can open the files. */
const MAX_DIFF_LINES = 60;
const MAX_FILES = 100;

/** All details of a thing, with hashes and the changes since it was trusted. */
export function detailLines(each: WorkspaceThing): readonly string[] {
  const { thing, status, changes, files_changed, skill, shadowed_by } = each;
  const head = skill === undefined ? thing.kind : `skill ${skill.name}`;
  const name = skill === undefined ? thing.path : `${thing.path}: ${oneLine(skill.description)}`;
  return [
    `${head} (${STATUS[status]}): ${name}`,
    `  sha256 ${thing.digest}`,
    ...(shadowed_by === undefined ? [] : [`  not in use: ${shadowed_by} has the same name`]),
    ...changes.map((change) => `  ${change}`),
    ...files_changed.flatMap(diffLines),
    ...widensLines(each),
    ...(thing.kind === "module" ? thing.files : []).map(
      ({ path, sha256 }) => `  runs as this program ${path} (sha256 ${sha256})`,
    ),
    ...(skill === undefined ? [] : skillDetails(skill)),
  ];
}

function diffLines({ diff, change, path }: ChangedFile): readonly string[] {
  if (change !== "changed") return [];
  if (diff === undefined) return [`  no stored text of "${path}" to compare with`];
  const lines = diff.trimEnd().split("\n");
  const more = lines.length > MAX_DIFF_LINES ? [`… ${lines.length - MAX_DIFF_LINES} more lines`] : [];
  return [...lines.slice(0, MAX_DIFF_LINES), ...more].map((line) => `    ${line}`);
}

/** Also used by `autonous skills <name>`. */
export function skillDetails({ scripts, files, allowed_tools, left_out, warnings }: SkillEntry): readonly string[] {
  const runnable = new Set(scripts.map(({ path }) => path));
  const others = files.filter(({ path }) => !runnable.has(path));
  const more = others.length > MAX_FILES ? [`  ${others.length - MAX_FILES} more files`] : [];
  return [
    ...scripts.map(({ path, sha256 }) => `  may run ${path} (sha256 ${sha256})`),
    ...(allowed_tools === undefined ? [] : [`  narrows the tools to ${allowed_tools.join(", ") || "none"}`]),
    ...warnings.map((warning) => `  warning: ${warning}`),
    ...others.slice(0, MAX_FILES).map(({ path, bytes }) => `  has ${path} (${bytes} bytes)`),
    ...more,
    ...left_out.map(({ path, why }) => `  leaves out ${path}: ${why}`),
  ];
}
