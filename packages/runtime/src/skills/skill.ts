import { readFrontMatter } from "./front-matter.ts";
import { quote } from "./quote.ts";

/** A SKILL.md, in the Agent Skills convention or close to it. `warnings`: clauses about deviations. */
interface Skill extends SkillNames {
  /** At most 1024 characters. */
  readonly description: string;
  /** As written. Undefined: the skill does not restrict tools. Empty: it allows none. */
  readonly allowed_tools: readonly string[] | undefined;
  /** Only a person can invoke it; it is not offered to the model. */
  readonly disable_model_invocation: boolean;
  /** All other fields of the front matter. */
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly body: string;
}

type ParsedSkill = { readonly skill: Skill } | { readonly problems: readonly [string, ...string[]] };

const MAX_DESCRIPTION = 1024;
const MAX_TOOLS = 200;

/** The supported fields. Publishers spell them with capitals and underscores too. */
const FIELDS: ReadonlySet<string> = new Set(["name", "description", "allowed-tools", "disable-model-invocation"]);

/**
 * Reads a SKILL.md in a folder of this name. Never throws. A deviation that leaves doubt about the skill's purpose or
 * permissions is a problem, and such a skill is not loaded; any other is a warning.
 */
export async function parseSkill(text: string, folder: string): Promise<ParsedSkill> {
  const read = await readFrontMatter(text);
  if ("problem" in read) return { problems: [read.problem] };
  const warnings = [...read.warnings];
  const { fields, metadata, problems: spelling } = sortFields(read.values, warnings);
  const description = readDescription(fields["description"], warnings);
  const tools = readTools(fields["allowed-tools"]);
  const [first, ...others] = [
    ...spelling,
    ...("problem" in description ? [description.problem] : []),
    ...("problem" in tools ? [tools.problem] : []),
  ];
  if (first !== undefined || "problem" in description) return { problems: [first ?? "", ...others] };
  const disable_model_invocation = readSwitch(fields["disable-model-invocation"], warnings);
  const names = namesOf(fields["name"], folder);
  return {
    skill: {
      name: names.name,
      aliases: names.aliases,
      description: description.text,
      allowed_tools: "names" in tools ? tools.names : undefined,
      disable_model_invocation,
      metadata,
      warnings: [...names.warnings, ...warnings],
      body: read.body,
    },
  };
}

interface SortedFields {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly problems: readonly string[];
}

function sortFields(values: Readonly<Record<string, unknown>>, warnings: string[]): SortedFields {
  const fields: Record<string, unknown> = {};
  const metadata: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [key, value] of Object.entries(values)) {
    const field = key
      .replaceAll(/([a-z])([A-Z])/g, "$1-$2")
      .replaceAll("_", "-")
      .toLowerCase();
    if (!FIELDS.has(field)) Object.defineProperty(metadata, key, { value, enumerable: true });
    else if (field in fields) problems.push(`"${field}" is there twice, as ${quote(key)} too`);
    else {
      fields[field] = value;
      if (field !== key) warnings.push(`${quote(key)} is read as "${field}"`);
    }
  }
  return { fields, metadata, problems };
}

function readDescription(given: unknown, warnings: string[]): { readonly text: string } | { readonly problem: string } {
  if (given === undefined || given === null) return { problem: '"description" is missing' };
  if (typeof given === "object") return { problem: `"description" must be text, not ${kindOf(given)}` };
  const text = textOf(given);
  if (text.trim() === "") return { problem: '"description" is empty' };
  if (text.length <= MAX_DESCRIPTION) return { text };
  warnings.push(`its description has ${text.length} characters; it is truncated to ${MAX_DESCRIPTION}`);
  return { text: `${text.slice(0, MAX_DESCRIPTION - 1).replace(/[\ud800-\udbff]$/, "")}…` };
}

const SWITCHES: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  on: true,
  false: false,
  no: false,
  off: false,
};

/** An invalid value counts as yes: the author who wrote the field meant to keep the skill from the model. */
function readSwitch(given: unknown, warnings: string[]): boolean {
  if (given === undefined || typeof given === "boolean") return given ?? false;
  const word = textOf(given).toLowerCase();
  const known = Object.hasOwn(SWITCHES, word) ? SWITCHES[word] : undefined;
  warnings.push(`"disable-model-invocation" must be true or false, and is read as ${String(known ?? true)}`);
  return known ?? true;
}

/** As names, `-Bash` and `all but Bash` would allow what they exclude. */
const EXCLUDES = /^[-!~^]\W*\w|^(?:not?|but|except|excluding|exclude|without|never|deny|disallow(?:ed)?):?$/i;

