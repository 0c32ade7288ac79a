import { cutAfter, makeVisible, shareOut } from "@autonous/runtime/internal";
import type { ProjectContext } from "./instructions.ts";

/** Names and descriptions together: they are sent with every request, and the body is one call away. */
export const INDEX_BYTES = 4_000;
/** Of a description this much says at least what a skill is about; where less is left for each, only names are listed. */
const MIN_BYTES = 40;
const INTRODUCTION =
  "Skills (instructions for kinds of tasks): before you begin, read the one that fits the task with read_skill.";

/** The skills that a model can read, in the order that they were found in, within a budget. */
export function skillLines({ skills = [], skill }: ProjectContext): readonly string[] {
  const named =
    skill === undefined ? [] : [`The user named the skill "${skill}": read it with read_skill and follow it.`];
  if (skills.length === 0) return named;
  return [
    ...named,
    INTRODUCTION,
    ...indexOf(skills.map(({ name, description }) => ({ name, description: oneLine(description) }))),
  ];
}

type Row = NonNullable<ProjectContext["skills"]>[number];

/** Descriptions share what the names leave: short ones fit completely, long ones are cut after a sentence or a word. */
function indexOf(rows: readonly Row[]): readonly string[] {
  const names = rows.reduce((sum, { name }) => sum + Buffer.byteLength(`- ${name}: \n`), 0);
  const left = INDEX_BYTES - names;
  if (left < rows.length * MIN_BYTES) return onlyNames(rows);
  const shares = shareOut(
    rows.map(({ description }) => Buffer.byteLength(description)),
    left,
  );
  return rows.map(({ name, description }, at) => `- ${name}: ${shorten(description, shares[at] ?? 0)}`);
}

const ELLIPSIS = "…";

function shorten(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  const cut = cutAfter(text, Math.max(0, bytes - Buffer.byteLength(` ${ELLIPSIS}`)), [". ", " "]).trimEnd();
  return cut.endsWith(".") ? `${cut} ${ELLIPSIS}` : `${cut}${ELLIPSIS}`;
}

/** Too many for descriptions: the names say what they can, and read_skill the rest. */
function onlyNames(rows: readonly Row[]): readonly string[] {
  const names: string[] = [];
  let left = INDEX_BYTES;
  for (const { name } of rows) {
    left -= Buffer.byteLength(`${name}, `);
    if (left < 0) break;
    names.push(name);
  }
  const more = rows.length > names.length ? ` and ${rows.length - names.length} more` : "";
  return [`${names.join(", ")}${more}`];
}

function oneLine(text: string): string {
  return makeVisible(text.replaceAll(/\s+/g, " ").trim());
}
