/**
 * Runs other projects' cases through the real tools: `npm run corpora -- <folder>`. Prints a line for each case with a
 * different result, and a score per file. Files that are not in the folder are skipped.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runBash } from "./corpora/bash.ts";
import { runEdits, runMultiEdits } from "./corpora/edits.ts";
import { runFileTools } from "./corpora/file-tools.ts";
import { runLoops } from "./corpora/loop.ts";
import { runExtraPatches, runPatches, runScenarios } from "./corpora/patches.ts";
import { runShellSplit } from "./corpora/shell-split.ts";
import { runSkills } from "./corpora/skills.ts";
import { runTruncation } from "./corpora/truncation.ts";
import type { Verdict } from "./corpora/verdict.ts";

type Run = (path: string) => AsyncIterable<Verdict>;

// oxfmt-ignore
const RUNS: readonly (readonly [name: string, run: Run])[] = [
  ["edit.json",                    fromJson(runEdits)],
  ["multi-edit.json",              fromJson(runMultiEdits)],
  ["patch.json",                   fromJson(runPatches)],
  ["apply-patch",                  runScenarios],
  ["apply-patch/extra-cases.json", fromJson(runExtraPatches)],
  ["truncation.json",              fromJson(runTruncation)],
  ["file-tools.json",              fromJson(runFileTools)],
  ["bash-behaviour.json",          fromJson(runBash)],
  ["shell-split.json",             fromJson(runShellSplit)],
  ["skills.json",                  fromJson(runSkills)],
  ["loop.json",                    fromJson(runLoops)],
];

function fromJson(run: (document: unknown) => AsyncIterable<Verdict>): Run {
  return (path) => run(JSON.parse(readFileSync(path, "utf8")) as unknown);
}

const SHOWN = 160;

function shorten(text: string): string {
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN)}…`;
}

async function runFile(name: string, verdicts: AsyncIterable<Verdict>): Promise<void> {
  let total = 0;
  let same = 0;
  const missing = new Map<string, number>();
  for await (const verdict of verdicts) {
    total++;
    if (verdict.missing !== undefined) missing.set(verdict.missing, (missing.get(verdict.missing) ?? 0) + 1);
    else if (verdict.differs === undefined) same++;
    else {
      const { expected, got } = verdict.differs;
      console.log(
        `  ${verdict.id}  ${shorten(verdict.name)}\n    expected ${shorten(expected)}\n    got      ${shorten(got)}`,
      );
    }
  }
  const lacking = [...missing].map(([tool, count]) => `, ${count} not run: tool "${tool}" is missing`).join("");
  console.log(`${name}: ${same} of ${total}${lacking}`);
}

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("Name the folder of the cases: npm run corpora -- <folder>");
const home = mkdtempSync(join(tmpdir(), "autonous-corpora-home-"));
process.env["XDG_STATE_HOME"] = home; // keeps these runs out of the user's own records
try {
  for (const [name, run] of RUNS) {
    const path = join(folder, name);
    if (existsSync(path)) await runFile(name, run(path));
    else console.log(`${name}: not found, skipped`);
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}
