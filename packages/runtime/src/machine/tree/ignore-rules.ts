import { compileGlob } from "../../paths/glob.ts";
import type { Glob } from "../../paths/glob.ts";
import { statsOf } from "./list-folder.ts";
import { readSmall } from "./read-entry.ts";
import { haveSameFacts, factsOf, joinKey } from "./tree-snapshot.ts";
import type { TreeFolder } from "./tree-snapshot.ts";

interface Rule {
  /** The folder of the `.gitignore` file, as text. */
  readonly base: string;
  readonly isNegated: boolean;
  /** A string for names without wildcards: comparing is much cheaper than matching. */
  readonly pattern: string | Glob;
}

/** What `.gitignore` files say about folders: later rules win over earlier ones. */
export type IgnoreRules = readonly Rule[];

export const NO_RULES: IgnoreRules = [];

const MAX_RULES = 1000;
const WILD = /[*?[\\/]/;

/** The rules in force below `base`, given those above it and the content of its `.gitignore`. */
export function addRules(above: IgnoreRules, base: string, text: string): IgnoreRules {
  const own = text.split("\n").flatMap((line) => parseRule(line, base));
  return own.length === 0 ? above : [...above, ...own].slice(-MAX_RULES);
}

function parseRule(line: string, base: string): Rule[] {
  const trimmed = line.replace(/\r$/, "").replace(/(?<!\\) +$/, "");
  if (trimmed === "" || trimmed.startsWith("#")) return [];
  const isNegated = trimmed.startsWith("!");
  // Git has no brace patterns.
  const text = (isNegated ? trimmed.slice(1) : trimmed).replace(/[{}]/g, "\\$&");
  const name = text.replace(/\/$/, "");
  if (name === "") return [];
  if (!WILD.test(name)) return [{ base, isNegated, pattern: name }];
  try {
    return [{ base, isNegated, pattern: compileGlob(text) }];
  } catch (error) {
    if (error instanceof RangeError) return []; // longer than any plausible pattern: scan the folder instead
    throw error;
  }
}

/** Whether git ignores the folder. `real` is below the bases of all rules. */
export function isIgnoredFolder(real: string, rules: IgnoreRules): boolean {
  const name = real.slice(real.lastIndexOf("/") + 1);
  const last = rules.findLast(({ base, pattern }) =>
    typeof pattern === "string" ? pattern === name : pattern.matches(real.slice(base === "/" ? 1 : base.length + 1)),
  );
  return last !== undefined && !last.isNegated;
}

interface RulesOptions {
  readonly real: string;
  readonly above: IgnoreRules;
  readonly known: TreeFolder | undefined;
}

/** Returns the identical object where the rules did not change, so that decisions based on them are reused. */
export function rulesOf(key: string, { real, above, known }: RulesOptions): IgnoreRules {
  const path = joinKey(key, ".gitignore");
  const stats = statsOf(path);
  if (stats?.isFile() !== true) return above;
  const before = known?.entries.get(".gitignore");
  const isSame = before !== undefined && !before.isYoung && haveSameFacts(before, factsOf(stats));
  if (isSame && known?.above === above) return known.rules;
  const text = readSmall(key, ".gitignore");
  return text === undefined ? above : addRules(above, real, text);
}
