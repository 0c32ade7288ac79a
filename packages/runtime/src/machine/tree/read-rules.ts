import { addRules } from "./ignore-rules.ts";
import type { IgnoreRules } from "./ignore-rules.ts";
import { statsOf } from "./list-folder.ts";
import { readSmall } from "./read-entry.ts";
import { haveSameFacts, factsOf, joinKey } from "./tree-snapshot.ts";
import type { TreeFolder } from "./tree-snapshot.ts";

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
