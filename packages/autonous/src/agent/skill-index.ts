import { cutAfter, makeVisible, shareOut } from "@autonous/runtime/internal";
import type { ProjectContext } from "./instructions.ts";

/** Budget for names and descriptions, which are sent with every request. The body is one call away. */
export const INDEX_BYTES = 4_000;
/** Minimum for a useful description; if less is left per skill, only names are listed. */
const MIN_BYTES = 40;
const INTRODUCTION =
  "Skills (instructions for kinds of tasks): before you begin, read the one that fits the task with read_skill.";

/** The skills that the model can read, in order, within the budget. */
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

/**
 * Descriptions share the space that the names leave: short ones fit completely, long ones are truncated after a
 * sentence or word.
 */
function indexOf(rows: readonly Row[]): readonly string[] {
  const names = rows.reduce((sum, { name }) => sum + Buffer.byteLength(`- ${name}: \n`), 0);
  const left = INDEX_BYTES - names;
  if (left < rows.length * MIN_BYTES) return nameLines(rows);
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

/** Too many for descriptions: only names, in full with read_skill. */
function nameLines(rows: readonly Row[]): readonly string[] {
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
