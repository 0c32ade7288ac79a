import { quote } from "./quote.ts";

const MAX_NAME = 64;
/** A published name may be this long as another name of the skill. */
const MAX_ALIAS = 200;

export interface SkillNames {
  /** What it is called by: lower-case letters, digits and single hyphens, at most 64. */
  readonly name: string;
  /** What else finds it: the name as published, and that of its folder, where they differ. */
  readonly aliases: readonly string[];
  /** Clauses about what was not as the convention has it. */
  readonly warnings: readonly string[];
}

/** What a skill in a folder of this name is called. Every name and folder gives one. */
export function namesOf(given: unknown, folder: string): SkillNames {
  const warnings: string[] = [];
  const published = readName(given, folder, warnings);
  const name = callable(published) ?? callable(folder) ?? byLetters(folder);
  if (name !== published) {
    const rule = `lower-case letters, digits and single hyphens, at most ${MAX_NAME} characters`;
    warnings.push(`its name ${quote(published)} is not ${rule}; it is called ${quote(name)}`);
  }
  if (published !== folder) warnings.push(`its name ${quote(published)} is not that of its folder, ${quote(folder)}`);
  const others = [published, folder].filter(
    (each) => each !== name && each.length <= MAX_ALIAS && !/\p{Cc}/u.test(each),
  );
  return { name, aliases: [...new Set(others)], warnings };
}

function readName(given: unknown, folder: string, warnings: string[]): string {
  if (given === undefined || given === null) return folder;
  const text = typeof given === "string" || typeof given === "number" ? String(given).trim() : "";
  if (text !== "") return text;
  warnings.push('"name" is not text; the name of its folder is used');
  return folder;
}

/** Undefined where no letter or digit of it is one of ASCII. */
function callable(text: string): string | undefined {
  const plain = text.slice(0, MAX_ALIAS).normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase();
  const name = plain
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replace(/^-/, "")
    .slice(0, MAX_NAME)
    .replace(/-$/, "");
  return name === "" ? undefined : name;
}

/** For a folder without a letter or digit of ASCII: by the numbers of its first letters. */
function byLetters(folder: string): string {
  const letters = Array.from(folder.slice(0, 8), (letter) => letter.codePointAt(0)?.toString(16) ?? "");
  return ["skill", ...letters].join("-");
}
