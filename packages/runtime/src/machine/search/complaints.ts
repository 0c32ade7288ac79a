import { decodeKey, keyOf } from "../system/keys.ts";
import type { VerifiedTree } from "./verified-tree.ts";

/** `rg: ./a/b: Permission denied (os error 13)`, `[fd error]: …` */
const COMPLAINT = /^(?:rg|\[fd error\]): \.\/(.+): ([^:]+?)(?: \(os error \d+\))?$/;
const MAX_COMPLAINTS = 20;

/**
 * Paths that an engine could not read, as far as they may be reported: each must exist inside the searched tree,
 * because an engine that followed a swapped link outside reports names from there, too.
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