/** Empty, as in `allowed-tools:`, it allows none: the author who wrote the field meant to restrict. */
function readTools(given: unknown): { readonly names: readonly string[] } | { readonly problem: string } | object {
  if (given === undefined) return {};
  const listed: unknown = given === null ? [] : typeof given === "string" ? [given] : given;
  if (!Array.isArray(listed) || !listed.every((each) => typeof each === "string")) {
    return { problem: '"allowed-tools" has to be a list of names, or names with spaces or commas between them' };
  }
  const names = joinBrackets(listed.flatMap((each) => splitToolNames(each)));
  if (names.length > MAX_TOOLS) return { problem: `"allowed-tools" lists more than ${MAX_TOOLS} names` };
  const excluding = names.find((each) => EXCLUDES.test(each));
  if (excluding !== undefined) {
    return { problem: `"allowed-tools" must list the allowed tools, and ${quote(excluding)} excludes some` };
  }
  return { names };
}

/** A number or a boolean as written. */
function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function kindOf(value: object): string {
  return Array.isArray(value) ? "a list" : "names with values";
}

const MAX_NAME = 64;
/** Maximum length of a published name that is an alias of the skill. */
const MAX_ALIAS = 200;

interface SkillNames {
  /** Its name here: lower-case letters, digits and single hyphens, at most 64. */
  readonly name: string;
  /** Its aliases: the published name and the folder name, if they differ. */
  readonly aliases: readonly string[];
  /** Clauses about deviations from the convention. */
  readonly warnings: readonly string[];
}

/** The name of a skill in a folder of this name. Every name and folder results in one. */
function namesOf(given: unknown, folder: string): SkillNames {
  const warnings: string[] = [];
  const published = readName(given, folder, warnings);
  const name = callable(published) ?? callable(folder) ?? byLetters(folder);
  if (name !== published) {
    const rule = `lower-case letters, digits and single hyphens, at most ${MAX_NAME} characters`;
    warnings.push(`its name ${quote(published)} is not ${rule}; it is called ${quote(name)}`);
  }
  if (published !== folder)
    warnings.push(`its name ${quote(published)} differs from that of its folder, ${quote(folder)}`);
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

/** Undefined if it has no ASCII letter or digit. */
function callable(text: string): string | undefined {
  const plain = text.slice(0, MAX_ALIAS).normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase();
  const name = plain
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replace(/^-/, "")
    .slice(0, MAX_NAME)
    .replace(/-$/, "");
  return name === "" ? undefined : name;
}

/** For a folder without an ASCII letter or digit: from the code points of its first letters. */
function byLetters(folder: string): string {
  const letters = Array.from(folder.slice(0, 8), (letter) => letter.codePointAt(0)?.toString(16) ?? "");
  return ["skill", ...letters].join("-");
}

const SEPARATOR = /[\s,]/;
/** Around names, and around the list. */
const QUOTES = /^["'`]+|["'`\]]+$/g;
const BEGINNING = /^[\s"'`]*\[/;
/** The marker before each name in a list written as text. */
const BULLET = /^[-*•]$/;

/**
 * The names in a text, separated by spaces, commas or lines, quoted or not. Text in brackets belongs to the name before
 * it, including spaces and commas: `Bash(git add:*, git commit:*), Read`.
 */
export function splitToolNames(text: string): readonly string[] {
  if (text.trim() === "*") return ["*"];
  const names: string[] = [];
  let name = "";
  let depth = 0;
  for (const character of text.replace(BEGINNING, "")) {
    if (depth === 0 && SEPARATOR.test(character)) {
      names.push(name);
      name = "";
      continue;
    }
    if (character === "(") depth++;
    if (character === ")") depth = Math.max(0, depth - 1);
    name += character;
  }
  const all = [...names, name].map((each) => each.replaceAll(QUOTES, ""));
  return all.filter((each) => each !== "" && (names.length === 0 || !BULLET.test(each)));
}

const BRACKET = /^[([{<]/;

/**
 * Separate brackets restrict the name before them, whatever is in between: `Bash (git:*)`. As an entry of their own,
 * they would leave that name without its restriction.
 */
export function joinBrackets(names: readonly string[]): readonly string[] {
  const joined: string[] = [];
  for (const name of names) {
    if (BRACKET.test(name)) joined.push(`${joined.pop() ?? ""} ${name}`.trim());
    else joined.push(name);
  }
  return joined;
}
