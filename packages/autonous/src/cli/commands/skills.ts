import { join } from "node:path";
import { redact } from "@autonous/runtime";
import { listSkills, makeVisible, makeVisibleLines, nearestNames } from "@autonous/runtime/internal";
import type { SkillEntry, SkillIndex } from "@autonous/runtime/internal";
import { cutTo } from "../../channels/words/width.ts";
import { readTexts } from "../../config/thing-texts.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace } from "../session/find-workplace.ts";
import { inspectRuntime, isTrustedSkill, runtimeOptions } from "../../workplace/runtime-options.ts";
import type { Workplace } from "../../workplace/workplace.ts";
import { table } from "../output/table.ts";
import { oneLine, wrapLines } from "../output/text-lines.ts";
import { skillDetails } from "../trust/trust-details.ts";
import { count } from "../usage.ts";

/** `autonous skills`: found skills, whether each is trusted or broken. With a name: one skill in full. */
export async function skills(input: CommandInput): Promise<ExitCode> {
  const { print, args } = input;
  const place = findWorkplace(input);
  const { roots, cwd, state_dir } = place;
  const index = await listSkills({ roots, cwd, state_dir, isTrustedSkill });
  const [name] = args;
  if (name !== undefined) return await showOne(name, { index, place, input });
  if (print.json) {
    print.document(index);
    return EXIT.done;
  }
  const rows = rowsOf(index, print.textWidth);
  if (rows.length === 0) print.note("No skills found");
  else {
    const head = ["SKILL", "FROM", "STATE", "ABOUT"];
    print.text(table([head, ...rows], { width: print.textWidth, fixed: 3, last: "cut" }));
    print.note("Details: autonous skills <name>");
  }
  if (index.skills.some(({ trusted }) => !trusted))
    print.note("Untrusted skills came with the workspace. Review and trust them: autonous policy trust");
  for (const problem of index.problems) print.note(problem);
  return EXIT.done;
}

const MAX_NAME_WIDTH = 26;

function rowsOf({ skills: found, shadowed, broken }: SkillIndex, width: number | undefined): readonly string[][] {
  const shown = (name: string): string => (width === undefined ? name : cutTo(name, MAX_NAME_WIDTH));
  return [
    ...found.map((skill) => [shown(skill.name), skill.source, stateOf(skill), aboutOf(skill)]),
    ...shadowed.map(({ skill, by }) => [shown(skill.name), skill.source, "shadowed", `by ${by.folder}`]),
    ...broken.map(({ name, source, problems, folder }) => [
      shown(name),
      source,
      "broken",
      `${problems.join("; ")} (${folder})`,
    ]),
  ];
}

function stateOf({ trusted }: SkillEntry): string {
  return trusted ? "trusted" : "waits for trust";
}

function aboutOf({ description, warnings, disable_model_invocation }: SkillEntry): string {
  return [
    ...(warnings.length === 0 ? [] : [`! ${count(warnings.length, "warning")}`]),
    ...(disable_model_invocation ? ["only by name"] : []),
    oneLine(description),
  ].join("; ");
}

interface SkillView {
  readonly index: SkillIndex;
  readonly place: Workplace;
  readonly input: CommandInput;
}

/** Includes the text, because the user has to see it to decide about trust. */
async function showOne(name: string, { index, place, input: { print } }: SkillView): Promise<ExitCode> {
  const all = [...index.skills, ...index.shadowed.map(({ skill }) => skill)];
  const found = all.filter((skill) => skill.name === name || skill.aliases.includes(name));
  const broken = index.broken.filter((each) => each.name === name);
  if (found.length + broken.length === 0) {
    const [meant] = nearestNames(
      name,
      all.map((each) => each.name),
    );
    const next = meant === undefined ? "autonous skills lists them" : `did you mean ${JSON.stringify(meant)}?`;
    throw new UsageError(`Unknown skill ${JSON.stringify(name)}; ${next}`);
  }
  const documents = await Promise.all(
    found.map(async (skill) => ({ ...skill, ...(await moreOf(skill, { index, place })) })),
  );
  if (print.json) {
    print.document({ skills: documents, broken });
    return EXIT.done;
  }
  const lines = [
    ...documents.flatMap((skill) => linesOf(skill)),
    ...broken.flatMap(({ folder, problems }) => [
      `${name} (broken): ${folder}`,
      ...problems.map((each) => `  ${each}`),
    ]),
  ].map(makeVisible);
  print.text(wrapLines(lines, print.textWidth).join("\n"));
  for (const { text, folder, skill_md } of documents) {
    if (text === null) print.note(`The text of "${join(folder, skill_md)}" is not shown: too long, or just changed`);
    else print.text(`\n${makeVisibleLines(text)}`);
  }
  return EXIT.done;
}

interface SkillDetails {
  /** The text of SKILL.md, redacted. Null: it cannot be shown. */
  readonly text: string | null;
  /** Trusted skills with a restriction only: the remaining tools. */
  readonly tools_left?: readonly string[];
}

/** A name selects the first skill of that name, so the remaining tools of a shadowed one are unknown. */
async function moreOf(skill: SkillEntry, { index, place }: Pick<SkillView, "index" | "place">): Promise<SkillDetails> {
  const { folder: path, files, skill_md, allowed_tools, trusted } = skill;
  const [text] = Object.values(
    readTexts({ kind: "skill", path, files: files.filter((each) => each.path === skill_md) }),
  );
  const shown = text === undefined ? null : redact(text).text;
  if (allowed_tools === undefined || !trusted || !index.skills.includes(skill)) return { text: shown };
  const options = { ...runtimeOptions(place), skill: skill.name };
  const tools_left = await inspectRuntime(options, (runtime) => runtime.tools().map((tool) => tool.name));
  return { text: shown, tools_left };
}

function linesOf(skill: SkillEntry & SkillDetails): readonly string[] {
  const { name, source, folder, description, aliases, disable_model_invocation, tools_left } = skill;
  return [
    `${name} (${source}, ${stateOf(skill)}): ${folder}`,
    `  ${oneLine(description)}`,
    ...(aliases.length === 0 ? [] : [`  also called ${aliases.join(", ")}`]),
    ...(disable_model_invocation ? ["  not offered to the model: select it with --skill"] : []),
    ...skillDetails(skill),
    ...(tools_left === undefined ? [] : [`  leaves these tools: ${tools_left.join(", ") || "none"}`]),
  ];
}
