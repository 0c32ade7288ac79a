import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { autonous } from "./support/cli.ts";
import { scratchFolder } from "./support/scratch.ts";

const hasSandbox = spawnSync("bwrap", ["--version"]).status === 0;
const needs = hasSandbox ? "" : " (skipped: needs bwrap, apt-get install bubblewrap)";

interface Row {
  readonly args: { readonly cmd: string };
  readonly expect: string;
}

test.skipIf(!hasSandbox)(
  `the corpus of commands is decided on the command line as its rows expect${needs}`,
  async () => {
    const { path: cwd } = await scratchFolder();
    const text = readFileSync(join(import.meta.dirname, "corpora/commands.jsonl"), "utf8");
    const rows = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Row);

    const { stdout, code } = await autonous(["policy", "explain", "-"], { cwd, input: text });

    const decisions = stdout
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { effect: string }).effect);
    expect(code).toBe(0);
    expect(decisions).toHaveLength(rows.length);
    // Rows that name places of another home are judged by this machine's.
    const wrong = rows.filter((row, i) => decisions[i] !== row.expect);
    expect(wrong.length / rows.length).toBeLessThan(0.02);
    const opened = rows.filter((row, i) => row.expect === "DENY" && decisions[i] === "ALLOW");
    expect(opened.map(({ args }) => args.cmd)).toEqual([]);
  },
);
