import { pathFor } from "../../paths/inside.ts";
import { judgeSensitivity, runsLater } from "../../policy/check-path.ts";
import type { WorkspaceContext } from "../../policy/decide.ts";
import { decodeKey } from "../search/keys.ts";
import { laterBehind } from "./closed-names.ts";
import type { CommandIntrusion } from "../../contract/command-changes.ts";
import type { Difference } from "./compare-looks.ts";
import { findInBareRepositories, isHarmless, RUNS_IN_REPOSITORY } from "./git-changes.ts";
import type { KnownLooks } from "./git-changes.ts";
import { findMoved } from "./moved-files.ts";
import type { Intruder, TakenBack } from "../files/take-back.ts";

/**
 * Files that run later and were made or changed so that something would run, and files closed to every tool that were
 * made. What was removed is not among them: it can be undone, and bringing it back at once would leave pieces of a
 * folder that was deleted.
 */
export function findIntruders(differences: readonly Difference[], looks: KnownLooks): readonly Intruder[] {
  const isMoved = findMoved(looks);
  const byPlace = differences.flatMap((difference) => {
    const { key, after } = difference;
    if (after?.place === undefined) return [];
    const before = difference.before?.kind === "directory" ? undefined : difference.before;
    // A folder alone runs nothing.
    if (after.place === "later" && after.kind === "directory" && before === undefined) return [];
    // What is closed was never read, so what it was cannot be told from what it is.
    if (after.place === "sensitive" && before !== undefined) return [];
    if (before === undefined && isMoved(difference)) return [];
    if (after.place === "later" && isHarmless(difference, looks)) return [];
    return [{ key, before, after }];
  });
  const known = new Set(byPlace.map(({ key }) => key));
  return [...byPlace, ...findInBareRepositories(differences, looks).filter(({ key }) => !known.has(key))];
}

export function describeTaken(
  { intruder, outcome, problem }: TakenBack,
  { workspace, cwd }: { readonly workspace: WorkspaceContext; readonly cwd: string },
): CommandIntrusion {
  const real = decodeKey(intruder.key);
  const why =
    intruder.after.place === "sensitive"
      ? judgeSensitivity(real, workspace)?.reason
      : (runsLater(real, workspace.roots) ?? laterBehind(real, workspace) ?? RUNS_IN_REPOSITORY);
  const change = intruder.before === undefined ? "added" : "changed";
  const told = problem === undefined ? {} : { problem };
  return { path: pathFor(real, cwd), real, why: why ?? "", change, outcome, ...told };
}
