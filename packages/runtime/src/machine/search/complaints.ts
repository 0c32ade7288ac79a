import { decodeKey, keyOf } from "./keys.ts";
import type { VerifiedTree } from "./verified-tree.ts";

/** `rg: ./a/b: Permission denied (os error 13)`, `[fd error]: …` */
const COMPLAINT = /^(?:rg|\[fd error\]): \.\/(.+): ([^:]+?)(?: \(os error \d+\))?$/;
const MAX_COMPLAINTS = 20;

/**
 * What an engine could not look into, as far as it may be told: the name has to be that of something that is there. An
 * engine that was led outside complains of what is there, too.
 */
export function complaintsOf(stderr: string, tree: VerifiedTree): string[] {
  const told: string[] = [];
  for (const line of stderr.split("\n")) {
    if (told.length === MAX_COMPLAINTS) break;
    const [, path, problem] = COMPLAINT.exec(line) ?? [];
    if (path === undefined || problem === undefined) continue;
    const key = keyOf(path);
    if (tree.judge(key) !== "open" || tree.lookAt(key) === undefined) continue;
    told.push(`Cannot search "${decodeKey(key)}": ${problem.toLowerCase()}`);
  }
  tree.forget();
  return told;
}
